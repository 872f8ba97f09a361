"""Many pods at once on many nodes: how long it takes with and without the extender, and why.

Only the report has them. Everything runs on one small machine, so figures are compared with
those without the extender. Each pod has a volume to be beside it. How many may lose their room to
others is in `_MOST`: none but where disks are nearly full, however long Longhorn takes.
"""

import time
from collections import defaultdict
from collections.abc import Mapping

import pytest

from tests.e2e.calls import Call
from tests.e2e.crowd import Crowd, Placements, PodTimes, described, start, times_of
from tests.e2e.effort import FOR_REPORT
from tests.e2e.extender import PROBE
from tests.e2e.report import Report
from tests.e2e.variants import CAPACITY, WITHOUT, Variant
from tests.e2e.waiting import until
from tests.e2e.whole_volumes import DELAYS_HERE
from tests.e2e.world import World

CROWDS = [
    Crowd(pods=pods, nodes=nodes, replicas=replicas, percent=percent)
    for pods, nodes in ((30, 10), (300, 100), (1_000, 300))
    for replicas in (1, 3)
    for percent in (50, 90)
]
LIMIT_SECONDS = 900.0
_MOST = {50: (0.0, 0.0), 90: (0.03, 0.05)}
"""By how full disks are in the end, which shares of the pods may lack room on their node, and be on
a disk beyond its limit: Longhorn chooses by figures that lag."""


@FOR_REPORT
@pytest.mark.parametrize("crowd", CROWDS, ids=str)
async def test_a_crowd_is_bound_where_it_has_room(make_world, report, crowd):
    async with make_world(delays=DELAYS_HERE) as world:
        without = await _measured(world, report, crowd, WITHOUT)
        within = await _measured(world, report, crowd, CAPACITY)
        report.measured(
            f"{crowd}: pods bound a second",
            f"{within:.1f} with the extender, {without:.1f} without: {within / without:.2f} x",
        )


async def _measured(world: World, report: Report, crowd: Crowd, variant: Variant) -> float:
    """Schedule the crowd once; return how many pods were bound a second."""
    placements = Placements(world)
    before = _cpu(world)
    scheduling = await start(world, crowd, extender=variant.extender)
    await scheduling.all_bound(within=LIMIT_SECONDS)
    taken = {name: seconds - before.get(name, 0.0) for name, seconds in _cpu(world).items()}
    await until(lambda: not world.seen.unsettled(), within=LIMIT_SECONDS)
    calls = _calls(world, scheduling.began)
    times = times_of(world, placements, scheduling.began, calls)
    last = max(each.bound for each in times)
    report.measured(f"{crowd}, {variant}", _figures(world, crowd, times, calls))
    report.measured(
        f"{crowd}, {variant}: seconds of processors",
        ", ".join(f"{name} {taken[name]:.1f}" for name in sorted(taken)),
    )
    if variant.extender:
        may_lack, may_be_beyond = _MOST[crowd.percent] if crowd.replicas > 1 else (0, 0)
        assert world.seen.without_room(local_only=True) <= may_lack * crowd.pods
        assert len(world.seen.overcommitted_disks()) <= may_be_beyond * crowd.pods
    await world.wipe()
    return crowd.pods / last


def _figures(
    world: World, crowd: Crowd, times: list[PodTimes], calls: Mapping[str, list[Call]]
) -> str:
    every = [call for each in calls.values() for call in each]
    last = max(each.bound for each in times)
    return (
        f"all bound within {last:.1f} s, {crowd.pods / last:.1f} pods/s; "
        f"{len(every) / crowd.pods:.2f} calls a pod, "
        f"{sum(not call.accepted for call in every)} without a node, the longest "
        f"{1000 * max((call.seconds for call in every), default=0.0):.0f} ms; {described(times)}; "
        f"without room: {world.seen.without_room()}, elsewhere: {world.seen.elsewhere()}, "
        f"disks beyond their limit: {len(world.seen.overcommitted_disks())}"
    )


def _cpu(world: World) -> dict[str, float]:
    """Return the seconds of processors that all have taken until now; what is played is us."""
    instances = sum(each.process.cpu_seconds for each in world.extender.instances)
    own = {"extender": instances, "all that is played": time.process_time()}
    return world.control_plane.cpu_seconds() | own


def _calls(world: World, began: float) -> dict[str, list[Call]]:
    """Return the calls about each pod by its name, in their order."""
    found = defaultdict[str, list[Call]](list)
    for call in world.extender.calls(since=began):
        if call.pod != PROBE:
            found[call.pod.rpartition("/")[2]].append(call)
    return found
