"""A reflector knows what the API server has, however it is told."""

import asyncio
import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from app.kube.mirror import Change
from tests.builders import document
from tests.fakes import Answer, Call, FakeApiServer, Fault, FaultKind, WatchGarbage
from tests.unit.app.kube.following import (
    LONGEST_PAUSE_SECONDS,
    PLURAL,
    broken_names,
    delete,
    event,
    failure,
    following,
    interrupted,
    is_list,
    is_plain_watch,
    put,
    recovered,
    verbs,
)

pytestmark = pytest.mark.looptime

PAGE_OBJECTS = 500
STREAMED = pytest.mark.parametrize("server", [True], indirect=True, ids=["streamed"])
PAGED = pytest.mark.parametrize("server", [False], indirect=True, ids=["paged"])


async def test_all_objects_are_known_at_once(server):
    async with following(server) as follower:
        reflector = follower.reflector
        before = (reflector.is_complete, reflector.heard_at, reflector.objects)
        await asyncio.sleep(0.1)

        assert before == (False, None, 0)
        assert (reflector.is_complete, reflector.objects, reflector.trouble) == (True, 3, "")
        assert follower.is_right
        assert follower.causes == []


async def test_changes_arrive_as_they_happen(server):
    async with following(server) as follower:
        await asyncio.sleep(1)
        put(server, "new")
        put(server, "a", size="2")
        delete(server, "b")
        put(server, "b", size="3")
        delete(server, "c")
        await asyncio.sleep(0.1)

        assert set(follower.known) == {"a", "b", "new"}
        assert follower.is_right
        assert follower.causes == []


@PAGED
async def test_many_objects_come_in_pages_and_may_change_between_them(server):
    put(server, *(f"vol-{number:04}" for number in range(1_200)))

    def change(call: Call) -> FaultKind | None:
        if call.query.get("continue"):
            delete(server, server.list(PLURAL)[0]["metadata"]["name"], "vol-0700")
            put(server, "late", "vol-0000", size="9")
            server.interfere = None
        return None

    server.interfere = change
    async with following(server) as follower:
        await asyncio.sleep(1)

        lists = [call for call in follower.calls if call.verb == "list"]
        assert [call.query.get("limit") for call in lists] == [str(PAGE_OBJECTS)] * 3
        assert follower.is_right
        assert "late" in follower.known


@PAGED
async def test_pages_that_outlive_their_version_are_done_without(server):
    """The first list breaks off; the next one comes in one piece; later ones in pages again."""
    put(server, *(f"vol-{number:04}" for number in range(600)))

    def compact(call: Call) -> FaultKind | None:
        if call.query.get("continue"):
            put(server, "late")
            server.compact()
        return None

    server.interfere = compact
    async with following(server) as follower:
        await asyncio.sleep(2)
        assert follower.is_right
        assert follower.causes == ["expired"]
        lists = [call for call in follower.calls if call.verb == "list"]
        assert [call.query.get("limit") for call in lists] == ["500", "500", None]

        server.interfere = None
        await interrupted(server, Fault(Answer(410), is_plain_watch))
        await recovered(follower, within_seconds=2 * LONGEST_PAUSE_SECONDS)
        lists = [call for call in follower.calls if call.verb == "list"]
        assert [call.query.get("limit") for call in lists[3:]] == ["500", "500"]


async def test_deletions_while_nobody_watched_are_noticed(server):
    async with following(server) as follower:
        await asyncio.sleep(1)
        with server.outage():
            delete(server, "a")
            put(server, "b", size="2")
            put(server, "d")
            server.compact()
            await asyncio.sleep(1)
        await asyncio.sleep(20)

        assert set(follower.known) == {"b", "c", "d"}
        assert follower.is_right
        assert follower.causes[0] == "connection"
        assert follower.causes.count("expired") == 1


async def test_watch_goes_on_from_where_it_broke(server):
    """No list: what happened meanwhile is told by the watch."""
    async with following(server) as follower:
        await asyncio.sleep(1)
        with server.outage():
            delete(server, "a")
            put(server, "d")
            await asyncio.sleep(2)
        lists = sum(map(is_list, follower.calls))
        await recovered(follower)

        assert sum(map(is_list, follower.calls)) == lists


async def test_bookmarks_tell_that_nothing_has_happened(server):
    async with following(server) as follower:
        for _ in range(120):
            await asyncio.sleep(30)
            assert follower.age_seconds <= 61

        assert follower.causes == []
        assert 6 <= len(follower.restarts) <= 12
        assert len(follower.calls) <= len(follower.restarts) + 4
        assert sum(map(is_list, follower.calls)) <= 2


async def test_bookmarks_move_the_version_on(server):
    """Other kinds have changed a lot, and the versions before the bookmark are gone."""
    async with following(server) as follower:
        await asyncio.sleep(1)
        server.put({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "x"}})
        await asyncio.sleep(70)
        server.compact()
        lists = sum(map(is_list, follower.calls))
        with server.outage():
            put(server, "d")
            await asyncio.sleep(1)
        await recovered(follower)

        assert sum(map(is_list, follower.calls)) == lists
        assert "expired" not in follower.causes


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(Answer(422, msgspec.json.encode(failure(422, "Invalid", "no"))), id="422"),
        pytest.param(
            WatchGarbage(event("ERROR", failure(500, "InternalError", "etcd is too old"))),
            id="etcd-too-old",
        ),
    ],
)
async def test_streamed_lists_not_offered_cost_nothing(kind):
    server = FakeApiServer(random.Random(1))
    put(server, "a", "b")
    server.faults.append(Fault(kind, lambda call: "sendInitialEvents" in call.query, times=None))
    async with following(server) as follower:
        await asyncio.sleep(0.1)

        assert follower.is_right
        assert follower.causes == []
        assert [call.verb for call in follower.calls] == ["watch", "list", "watch"]
        assert follower.calls[1].at - follower.calls[0].at < 0.01


async def test_streamed_lists_not_offered_are_not_asked_for_again():
    server = FakeApiServer(random.Random(1), streaming_lists=False)
    put(server, "a")
    async with following(server) as follower:
        await asyncio.sleep(1)
        for _ in range(3):
            with server.outage():
                put(server, "b")
                delete(server, "b")
                server.compact()
                await asyncio.sleep(1)
            await asyncio.sleep(20)

        assert sum("sendInitialEvents" in call.query for call in follower.calls) == 1
        assert verbs(follower.calls)["list"] == 4


async def test_broken_object_is_named_counted_and_mended(server):
    server.put(document("Volume", "odd", spec={"size": "x"}))
    async with following(server) as follower:
        await asyncio.sleep(0.1)
        assert broken_names(follower) == ["odd"]
        assert follower.reflector.unreadable == 1
        assert len(follower.known) == 4

        put(server, "odd")
        await asyncio.sleep(0.1)
        assert broken_names(follower) == []
        assert follower.reflector.unreadable == 0

        server.put(document("Volume", "a", spec=5))
        delete(server, "a")
        await asyncio.sleep(0.1)
        assert follower.reflector.unreadable == 0
        assert follower.is_right
        assert follower.causes == []


NAMELESS: list[Any] = [None, 5, [], {}, {"metadata": None}, {"metadata": {"name": ""}}]


@PAGED
async def test_objects_that_cannot_be_named_are_passed_over_and_counted(server):
    items = [*NAMELESS, document("Volume", "named", spec={"size": "1"})]
    page = {"kind": "VolumeList", "metadata": {"resourceVersion": "3"}, "items": items}
    listing = Fault(Answer(200, msgspec.json.encode(page)), is_list, times=None)
    server.faults.append(Fault(Answer(410), is_plain_watch, times=3))
    server.faults.append(Fault(Answer(422), lambda call: "sendInitialEvents" in call.query))
    server.faults.append(listing)
    async with following(server) as follower:
        await asyncio.sleep(30)
        assert verbs(follower.calls)["list"] == 4
        assert "named" in follower.known
        assert follower.reflector.unreadable == len(NAMELESS)

        listing.times = 0
        await interrupted(server, Fault(Answer(410), is_plain_watch))
        await recovered(follower)
        assert follower.reflector.unreadable == 0


@STREAMED
async def test_nameless_objects_of_a_streamed_list_are_counted_until_the_next(server):
    lines = b"".join(event("ADDED", each) for each in NAMELESS)
    server.faults.append(Fault(WatchGarbage(lines)))
    async with following(server) as follower:
        await asyncio.sleep(1)
        assert follower.reflector.unreadable == len(NAMELESS)

        await interrupted(server, Fault(Answer(410), is_plain_watch))
        await recovered(follower)
        assert follower.reflector.unreadable == 0


class Turns:
    """Another task: from a change on it counts its turns for a while, and then lets time pass."""

    def __init__(self) -> None:
        self.seen_at: list[int] = []
        """At which turn each batch of changes came."""
        self._turns = 0
        self._task: asyncio.Task[None] | None = None

    def note(self, changes: Sequence[Change]) -> None:
        if changes:
            self.seen_at.append(self._turns)
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._take())

    async def _take(self) -> None:
        for _ in range(500):
            self._turns += 1
            await asyncio.sleep(0)


@pytest.mark.parametrize("streaming_lists", [True, False], ids=["streamed", "paged"])
async def test_others_run_while_thousands_of_objects_come_change_and_go(
    streaming_lists,
):
    """Each time they are one piece: a list, events, and what the next list does not have."""
    server = FakeApiServer(random.Random(1), streaming_lists=streaming_lists)
    names = [f"vol-{number:04}" for number in range(1_000)]
    put(server, *names)
    turns = Turns()
    async with following(server, on_changes=turns.note) as follower:
        await asyncio.sleep(1)
        put(server, *names, size="2")
        await asyncio.sleep(1)
        with server.outage():
            delete(server, *names)
            server.compact()
        await asyncio.sleep(LONGEST_PAUSE_SECONDS)

        assert follower.is_right
        batches = [batch for batch in follower.batches if batch]
        assert [len(batch) for batch in batches] == [100] * 30
        assert all(later > earlier for earlier, later in pairwise(turns.seen_at))


async def test_cancelled_reflector_leaves_no_open_watch(server):
    async with following(server):
        await asyncio.sleep(1)
    await asyncio.sleep(1)

    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_after_an_outage_everything_is_listed_as_soon_as_the_version_is_found_too_old(server):
    """The pauses have grown long by then; but a server that says so is well."""
    async with following(server) as follower:
        await asyncio.sleep(1)
        with server.outage():
            put(server, "d")
            server.compact()
            await asyncio.sleep(20)
        begun = len(follower.calls)
        await recovered(follower, within_seconds=2 * LONGEST_PAUSE_SECONDS)

        refused, *listing = follower.calls[begun:]
        assert refused.verb == "watch"
        assert listing[0].at - refused.at <= 0.6
