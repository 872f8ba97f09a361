"""A cluster of three zones, with volumes in all of them, before one zone goes.

For the report there are 300 nodes and as many volumes, else 90.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

import msgspec

from tests.actors import api as kinds
from tests.actors.api import Key, Object, key_of
from tests.actors.longhorn import NAMESPACE, standing
from tests.actors.longhorn.creation import replica_object, volume_object
from tests.actors.longhorn.draft import merged
from tests.actors.longhorn.records import condition_status
from tests.actors.provisioner import persistent_volume
from tests.e2e.effort import is_for_report
from tests.e2e.waiting import until
from tests.e2e.workloads import NAMESPACE as WORKLOADS
from tests.e2e.workloads import STORAGE_CLASS, claim, pod
from tests.e2e.world import Disks, World

ZONES = ("zone-a", "zone-b", "zone-c")
PER_ZONE = 100 if is_for_report() else 30
NODES = tuple(f"node-{number}" for number in range(1, len(ZONES) * PER_ZONE + 1))
ZONE_OF = {node: ZONES[index // PER_ZONE] for index, node in enumerate(NODES)}
LOST = frozenset(NODES[-PER_ZONE:])
"""The nodes of the last zone."""
VOLUMES = 3 * PER_ZONE
ROOM_GIB = 100
"""What each disk has left."""
SIZES_MIB = (30 * 2**10, 200 * 2**10)
"""Of the volumes: a good half is larger than any room."""
SPARE = NODES[0]
"""This node has a second disk, which takes no replicas at first."""
AT_ONCE = 20
"""So many requests are under way."""
SETTLE_SECONDS = 120.0
GONE = "KubernetesNodeGone"


class Tenant(msgspec.Struct, frozen=True):
    """A volume of three replicas whose pod runs on the first of their nodes."""

    name: str
    size_mib: int
    nodes: tuple[str, ...]

    @property
    def is_too_large(self) -> bool:
        """Whether no disk has room for one more replica; sizes of disks are rounded up."""
        return self.size_mib > (ROOM_GIB + 1) * 2**10


def draw_tenants(random: Random) -> list[Tenant]:
    """Draw the volumes: sizes differ, each node has as many replicas, each replica its own zone."""
    sizes = random.sample(range(*SIZES_MIB, 2), VOLUMES)
    per_node = VOLUMES // PER_ZONE
    columns = [
        random.sample([*NODES[first : first + PER_ZONE]] * per_node, VOLUMES)
        for first in range(0, len(NODES), PER_ZONE)
    ]
    return [
        Tenant(f"tenant-{number}", size, nodes)
        for number, (size, nodes) in enumerate(zip(sizes, zip(*columns, strict=True), strict=True))
    ]


def disks_for(tenants: Sequence[Tenant]) -> list[Disks]:
    """Make disks as large as what is on them, and the same room."""
    taken = dict.fromkeys(NODES, 0)
    for tenant in tenants:
        for node in tenant.nodes:
            taken[node] += tenant.size_mib
    spare = {SPARE: {"b": ROOM_GIB}}
    return [{"a": -(-taken[node] // 2**10) + ROOM_GIB, **spare.get(node, {})} for node in NODES]


@contextlib.asynccontextmanager
async def moved_in(world: World, tenants: Sequence[Tenant]) -> AsyncIterator[None]:
    """Have the volumes there, attached and healthy, with their pods running."""
    try:
        await _move_in(world, tenants)
        yield
    finally:
        # Longhorn would take minutes to detach and delete so many.
        for kind in (kinds.VOLUMES, kinds.REPLICAS):
            await world.api.delete(kind, Key(NAMESPACE, ""))


async def _move_in(world: World, tenants: Sequence[Tenant]) -> None:
    await _all_of(_create_pod(world, each) for each in tenants)
    volumes = world.longhorn.cluster.persistent_volumes.objects
    await until(lambda: len(volumes) == len(tenants), within=SETTLE_SECONDS)
    random = Random(0)
    await _all_of(_create_volume(world, each, random) for each in tenants)
    await until(lambda: _listed(world) == 3 * len(tenants), within=SETTLE_SECONDS)
    running = world.seen.is_running
    await until(lambda: all(running(each.name) for each in tenants), within=SETTLE_SECONDS)


async def lose_zone(world: World) -> None:
    """Take the last zone away, with all replicas there."""
    for node in LOST:
        world.longhorn.set_ready(node, GONE)
    failed = standing.failed(_now())
    lost = [
        key
        for key, replica in world.longhorn.cluster.replicas.objects.items()
        if replica["spec"]["nodeID"] in LOST
    ]
    await _all_of(world.api.delete(kinds.KUBERNETES_NODES, Key("", node)) for node in LOST)
    await _all_of(world.api.patch(kinds.REPLICAS, key, failed) for key in lost)


def without_place(world: World) -> int:
    """Count the volumes of which Longhorn says that a replica finds no place."""
    volumes = world.longhorn.cluster.volumes.objects.values()
    return sum(condition_status(each["status"], "Scheduled") == "False" for each in volumes)


async def _create_pod(world: World, tenant: Tenant) -> None:
    """Create a pod on its node, its claim, and the PersistentVolume that is bound to that."""
    size = f"{tenant.size_mib}Mi"
    made = await world.api.create(claim(tenant.name, size), kinds.CLAIMS)
    name = _volume_name(made)
    storage_class = world.longhorn.cluster.storage_classes.objects[Key("", STORAGE_CLASS)]
    await world.api.create(persistent_volume(name, made, storage_class), kinds.PERSISTENT_VOLUMES)
    on_node = pod(tenant.name, tenant.name)
    on_node["spec"]["nodeName"] = tenant.nodes[0]
    await world.api.create(on_node, kinds.PODS)


async def _create_volume(world: World, tenant: Tenant, random: Random) -> None:
    found = world.longhorn.cluster.claims.get(tenant.name, WORKLOADS)
    assert found is not None
    new = volume_object(
        _volume_name(found),
        tenant.size_mib * 2**20,
        {"dataLocality": "disabled"},
        {},
        namespace=NAMESPACE,
        owner=tenant.nodes[0],
    )
    # Longhorn must not miss any replica as long as they are not all there.
    blank_volume = merged(
        standing.attached(new, tenant.nodes[0]), {"spec": {"numberOfReplicas": 0}}
    )
    volume = await world.api.create(blank_volume, kinds.VOLUMES)
    for node in tenant.nodes:
        blank = replica_object(volume, tenant.size_mib * 2**20, "", random)
        replica = standing.placed(blank, node, "a", _now(), runs=True)
        await world.api.create(replica, kinds.REPLICAS)
    await world.api.patch(kinds.VOLUMES, key_of(volume), {"spec": {"numberOfReplicas": 3}})


def _volume_name(claim: Object) -> str:
    return f"pvc-{claim['metadata']['uid']}"


def _listed(world: World) -> int:
    """Count the replicas that Longhorn's nodes list."""
    return sum(
        len(disk.get("scheduledReplica") or ())
        for node in world.longhorn.cluster.nodes.objects.values()
        for disk in node["status"]["diskStatus"].values()
    )


async def _all_of(requests: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Send requests, some at a time."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def send(request: Coroutine[Any, Any, object]) -> None:
        async with turn:
            await request

    async with asyncio.TaskGroup() as tasks:
        for each in requests:
            tasks.create_task(send(each))


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
