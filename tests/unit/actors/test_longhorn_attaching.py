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
from tests.unit.actors.world import GIB, NAMESPACE, VIRTUAL_TIME, World, running

pytestmark = VIRTUAL_TIME

NEW_IMAGE = ENGINE_IMAGE.replace("v1.12.1", "v1.12.2")
NEW_MANAGER = MANAGER_IMAGE.replace("v1.12.1", "v1.12.2")
V2_OFF = "node.longhorn.io/disable-v2-data-engine"


def two_nodes() -> World:
    """All runs on both; replicas go to node-2."""
    world = World()
    for name, gib in (("node-1", 1), ("node-2", 100)):
        world.add_node(name, gib)
        world.put(kinds.CSI_NODES, csi_node(name, DRIVER))
        world.put(kinds.INSTANCE_MANAGERS, instance_manager(name))
    world.put(kinds.ENGINE_IMAGES, engine_image({"node-1": True, "node-2": True}))
    for name, image in (
        ("default-engine-image", ENGINE_IMAGE),
        ("default-instance-manager-image", MANAGER_IMAGE),
    ):
        world.put(kinds.SETTINGS, setting(name, image))
    return world


def wished(world: World, volume: str = "data") -> str:
    return str(world.volume(volume)["spec"]["nodeID"])


@pytest.mark.parametrize(
    ("kind", "broken", "mended"),
    [
        pytest.param(
            kinds.CSI_NODES, csi_node("node-1"), csi_node("node-1", DRIVER), id="a-no-driver"
        ),
        pytest.param(
            kinds.CSI_NODES,
            csi_node("node-1", "other.example.org"),
            csi_node("node-1", DRIVER),
            id="a-another-driver",
        ),
        pytest.param(
            kinds.ENGINE_IMAGES,
            engine_image({"node-1": False, "node-2": True}),
            engine_image({"node-1": True, "node-2": True}),
            id="e-image-not-ready",
        ),
        pytest.param(
            kinds.ENGINE_IMAGES,
            engine_image({"node-2": True}),
            engine_image({"node-1": True, "node-2": True}),
            id="e-no-image",
        ),
    ],
)
async def test_the_attach_api_refuses(kind, broken, mended):
    world = two_nodes()
    world.put(kind, broken)
    async with running(world):
        await world.provision("data", dataLocality="disabled")
        world.run_pod("web", "node-1", "data")

        await world.hold(
            lambda: (wished(world), world.state("data")[0]) == ("", "detached"), seconds=60
        )
        world.put(kind, mended)
        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=10)


async def test_a_node_that_is_not_ready_is_refused():
    world = two_nodes()
    async with running(world):
        await world.provision("data", dataLocality="disabled")
        world.longhorn.set_ready("node-1", "ManagerPodDown")
        await world.until(lambda: "node-1" not in world.ready_nodes(), within=10)
        world.run_pod("web", "node-1", "data")

        await world.hold(lambda: wished(world) == "", seconds=60)
        world.longhorn.set_ready("node-1")
        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=10)


@pytest.mark.parametrize("state", ["starting", "error", "stopped", "unknown"])
async def test_without_a_running_instance_manager_a_volume_hangs_in_attaching(state):
    world = two_nodes()
    world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1", state))
    async with running(world):
        await world.provision("data", dataLocality="disabled")
        world.run_pod("web", "node-1", "data")

        await world.until(lambda: world.state("data")[0] == "attaching", within=10)
        await world.hold(lambda: world.state("data")[0] == "attaching", seconds=60)
        world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1"))
        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=10)


async def test_after_an_upgrade_only_an_instance_manager_of_the_new_image_starts_engines():
    world = two_nodes()
    async with running(world):
        await world.provision("data", dataLocality="disabled")
        world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-2", image=NEW_MANAGER))
        world.put(kinds.SETTINGS, setting("default-instance-manager-image", NEW_MANAGER))
        world.run_pod("web", "node-1", "data")

        await world.until(lambda: world.state("data")[0] == "attaching", within=10)
        await world.hold(lambda: world.state("data")[0] == "attaching", seconds=60)
        world.put(kinds.INSTANCE_MANAGERS, instance_manager("node-1", image=NEW_MANAGER))
        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=10)


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
        await world.until(lambda: world.state("data") == ("attached", "node-2"), within=10)


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
        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=10)


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
        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=60)


async def test_a_new_replica_goes_to_a_node_with_image_and_instance_manager():
    world = World()
    for name in ("node-1", "node-2", "node-3"):
        world.add_node(name, 100)
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
        await world.provision("data", dataLocality="disabled")
        world.run_pod("web", "node-1", "data")

        await world.until(lambda: world.state("data") == ("attached", "node-1"), within=10)
        assert world.server.get(
            "instancemanagers.longhorn.io", leaving["metadata"]["name"], NAMESPACE
        )
