"""CSIStorageCapacity objects."""

import asyncio
from typing import Any

import pytest

from longhorn import Capacity
from tests.actors import api as kinds
from tests.actors.longhorn import DiskSpec, longhorn_node, storage_class
from tests.actors.longhorn.capacity import capacity
from tests.unit.actors.world import GIB, VIRTUAL_TIME, World, running, world_of

pytestmark = VIRTUAL_TIME


def published(world: World) -> dict[tuple[str, str], tuple[int, int]]:
    """Return sum and maximum in GiB by class and node."""
    return {
        (
            each["storageClassName"],
            each["nodeTopology"]["matchLabels"]["kubernetes.io/hostname"],
        ): (int(each["capacity"]) // GIB, int(each["maximumVolumeSize"]) // GIB)
        for each in world.server.list("csistoragecapacities.storage.k8s.io", "longhorn-system")
    }


async def test_capacities_are_behind_by_up_to_a_poll():
    world = World()
    world.add_node("node-1", 100, 50)
    async with running(world):
        await world.until(lambda: published(world) == {("local", "node-1"): (150, 100)}, within=1)
        await world.provision("data")
        world.run_pod("web", "node-1", "data")
        await world.until(lambda: sum(world.published_gib("node-1").values()) == 10, within=10)
        assert published(world) == {("local", "node-1"): (150, 100)}

        await world.until(lambda: published(world) != {("local", "node-1"): (150, 100)}, within=61)
        assert published(world)["local", "node-1"][0] == 140


async def test_capacities_follow_nodes_and_classes():
    immediate = storage_class("immediate", binding="Immediate")
    foreign = {**storage_class("foreign"), "provisioner": "other"}
    async with running(world_of(100)) as world:
        for each in (storage_class("second"), immediate, foreign):
            world.put(kinds.STORAGE_CLASSES, each)
        world.add_node("node-2", 200)
        both = {"local", "second"}
        expected = {
            (c, n): s for c in both for n, s in (("node-1", (100,) * 2), ("node-2", (200,) * 2))
        }
        await world.until(lambda: published(world) == expected, within=2)

        world.server.delete("nodes.longhorn.io", "node-1", "longhorn-system")
        world.server.delete("storageclasses.storage.k8s.io", "second")

        await world.until(lambda: published(world) == {("local", "node-2"): (200, 200)}, within=2)


async def test_a_new_persistent_volume_has_its_class_asked_anew():
    async with running(world_of(100)) as world:
        await world.provision("data", dataLocality="disabled")
        await world.until(lambda: published(world) == {("local", "node-1"): (90, 90)}, within=5)


CAPACITIES: dict[str, tuple[dict[str, Any], dict[str, str], int]] = {
    "reserved": ({"reserved_bytes": 30}, {}, 70),
    "more reserved": ({"reserved_bytes": 130}, {}, 0),
    "switched off": ({"allow_scheduling": False}, {}, 0),
    "not tagged": ({}, {"diskSelector": "ssd"}, 0),
    "tagged": ({"tags": ("ssd", "x")}, {"diskSelector": "ssd"}, 100),
    "node not tagged": ({}, {"nodeSelector": "fast"}, 0),
    "other engine": ({}, {"dataEngine": "v2"}, 0),
}


@pytest.mark.parametrize(("disk", "parameters", "expected"), CAPACITIES.values(), ids=CAPACITIES)
def test_capacity_of_a_disk(disk, parameters, expected):
    node = longhorn_node("node-1", {"disk-1": DiskSpec(size_bytes=100, **disk)})

    found = capacity(node, storage_class("local", **parameters), {})

    assert found == Capacity(expected, expected)


def test_over_provisioning_counts_in_whole_numbers():
    node = longhorn_node("node-1", {"disk-1": 101, "disk-2": 11})
    settings = {"storage-over-provisioning-percentage": "150"}

    assert capacity(node, storage_class("local"), settings) == Capacity(151 + 16, 151)


async def test_nothing_is_published_while_a_setting_cannot_be_read():
    name = "allow-empty-node-selector-volume"
    async with running(world_of(100, settings={name: "perhaps"})) as world:
        await asyncio.sleep(60)
        assert published(world) == {}
        node = world.nodes()[0]["metadata"]["name"]
        assert world.published_gib(node) == {"disk-1": 0}

        world.server.delete("settings.longhorn.io", name, "longhorn-system")
        await world.until(lambda: published(world) == {("local", "node-1"): (100, 100)}, within=61)
