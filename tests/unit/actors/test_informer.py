"""The cache of objects: what it holds, and what its handlers are told."""

import asyncio

import pytest

from tests.actors.api import CLAIMS, PODS, Informer, Key, Object
from tests.fakes import (
    Answer,
    Call,
    CutAnswer,
    Fault,
    FaultKind,
    Refused,
    WatchCut,
    WatchEndsAtOnce,
)
from tests.unit.actors.bench import Bench, settle
from tests.unit.actors.world import VIRTUAL_TIME

pytestmark = VIRTUAL_TIME

SOON_SECONDS = 1.0


def claim(name: str, mark: str = "", namespace: str = "default") -> Object:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"volumeName": mark}}


class Told(list[tuple[str, str | None, str | None]]):
    """What a handler is told: the name, and the marks before and after; None if not there."""

    def __init__(self, informer: Informer) -> None:
        super().__init__()
        informer.handlers.append(self.hear)

    def hear(self, old: Object | None, new: Object | None) -> None:
        found = old or new
        assert found is not None
        self.append((found["metadata"]["name"], _mark(old), _mark(new)))

    def news(self) -> list[tuple[str, str | None, str | None]]:
        """Return what was told since the last time, by name."""
        news = sorted(self, key=lambda each: each[0])
        self.clear()
        return news


def _mark(obj: Object | None) -> str | None:
    return None if obj is None else str(obj["spec"]["volumeName"])


def marks(informer: Informer) -> dict[str, str | None]:
    return {key.name: _mark(obj) for key, obj in informer.objects.items()}


def is_watch(call: Call) -> bool:
    return call.verb == "watch"


async def test_what_is_there_and_what_comes_later_is_known() -> None:
    bench = Bench()
    informer = bench.informer(CLAIMS)
    bench.put(CLAIMS, claim("a", "1"))
    async with bench.running():
        bench.put(CLAIMS, claim("b", "2"))
        bench.put(CLAIMS, claim("a", "3"))
        bench.put(PODS, {"metadata": {"name": "other", "namespace": "default"}})
        await settle()

        assert marks(informer) == {"a": "3", "b": "2"}
        assert informer.get("b", "default") == informer.objects[Key("default", "b")]
        assert informer.get("b") is None


async def test_handlers_see_what_was_and_what_is() -> None:
    bench = Bench()
    informer = bench.informer(CLAIMS)
    told, second = Told(informer), Told(informer)
    bench.put(CLAIMS, claim("a", "1"))
    async with bench.running():
        assert told.news() == [("a", None, "1")]

        bench.put(CLAIMS, claim("a", "2"))
        await settle()
        assert told.news() == [("a", "1", "2")]

        bench.server.delete("persistentvolumeclaims", "a", "default")
        await settle()
        assert told.news() == [("a", "2", None)]
        assert informer.objects == {}
        assert second == [("a", None, "1"), ("a", "1", "2"), ("a", "2", None)]


async def test_objects_of_one_name_in_two_namespaces_are_two() -> None:
    bench = Bench()
    informer = bench.informer(CLAIMS)
    async with bench.running():
        for namespace in ("one", "two"):
            bench.put(CLAIMS, claim("a", namespace, namespace))
        bench.server.delete("persistentvolumeclaims", "a", "one")
        await settle()

        assert list(informer.objects) == [Key("two", "a")]


async def test_an_informer_of_a_namespace_knows_no_other() -> None:
    bench = Bench()
    informer = Informer(bench.api, CLAIMS, "one")
    async with bench.running(informer):
        for namespace in ("one", "two"):
            bench.put(CLAIMS, claim("a", namespace, namespace))
        await settle()

        assert list(informer.objects) == [Key("one", "a")]


async def test_bookmarks_are_no_objects() -> None:
    bench = Bench(bookmark_seconds=1.0)
    informer = bench.informer(CLAIMS)
    told = Told(informer)
    bench.put(CLAIMS, claim("a", "1"))
    async with bench.running():
        told.clear()
        await asyncio.sleep(30)

        assert (marks(informer), told.news()) == ({"a": "1"}, [])


async def test_nothing_is_told_when_a_watch_ends_in_its_time() -> None:
    bench = Bench()
    informer = bench.informer(CLAIMS)
    told = Told(informer)
    bench.put(CLAIMS, claim("a", "1"))
    async with bench.running():
        told.clear()
        await asyncio.sleep(1000)
        assert told.news() == []

        bench.put(CLAIMS, claim("a", "2"))
        await settle()
        assert told.news() == [("a", "1", "2")]


@pytest.mark.parametrize("compacted", [False, True])
async def test_after_a_break_all_is_made_up_for(*, compacted: bool) -> None:
    bench = Bench()
    informer = bench.informer(CLAIMS)
    told = Told(informer)
    for name in ("changed", "deleted", "same"):
        bench.put(CLAIMS, claim(name, "1"))
    async with bench.running():
        told.clear()
        with bench.server.outage():
            bench.put(CLAIMS, claim("changed", "2"))
            bench.server.delete("persistentvolumeclaims", "deleted", "default")
            bench.put(CLAIMS, claim("new", "2"))
            await asyncio.sleep(30)
            assert told.news() == []
            if compacted:
                bench.server.compact()
        await asyncio.sleep(SOON_SECONDS)

        assert told.news() == [("changed", "1", "2"), ("deleted", "1", None), ("new", None, "2")]
        assert marks(informer) == {"changed": "2", "same": "1", "new": "2"}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Refused(), id="refused"),
        pytest.param(WatchCut(), id="cut"),
        pytest.param(WatchCut(after_events=1), id="cut-after-an-event"),
        pytest.param(WatchEndsAtOnce(), id="ends-at-once"),
        pytest.param(Answer(429), id="too-many-requests"),
        pytest.param(Answer(503), id="unavailable"),
        pytest.param(Answer(410), id="gone"),
        pytest.param(
            Answer(200, b'{"type":"ERROR","object":{"kind":"Status","code":410}}\n'),
            id="too-old",
        ),
    ],
)
async def test_a_watch_that_fails_is_begun_anew(fault: FaultKind) -> None:
    bench = Bench()
    informer = bench.informer(CLAIMS)
    told = Told(informer)
    bench.server.faults.append(Fault(fault, is_watch, times=3))
    async with bench.running():
        for number in range(10):
            bench.put(CLAIMS, claim("a", str(number)))
            await asyncio.sleep(SOON_SECONDS)

        assert marks(informer) == {"a": "9"}
        assert told[-1] == ("a", "8", "9")
        assert bench.server.faults[0].times == 0


@pytest.mark.parametrize("fault", [Refused(), Answer(500), CutAnswer()])
async def test_a_list_that_fails_is_asked_for_again(fault: FaultKind) -> None:
    bench = Bench()
    informer = bench.informer(CLAIMS)
    bench.put(CLAIMS, claim("a", "1"))
    bench.server.faults.append(Fault(fault, lambda call: call.verb == "list", times=3))

    async with bench.running():
        assert marks(informer) == {"a": "1"}
