"""With `pack` a volume that nearly fills a small disk goes there, and a large one stays whole.

From Kubernetes 1.37 on kube-scheduler itself gives up to 100 points for free storage. `pack` gives
up to 200 to a pod without data, and in the second scheduler's profile nothing is given against it.
"""

import pytest

from app.settings import Settings
from cli.scheduler_config.wanted import DEFAULT_SCHEDULER, without_capacity_score
from extender import Balance
from longhorn import CAPACITY_TRACKING
from planner.policy import TODAY_POLICY
from tests.actors import api as kinds
from tests.e2e.lending import ONE_LOOP
from tests.e2e.planning import Planning
from tests.e2e.waiting import until
from tests.e2e.workloads import claim, pod
from tests.e2e.world import World

pytestmark = [ONE_LOOP, pytest.mark.gate]

TIGHT = "node-2"
SIZES = ({"disk": 1000}, {"disk": 60})
OBJECTS = [(claim("data", "59Gi"), kinds.CLAIMS), (pod("web", "data"), kinds.PODS)]
PACK = {"balance": Balance.PACK}
BOUND_SECONDS = 60.0


async def taken(world: World) -> str:
    """Create the pod, and return its node."""
    await (await world.schedule(*OBJECTS, pods=1)).outcome()
    await until(lambda: world.seen.is_running("web"), within=BOUND_SECONDS)
    return world.seen.node_of()["web"]


async def test_without_points_for_free_storage_it_goes_to_the_small_disk(share_world, report):
    profile = without_capacity_score(DEFAULT_SCHEDULER)
    async with share_world(settings=PACK, profiles=[profile]) as world:
        await world.add_nodes(*SIZES)

        found = await taken(world)

        report.measured("59 GiB, disks of 1,000 and 60, pack, VolumeBinding without score", found)
        assert found == TIGHT


async def test_with_them_it_goes_where_the_plan_says(share_world, report, tmp_path):
    async with share_world(settings=PACK) as world:
        await world.add_nodes(*SIZES)
        await world.set_longhorn(CAPACITY_TRACKING, "true")
        planning = Planning(world, tmp_path, Settings(balance=Balance.PACK))
        try:
            [planned] = await planning.forecasts(OBJECTS, policy=TODAY_POLICY, seeds=[1])
            found = await taken(world)
        finally:
            await world.set_longhorn(CAPACITY_TRACKING, "false")

        report.measured("59 GiB, disks of 1,000 and 60, pack, kube-scheduler as shipped", found)
        assert planned.node_of == {"web": found}
        assert found == TIGHT
