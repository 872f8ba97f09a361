"""What no recorded life of a volume shows; the recorded ones are in test_longhorn_traces."""

import asyncio

import pytest

from tests.actors import api as kinds
from tests.actors.longhorn import CreateVolumeError
from tests.unit.actors.world import GIB, VIRTUAL_TIME, running, world_of

pytestmark = VIRTUAL_TIME


async def test_a_pending_local_replica_takes_room_that_appears():
    async with running(world_of(15, 100)) as world:
        await world.provision("data")
        await world.use("other", "node-1", pod="first")
        world.run_pod("second", "node-1", "data")
        await world.until(lambda: world.places("data") == ["", "node-2"], within=15)

        world.end_pod("first")
        await world.longhorn.delete_volume("other")

        await world.until(lambda: world.places("data") == ["node-1"], within=40)
        assert world.scheduled("data")["status"] == "True"


async def test_a_volume_that_fits_nowhere_has_no_replica_until_it_does():
    async with running(world_of(5)) as world:
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
        await world.attached("data", "node-1", within=40)
        assert "node-2" in world.places("data")


async def test_a_new_node_wakes_a_replica_without_a_place():
    async with running(world_of(100)) as world:
        await world.provision("data", dataLocality="disabled", numberOfReplicas="2")
        assert world.places("data") == ["", "node-1"]
        await asyncio.sleep(60)

        world.add_node("node-2", 100)

        await world.until(lambda: world.places("data") == ["node-1", "node-2"], within=5)
        await world.until(lambda: world.scheduled("data")["message"] == "", within=1)


async def test_deleting_a_volume_frees_its_disk():
    async with running(world_of(100, 100, 100)) as world:
        await world.provision("data")
        world.run_pod("web", "node-1", "data")
        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 10}, within=10)

        world.end_pod("web")
        await world.longhorn.delete_volume("data")

        assert world.replicas() == []
        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 0}, within=4)


async def test_replicas_of_a_volume_that_is_gone_are_removed():
    async with running(world_of(100, 100, 100)) as world:
        await world.provision("data")
        world.server.delete("volumes.longhorn.io", "data", "longhorn-system")

        await world.until(lambda: world.replicas() == [], within=5)


async def test_create_volume_can_be_repeated_but_not_with_another_size():
    async with running(world_of(100, 100, 100)) as world:
        await world.provision("data")
        await world.provision("data")

        assert len(world.replicas("data")) == 1
        with pytest.raises(CreateVolumeError, match="another size"):
            await world.longhorn.create_volume("data", 20 * GIB, {})


async def test_create_volume_refuses_tags_that_nobody_has():
    async with running(world_of(100, 100, 100)) as world:
        with pytest.raises(CreateVolumeError, match="disk tag fast"):
            await world.longhorn.create_volume("data", GIB, {"diskSelector": "fast"})


async def test_finished_pods_let_their_volumes_go():
    async with running(world_of(100, 100, 100)) as world:
        await world.provision("data")
        world.run_pod("job", "node-1", "data")
        await world.until(lambda: world.state("data")[0] == "attached", within=10)

        [pod] = world.server.list("pods", "default")
        world.put(kinds.PODS, {**pod, "status": {"phase": "Succeeded"}})

        await world.until(lambda: world.state("data") == ("detached", ""), within=5)
