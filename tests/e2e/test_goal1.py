"""Charter, goal 1, without the extender: what kube-scheduler does with a burst of pods by itself.

This is the baseline. With the extender the case needs promises that are kept between an answer and
the moment when Longhorn's objects show it.
"""

from tests.actors import api as kinds
from tests.e2e.conftest import MakeWorld
from tests.e2e.outcome import Outcome
from tests.e2e.report import NO_EXTENDER, Report
from tests.e2e.workloads import stateful_set
from tests.e2e.world import World

NODES = ("node-1", "node-2", "node-3", "node-4")
RUNS = 10
PODS = 16


async def _place(world: World, *disks: int) -> Outcome:
    await world.add_nodes(*[{"disk": gib} for gib in disks])
    scheduling = await world.schedule(
        (stateful_set("web", pods=PODS, extender=False), kinds.STATEFUL_SETS), pods=PODS
    )
    outcome = await scheduling.outcome()
    await world.wipe()
    return outcome


async def test_1b_volumes_have_no_room_where_their_pods_are(
    make_world: MakeWorld, report: Report
) -> None:
    """Disks of 800, 400, 200 and 200 GiB: only 8/4/2/2 is right."""
    async with make_world(replicas=1) as world:
        for _ in range(RUNS):
            outcome = await _place(world, 800, 400, 200, 200)

            report.run("goal 1b: 800/400/200/200 GiB", NO_EXTENDER, NODES, outcome)
            assert outcome.without_room > 0
            # Longhorn puts them on other nodes, or beyond the limit of a disk it has not seen fill.
            assert outcome.elsewhere or outcome.overcommitted_disks


async def test_1a_is_reported_as_it_is(make_world: MakeWorld, report: Report) -> None:
    """Four disks of 400 GiB: the default spreading of pods happens to fill them evenly."""
    async with make_world(replicas=1) as world:
        for _ in range(RUNS):
            outcome = await _place(world, 400, 400, 400, 400)

            report.run("goal 1a: 4 x 400 GiB", NO_EXTENDER, NODES, outcome)
            assert sum(outcome.placement.values()) == PODS
