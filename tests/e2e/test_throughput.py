"""Many pods at once, each with one claim, on nodes with room for a tenth more.

Everything runs on one small machine, so that figures are compared with those without the extender.
"""

import time
from collections.abc import Sequence
from statistics import median

from tests.actors import api as kinds
from tests.e2e.effort import FOR_REPORT, is_for_report
from tests.e2e.extender import PROBE
from tests.e2e.report import Report
from tests.e2e.scheduling import Scheduling
from tests.e2e.variants import CAPACITY, NODE, WITHOUT, Variant
from tests.e2e.waiting import until
from tests.e2e.workloads import stateful_set
from tests.e2e.world import Disks, World

TENTHS = 5 if is_for_report() else 1
"""The report has five times as many of everything."""
PODS = 60 * TENTHS
LIMIT_SECONDS = 120.0
"""Mode `node` does not get to the end of it."""


def _nodes() -> Sequence[Disks]:
    """Return nodes with room for six pods or seven, 6.6 on average."""
    return [{"disk": 750 if number % 5 < 3 else 650} for number in range(10 * TENTHS)]


async def test_all_are_placed_where_they_have_room(make_world, report):
    async with make_world(**CAPACITY.options) as world:
        if is_for_report():
            await _measure(world, report, WITHOUT)
        scheduling = await _measure(world, report, CAPACITY)

        assert scheduling.bound() == PODS
        await world.settle()
        assert world.seen.without_room() == 0
        assert world.seen.overcommitted_disks() == []
        await world.wipe()


@FOR_REPORT
async def test_mode_node_takes_one_after_another(make_world, report):
    async with make_world(**NODE.options) as world:
        scheduling = await _measure(world, report, NODE)

        assert scheduling.bound() > 0
        assert world.seen.overcommitted_disks() == []
        await world.wipe()


async def _measure(world: World, report: Report, variant: Variant) -> Scheduling:
    """Schedule the pods and say how that went; wiped is what was there before."""
    await world.wipe()
    await world.add_nodes(*_nodes())
    web = stateful_set("web", pods=PODS, extender=variant.extender)
    scheduling = await world.schedule((web, kinds.STATEFUL_SETS), pods=PODS)

    def is_over() -> bool:
        return scheduling.bound() == PODS or time.time() > scheduling.began + LIMIT_SECONDS

    await until(is_over, within=2 * LIMIT_SECONDS)
    attempts = await scheduling.attempts()
    bound_at = scheduling.bound_at()
    calls = [each for each in world.extender.calls(since=scheduling.began) if each.pod != PROBE]
    took = sorted(call.seconds for call in calls) or [0.0]
    report.measured(
        f"{PODS} pods on {len(_nodes())} nodes, {variant.name}",
        f"{len(bound_at)} bound within {bound_at[-1]:.1f} s, "
        f"{len(bound_at) / bound_at[-1]:.1f} pods/s; "
        f"{attempts / PODS:.2f} attempts and {len(calls) / PODS:.2f} calls a pod; "
        f"calls took {1000 * median(took):.0f} ms (median), {1000 * took[-1]:.0f} ms (longest)",
    )
    return scheduling
