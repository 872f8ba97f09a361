"""The played Longhorn against recorded runs of Longhorn's own volume controllers.

In a trace with room for all, every volume of the play lives as in the trace, line by line, with
the same nodes. Where rooms are short it depends on late figures, and on which of several equal
disks is taken, how many replicas find a place. There each life of the play must be one that was
recorded of such a volume, and each recorded one must be seen. As chance decides, some seeds may be
tried; the choice of a disk itself is compared with Longhorn's in `unit/longhorn/test_vectors.py`.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from statistics import median

import pytest

from tests import traces
from tests.unit.actors.lives import Grain, Life, lives
from tests.unit.actors.replay import Scenario, play, scenario
from tests.unit.actors.world import VIRTUAL_TIME

SHORT_OF_ROOM = (
    "goal-1a-none",
    "goal-1b-none",
    "goal-1b-strict-none",
    "lives-no-room-best-effort",
    "lives-no-room-disabled",
    "lives-no-room-strict-local",
    "n3-disabled-extender",
    "n3-disabled-none",
    "n3-even-extender",
    "n3-even-none",
    "several-disks-none",
)
SEEDS = range(1, 25)

SECONDS = {
    "created -> detached": (0.46, 3.55),
    "created -> placed": (0.20, 2.83),
    "nodeID -> placed": (0.00, 1.00),
    "nodeID -> attached": (0.49, 2.89),
    "no nodeID -> detached": (0.81, 0.87),
    "placed -> listed": (0.05, 3.04),
}
"""Least and most seconds of each delay in all traces. Detachments are four only. The most are the
machine's: the more volumes at a time, the slower were all of them."""
TOLERANCE_SECONDS = 0.25


@cache
def recorded(name: str) -> Scenario:
    return scenario(traces.read(name))


@cache
def known_coarse() -> dict[tuple[int, str], set[tuple[str, ...]]]:
    """Return all recorded lives by the volume's kind."""
    found: dict[tuple[int, str], set[tuple[str, ...]]] = {}
    for name in traces.names():
        for life in lives(recorded(name).of_longhorn(), Grain.COARSE).values():
            found.setdefault(life.kind, set()).add(life.lines)
    return found


def all_delays(found: Sequence[Life]) -> dict[str, list[float]]:
    delays: dict[str, list[float]] = {}
    for life in found:
        for name, seconds in life.delays:
            delays.setdefault(name, []).append(seconds)
    return delays


def unlike(volume: str, expected: Sequence[str], found: Sequence[str]) -> list[str]:
    """Say at which line two lives part."""
    for number, (one, other) in enumerate(zip(expected, found, strict=False), 1):
        if one != other:
            return [f"{volume}, line {number}: recorded {one!r}, played {other!r}"]
    if len(expected) == len(found):
        return []
    return [f"{volume}: recorded {len(expected)} lines, played {len(found)}: {found[-1]!r}"]


def slow_or_quick(found: Sequence[Life]) -> list[str]:
    """Name the delays whose median is not within what was recorded."""
    return [
        f"{name}: median {median(seconds):.2f} s, recorded {least} to {most} s"
        for name, seconds in all_delays(found).items()
        for least, most in (SECONDS[name],)
        if not least - TOLERANCE_SECONDS <= median(seconds) <= most + TOLERANCE_SECONDS
    ]


async def differences(name: str) -> list[str]:
    """Play a trace with room for all until the play is like it; else the least that differs."""
    expected = lives(recorded(name).of_longhorn())
    tries = []
    for seed in SEEDS:
        found = lives(await play(name, recorded(name), seed=seed))
        differing = slow_or_quick([*found.values()])
        for volume, life in expected.items():
            differing += unlike(volume, life.lines, found[volume].lines)
        if not differing:
            return []
        tries.append(differing)
    return min(tries, key=len)


async def coarse_differences(name: str) -> list[str]:
    """Play a trace with little room until all its ways of life were seen."""
    missing = {each.lines for each in lives(recorded(name).of_longhorn(), Grain.COARSE).values()}
    for seed in SEEDS:
        events = await play(name, recorded(name), seed=seed)
        found = [*lives(events, Grain.COARSE).values()]
        strange = [each for each in found if each.lines not in known_coarse()[each.kind]]
        differing = slow_or_quick(found) + [f"never recorded: {each.lines}" for each in strange]
        if differing:
            return [f"seed {seed}: {each}" for each in differing]
        missing -= {each.lines for each in found}
        if not missing:
            return []
    return [f"never played: {each}" for each in missing]


@VIRTUAL_TIME
@pytest.mark.parametrize("name", traces.names())
async def test_volumes_live_as_recorded(name):
    compare = coarse_differences if name in SHORT_OF_ROOM else differences

    assert "\n".join(await compare(name)) == ""


def test_the_delays_are_those_of_the_traces(summarise):
    found = [
        life for name in traces.names() for life in lives(recorded(name).of_longhorn()).values()
    ]

    for name, seconds in all_delays(found).items():
        assert (round(min(seconds), 2), round(max(seconds), 2)) == SECONDS[name]
        summarise(f"recorded {name}: median {median(seconds):.2f} s of {len(seconds)}")


def test_all_traces_are_there():
    found = Counter(name.split("-")[0] for name in traces.names())

    assert found == {"goal": 8, "lives": 13, "n2": 2, "n3": 4, "several": 2}
