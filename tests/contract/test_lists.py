"""Lists: form, pages, versions and selectors."""

import asyncio
from typing import Any

import pytest
from kubernetes_asyncio.client import ApiClient

from tests.actors.api import CONFIG_MAPS, LEASES, SETTINGS
from tests.contract.exchange import CUSTOM, Reply, ask, named

FORGETTING_SECONDS = 30.0
"""Since 1.34 lists of old versions come from the watch cache, which looks every 15 seconds what is
compacted (k8s.io/apiserver `pkg/storage/cacher/compactor.go`)."""


async def create(api_client: ApiClient, path: str, *names: str, **fields: Any) -> Reply:
    """Create objects; give back the answer to the last."""
    replies = [await ask(api_client, "POST", path, body=named(name, **fields)) for name in names]
    assert {reply.status for reply in replies} == {201}
    return replies[-1]


def names_of(page: Reply) -> list[str]:
    assert page.status == 200, page.json
    return [item["metadata"]["name"] for item in page.json["items"]]


async def ask_until_refused(api_client: ApiClient, path: str, query: dict[str, str]) -> Reply:
    """Go on asking until the compaction has reached the answers."""
    async with asyncio.timeout(FORGETTING_SECONDS):
        while True:
            reply = await ask(api_client, "GET", path, query=query)
            if reply.status != 200:
                return reply
            await asyncio.sleep(0.5)


async def test_items_of_built_in_kinds_carry_no_kind_but_custom_resources_do(api_client, namespace):
    await create(api_client, CONFIG_MAPS.path(namespace), "a")
    await create(api_client, SETTINGS.path(namespace), "a", **CUSTOM)

    built_in = (await ask(api_client, "GET", CONFIG_MAPS.path(namespace))).json
    custom = (await ask(api_client, "GET", SETTINGS.path(namespace))).json

    assert (built_in["kind"], built_in["apiVersion"]) == ("ConfigMapList", "v1")
    assert {"kind", "apiVersion"}.isdisjoint(built_in["items"][0])
    assert (custom["kind"], custom["apiVersion"]) == ("SettingList", "longhorn.io/v1beta2")
    item = custom["items"][0]
    assert {"kind": item["kind"], "apiVersion": item["apiVersion"]} == CUSTOM


async def test_a_list_spans_namespaces_or_keeps_to_one(api_client, namespace):
    await create(api_client, SETTINGS.path(namespace), "b", "a", **CUSTOM)

    here = await ask(api_client, "GET", SETTINGS.path(namespace))
    there = await ask(api_client, "GET", SETTINGS.path("default"))
    everywhere = await ask(api_client, "GET", "/apis/longhorn.io/v1beta2/settings")

    assert names_of(here) == ["a", "b"]
    places = {
        (item["metadata"]["namespace"], item["metadata"]["name"])
        for item in everywhere.json["items"]
    }
    assert {(namespace, "a"), (namespace, "b")} <= places
    assert namespace not in {item["metadata"]["namespace"] for item in there.json["items"]}


async def test_all_pages_show_one_version(api_client, namespace):
    path = CONFIG_MAPS.path(namespace)
    await create(api_client, path, "a", "b", "c", "d", "e")

    first = await ask(api_client, "GET", path, query={"limit": "2"})
    await create(api_client, path, "ca")
    await ask(api_client, "DELETE", f"{path}/d")
    await ask(api_client, "PUT", f"{path}/e", body=named("e", data={"k": "new"}))
    query = {"limit": "2", "continue": first.json["metadata"]["continue"]}
    second = await ask(api_client, "GET", path, query=query)
    query = {"limit": "2", "continue": second.json["metadata"]["continue"]}
    third = await ask(api_client, "GET", path, query=query)

    assert [names_of(page) for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert first.version == second.version == third.version
    assert first.json["metadata"]["remainingItemCount"] == 3
    assert second.json["metadata"]["remainingItemCount"] == 1
    assert "continue" not in third.json["metadata"]
    assert "data" not in third.json["items"][0]


async def test_the_last_page_of_built_in_kinds_has_no_token_but_of_custom_resources_an_empty_one(
    api_client, namespace
):
    built_in = await ask(api_client, "GET", LEASES.path(namespace), query={"limit": "5"})
    custom = await ask(api_client, "GET", SETTINGS.path(namespace), query={"limit": "5"})

    assert "continue" not in built_in.json["metadata"]
    assert custom.json["metadata"]["continue"] == ""


@pytest.mark.slow
async def test_a_token_expires_with_its_version(cluster, namespace):
    path = CONFIG_MAPS.path(namespace)
    await create(cluster.api_client, path, "a", "b", "c")
    first = await ask(cluster.api_client, "GET", path, query={"limit": "1"})
    await ask(cluster.api_client, "DELETE", f"{path}/b")
    await cluster.compact()

    query = {"limit": "5", "continue": first.json["metadata"]["continue"]}
    expired = await ask_until_refused(cluster.api_client, path, query)

    assert expired.refusal == (410, "Expired")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param({"fieldSelector": "metadata.name=a"}, ["a"], id="name"),
        pytest.param({"fieldSelector": "metadata.namespace=other"}, [], id="namespace"),
        pytest.param({"labelSelector": "app=x"}, ["a", "b"], id="label"),
        pytest.param({"labelSelector": "app=x,tier=db"}, ["b"], id="two-labels"),
        pytest.param({"labelSelector": "tier in (db, web),app=x"}, ["b"], id="one-of-a-set"),
    ],
)
async def test_selectors(api_client, namespace, query, expected):
    path = SETTINGS.path(namespace)
    await create(api_client, path, "a", metadata={"labels": {"app": "x"}}, **CUSTOM)
    labels = {"app": "x", "tier": "db"}
    await create(api_client, path, "b", metadata={"labels": labels}, **CUSTOM)
    await create(api_client, path, "c", **CUSTOM)

    listed = await ask(api_client, "GET", path, query=query)

    assert names_of(listed) == expected


@pytest.mark.parametrize("path", [CONFIG_MAPS.path("default"), SETTINGS.path("default")])
async def test_other_fields_cannot_be_selected_by(api_client, path):
    refused = await ask(api_client, "GET", path, query={"fieldSelector": "spec.nodeName=x"})

    assert refused.refusal == (400, "BadRequest")
    assert "spec.nodeName" in refused.json["message"]
