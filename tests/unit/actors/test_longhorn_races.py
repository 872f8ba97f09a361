"""Volumes that are attached together, and what Longhorn's late view of disks does to them."""

from collections.abc import Callable

import pytest

from tests.actors.longhorn import Overcommitted, nodes_with_replicas, overcommitted
from tests.unit.actors.world import GIB, VIRTUAL_TIME, World, running

pytestmark = VIRTUAL_TIME

FOUR = ("data-1", "data-2", "data-3", "data-4")


async def attach_four_together(seed: int, *, stale: bool) -> World:
    """Run a pod with four volumes of 60 GiB on a node with four disks of 100 GiB."""
    world = World(seed, stale=stale)
    world.add_node("node-1", 100, 100, 100, 100)
    async with running(world):
        await world.provision(*FOUR, gib=60)
        world.run_pod("web", "node-1", *FOUR)
        attached = [("attached", "node-1")] * 4
        await world.until(lambda: [world.state(name) for name in FOUR] == attached, within=60)
        await world.until(lambda: sum(world.published_gib("node-1").values()) == 240, within=4)
    return world


def beyond_limit(world: World) -> tuple[Overcommitted, ...]:
    return overcommitted(world.nodes(), world.replicas(), {})


async def test_volumes_attached_together_can_be_put_on_one_disk(
    summarise: Callable[[str], None],
) -> None:
    worlds = [await attach_four_together(seed, stale=True) for seed in range(10)]

    found = [beyond_limit(world) for world in worlds]
    summarise(f"{sum(map(bool, found))} of {len(found)} pods with four volumes over-commit a disk")
    assert any(found)
    one = next(each for each in found if each)[0]
    assert one.limit_bytes == 100 * GIB
    assert one.assigned_bytes == len(one.replicas) * 60 * GIB


@pytest.mark.parametrize("seed", range(25))
async def test_without_staleness_no_disk_is_beyond_its_limit(seed: int) -> None:
    world = await attach_four_together(seed, stale=False)

    assert beyond_limit(world) == ()
    assert set(nodes_with_replicas(world.replicas()).values()) == {frozenset({"node-1"})}


async def test_the_same_seed_gives_the_same_trace() -> None:
    runs = [await attach_four_together(7, stale=True) for _ in range(2)]

    first, second = (
        [
            (call.at - world.server.calls[0].at, call.verb, call.resource, call.name, call.body)
            for call in world.server.calls
        ]
        for world in runs
    )
    assert first == second
    assert len(first) > 100
