"""What no recorded life of a volume shows; the recorded ones are in test_longhorn_traces."""

import asyncio

import pytest

from tests.actors import api as kinds
from tests.actors.longhorn import CreateVolumeError
from tests.unit.actors.world import GIB, VIRTUAL_TIME, World, running

pytestmark = VIRTUAL_TIME


def three_nodes(seed: int = 0) -> World:
    world = World(seed)
    for name in ("node-1", "node-2", "node-3"):
        world.add_node(name, 100)
    return world


async def test_a_pending_local_replica_takes_room_that_appears():
    world = World()
    world.add_node("node-1", 15)
    world.add_node("node-2", 100)
    async with running(world):
        await world.provision("other", "data")
        world.run_pod("first", "node-1", "other")
        await world.until(lambda: world.state("other") == ("attached", "node-1"), within=10)
        world.run_pod("second", "node-1", "data")
        await world.until(lambda: world.places("data") == ["", "node-2"], within=15)

        world.end_pod("first")
        await world.longhorn.delete_volume("other")

        await world.until(lambda: world.places("data") == ["node-1"], within=40)
        assert world.scheduled("data")["status"] == "True"


async def test_a_volume_that_fits_nowhere_has_no_replica_until_it_does():
    world = World()
    world.add_node("node-1", 5)
    async with running(world):
        await world.provision("data")
        world.run_pod("web", "node-1", "data")
        await world.hold(lambda: world.state("data")[0] == "detached", seconds=70)
        assert world.replicas() == []
        condition = world.scheduled("data")
        assert condition["message"] == "precheck new replica failed: insufficient storage"
        assert world.volume("data")["status"]["robustness"] == "faulted"
        assert world.volume("data")["spec"]["nodeID"] == ""

        world.add_node("node-2", 100)

        # A new node wakes only volumes with a replica that waits; here it is the next try.
        await world.hold(lambda: world.replicas() == [], seconds=10)
        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=40)
        assert "node-2" in world.places("data")


async def test_a_new_node_wakes_a_replica_without_a_place():
    world = World()
    world.add_node("node-1", 100)
    async with running(world):
        await world.provision("data", dataLocality="disabled", numberOfReplicas="2")
        assert world.places("data") == ["", "node-1"]
        await asyncio.sleep(60)

        world.add_node("node-2", 100)

        await world.until(lambda: world.places("data") == ["node-1", "node-2"], within=5)
        await world.until(lambda: world.scheduled("data")["message"] == "", within=1)


async def test_deleting_a_volume_frees_its_disk():
    world = three_nodes()
    async with running(world):
        await world.provision("data")
        world.run_pod("web", "node-1", "data")
        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 10}, within=10)

        world.end_pod("web")
        await world.longhorn.delete_volume("data")

        assert world.replicas() == []
        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 0}, within=4)


async def test_replicas_of_a_volume_that_is_gone_are_removed():
    world = three_nodes()
    async with running(world):
        await world.provision("data")
        world.server.delete("volumes.longhorn.io", "data", "longhorn-system")

        await world.until(lambda: world.replicas() == [], within=5)


async def test_create_volume_can_be_repeated_but_not_with_another_size():
    world = three_nodes()
    async with running(world):
        await world.provision("data")
        await world.provision("data")

        assert len(world.replicas("data")) == 1
        with pytest.raises(CreateVolumeError, match="another size"):
            await world.longhorn.create_volume("data", 20 * GIB, {})


async def test_create_volume_refuses_tags_that_nobody_has():
    world = three_nodes()
    async with running(world):
        with pytest.raises(CreateVolumeError, match="disk tag fast"):
            await world.longhorn.create_volume("data", GIB, {"diskSelector": "fast"})


async def test_finished_pods_let_their_volumes_go():
    world = three_nodes()
    async with running(world):
        await world.provision("data")
        world.run_pod("job", "node-1", "data")
        await world.until(lambda: world.state("data")[0] == "attached", within=10)

        [pod] = world.server.list("pods", "default")
        world.put(kinds.PODS, {**pod, "status": {"phase": "Succeeded"}})

        await world.until(lambda: world.state("data") == ("detached", ""), within=5)
