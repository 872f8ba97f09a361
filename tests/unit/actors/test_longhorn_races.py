"""Volumes that are attached together, and what Longhorn's late view of disks does to them."""

from tests.actors.longhorn import Overcommitted, overcommitted
from tests.unit.actors.world import GIB, VIRTUAL_TIME, World, running

pytestmark = VIRTUAL_TIME

FOUR = ("data-1", "data-2", "data-3", "data-4")


async def beyond_limit(seed: int) -> tuple[Overcommitted, ...]:
    """Run a pod with four volumes of 60 GiB on a node with four disks of 100 GiB."""
    world = World(seed)
    world.add_node("node-1", 100, 100, 100, 100)
    async with running(world):
        await world.provision(*FOUR, gib=60)
        world.run_pod("web", "node-1", *FOUR)
        attached = [("attached", "node-1")] * 4
        await world.until(lambda: [world.state(name) for name in FOUR] == attached, within=60)
        await world.until(lambda: sum(world.published_gib("node-1").values()) == 240, within=4)
    return overcommitted(world.nodes(), world.replicas(), {})


async def test_volumes_attached_together_can_be_put_on_one_disk():
    found = [await beyond_limit(seed) for seed in range(10)]

    one = next(each for each in found if each)[0]
    assert one.limit_bytes == 100 * GIB
    assert one.assigned_bytes == len(one.replicas) * 60 * GIB
