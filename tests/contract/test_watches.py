"""Watches: where they begin, what they show, how they end."""

import asyncio

import pytest

from tests.contract.exchange import ask, watching

BOOKMARKS = {"allowWatchBookmarks": "true"}
STREAMING_LIST = {
    **BOOKMARKS,
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
}


async def test_a_watch_shows_what_happened_since_its_version(config_maps):
    await config_maps.write("before")
    start = await config_maps.version()
    added = await config_maps.write("a", data={"k": "1"})
    modified = await config_maps.write("a", data={"k": "2"})

    async with config_maps.watching(resourceVersion=start) as events:
        first, second = await events.take(2)
        await config_maps.delete()
        [(type_, last)] = await events.take(1)

    assert (first[0], first[1]["metadata"]["resourceVersion"]) == ("ADDED", added)
    assert (second[0], second[1]["metadata"]["resourceVersion"]) == ("MODIFIED", modified)
    assert (first[1]["kind"], first[1]["apiVersion"]) == ("ConfigMap", "v1")
    assert (type_, last["data"]) == ("DELETED", {"k": "2"})
    assert last["metadata"]["resourceVersion"] not in (added, modified)


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}], ids=["unset", "any"])
async def test_a_watch_from_no_version_begins_with_what_is_there(settings, query):
    await settings.create("a", "b")
    await settings.version()  # so that a cache, which may be asked for any version, has them

    async with settings.watching(**query) as events:
        initial = await events.take(2)
        await settings.delete()
        [(type_, deleted)] = await events.take(1)

    added = {(kind, obj["metadata"]["name"]) for kind, obj in initial}
    assert added == {("ADDED", "a"), ("ADDED", "b")}
    assert {obj["kind"] for _, obj in initial} == {"Setting"}
    assert (type_, deleted["metadata"]["name"]) == ("DELETED", "a")


async def test_an_expired_version_is_refused_inside_the_stream(settings):
    await settings.create("a")

    async with settings.watching(resourceVersion="1") as events:
        [(type_, status)] = await events.take(1)
        end = await events.next()

    assert type_ == "ERROR"
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert end is None


async def test_a_watch_begins_before_there_is_anything_to_tell(settings):
    start = await settings.version()

    async with settings.watching(resourceVersion=start) as events:
        with pytest.raises(TimeoutError):
            await events.next(seconds=1)

    assert events.content_type.startswith("application/json")


async def test_a_version_that_is_still_to_come_is_waited_for(config_maps):
    """In silence: so after a restore of etcd nobody learns that its version is none any more."""
    future = str(int(await config_maps.version()) + 1_000_000)

    async with config_maps.watching(resourceVersion=future) as events:
        await config_maps.write("a")
        with pytest.raises(TimeoutError):
            await events.next(seconds=1)


async def test_a_watch_ends_normally_after_its_time(config_maps):
    start = await config_maps.version()
    loop = asyncio.get_running_loop()

    begun = loop.time()
    async with config_maps.watching(resourceVersion=start, timeoutSeconds="2") as events:
        assert await events.next() is None

    assert 1 < loop.time() - begun < 5


async def test_who_stops_matching_is_deleted_with_the_old_content_and_the_new_version(config_maps):
    start = await config_maps.version()
    yes, no = {"labels": {"app": "x"}}, {"labels": {"app": "y"}}
    await config_maps.write("a", metadata=no)
    await config_maps.write("a", metadata=yes)
    await config_maps.write("a", metadata=yes, data={"k": "old"})
    version = await config_maps.write("a", metadata=no, data={"k": "new"})
    await config_maps.write("end", metadata=yes)

    query = {"resourceVersion": start, "labelSelector": "app=x"}
    async with config_maps.watching(**query) as events:
        seen = await events.take(4)

    assert [type_ for type_, _ in seen] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
    deleted = seen[2][1]
    assert deleted["data"] == {"k": "old"}
    assert deleted["metadata"]["labels"] == {"app": "x"}
    assert deleted["metadata"]["resourceVersion"] == version
    assert seen[3][1]["metadata"]["name"] == "end"


async def test_a_watch_of_the_cluster_sees_every_namespace(settings, api_client, namespace):
    everywhere = "/apis/longhorn.io/v1beta2/settings"
    start = (await ask(api_client, "GET", everywhere)).version
    await settings.create("a")

    async with watching(api_client, everywhere, resourceVersion=start) as events:
        [(_, obj)] = await events.take(1)

    assert obj["metadata"]["namespace"] == namespace


async def test_a_streaming_list_ends_with_a_bookmark_and_goes_on_as_a_watch(config_maps):
    await config_maps.create("a", "b", "c")

    async with config_maps.watching(**STREAMING_LIST) as events:
        names, bookmark = await events.until_bookmark(seconds=10)
        version = await config_maps.write("d")
        [(type_, obj)] = await events.take(1)

    assert names == {"a", "b", "c"}
    assert bookmark["kind"] == "ConfigMap"
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert bookmark["metadata"]["resourceVersion"].isdecimal()
    assert (type_, obj["metadata"]["resourceVersion"]) == ("ADDED", version)


@pytest.mark.parametrize(("name", "found"), [("a", {"a"}), ("c", set())], ids=["there", "missing"])
async def test_a_streaming_list_can_be_of_one_object(config_maps, name, found):
    await config_maps.create("a", "b")

    query = {**STREAMING_LIST, "fieldSelector": f"metadata.name={name}"}
    async with config_maps.watching(**query) as events:
        names, bookmark = await events.until_bookmark(seconds=10)
        await config_maps.write("d")
        version = await config_maps.write(name, data={"k": "new"})
        [(_, obj)] = await events.take(1)

    assert names == found
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert obj["metadata"]["resourceVersion"] == version


async def test_the_version_of_the_end_bookmark_is_where_the_next_watch_starts(settings):
    await settings.create("a")
    async with settings.watching(**STREAMING_LIST) as events:
        _, bookmark = await events.until_bookmark(seconds=10)
    await settings.create("b")

    version = bookmark["metadata"]["resourceVersion"]
    async with settings.watching(resourceVersion=version) as events:
        [(type_, obj)] = await events.take(1)

    assert (type_, obj["metadata"]["name"]) == ("ADDED", "b")


@pytest.mark.parametrize(
    "query", [{"sendInitialEvents": "true"}, {"resourceVersionMatch": "NotOlderThan"}], ids=str
)
async def test_one_of_two_options_that_go_together_is_refused_alone(config_maps, query):
    assert (await config_maps.list(watch="1", **query)).refusal == (422, "Invalid")


@pytest.mark.parametrize(
    ("lasts", "least", "most"),
    [
        pytest.param("5", 0, 10, id="shortly before the end"),
        pytest.param("300", 30, 90, id="about once a minute", marks=pytest.mark.slow),
    ],
)
async def test_a_bookmark_comes_in_time(config_maps, lasts, least, most):
    start = await config_maps.version()
    loop = asyncio.get_running_loop()

    begun = loop.time()
    query = {"fieldSelector": "metadata.name=a", "resourceVersion": start, **BOOKMARKS}
    async with config_maps.watching(timeoutSeconds=lasts, **query) as events:
        # Without any change since its beginning, a watch may have no bookmarks.
        version = await config_maps.write("b")
        names, bookmark = await events.until_bookmark(seconds=most)

    assert names == set()
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(version)
    assert least < loop.time() - begun < most
