"""A kind that clusters may do without: it is absent, comes, goes and comes back."""

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from app.kube.feed import Source
from app.kube.longhorn.resources import DISK_SCHEDULES as KIND
from tests.builders import document
from tests.fakes import (
    DISK_SCHEDULES,
    Answer,
    Call,
    FakeApiServer,
    Fault,
    Hang,
    LostAnswer,
    Refused,
)
from tests.unit.app.kube.following import NAMESPACE, Follower, following

pytestmark = pytest.mark.looptime

NOTICED_SECONDS = 31.0
"""Half a minute between two questions, and the time to read."""
MENDED_SECONDS = 9.0
"""The longest pause after a failure."""


def following_kind(server: FakeApiServer) -> AbstractAsyncContextManager[Follower]:
    return following(server, Source(resource=KIND, namespace=NAMESPACE))


def install(server: FakeApiServer, *names: str) -> None:
    """Install the definition, and objects of it."""
    server.add_resource(DISK_SCHEDULES)
    for name in names:
        server.put(document("DiskSchedule", name, spec={"name": "disk-1", "nodeID": "node-1"}))


def uninstall(server: FakeApiServer) -> None:
    server.remove_resource("longhorn.io", "diskschedules")
    server.compact()


def discovers(call: Call) -> bool:
    return not call.resource


def reads(call: Call) -> bool:
    return call.resource == "diskschedules"


@pytest.mark.parametrize(
    ("names", "may_ask", "may_read"),
    [
        pytest.param("", True, True, id="absent"),
        pytest.param("", True, False, id="absent-and-may-not-be-read"),
        pytest.param("", False, True, id="absent-which-only-its-objects-tell"),
        pytest.param("a", False, True, id="served-which-only-its-objects-tell"),
    ],
)
async def test_a_kind_is_complete_at_once_whether_served_or_absent(
    server, names, may_ask, may_read
):
    if names:
        install(server, *names)
    server.authorize = lambda call: may_read or not reads(call)
    server.faults = [] if may_ask else [Fault(Answer(403), discovers, None)]
    async with following_kind(server) as seen:
        await asyncio.sleep(1)

        reflector = seen.reflector
        assert (reflector.is_complete, reflector.trouble) == (True, "")
        assert seen.known.keys() == set(names)
        assert reflector.objects == len(names)
        assert reflector.is_absent is not bool(names)
        assert any(map(reads, server.calls)) is not may_ask


async def test_an_absent_kind_is_asked_for_twice_a_minute_and_is_never_old(server):
    async with following_kind(server) as seen:
        for _ in range(600):
            await asyncio.sleep(1)
            assert seen.age_seconds <= NOTICED_SECONDS

        assert 19 <= len(server.calls) <= 21
        assert seen.restarts == []


async def test_it_comes_goes_and_comes_back(server):
    async with following_kind(server) as seen:
        for names in ({"a", "b"}, {"b", "c"}):
            await asyncio.sleep(5)
            install(server, *sorted(names))
            await asyncio.sleep(NOTICED_SECONDS)
            assert seen.known.keys() == names
            assert not seen.reflector.is_absent

            uninstall(server)
            await asyncio.sleep(2)
            assert seen.known == {}
            assert seen.reflector.is_absent
            assert seen.reflector.is_complete

        assert seen.reflector.trouble == ""
        assert len(seen.restarts) <= 8


async def test_a_removed_kind_is_no_storm_of_errors(server):
    install(server, "a")
    async with following_kind(server) as seen:
        await asyncio.sleep(5)
        uninstall(server)
        before = len(server.calls)

        await asyncio.sleep(120)

        assert len(server.calls) - before <= 8
        assert len(seen.restarts) <= 2


@pytest.mark.parametrize(
    "kind",
    [Refused(), LostAnswer(), Hang(), Answer(500), Answer(200, b"<html>"), Answer(429)],
    ids=["refused", "lost", "hangs", "500", "html", "429"],
)
async def test_as_long_as_the_question_fails_what_is_known_stays(server, kind):
    install(server, "a")
    async with following_kind(server) as seen:
        await asyncio.sleep(5)
        server.faults = [Fault(kind, discovers, None)]
        with server.outage():
            await asyncio.sleep(0.1)
        await asyncio.sleep(60)
        assert seen.known.keys() == {"a"}
        assert seen.reflector.trouble != ""

        server.faults = []
        install(server, "b")
        await asyncio.sleep(MENDED_SECONDS + 12)

        assert (set(seen.known), seen.reflector.trouble) == ({"a", "b"}, "")


@pytest.mark.parametrize("kind", [Refused(), Answer(500)], ids=["refused", "500"])
async def test_without_an_answer_at_the_start_nothing_is_known(server, kind):
    server.faults = [Fault(kind, discovers, None)]
    async with following_kind(server) as seen:
        await asyncio.sleep(60)
        assert not seen.reflector.is_complete

        server.faults = []
        await asyncio.sleep(MENDED_SECONDS)

        assert seen.reflector.is_complete


async def test_one_stray_404_of_the_objects_takes_nothing_away(server):
    install(server, "a")
    async with following_kind(server) as seen:
        await asyncio.sleep(5)
        server.faults = [Fault(Answer(404), reads, 1)]
        with server.outage():
            await asyncio.sleep(0.1)
        for _ in range(100):
            await asyncio.sleep(0.1)
            assert seen.known.keys() == {"a"}

        assert seen.reflector.trouble == ""


async def test_a_kind_that_may_not_be_read_is_trouble_until_it_is_gone(server):
    install(server, "a")
    server.authorize = lambda call: not reads(call)
    async with following_kind(server) as seen:
        await asyncio.sleep(60)
        assert not seen.reflector.is_complete
        assert seen.reflector.trouble.startswith("403: ")

        uninstall(server)
        await asyncio.sleep(MENDED_SECONDS)

        assert (seen.reflector.is_complete, seen.reflector.trouble) == (True, "")
