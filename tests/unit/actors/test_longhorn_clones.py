"""Linked clones, and what data engine v2 needs besides, as the played Longhorn has them."""

from typing import Any

import pytest

from tests.actors import api as kinds
from tests.actors.longhorn import CreateVolumeError, DiskSpec, disk_uuid, instance_manager
from tests.actors.longhorn.clones import LEGACY_LABEL, data_source
from tests.unit.actors.world import GIB, NAMESPACE, VIRTUAL_TIME, World, running

pytestmark = VIRTUAL_TIME

NODES = ("node-1", "node-2", "node-3")
V2: dict[str, Any] = {"dataEngine": "v2", "dataLocality": "disabled", "numberOfReplicas": "2"}
CLONE = {**V2, "cloneMode": "linked-clone", "dataSource": data_source("data")}


def with_block_disks(*, gib: int = 50) -> World:
    """Return a cluster of three nodes, each with two disks of type block."""
    world = World()
    for name in NODES:
        blocks = {f"block-{n}": DiskSpec(size_bytes=gib * GIB, is_block=True) for n in (1, 2)}
        world.add_node(name, 100, **blocks)
    return world


async def attach(world: World, name: str) -> None:
    world.run_pod(f"of-{name}", "node-1", name)
    await world.until(lambda: world.state(name)[0] == "attached", within=20)


async def provision_source(world: World) -> None:
    """Provision data, a volume of two replicas, and have a pod use it."""
    await world.provision("data", **V2)
    await attach(world, "data")


def disks(world: World, volume: str) -> set[str]:
    return {each["spec"]["diskID"] for each in world.replicas(volume)}


async def test_a_volume_of_v2_goes_to_disks_of_type_block():
    async with running(with_block_disks()) as world:
        await world.provision("data", **V2)

        blocks = {disk_uuid(node, f"block-{n}") for node in NODES for n in (1, 2)}
        await world.until(lambda: disks(world, "data") < blocks, within=5)


async def test_a_linked_clone_goes_to_the_disks_of_its_source_at_once():
    async with running(with_block_disks()) as world:
        await provision_source(world)

        await world.provision("copy", **CLONE)
        await world.until(lambda: len(disks(world, "copy")) == 2, within=1)

        assert disks(world, "copy") == disks(world, "data")
        shared = {each["spec"]["linkedCloneSrcReplicaName"] for each in world.replicas("copy")}
        assert shared == {each["metadata"]["name"] for each in world.replicas("data")}


async def test_a_linked_clone_waits_until_its_source_has_data_and_room_beside_it():
    async with running(with_block_disks(gib=15)) as world:
        await world.provision("data", **V2)
        await world.provision("copy", **CLONE)
        await world.hold(lambda: world.replicas("copy") == [], seconds=35)
        reason = "precheck new replica failed: linked clone replica cannot be satisfied"
        assert world.scheduled("copy")["message"] == reason

        await attach(world, "data")
        await world.hold(lambda: world.replicas("copy") == [], seconds=35)
        message = world.scheduled("copy")["message"]
        assert message == "precheck new replica failed: disks are unavailable;insufficient storage"


async def test_a_replica_of_a_linked_clone_comes_back_to_what_it_shares_with_alone():
    async with running(with_block_disks()) as world:
        await provision_source(world)
        await world.provision("copy", **{**CLONE, "numberOfReplicas": "1"})
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


async def test_what_a_linked_clone_shares_stays_until_the_clone_is_gone():
    async with running(with_block_disks()) as world:
        await provision_source(world)
        await world.provision("copy", **CLONE)
        await world.until(lambda: len(disks(world, "copy")) == 2, within=1)
        world.end_pod("of-data")

        change = {"status": {"state": "deleting"}}
        await world.api.patch(kinds.VOLUMES, kinds.Key(NAMESPACE, "data"), change)
        await world.hold(lambda: len(world.replicas("data")) == 2, seconds=20)

        await world.longhorn.delete_volume("copy")
        await world.until(lambda: world.replicas("data") == [], within=10)


@pytest.mark.parametrize(("label", "expected"), [({}, 2), ({LEGACY_LABEL: "true"}, 1)])
async def test_an_old_linked_clone_gets_no_other_replica(label, expected):
    async with running(with_block_disks()) as world:
        await provision_source(world)
        await world.provision("copy", **CLONE)
        await attach(world, "copy")
        key = kinds.Key(NAMESPACE, "copy")
        await world.api.patch(kinds.VOLUMES, key, {"metadata": {"labels": label}})

        lost = world.replicas("copy")[0]["metadata"]["name"]
        world.server.delete("replicas.longhorn.io", lost, NAMESPACE)
        await world.hold(lambda: True, seconds=30)

        assert len(world.replicas("copy")) == expected


REFUSED: dict[str, tuple[dict[str, str], int, str]] = {
    "engine": ({"dataEngine": "v1"}, 10, "data engine v2"),
    "replicas": ({"numberOfReplicas": "3"}, 10, "no more replicas"),
    "size": ({}, 11, "as large as"),
    "no source": ({"dataSource": data_source("gone")}, 10, "there is no"),
    "full copy": ({"cloneMode": ""}, 10, "full copies"),
}


@pytest.mark.parametrize(("wrong", "gib", "why"), REFUSED.values(), ids=REFUSED)
async def test_a_copy_that_longhorn_refuses(wrong, gib, why):
    async with running(with_block_disks()) as world:
        await world.provision("data", **V2)

        with pytest.raises(CreateVolumeError, match=why):
            await world.longhorn.create_volume("copy", gib * GIB, {**CLONE, **wrong})


async def test_block_disks_are_not_ready_while_no_instance_manager_reads_them():
    world = with_block_disks()
    for node in NODES:
        world.put(kinds.INSTANCE_MANAGERS, instance_manager(node, engine="v2"))

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

        world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1", engine="v2"))
        await world.until(lambda: not unready(), within=40)
