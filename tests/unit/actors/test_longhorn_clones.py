"""Linked clones, and what data engine v2 needs besides, as the played Longhorn has them."""

import pytest

from tests.actors import api as kinds
from tests.actors.longhorn import CreateVolumeError, DiskSpec, disk_uuid, instance_manager
from tests.actors.longhorn.clones import LEGACY_LABEL, data_source
from tests.unit.actors.world import GIB, NAMESPACE, VIRTUAL_TIME, World, running

NODES = ("node-1", "node-2", "node-3")
V2 = {"dataEngine": "v2", "dataLocality": "disabled", "numberOfReplicas": "2"}
CLONE = {**V2, "cloneMode": "linked-clone", "dataSource": data_source("data")}


def with_block_disks(*, gib: int = 50) -> World:
    """Return a cluster of three nodes, each with two disks of type block."""
    world = World()
    for name in NODES:
        blocks = {f"block-{n}": DiskSpec(size_bytes=gib * GIB, is_block=True) for n in (1, 2)}
        world.add_node(name, 100, **blocks)
    return world


async def attach(world: World, *names: str) -> None:
    for name in names:
        world.run_pod(f"of-{name}", "node-1", name)
    await world.until(lambda: {world.state(n)[0] for n in names} == {"attached"}, within=20)


def disks(world: World, volume: str) -> set[str]:
    return {each["spec"]["diskID"] for each in world.replicas(volume)}


@VIRTUAL_TIME
async def test_a_volume_of_v2_goes_to_disks_of_type_block():
    world = with_block_disks()
    async with running(world):
        await world.provision("data", gib=10, **V2)

        blocks = {disk_uuid(node, f"block-{n}") for node in NODES for n in (1, 2)}
        await world.until(lambda: disks(world, "data") < blocks, within=5)


@VIRTUAL_TIME
async def test_a_linked_clone_goes_to_the_disks_of_its_source_at_once():
    world = with_block_disks()
    async with running(world):
        await world.provision("data", gib=10, **V2)
        await attach(world, "data")

        await world.provision("copy", gib=10, **CLONE)
        await world.until(lambda: len(disks(world, "copy")) == 2, within=1)

        assert disks(world, "copy") == disks(world, "data")
        shared = {each["spec"]["linkedCloneSrcReplicaName"] for each in world.replicas("copy")}
        assert shared == {each["metadata"]["name"] for each in world.replicas("data")}


@VIRTUAL_TIME
async def test_a_linked_clone_waits_until_its_source_has_data_and_room_beside_it():
    world = with_block_disks(gib=15)
    async with running(world):
        await world.provision("data", gib=10, **V2)
        await world.provision("copy", gib=10, **CLONE)
        await world.hold(lambda: world.replicas("copy") == [], seconds=35)
        reason = "precheck new replica failed: linked clone replica cannot be satisfied"
        assert world.scheduled("copy")["message"] == reason

        await attach(world, "data")
        await world.hold(lambda: world.replicas("copy") == [], seconds=35)
        message = world.scheduled("copy")["message"]
        assert message == "precheck new replica failed: disks are unavailable;insufficient storage"


@VIRTUAL_TIME
async def test_a_replica_of_a_linked_clone_comes_back_to_what_it_shares_with_alone():
    world = with_block_disks()
    async with running(world):
        await world.provision("data", gib=10, **V2)
        await attach(world, "data")
        await world.provision("copy", gib=10, **{**CLONE, "numberOfReplicas": "1"})
        await world.until(lambda: len(disks(world, "copy")) == 1, within=5)
        [clone] = world.replicas("copy")
        place = {key: clone["spec"][key] for key in ("nodeID", "diskID")}
        source = clone["spec"]["linkedCloneSrcReplicaName"]
        node = kinds.Key(NAMESPACE, place["nodeID"])

        await world.api.patch(kinds.LONGHORN_NODES, node, {"spec": {"allowScheduling": False}})
        refused = {"spec": dict.fromkeys(place, "")}
        await world.api.patch(
            kinds.REPLICAS, kinds.Key(NAMESPACE, clone["metadata"]["name"]), refused
        )
        await world.hold(lambda: world.places("copy") == [""], seconds=35)
        await world.api.patch(kinds.LONGHORN_NODES, node, {"spec": {"allowScheduling": True}})
        await world.until(lambda: world.places("copy") != [""], within=35)

        [again] = world.replicas("copy")
        assert again["spec"] == {**again["spec"], **place, "linkedCloneSrcReplicaName": source}


@VIRTUAL_TIME
async def test_what_a_linked_clone_shares_stays_until_the_clone_is_gone():
    world = with_block_disks()
    async with running(world):
        await world.provision("data", gib=10, **V2)
        await attach(world, "data")
        await world.provision("copy", gib=10, **CLONE)
        await world.until(lambda: len(disks(world, "copy")) == 2, within=1)
        world.end_pod("of-data")

        change = {"status": {"state": "deleting"}}
        await world.api.patch(kinds.VOLUMES, kinds.Key(NAMESPACE, "data"), change)
        await world.hold(lambda: len(world.replicas("data")) == 2, seconds=20)

        await world.longhorn.delete_volume("copy")
        await world.until(lambda: world.replicas("data") == [], within=10)


@VIRTUAL_TIME
@pytest.mark.parametrize(("label", "expected"), [({}, 2), ({LEGACY_LABEL: "true"}, 1)])
async def test_an_old_linked_clone_gets_no_other_replica(label, expected):
    world = with_block_disks()
    async with running(world):
        await world.provision("data", gib=10, **V2)
        await attach(world, "data")
        await world.provision("copy", gib=10, **CLONE)
        await attach(world, "copy")
        key = kinds.Key(NAMESPACE, "copy")
        await world.api.patch(kinds.VOLUMES, key, {"metadata": {"labels": label}})

        lost = world.replicas("copy")[0]["metadata"]["name"]
        world.server.delete("replicas.longhorn.io", lost, NAMESPACE)
        await world.hold(lambda: True, seconds=30)

        assert len(world.replicas("copy")) == expected


@VIRTUAL_TIME
@pytest.mark.parametrize(
    ("wrong", "gib", "why"),
    [
        pytest.param({"dataEngine": "v1"}, 10, "data engine v2", id="engine"),
        pytest.param({"numberOfReplicas": "3"}, 10, "no more replicas", id="replicas"),
        pytest.param({}, 11, "as large as", id="size"),
        pytest.param({"dataSource": data_source("gone")}, 10, "there is no", id="no-source"),
        pytest.param({"cloneMode": ""}, 10, "full copies", id="full-copy"),
    ],
)
async def test_a_copy_that_longhorn_refuses(wrong, gib, why):
    world = with_block_disks()
    async with running(world):
        await world.provision("data", gib=10, **V2)

        with pytest.raises(CreateVolumeError, match=why):
            await world.longhorn.create_volume("copy", gib * GIB, {**CLONE, **wrong})


def put_managers(world: World, *nodes: str) -> None:
    for node in nodes:
        world.put(kinds.INSTANCE_MANAGERS, instance_manager(node, engine="v2"))


@VIRTUAL_TIME
async def test_block_disks_are_not_ready_while_no_instance_manager_reads_them():
    world = with_block_disks()
    put_managers(world, *NODES)

    def unready() -> set[str]:
        [found] = [each for each in world.nodes() if each["metadata"]["name"] == "node-1"]
        return {
            name
            for name, status in found["status"]["diskStatus"].items()
            for each in status["conditions"]
            if each["type"] == "Ready" and each["reason"] == "NoDiskInfo"
        }

    async with running(world):
        await world.hold(lambda: not unready(), seconds=10)
        world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1", "error", engine="v2"))
        await world.until(lambda: unready() == {"block-1", "block-2"}, within=40)

        put_managers(world, "node-1")
        await world.until(lambda: not unready(), within=40)
