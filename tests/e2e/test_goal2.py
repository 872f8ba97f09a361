"""Charter, goal 2: a pod whose claims fit together on one node only.

Node 1 has one disk of 100 GiB, node 2 has two, and so on; the pod has four claims of 100 GiB.
"""

import pytest

from tests.e2e.cases import place_four_claims
from tests.e2e.effort import is_for_report, runs
from tests.e2e.lending import ONE_LOOP
from tests.e2e.outcome import Outcome
from tests.e2e.report import EXTENDER, NO_EXTENDER

pytestmark = ONE_LOOP

NODES = ("node-1", "node-2", "node-3", "node-4")
CASE = "goal 2: four claims"
RUNS = 10


async def test_without_the_extender_it_goes_where_its_claims_do_not_fit(share_world, report):
    """By chance it goes to the right node now and then."""
    outcomes: list[Outcome] = []
    async with share_world() as world:
        while len(outcomes) < RUNS and (is_for_report() or not any(map(is_wrong, outcomes))):
            outcomes.append(await place_four_claims(world, extender=False))

    for outcome in outcomes:
        report.run(CASE, NO_EXTENDER, NODES, outcome)
    assert any(map(is_wrong, outcomes))
    assert all(outcome.without_room > 0 for outcome in outcomes if is_wrong(outcome))


def is_wrong(outcome: Outcome) -> bool:
    return outcome.placement != {"node-4": 1}


@pytest.mark.parametrize("node_cache_capable", [pytest.param(True, marks=pytest.mark.gate), False])
async def test_with_the_extender_it_goes_to_the_node_with_four_disks(
    share_world, report, *, node_cache_capable
):
    async with share_world(nodeCacheCapable=node_cache_capable) as world:
        for _ in range(runs(3, report=RUNS) if node_cache_capable else runs(1, report=3)):
            outcome = await place_four_claims(world, extender=True)

            report.run(CASE, EXTENDER[node_cache_capable], NODES, outcome)
            assert outcome.placement == {"node-4": 1}
            assert outcome.without_room == 0


async def test_its_disks_are_not_overfilled_if_longhorn_is_up_to_date(share_world, report):
    async with share_world(stale=False) as world:
        for _ in range(runs(2, report=3)):
            outcome = await place_four_claims(world, extender=True)

            report.run(CASE, f"{EXTENDER[True]}; Longhorn up to date", NODES, outcome)
            assert outcome.placement == {"node-4": 1}
            assert (outcome.elsewhere, outcome.overcommitted_disks) == (0, 0)
