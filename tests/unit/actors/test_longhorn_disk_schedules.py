"""Volumes and backing images whose room is granted by DiskSchedules, and the same without them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.actors.longhorn import (
    FAST,
    DiskSchedules,
    backing_image,
    disk_uuid,
    overcommitted,
    setting,
)
from tests.actors.longhorn.granted import holders, starts_without_room, unsettled, wrong_change
from tests.actors.longhorn.schedules import room_of
from tests.fakes import Change, Resource
from tests.unit.actors.world import GIB, NAMESPACE, VIRTUAL_TIME, World, running, world_of

pytestmark = VIRTUAL_TIME

NODES = ("node-1", "node-2", "node-3")
VOLUMES = [f"data-{number:02}" for number in range(40)]
"""Of 10 GiB each; three disks of 105 GiB have room for 30 of them."""
DISK_GIB = 105


def three_nodes(seed: int, disk_schedules: DiskSchedules, *, stale: bool = True) -> World:
    given: Any = {"delays": FAST, "stale": stale, "disk_schedules": disk_schedules}
    return world_of(*[DISK_GIB] * 3, seed=seed, **given)


@asynccontextmanager
async def managed(seed: int = 0, *, stale: bool = True) -> AsyncIterator[World]:
    """Run three nodes with a DiskSchedule each; no change of these, or of what runs, is wrong."""
    world = three_nodes(seed, DiskSchedules.MANAGED, stale=stale)
    wrong: list[str] = []

    def look(resource: Resource, change: Change) -> None:
        if resource.plural == "diskschedules" and change.new is not None:
            wrong.extend(wrong_change(change.old, change.new, DISK_GIB * GIB))
        if resource.plural == "replicas" and change.new is not None:
            schedules = {each["metadata"]["name"]: each for each in world.schedules()}
            if starts_without_room(change.old, change.new, schedules):
                wrong.append(f"{change.new['metadata']['name']} runs without room")

    world.server.observers.append(look)
    async with running(world):
        await world.until(lambda: len(world.schedules()) == 3, within=5)
        yield world
    assert wrong == []


def asked_gib(world: World, node: str) -> dict[str, float]:
    """Return what is asked of a node's disk, by name in GiB."""
    spec = world.schedule(node)["spec"]
    sizes = spec["replicas"] | spec["backingImages"]
    return {name: size / GIB for name, size in sizes.items()}


def placed(world: World) -> list[str]:
    """Name the volumes of which a replica is placed."""
    return sorted(e["spec"]["volumeName"] for e in world.replicas() if e["spec"]["diskID"])


def granted(world: World) -> set[str]:
    """Name the replicas and images that hold all that they ask for."""
    return {
        name
        for each in world.schedules()
        for (asker, name), size in holders(each).items()
        if size == room_of(each, asker, name).asked_bytes
    }


def is_settled(world: World) -> bool:
    """Say whether each placed replica has its room, and nothing else is asked."""
    return not unsettled(world.replicas(), world.schedules())


def allocation(world: World, volume: str) -> Object | None:
    """Return a volume's condition DiskAllocation."""
    conditions = world.volume(volume)["status"]["conditions"]
    return next((dict(each) for each in conditions if each["type"] == "DiskAllocation"), None)


async def test_node_managers_create_an_object_for_each_disk_and_delete_it_with_the_disk():
    async with managed() as world:
        found = world.schedule("node-1")
        node = next(each for each in world.nodes() if each["metadata"]["name"] == "node-1")
        assert found["metadata"]["labels"] == {"longhornnode": "node-1"}
        assert found["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
        nothing_asked: Object = {"replicas": {}, "backingImages": {}}
        assert found["spec"] == {"name": "disk-1", "nodeID": "node-1", **nothing_asked}

        world.put(kinds.LONGHORN_NODES, {**node, "spec": {**node["spec"], "disks": {}}})

        await world.until(lambda: len(world.schedules()) == 2, within=5)
        assert world.server.get("diskschedules.longhorn.io", disk_uuid("node-1", "disk-1")) is None


async def test_a_replica_runs_only_once_its_disk_has_granted_room():
    async with managed() as world:
        with world.server.outage("granting"):
            await world.provision("data")
            world.run_pod("web", "node-2", "data")
            await world.until(lambda: world.places("data") == ["node-2"], within=5)
            await world.until(lambda: [*asked_gib(world, "node-2").values()] == [10], within=5)
            await world.hold(lambda: world.state("data") == ("detached", ""), seconds=20)

        await world.attached("data", "node-2")
        assert is_settled(world)


@pytest.mark.parametrize(("seed", "stale"), [(0, True), (1, True), (2, True), (0, False)])
async def test_of_volumes_created_at_once_those_that_fit_are_placed_and_no_more(seed, *, stale):
    async with managed(seed, stale=stale) as world:
        await provision(world, *VOLUMES)
        await world.until(lambda: len(granted(world)) == 30, within=120)
        await world.until(lambda: is_settled(world) and len(placed(world)) == 30, within=60)
        refused = sorted(set(VOLUMES) - set(placed(world)))
        assert len(refused) == 10
        assert {world.scheduled(name)["status"] for name in refused} == {"False"}

        for name in placed(world)[:10]:
            await world.longhorn.delete_volume(name)

        await world.until(lambda: set(refused) <= set(placed(world)), within=60)
        await world.until(lambda: is_settled(world), within=60)
        assert overcommitted(world.nodes(), world.replicas(), {}) == ()


async def test_without_disk_schedules_the_same_volumes_overcommit_disks(summarise):
    found, conflicts = [], 0
    for mode in (DiskSchedules.UNUSED, DiskSchedules.MANAGED):
        disks = 0
        for seed in range(2):
            async with running(three_nodes(seed, mode)) as world:
                await asyncio.sleep(5)
                await provision(world, *VOLUMES)
                await asyncio.sleep(20)
                disks += len(overcommitted(world.nodes(), world.replicas(), {}))
                conflicts += world.longhorn.requests.conflicts + world.granting.conflicts
        found.append(disks)

    summarise(
        f"{len(VOLUMES)} volumes at once, room for 30: {found[0]} of 6 disks beyond their limit "
        f"without DiskSchedules, {found[1]} with them and {conflicts} conflicts"
    )
    assert found[0] > 0
    assert found[1] == 0
    assert conflicts > 0


async def test_a_refused_replica_tries_another_disk_and_the_volume_says_why_meanwhile():
    async with managed() as world:
        with world.server.outage("granting"):
            await provision(world, "data", gib=60)
            await world.until(lambda: placed(world) == ["data"], within=5)
            [first] = world.places("data")
            # Somebody else is faster.
            await world.until(lambda: asked_gib(world, first), within=5)
            other = world.schedule(first)
            other["spec"]["replicas"]["other-r-1"] = 60 * GIB
            other["status"] = {
                "replicas": {"other-r-1": {"state": "scheduled", "scheduledSize": 60 * GIB}},
                "storageScheduled": 60 * GIB,
                "conditions": [{"type": "Ready", "status": "True"}],
            }
            world.put(kinds.DISK_SCHEDULES, other)
            [replica] = world.replicas()
            replica["metadata"] = {"name": "other-r-1", "namespace": NAMESPACE}
            replica["spec"]["volumeName"] = "other"
            world.put(kinds.REPLICAS, replica)

        await world.until(lambda: allocation(world, "data") is not None, within=20)
        condition = allocation(world, "data")
        assert condition is not None
        why = (condition["status"], condition["reason"])
        assert why == ("False", "ReplicaDiskAllocationFailure")
        assert disk_uuid(first, "disk-1") in condition["message"]
        await world.until(lambda: world.places("data") not in ([first], [""]), within=20)
        await world.until(lambda: (allocation(world, "data") or {})["status"] == "True", within=20)
        [name] = [each["metadata"]["name"] for each in world.replicas("data")]
        assert name not in asked_gib(world, first)


async def test_a_deleted_volume_gives_its_room_back_before_its_replica_goes():
    async with managed() as world:
        await provision(world, "data")
        await world.until(lambda: len(granted(world)) == 1, within=10)
        with world.server.outage("granting"):
            await world.longhorn.delete_volume("data")

            assert world.replicas() == []
            assert [asked_gib(world, node) for node in NODES] == [{}, {}, {}]

        await world.until(lambda: not any(map(holders, world.schedules())), within=10)


async def test_a_volume_grows_once_all_its_disks_hold_the_new_size():
    async with managed() as world:
        await three_replicas(world)
        with world.server.outage("granting"):
            await world.longhorn.expand_volume("data", 30 * GIB)
            await world.until(lambda: requests_of_data(world) == [30, 30, 30], within=10)
            await world.hold(lambda: sizes_gib(world) == [10, 10, 10], seconds=10)
            assert world.volume("data")["status"]["expansionRequired"]

        await world.until(lambda: sizes_gib(world) == [30, 30, 30], within=10)
        await world.until(
            lambda: not world.volume("data")["status"]["expansionRequired"], within=10
        )
        assert allocation(world, "data") is None


async def test_if_one_disk_has_no_room_nothing_grows_and_everything_is_given_back():
    async with managed() as world:
        full = await three_replicas_and_a_full_disk(world)

        await world.longhorn.expand_volume("data", 30 * GIB)

        await world.until(lambda: allocation(world, "data") is not None, within=10)
        await world.until(lambda: requests_of_data(world) == [10, 10, 10], within=10)
        condition = allocation(world, "data")
        assert condition is not None
        assert condition["status"] == "False"
        assert disk_uuid(full, "disk-1") in condition["message"]
        await world.hold(lambda: sizes_gib(world) == [10, 10, 10], seconds=20)
        assert world.volume("data")["status"]["expansionRequired"]

        await world.longhorn.delete_volume("other")

        await world.until(lambda: sizes_gib(world) == [30, 30, 30], within=60)
        await world.until(lambda: (allocation(world, "data") or {})["status"] == "True", within=10)


@pytest.mark.parametrize("disk_schedules", [DiskSchedules.UNUSED, DiskSchedules.MANAGED])
async def test_volumes_that_grow_at_once(disk_schedules, summarise):
    """Each disk has nine of 10 GiB, and room for one of them to have 20."""
    names = [f"data-{number}" for number in range(9)]
    async with running(three_nodes(0, disk_schedules)) as world:
        await asyncio.sleep(5)
        await provision(world, *names, replicas=3)
        await world.until(lambda: len(placed(world)) == 27, within=60)
        await asyncio.sleep(5)

        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(world.longhorn.expand_volume(name, 20 * GIB))
        await asyncio.sleep(20)

        beyond = overcommitted(world.nodes(), world.replicas(), {})
        sizes = [{each["spec"]["volumeSize"] for each in world.replicas(name)} for name in names]
    grown = sizes.count({str(20 * GIB)})
    summarise(
        f"9 volumes grow at once, room for 1, {disk_schedules.value}: "
        f"{grown} grown, {len(beyond)} of 3 disks beyond their limit"
    )
    assert all(len(each) == 1 for each in sizes)
    if disk_schedules is DiskSchedules.MANAGED:
        assert (grown, beyond) == (1, ())
    else:
        assert beyond


async def test_a_new_replica_is_as_large_as_the_others_while_growth_is_refused():
    async with managed() as world:
        full = await three_replicas_and_a_full_disk(world)
        world.run_pod("web", "node-1", "data")
        await world.attached("data", "node-1")
        await world.longhorn.expand_volume("data", 30 * GIB)
        await world.until(lambda: allocation(world, "data") is not None, within=10)

        lost = next(each for each in world.replicas("data") if each["spec"]["nodeID"] != full)
        world.server.delete("replicas.longhorn.io", lost["metadata"]["name"], NAMESPACE)

        await world.until(lambda: len(world.replicas("data")) == 3, within=60)
        assert sizes_gib(world) == [10, 10, 10]


@pytest.mark.parametrize("seed", range(3))
async def test_of_images_copied_at_once_those_that_fit_get_their_copies_and_no_more(seed):
    async with managed(seed) as world:
        put_images(world)
        await world.until(lambda: copies_made(world) == 30, within=60)
        await world.hold(lambda: copies_made(world) == 30, seconds=10)

        whole = [e for e in world.images() if len(e["status"]["diskFileStatusMap"]) == 2]
        for each in whole[:4]:
            world.longhorn.delete_image(each["metadata"]["name"])

        await world.until(lambda: len(world.images()) == 16, within=10)
        await world.until(lambda: copies_made(world) == 30, within=60)


async def test_without_disk_schedules_the_same_images_overcommit_disks():
    async with running(three_nodes(0, DiskSchedules.UNUSED)) as world:
        put_images(world)
        await asyncio.sleep(30)

        assert max(copies_gib(world).values()) > DISK_GIB


async def test_a_deleted_image_gives_room_back_on_every_disk_that_it_names():
    async with managed() as world:
        world.put(kinds.BACKING_IMAGES, backing_image("image", 5 * GIB, copies=3, owner="node-1"))
        await world.until(lambda: copies_made(world) == 3, within=20)
        # A copy that is made, and no longer wished for.
        [image] = world.images()
        specs = image["spec"]["diskFileSpecMap"]
        left = {disk: each for disk, each in specs.items() if disk != disk_uuid("node-1", "disk-1")}
        with world.server.outage("longhorn"):
            spec = {**image["spec"], "minNumberOfCopies": 2, "diskFileSpecMap": left}
            world.put(kinds.BACKING_IMAGES, {**image, "spec": spec})

        world.longhorn.delete_image("image")

        await world.until(lambda: world.images() == [], within=10)
        assert [asked_gib(world, node) for node in NODES] == [{}, {}, {}]


async def test_replicas_that_exist_when_disk_schedules_come_ask_for_their_room():
    async with managed() as world:
        await provision(world, "data", gib=40)
        await world.until(lambda: len(granted(world)) == 1, within=10)
        [node] = world.places("data")
        world.run_pod("web", node, "data")
        await world.attached("data", node)
        # The object is lost and made anew while the limit is below what is there.
        world.put(kinds.SETTINGS, setting("storage-over-provisioning-percentage", "20"))
        world.server.delete("diskschedules.longhorn.io", disk_uuid(node, "disk-1"), NAMESPACE)

        await world.until(lambda: len(granted(world)) == 1, within=10)
        assert world.places("data") == [node]
        assert world.state("data") == ("attached", node)


async def provision(world: World, *names: str, gib: int = 10, replicas: int = 1) -> None:
    """Provision volumes whose replicas may go anywhere, and are placed at once."""
    number = str(replicas)
    await world.provision(*names, gib=gib, dataLocality="disabled", numberOfReplicas=number)


async def three_replicas(world: World) -> None:
    """Provision data with a replica of 10 GiB on each node."""
    await provision(world, "data", replicas=3)
    await world.until(lambda: len(granted(world)) == 3, within=10)


async def three_replicas_and_a_full_disk(world: World) -> str:
    """Provision besides what leaves less than 30 GiB to one of the three; return its node."""
    await three_replicas(world)
    await provision(world, "other", gib=80)
    await world.until(lambda: len(granted(world)) == 4, within=10)
    [full] = world.places("other")
    return full


def sizes_gib(world: World) -> list[float]:
    return [int(each["spec"]["volumeSize"]) / GIB for each in world.replicas("data")]


def requests_of_data(world: World) -> list[float]:
    return [
        size
        for node in NODES
        for name, size in asked_gib(world, node).items()
        if name.startswith("data-")
    ]


def put_images(world: World) -> None:
    """Put 20 images of which two copies of 10 GiB are wanted; there is room for 30 of 40."""
    for number in range(20):
        owner = NODES[number % 3]
        image = backing_image(f"image-{number}", 10 * GIB, copies=2, owner=owner)
        world.put(kinds.BACKING_IMAGES, image)


def copies_made(world: World) -> int:
    return sum(len(each["status"]["diskFileStatusMap"]) for each in world.images())


def copies_gib(world: World) -> dict[str, int]:
    """Return what the copies on each disk take."""
    found: dict[str, int] = {}
    for image in world.images():
        for disk in image["status"]["diskFileStatusMap"]:
            found[disk] = found.get(disk, 0) + image["status"]["size"] // GIB
    return found
