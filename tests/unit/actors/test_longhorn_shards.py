"""Erasure-coded volumes, as the played Longhorn has them."""

import pytest

from tests.actors.api import Object
from tests.actors.longhorn import DiskSpec
from tests.actors.longhorn.creation import volume_object
from tests.actors.longhorn.shards import front_bytes, shard_bytes
from tests.unit.actors.world import GIB, NAMESPACE, VIRTUAL_TIME, World, running

pytestmark = VIRTUAL_TIME


def in_shards(data: int = 2, parity: int = 1, strip: int = 64) -> dict[str, str]:
    return {
        "dataEngine": "v2",
        "dataLayout.type": "sharded",
        "dataLayout.dataChunks": str(data),
        "dataLayout.parityChunks": str(parity),
        "dataLayout.stripSizeKB": str(strip),
    }


def with_block_disks(*gib: int) -> World:
    """Return a cluster of nodes with a disk of type block each."""
    world = World(shards=True)
    for number, size in enumerate(gib, 1):
        block = DiskSpec(size_bytes=size * GIB, is_block=True)
        world.add_node(f"node-{number}", 100, block=block)
    return world


def shards(world: World) -> list[Object]:
    return world.server.list("shards.longhorn.io", NAMESPACE)


def nodes(world: World) -> list[str]:
    return sorted(each["spec"]["nodeID"] for each in shards(world))


@pytest.mark.parametrize(
    ("strip_kib", "expected"),
    [(4, 8_347_648), (64, 134_479_872), (256, 537_919_488), (1024, 2_151_677_952)],
)
def test_what_is_reserved_at_the_front(strip_kib, expected):
    """The values that go-spdk-helper's own tests fix."""
    assert front_bytes(strip_kib * 1024) == expected


@pytest.mark.parametrize(("data", "expected"), [(1, 35_926_310_912), (4, 9_082_765_312)])
def test_how_large_a_shard_is(data, expected):
    """The first value is that of go-spdk-helper's own tests."""
    volume = volume_object("data", 33 * GIB, in_shards(data), {}, namespace="", owner="")

    assert shard_bytes(volume) == expected


async def test_all_shards_are_placed_at_creation_each_on_a_node_of_its_own():
    async with running(with_block_disks(50, 50, 50, 50)) as world:
        await world.provision("data", gib=10, **in_shards())

        assert len({*nodes(world)}) == len(shards(world)) == 3
        size = shard_bytes(world.volume("data"))
        assert {each["spec"]["size"] for each in shards(world)} == {str(size)}
        assert 5 * GIB < size < 5.2 * GIB
        assert world.scheduled("data")["status"] == "True"
        assert world.replicas() == []
        first = nodes(world)[0]
        await world.until(lambda: world.published_gib(first)["block"] == 5, within=5)


async def test_a_volume_hangs_in_attaching_until_all_of_its_shards_have_a_place():
    async with running(with_block_disks(50, 50, 4)) as world:
        await world.provision("data", gib=10, **in_shards())
        assert nodes(world)[0] == ""
        condition = world.scheduled("data")
        assert (condition["status"], condition["reason"]) == ("False", "ShardSchedulingFailure")
        world.run_pod("web", "node-1", "data")
        await world.hangs("data", "attaching")

        world.add_node("node-4", 100, block=DiskSpec(size_bytes=50 * GIB, is_block=True))
        await world.attached("data", "node-1", within=40)
        assert world.volume("data")["status"]["robustness"] == "healthy"
        assert "" not in nodes(world)


async def test_shards_go_with_their_volume():
    async with running(with_block_disks(50, 50, 50)) as world:
        await world.provision("data", gib=10, **in_shards())
        world.run_pod("web", "node-1", "data")
        await world.attached("data", "node-1")
        await world.leave("web", "data", within=15)

        await world.longhorn.delete_volume("data")
        assert shards(world) == []
        await world.until(lambda: world.published_gib("node-1")["block"] == 0, within=5)
