"""Watches: where they begin, what they show, how they end."""

import asyncio
from typing import Any

import pytest
from kubernetes_asyncio.client import ApiClient

from tests.actors.api import CONFIG_MAPS, SETTINGS
from tests.contract.exchange import CUSTOM, ask, named, watching

BOOKMARKS = {"allowWatchBookmarks": "true"}
STREAMING_LIST = {
    **BOOKMARKS,
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
}


async def write(api_client: ApiClient, path: str, name: str, **fields: Any) -> str:
    """Create or overwrite an object of a built-in kind; give back its version."""
    body = named(name, **fields)
    reply = await ask(api_client, "POST", path, body=body)
    if reply.status == 409:
        reply = await ask(api_client, "PUT", f"{path}/{name}", body=body)
    assert reply.status in (200, 201)
    return reply.version


async def version_of(api_client: ApiClient, path: str) -> str:
    return (await ask(api_client, "GET", path)).version


async def test_a_watch_shows_what_happened_since_its_version(api_client, namespace):
    path = CONFIG_MAPS.path(namespace)
    await write(api_client, path, "before")
    start = await version_of(api_client, path)
    added = await write(api_client, path, "a", data={"k": "1"})
    modified = await write(api_client, path, "a", data={"k": "2"})

    async with watching(api_client, path, resourceVersion=start) as events:
        first, second = await events.take(2)
        await ask(api_client, "DELETE", f"{path}/a")
        [(type_, last)] = await events.take(1)

    assert (first[0], first[1]["metadata"]["resourceVersion"]) == ("ADDED", added)
    assert (second[0], second[1]["metadata"]["resourceVersion"]) == ("MODIFIED", modified)
    assert (first[1]["kind"], first[1]["apiVersion"]) == ("ConfigMap", "v1")
    assert (type_, last["data"]) == ("DELETED", {"k": "2"})
    assert last["metadata"]["resourceVersion"] not in (added, modified)


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}], ids=["unset", "any"])
async def test_a_watch_from_no_version_begins_with_what_is_there(api_client, namespace, query):
    path = SETTINGS.path(namespace)
    for name in ("a", "b"):
        await ask(api_client, "POST", path, body=named(name, **CUSTOM))
    await version_of(api_client, path)

    async with watching(api_client, path, **query) as events:
        initial = await events.take(2)
        await ask(api_client, "DELETE", f"{path}/a")
        [(type_, deleted)] = await events.take(1)

    assert {(kind, obj["metadata"]["name"]) for kind, obj in initial} == {
        ("ADDED", "a"),
        ("ADDED", "b"),
    }
    assert {obj["kind"] for _, obj in initial} == {"Setting"}
    assert (type_, deleted["metadata"]["name"]) == ("DELETED", "a")


async def test_an_expired_version_is_refused_inside_the_stream(api_client, namespace):
    path = SETTINGS.path(namespace)
    await ask(api_client, "POST", path, body=named("a", **CUSTOM))

    async with watching(api_client, path, resourceVersion="1") as events:
        [(type_, status)] = await events.take(1)
        end = await events.next()

    assert type_ == "ERROR"
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert end is None


async def test_a_watch_begins_before_there_is_anything_to_tell(api_client, namespace):
    start = await version_of(api_client, SETTINGS.path(namespace))

    async with watching(api_client, SETTINGS.path(namespace), resourceVersion=start) as events:
        with pytest.raises(TimeoutError):
            await events.next(seconds=1)

    assert events.content_type.startswith("application/json")


async def test_a_version_that_is_still_to_come_is_waited_for(api_client, namespace):
    """In silence: so after a restore of etcd nobody learns that its version is none any more."""
    path = CONFIG_MAPS.path(namespace)
    future = str(int(await version_of(api_client, path)) + 1_000_000)

    async with watching(api_client, path, resourceVersion=future) as events:
        await write(api_client, path, "a")
        with pytest.raises(TimeoutError):
            await events.next(seconds=1)


async def test_a_watch_ends_normally_after_its_time(api_client, namespace):
    path = CONFIG_MAPS.path(namespace)
    start = await version_of(api_client, path)
    loop = asyncio.get_running_loop()

    begun = loop.time()
    async with watching(api_client, path, resourceVersion=start, timeoutSeconds="2") as events:
        end = await events.next()

    assert end is None
    assert 1 < loop.time() - begun < 5


async def test_who_stops_matching_is_deleted_with_the_old_content_and_the_new_version(
    api_client, namespace
):
    path = CONFIG_MAPS.path(namespace)
    start = await version_of(api_client, path)
    yes, no = {"labels": {"app": "x"}}, {"labels": {"app": "y"}}
    await write(api_client, path, "a", metadata=no)
    await write(api_client, path, "a", metadata=yes)
    await write(api_client, path, "a", metadata=yes, data={"k": "old"})
    version = await write(api_client, path, "a", metadata=no, data={"k": "new"})
    await write(api_client, path, "end", metadata=yes)

    query = {"resourceVersion": start, "labelSelector": "app=x"}
    async with watching(api_client, path, **query) as events:
        seen = await events.take(4)

    assert [type_ for type_, _ in seen] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
    deleted = seen[2][1]
    assert deleted["data"] == {"k": "old"}
    assert deleted["metadata"]["labels"] == {"app": "x"}
    assert deleted["metadata"]["resourceVersion"] == version
    assert seen[3][1]["metadata"]["name"] == "end"


async def test_a_watch_of_the_cluster_sees_every_namespace(api_client, namespace):
    everywhere = "/apis/longhorn.io/v1beta2/settings"
    start = await version_of(api_client, everywhere)
    await ask(api_client, "POST", SETTINGS.path(namespace), body=named("a", **CUSTOM))

    async with watching(api_client, everywhere, resourceVersion=start) as events:
        [(_, obj)] = await events.take(1)

    assert obj["metadata"]["namespace"] == namespace


async def test_a_streaming_list_ends_with_a_bookmark_and_goes_on_as_a_watch(api_client, namespace):
    path = CONFIG_MAPS.path(namespace)
    for name in ("a", "b", "c"):
        await write(api_client, path, name)

    async with watching(api_client, path, **STREAMING_LIST) as events:
        names, bookmark = await events.until_bookmark(seconds=10)
        version = await write(api_client, path, "d")
        [(type_, obj)] = await events.take(1)

    assert names == {"a", "b", "c"}
    assert bookmark["kind"] == "ConfigMap"
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert bookmark["metadata"]["resourceVersion"].isdecimal()
    assert (type_, obj["metadata"]["resourceVersion"]) == ("ADDED", version)


@pytest.mark.parametrize(("name", "found"), [("a", {"a"}), ("c", set())], ids=["there", "missing"])
async def test_a_streaming_list_can_be_of_one_object(api_client, namespace, name, found):
    path = CONFIG_MAPS.path(namespace)
    for each in ("a", "b"):
        await write(api_client, path, each)

    query = {**STREAMING_LIST, "fieldSelector": f"metadata.name={name}"}
    async with watching(api_client, path, **query) as events:
        names, bookmark = await events.until_bookmark(seconds=10)
        await write(api_client, path, "d")
        version = await write(api_client, path, name, data={"k": "new"})
        [(_, obj)] = await events.take(1)

    assert names == found
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert obj["metadata"]["resourceVersion"] == version


async def test_the_version_of_the_end_bookmark_is_where_the_next_watch_starts(
    api_client, namespace
):
    path = SETTINGS.path(namespace)
    await ask(api_client, "POST", path, body=named("a", **CUSTOM))
    async with watching(api_client, path, **STREAMING_LIST) as events:
        _, bookmark = await events.until_bookmark(seconds=10)
    await ask(api_client, "POST", path, body=named("b", **CUSTOM))

    version = bookmark["metadata"]["resourceVersion"]
    async with watching(api_client, path, resourceVersion=version) as events:
        [(type_, obj)] = await events.take(1)

    assert (type_, obj["metadata"]["name"]) == ("ADDED", "b")


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"sendInitialEvents": "true"}, id="initial-events-without-match"),
        pytest.param({"resourceVersionMatch": "NotOlderThan"}, id="match-without-initial-events"),
    ],
)
async def test_watch_options_that_do_not_go_together_are_refused(api_client, query):
    refused = await ask(
        api_client, "GET", CONFIG_MAPS.path("default"), query={"watch": "1", **query}
    )

    assert refused.refusal == (422, "Invalid")


async def test_a_bookmark_comes_shortly_before_the_end(api_client, namespace):
    path = CONFIG_MAPS.path(namespace)
    start = await version_of(api_client, path)

    query = {"fieldSelector": "metadata.name=a", "resourceVersion": start, **BOOKMARKS}
    async with watching(api_client, path, timeoutSeconds="5", **query) as events:
        version = await write(api_client, path, "b")
        names, bookmark = await events.until_bookmark(seconds=10)

    assert names == set()
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(version)


@pytest.mark.slow
async def test_a_bookmark_comes_about_once_a_minute(api_client, namespace):
    path = CONFIG_MAPS.path(namespace)
    start = await version_of(api_client, path)
    loop = asyncio.get_running_loop()

    begun = loop.time()
    query = {"fieldSelector": "metadata.name=a", "resourceVersion": start, **BOOKMARKS}
    async with watching(api_client, path, timeoutSeconds="300", **query) as events:
        # Without any change since its beginning, a watch may have no bookmarks.
        version = await write(api_client, path, "b")
        names, bookmark = await events.until_bookmark(seconds=90)

    assert names == set()
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(version)
    assert 30 < loop.time() - begun < 90
