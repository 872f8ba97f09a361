"""The life of volumes: created, attached, moved, deleted."""

import asyncio

import pytest

from tests.actors import api as kinds
from tests.actors.longhorn import CreateVolumeError, Delays, setting
from tests.unit.actors.world import GIB, VIRTUAL_TIME, World, running

pytestmark = VIRTUAL_TIME


def three_nodes(seed: int = 0) -> World:
    world = World(seed)
    for name in ("node-1", "node-2", "node-3"):
        world.add_node(name, 100)
    return world


async def test_a_best_effort_volume_waits_for_its_pod() -> None:
    world = three_nodes()
    async with running(world):
        took = await world.timed(world.provision("data"))

        assert 2 <= took < 2.5
        assert world.state("data") == ("detached", "")
        assert world.places("data") == [""]
        assert world.scheduled("data")["status"] == "True"


@pytest.mark.parametrize("seed", range(5))
async def test_a_best_effort_volume_is_placed_where_it_is_attached(seed: int) -> None:
    world = three_nodes(seed)
    async with running(world):
        await world.provision("data")
        world.run_pod("web", "node-2", "data")

        placed = await world.until(lambda: world.places("data") == ["node-2"], within=2)
        assert placed >= Delays().attach_wish[0]
        await world.until(lambda: world.state("data") == ("attaching", ""), within=0.2)
        assert world.published_gib("node-2") == {"disk-1": 0}
        await world.until(lambda: world.published_gib("node-2") == {"disk-1": 10}, within=3.1)
        await world.until(lambda: world.state("data") == ("attached", "node-2"), within=4.1)
        [replica] = world.replicas("data")
        assert replica["spec"]["healthyAt"]
        assert replica["metadata"]["labels"]["longhornnode"] == "node-2"
        assert world.volume("data")["status"]["robustness"] == "healthy"


async def test_replicas_without_locality_are_placed_before_any_pod() -> None:
    world = three_nodes()
    async with running(world):
        await world.provision("data", dataLocality="disabled", numberOfReplicas="2")

        first, second = world.places("data")
        assert "" not in (first, second)
        assert first != second


async def test_a_full_node_sends_the_replica_elsewhere() -> None:
    world = World()
    world.add_node("node-1", 5)
    world.add_node("node-2", 100)
    async with running(world):
        await world.provision("data")
        world.run_pod("web", "node-1", "data")

        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=10)
        assert "node-2" in world.places("data")
        await world.until(lambda: world.places("data") == ["", "node-2"], within=10)
        await world.until(lambda: world.scheduled("data")["status"] == "False", within=1)
        condition = world.scheduled("data")
        assert condition["reason"] == "LocalReplicaSchedulingFailure"
        assert condition["message"] == "insufficient storage"


async def test_a_pending_local_replica_takes_room_that_appears() -> None:
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


async def test_a_volume_that_moves_gets_a_local_replica_and_loses_the_other() -> None:
    world = three_nodes()
    async with running(world):
        await world.provision("data")
        world.run_pod("web", "node-1", "data")
        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=10)

        world.run_pod("next", "node-3", "data")
        await world.hold(lambda: world.state("data") == ("attached", "node-1"), seconds=20)
        world.end_pod("web")
        await world.until(lambda: world.state("data") == ("attached", "node-3"), within=15)
        assert world.volume("data")["status"]["robustness"] == "healthy"
        await world.until(lambda: world.places("data") == ["node-1", "node-3"], within=1)
        await world.hold(lambda: world.places("data") == ["node-1", "node-3"], seconds=5)
        await world.until(lambda: world.places("data") == ["node-3"], within=25)
        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 0}, within=4)


async def test_a_strict_local_volume_waits_for_room_on_its_node() -> None:
    world = World()
    world.add_node("node-1", 15)
    world.add_node("node-2", 100)
    async with running(world):
        await world.provision("other", "data", dataLocality="strict-local")
        world.run_pod("first", "node-1", "other")
        await world.until(lambda: world.state("other") == ("attached", "node-1"), within=10)
        world.run_pod("second", "node-1", "data")
        await world.until(lambda: world.scheduled("data")["status"] == "False", within=10)
        await world.hold(lambda: world.state("data") == ("detached", ""), seconds=60)

        assert world.scheduled("data")["reason"] == "LocalReplicaSchedulingFailure"
        assert world.volume("data")["spec"]["nodeID"] == "node-1"
        affinity = world.server.get("persistentvolumes", "data")
        assert affinity is not None
        assert "node-1" in str(affinity["spec"]["nodeAffinity"])
        world.end_pod("first")
        await world.longhorn.delete_volume("other")
        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=40)


async def test_a_volume_that_fits_nowhere_has_no_replica_until_it_does() -> None:
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


async def test_a_new_node_wakes_a_replica_without_a_place() -> None:
    world = World()
    world.add_node("node-1", 100)
    async with running(world):
        await world.provision("data", dataLocality="disabled", numberOfReplicas="2")
        assert world.places("data") == ["", "node-1"]
        await asyncio.sleep(60)

        world.add_node("node-2", 100)

        await world.until(lambda: world.places("data") == ["node-1", "node-2"], within=5)
        await world.until(lambda: world.scheduled("data")["message"] == "", within=1)


@pytest.mark.parametrize("locality", ["disabled", "best-effort"])
async def test_as_many_replicas_as_wanted_are_created_if_one_would_fit(locality: str) -> None:
    world = World()
    world.add_node("node-1", 100)
    async with running(world):
        await world.provision("data", dataLocality=locality, numberOfReplicas="3")

        assert len(world.replicas("data")) == 3


async def test_replicas_without_a_place_end_with_the_first_attachment() -> None:
    world = World()
    world.add_node("node-1", 100)
    world.add_node("node-2", 100)
    async with running(world):
        await world.provision("data", numberOfReplicas="3")
        world.run_pod("web", "node-1", "data")
        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=10)
        assert world.places("data") == ["", "node-1", "node-2"]
        assert world.volume("data")["status"]["robustness"] == "degraded"

        world.end_pod("web")

        await world.until(lambda: world.places("data") == ["node-1", "node-2"], within=10)
        await world.hold(lambda: world.places("data") == ["node-1", "node-2"], seconds=60)
        world.add_node("node-3", 100)
        world.run_pod("next", "node-1", "data")
        await world.until(lambda: len(world.replicas("data")) == 3, within=20)
        assert sorted(each["spec"]["rebuildRetryCount"] for each in world.replicas("data")) == [
            0,
            0,
            5,
        ]
        await world.until(
            lambda: world.volume("data")["status"]["robustness"] == "healthy", within=60
        )
        assert all(each["spec"]["rebuildRetryCount"] == 0 for each in world.replicas("data"))


async def test_a_degraded_volume_attaches_as_a_whole_or_not_at_all() -> None:
    world = World()
    world.put(kinds.SETTINGS, setting("allow-volume-creation-with-degraded-availability", "false"))
    world.add_node("node-1", 100)
    async with running(world):
        await world.provision("data", dataLocality="disabled", numberOfReplicas="2")
        world.run_pod("web", "node-1", "data")
        await world.hold(lambda: world.volume("data")["spec"]["nodeID"] == "", seconds=60)

        world.add_node("node-2", 100)

        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=15)


async def test_deleting_a_volume_frees_its_disk() -> None:
    world = three_nodes()
    async with running(world):
        await world.provision("data")
        world.run_pod("web", "node-1", "data")
        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 10}, within=10)

        world.end_pod("web")
        await world.longhorn.delete_volume("data")

        assert world.replicas() == []
        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 0}, within=4)


async def test_replicas_of_a_volume_that_is_gone_are_removed() -> None:
    world = three_nodes()
    async with running(world):
        await world.provision("data")
        world.server.delete("volumes.longhorn.io", "data", "longhorn-system")

        await world.until(lambda: world.replicas() == [], within=5)


async def test_create_volume_can_be_repeated_but_not_with_another_size() -> None:
    world = three_nodes()
    async with running(world):
        await world.provision("data")
        await world.provision("data")

        assert len(world.replicas("data")) == 1
        with pytest.raises(CreateVolumeError, match="another size"):
            await world.longhorn.create_volume("data", 20 * GIB, {})


async def test_create_volume_refuses_tags_that_nobody_has() -> None:
    world = three_nodes()
    async with running(world):
        with pytest.raises(CreateVolumeError, match="disk tag fast"):
            await world.longhorn.create_volume("data", GIB, {"diskSelector": "fast"})


async def test_finished_pods_let_their_volumes_go() -> None:
    world = three_nodes()
    async with running(world):
        await world.provision("data")
        world.run_pod("job", "node-1", "data")
        await world.until(lambda: world.state("data")[0] == "attached", within=10)

        [pod] = world.server.list("pods", "default")
        world.put(kinds.PODS, {**pod, "status": {"phase": "Succeeded"}})

        await world.until(lambda: world.state("data") == ("detached", ""), within=5)
