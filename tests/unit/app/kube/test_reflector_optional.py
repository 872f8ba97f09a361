"""A kind that clusters may do without: it is absent, comes, goes and comes back."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from app.kube.connection import Connection
from app.kube.feed import Source
from app.kube.longhorn.resources import DISK_SCHEDULES as KIND
from app.kube.mirror import Change
from app.kube.reflector import Reflector
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

pytestmark = pytest.mark.looptime

NAMESPACE = "longhorn-system"
NOTICED_SECONDS = 31.0
"""Half a minute between two questions, and the time to read."""
MENDED_SECONDS = 9.0
"""The longest pause after a failure."""


class Seen:
    """What a reflector tells of: the names that there are, and its restarts."""

    def __init__(self, connection: Connection) -> None:
        self.names: set[str] = set()
        self.restarts: list[str] = []
        self.reflector = Reflector(
            connection,
            Source(resource=KIND, namespace=NAMESPACE),
            on_changes=self.take,
            on_restart=self.restarts.append,
            clock=asyncio.get_running_loop().time,
            random=random.Random(1),
        )

    def take(self, changes: Sequence[Change]) -> None:
        for old, new in changes:
            self.names -= {str(getattr(old, "name", ""))}
            self.names |= {str(getattr(new, "name", ""))}
        self.names.discard("")

    @property
    def age_seconds(self) -> float:
        assert self.reflector.heard_at is not None
        return asyncio.get_running_loop().time() - self.reflector.heard_at


@asynccontextmanager
async def following(server: FakeApiServer) -> AsyncIterator[Seen]:
    async with server.client("us") as client:
        seen = Seen(Connection(client))
        task = asyncio.create_task(seen.reflector.run())
        try:
            yield seen
            assert not task.done(), "the reflector has stopped"
        finally:
            task.cancel()
            await asyncio.wait([task])


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


async def test_a_kind_that_is_not_served_is_complete_and_empty(server):
    async with following(server) as seen:
        await asyncio.sleep(1)

        reflector = seen.reflector
        assert (reflector.is_complete, reflector.objects, reflector.trouble) == (True, 0, "")
        assert reflector.is_absent
        assert not any(reads(call) for call in server.calls)


async def test_an_absent_kind_is_asked_for_twice_a_minute_and_is_never_old(server):
    async with following(server) as seen:
        for _ in range(600):
            await asyncio.sleep(1)
            assert seen.age_seconds <= NOTICED_SECONDS

        assert 19 <= len(server.calls) <= 21
        assert seen.restarts == []


async def test_it_comes_goes_and_comes_back(server):
    async with following(server) as seen:
        for names in ({"a", "b"}, {"b", "c"}):
            await asyncio.sleep(5)
            install(server, *sorted(names))
            await asyncio.sleep(NOTICED_SECONDS)
            assert seen.names == names
            assert not seen.reflector.is_absent

            uninstall(server)
            await asyncio.sleep(2)
            assert seen.names == set()
            assert seen.reflector.is_absent
            assert seen.reflector.is_complete

        assert seen.reflector.trouble == ""
        assert len(seen.restarts) <= 8


async def test_a_removed_kind_is_no_storm_of_errors(server):
    install(server, "a")
    async with following(server) as seen:
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
    async with following(server) as seen:
        await asyncio.sleep(5)
        server.faults = [Fault(kind, discovers, None)]
        with server.outage():
            await asyncio.sleep(0.1)
        await asyncio.sleep(60)
        assert seen.names == {"a"}
        assert seen.reflector.trouble != ""

        server.faults = []
        install(server, "b")
        await asyncio.sleep(MENDED_SECONDS + 12)

        assert (seen.names, seen.reflector.trouble) == ({"a", "b"}, "")


@pytest.mark.parametrize("kind", [Refused(), Answer(500)], ids=["refused", "500"])
async def test_without_an_answer_at_the_start_nothing_is_known(server, kind):
    server.faults = [Fault(kind, discovers, None)]
    async with following(server) as seen:
        await asyncio.sleep(60)
        assert not seen.reflector.is_complete

        server.faults = []
        await asyncio.sleep(MENDED_SECONDS)

        assert seen.reflector.is_complete


async def test_one_stray_404_of_the_objects_takes_nothing_away(server):
    install(server, "a")
    async with following(server) as seen:
        await asyncio.sleep(5)
        server.faults = [Fault(Answer(404), reads, 1)]
        with server.outage():
            await asyncio.sleep(0.1)
        for _ in range(100):
            await asyncio.sleep(0.1)
            assert seen.names == {"a"}

        assert seen.reflector.trouble == ""


async def test_a_kind_that_may_not_be_read_is_trouble_until_it_is_gone(server):
    install(server, "a")
    server.authorize = lambda call: not reads(call)
    async with following(server) as seen:
        await asyncio.sleep(60)
        assert not seen.reflector.is_complete
        assert seen.reflector.trouble.startswith("403: ")

        uninstall(server)
        await asyncio.sleep(MENDED_SECONDS)

        assert (seen.reflector.is_complete, seen.reflector.trouble) == (True, "")


async def test_without_the_right_to_it_an_absent_kind_is_absent(server):
    server.authorize = lambda call: not reads(call)
    async with following(server) as seen:
        await asyncio.sleep(1)

        assert (seen.reflector.is_complete, seen.reflector.trouble) == (True, "")


@pytest.mark.parametrize("is_installed", [True, False], ids=["served", "absent"])
async def test_where_nobody_may_ask_what_is_served_the_objects_tell(server, *, is_installed):
    if is_installed:
        install(server, "a")
    server.faults = [Fault(Answer(403), discovers, None)]
    async with following(server) as seen:
        await asyncio.sleep(1)

        assert (seen.reflector.is_complete, seen.reflector.trouble) == (True, "")
        assert seen.names == ({"a"} if is_installed else set())
