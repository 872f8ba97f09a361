"""Lists: form, pages, versions and selectors."""

import asyncio

import pytest

from tests.actors.api import CONFIG_MAPS, SETTINGS
from tests.contract.exchange import CUSTOM, Reply, ask, named

FORGETTING_SECONDS = 30.0
"""Since 1.34 lists of old versions come from the watch cache, which looks every 15 seconds what is
compacted (k8s.io/apiserver `pkg/storage/cacher/compactor.go`)."""


def names_of(page: Reply) -> list[str]:
    assert page.status == 200, page.json
    return [item["metadata"]["name"] for item in page.json["items"]]


async def test_items_of_built_in_kinds_carry_no_kind_but_custom_resources_do(config_maps, settings):
    await config_maps.create()
    await settings.create()

    built_in = (await config_maps.list()).json
    custom = (await settings.list()).json

    assert (built_in["kind"], built_in["apiVersion"]) == ("ConfigMapList", "v1")
    assert {"kind", "apiVersion"}.isdisjoint(built_in["items"][0])
    assert (custom["kind"], custom["apiVersion"]) == ("SettingList", "longhorn.io/v1beta2")
    item = custom["items"][0]
    assert {"kind": item["kind"], "apiVersion": item["apiVersion"]} == CUSTOM


async def test_a_list_spans_namespaces_or_keeps_to_one(settings, api_client, namespace):
    await settings.create("b", "a")

    here = await settings.list()
    there = await ask(api_client, "GET", SETTINGS.path("default"))
    everywhere = await ask(api_client, "GET", "/apis/longhorn.io/v1beta2/settings")

    assert names_of(here) == ["a", "b"]
    places = {
        (item["metadata"]["namespace"], item["metadata"]["name"])
        for item in everywhere.json["items"]
    }
    assert {(namespace, "a"), (namespace, "b")} <= places
    assert namespace not in {item["metadata"]["namespace"] for item in there.json["items"]}


async def test_all_pages_show_one_version(config_maps):
    await config_maps.create("a", "b", "c", "d", "e")

    first = await config_maps.list(limit="2")
    await config_maps.create("ca")
    await config_maps.delete("d")
    await config_maps.put(named("e", data={"k": "new"}), "e")
    query = {"limit": "2", "continue": first.json["metadata"]["continue"]}
    second = await config_maps.list(**query)
    query = {"limit": "2", "continue": second.json["metadata"]["continue"]}
    third = await config_maps.list(**query)

    assert [names_of(page) for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert first.version == second.version == third.version
    assert first.json["metadata"]["remainingItemCount"] == 3
    assert second.json["metadata"]["remainingItemCount"] == 1
    assert "continue" not in third.json["metadata"]
    assert "data" not in third.json["items"][0]


async def test_the_last_page_of_built_in_kinds_has_no_token_but_of_custom_resources_an_empty_one(
    leases, settings
):
    built_in = await leases.list(limit="5")
    custom = await settings.list(limit="5")

    assert "continue" not in built_in.json["metadata"]
    assert custom.json["metadata"]["continue"] == ""


@pytest.mark.slow
async def test_a_token_expires_with_its_version(cluster, config_maps):
    await config_maps.create("a", "b", "c")
    first = await config_maps.list(limit="1")
    await config_maps.delete("b")
    await cluster.compact()

    query = {"limit": "5", "continue": first.json["metadata"]["continue"]}
    async with asyncio.timeout(FORGETTING_SECONDS):
        while True:
            reply = await config_maps.list(**query)
            if reply.status != 200:
                break
            await asyncio.sleep(0.5)

    assert reply.refusal == (410, "Expired")


SELECTED = {
    "name": ({"fieldSelector": "metadata.name=a"}, ["a"]),
    "namespace": ({"fieldSelector": "metadata.namespace=other"}, []),
    "label": ({"labelSelector": "app=x"}, ["a", "b"]),
    "two labels": ({"labelSelector": "app=x,tier=db"}, ["b"]),
    "one of a set": ({"labelSelector": "tier in (db, web),app=x"}, ["b"]),
}


@pytest.mark.parametrize(("query", "expected"), SELECTED.values(), ids=SELECTED)
async def test_selectors(settings, query, expected):
    await settings.create("a", metadata={"labels": {"app": "x"}})
    await settings.create("b", metadata={"labels": {"app": "x", "tier": "db"}})
    await settings.create("c")

    assert names_of(await settings.list(**query)) == expected


@pytest.mark.parametrize("path", [CONFIG_MAPS.path("default"), SETTINGS.path("default")])
async def test_other_fields_cannot_be_selected_by(api_client, path):
    refused = await ask(api_client, "GET", path, query={"fieldSelector": "spec.nodeName=x"})

    assert refused.refusal == (400, "BadRequest")
    assert "spec.nodeName" in refused.json["message"]
