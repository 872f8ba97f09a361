"""No stretch of work is longer than its bound, counted in steps: the same on every machine.

What an instance does without giving way is one piece of catching up, or one answer. On the worst
day hundreds of replicas are due, and most of them find no place.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from app.settings import Settings
from extender import ClusterView, Extender
from extender.holds import Asked, Timeouts
from extender.work import Work
from longhorn import Locality, Node, NodeName
from tests.builders import GIB, bound, disk, node, pod, replica, view_of, volume

NOW = datetime(2026, 8, 20, 12, 0, tzinfo=UTC)
NODES = 300
MOST_IN_A_PIECE = 4_000
"""One piece of catching up, and what was begun when its steps were over: one volume's search."""
MOST_IN_AN_ANSWER = 10_000
"""All of `request_step_limit`, and what was begun then."""
TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
ASKED = [volume(name, size_bytes=size * GIB) for name, size in (("one", 5), ("two", 60))]


def test_a_budget_is_over_once_its_last_step_is_taken():
    work = Work(2)

    work.spend(1)
    assert not work.is_over
    work.spend(1)
    assert work.is_over


def hosts(count: int, *sizes_gib: int, down: str = "") -> list[Node]:
    """Build nodes in three zones; those of one are down."""
    return [
        node(
            f"node-{number}",
            *(
                disk(f"disk-{n}", uuid=f"{number}-{n}", maximum_bytes=size * GIB)
                for n, size in enumerate(sizes_gib)
            ),
            zone=(zone := "abc"[number % 3]),
            ready=zone != down,
        )
        for number in range(count)
    ]


def new(count: int, *sizes_gib: int, locality: Locality = Locality.DISABLED) -> Iterator[AnyRecord]:
    """Build volumes of three replicas of which none is placed."""
    for number in range(count):
        size = sizes_gib[number % len(sizes_gib)] * GIB + number
        at = None if locality is Locality.DISABLED else f"node-{number % NODES}"
        yield volume(f"new-{number}", size_bytes=size, locality=locality, replicas=3, node=at)


def degraded(count: int) -> Iterator[AnyRecord]:
    """Build volumes with a replica in each zone; that in zone a failed half an hour ago."""
    for number in range(count):
        name, first = f"old-{number}", 3 * (number % (NODES // 3))
        at = f"node-{first + 1}"
        yield replace(
            volume(name, size_bytes=10 * GIB, actual_bytes=GIB + number, replicas=3),
            node=NodeName(at),
            attached_to=NodeName(at),
            degraded=True,
            degraded_at=NOW - timedelta(minutes=30),
        )
        for offset in range(3):
            on = first + offset
            made = replica(f"{name}-r-{offset}", of=name, on=f"node-{on}", size_bytes=10 * GIB)
            yield replace(made, disk=f"{on}-0", failed=offset == 0)


DAYS = {
    "room-for-all": [*hosts(NODES, 500, 500, 500), *new(300, 10, 20, 30)],
    "room-for-some": [*hosts(NODES, 100, 50, 70), *new(500, 60, 61, 62)],
    "room-for-none": [*hosts(NODES, 100, 50, 70), *new(500, 200)],
    "local-ones": [*hosts(NODES, 100, 50), *new(300, 40, 60, locality=Locality.BEST_EFFORT)],
    "a-zone-is-down": [*hosts(NODES, 400, 400, down="a"), *degraded(1_000)],
}


def view_on(records: Iterable[AnyRecord]) -> ClusterView:
    return view_of(*records, *(each for asked in ASKED for each in bound(asked)))


def caught_up(extender: Extender, view: ClusterView) -> int:
    """Catch up; return the steps of the longest piece."""
    longest = 0
    for _ in range(10_000):
        is_done = extender.catch_up(view, 0.0, NOW)
        longest = max(longest, extender.steps)
        if is_done:
            return longest
    raise AssertionError("it never ends")


@pytest.mark.parametrize("records", DAYS.values(), ids=DAYS)
def test_no_stretch_is_longer_than_its_bound(records):
    view, extender = view_on(records), Extender(Settings().step_limits)
    names = [*view.spaces]
    pieces, answers = [caught_up(extender, view)], []
    for number in range(6):
        asked = pod("one", "two", name=f"pod-{number}")
        answer = extender.filter(asked, names, view, 0.0, NOW)
        answers.append(extender.steps)
        extender.hold(answer, Asked(), timeouts=TIMEOUTS, now=0.0)
        extender.prioritize(asked, answer.accepted, view, 0.0, NOW)
        pieces.append(caught_up(extender, view))

    assert max(pieces) <= MOST_IN_A_PIECE
    assert max(answers) <= MOST_IN_AN_ANSWER


def test_an_answer_says_that_its_work_was_over():
    view = view_on(DAYS["room-for-some"])
    limits = Settings(request_step_limit=1).step_limits
    names = [*view.spaces]

    cut_short = Extender(limits).filter(pod("two"), names, view, 0.0, NOW)
    whole = Extender(Settings().step_limits).filter(pod("one"), names, view, 0.0, NOW)

    assert (cut_short.is_cut_short, whole.is_cut_short) == (True, False)
