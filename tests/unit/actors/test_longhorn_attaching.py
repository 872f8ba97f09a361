"""The played Longhorn attaches no volume where the real one would not, and heals as that does."""

import pytest

from tests.actors import api as kinds
from tests.actors.longhorn import (
    DRIVER,
    ENGINE_IMAGE,
    MANAGER_IMAGE,
    DiskSpec,
    csi_node,
    engine_image,
    instance_manager,
    setting,
)
from tests.unit.actors.world import GIB, NAMESPACE, VIRTUAL_TIME, World, running, world_of

pytestmark = VIRTUAL_TIME

NEW_IMAGE = ENGINE_IMAGE.replace("v1.12.1", "v1.12.2")
NEW_MANAGER = MANAGER_IMAGE.replace("v1.12.1", "v1.12.2")
V2_OFF = "node.longhorn.io/disable-v2-data-engine"


RUNNING = {
    kinds.CSI_NODES: csi_node("node-1", DRIVER),
    kinds.ENGINE_IMAGES: engine_image({"node-1": True, "node-2": True}),
    kinds.INSTANCE_MANAGERS: instance_manager("node-1"),
}
"""What node-1 needs."""


def two_nodes() -> World:
    """All runs on both; replicas go to node-2."""
    images = {
        "default-engine-image": ENGINE_IMAGE,
        "default-instance-manager-image": MANAGER_IMAGE,
    }
    world = world_of(1, 100, settings=images)
    world.put(kinds.CSI_NODES, csi_node("node-2", DRIVER))
    world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-2"))
    for kind, obj in RUNNING.items():
        world.put(kind, obj)
    return world


def wished(world: World) -> str:
    return str(world.volume("data")["spec"]["nodeID"])


BROKEN = {
    "no driver": (kinds.CSI_NODES, csi_node("node-1"), "detached"),
    "another driver": (kinds.CSI_NODES, csi_node("node-1", "other.example.org"), "detached"),
    "image not ready": (
        kinds.ENGINE_IMAGES, engine_image({"node-1": False, "node-2": True}), "detached"),
    "no image": (kinds.ENGINE_IMAGES, engine_image({"node-2": True}), "detached"),
    **{
        f"instance manager {state}": (
            kinds.INSTANCE_MANAGERS, instance_manager("node-1", state), "attaching")
        for state in ("starting", "error", "stopped", "unknown")
    },
}  # fmt: skip


@pytest.mark.parametrize(("kind", "broken", "state"), BROKEN.values(), ids=BROKEN)
async def test_a_volume_is_refused_or_hangs_in_attaching_until_all_runs(kind, broken, state):
    """Driver and image are asked for by the attach API, before the volume is to be anywhere."""
    world = two_nodes()
    world.put(kind, broken)
    async with running(world):
        await world.provision("data", dataLocality="disabled")
        world.run_pod("web", "node-1", "data")

        await world.hangs("data", state)
        assert wished(world) == ("node-1" if state == "attaching" else "")
        world.put(kind, RUNNING[kind])
        await world.attached("data", "node-1")


async def test_a_node_that_is_not_ready_is_refused():
    async with running(two_nodes()) as world:
        await world.provision("data", dataLocality="disabled")
        world.longhorn.set_ready("node-1", "ManagerPodDown")
        await world.until(lambda: "node-1" not in world.ready_nodes(), within=10)
        world.run_pod("web", "node-1", "data")

        await world.hold(lambda: wished(world) == "", seconds=60)
        world.longhorn.set_ready("node-1")
        await world.attached("data", "node-1")


async def test_after_an_upgrade_only_an_instance_manager_of_the_new_image_starts_engines():
    async with running(two_nodes()) as world:
        await world.provision("data", dataLocality="disabled")
        world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-2", image=NEW_MANAGER))
        world.put(kinds.SETTINGS, setting("default-instance-manager-image", NEW_MANAGER))
        world.run_pod("web", "node-1", "data")

        await world.hangs("data", "attaching")
        world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1", image=NEW_MANAGER))
        await world.attached("data", "node-1")


async def test_a_volume_that_is_made_after_an_upgrade_needs_the_new_image():
    world = two_nodes()
    world.put(kinds.ENGINE_IMAGES, engine_image({"node-2": True}, NEW_IMAGE))
    world.put(kinds.SETTINGS, setting("default-engine-image", NEW_IMAGE))
    async with running(world):
        await world.provision("data", dataLocality="disabled")
        assert world.volume("data")["spec"]["image"] == NEW_IMAGE
        world.run_pod("web", "node-1", "data")

        await world.hold(lambda: wished(world) == "", seconds=60)
        world.end_pod("web")
        world.run_pod("next", "node-2", "data")
        await world.attached("data", "node-2")


async def test_nobody_works_on_a_v2_volume_that_is_wished_where_the_label_switches_it_off():
    world = World()
    for name in ("node-1", "node-2"):
        world.add_node(name, disk=DiskSpec(size_bytes=100 * GIB, is_block=True))
        world.put(kinds.INSTANCE_MANAGERS, instance_manager(name, engine="v2"))
    labelled = {"name": "node-1", "labels": {V2_OFF: "true"}}
    world.put(kinds.KUBERNETES_NODES, {"metadata": labelled, "spec": {}})
    async with running(world):
        await world.provision("data", dataEngine="v2", dataLocality="disabled")
        assert world.places("data") == ["node-2"]
        world.run_pod("web", "node-1", "data")

        await world.until(lambda: wished(world) == "node-1", within=10)
        await world.hold(lambda: world.state("data") == ("detached", ""), seconds=60)
        plain = {"name": "node-1", "labels": {V2_OFF: "yes"}}
        world.put(kinds.KUBERNETES_NODES, {"metadata": plain, "spec": {}})
        await world.attached("data", "node-1")


async def test_a_v2_volume_needs_no_engine_image_and_any_running_instance_manager_of_v2():
    world = World()
    world.add_node("node-1", disk=DiskSpec(size_bytes=100 * GIB, is_block=True))
    world.put(kinds.ENGINE_IMAGES, engine_image({"node-1": False}))
    world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1"))
    world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1", "starting", engine="v2"))
    world.put(kinds.SETTINGS, setting("default-instance-manager-image", NEW_MANAGER))
    async with running(world):
        await world.provision("data", dataEngine="v2", dataLocality="best-effort")
        world.run_pod("web", "node-1", "data")

        await world.hold(lambda: world.state("data")[0] != "attached", seconds=60)
        world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1", engine="v2"))
        await world.attached("data", "node-1", within=60)


async def test_a_new_replica_goes_to_a_node_with_image_and_instance_manager():
    world = world_of(100, 100, 100)
    world.put(kinds.ENGINE_IMAGES, engine_image({"node-1": True, "node-3": True}))
    for name in ("node-1", "node-2"):
        world.put(kinds.INSTANCE_MANAGERS, instance_manager(name))
    async with running(world):
        await world.provision("data", dataLocality="disabled", numberOfReplicas="3")

        assert world.places("data") == ["", "", "node-1"]


async def test_an_instance_manager_of_v1_that_is_being_deleted_counts():
    world = two_nodes()
    leaving = instance_manager("node-1", "error")
    leaving["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]}
    world.put(kinds.INSTANCE_MANAGERS, leaving)
    async with running(world):
        await world.use("data", "node-1", dataLocality="disabled")
        name = leaving["metadata"]["name"]
        assert world.server.get("instancemanagers.longhorn.io", name, NAMESPACE)
