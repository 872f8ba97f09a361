"""Volumes whose only replica cannot be started: what becomes of pods with and without us.

Three nodes each keep the only data of two volumes that are detached. One node is down, one has
another disk in the place of its own, one has a dead instance manager. All pods may only go to a
fourth node, where everything runs.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from random import Random

import msgspec
import pytest

from extender.verdicts.rejections import DataLost, Rejection, ReplicasCannotStart
from tests.actors import api as kinds
from tests.actors.api import Key, Object, key_of
from tests.actors.longhorn import NAMESPACE, disk_uuid, standing
from tests.actors.longhorn.creation import replica_object, volume_object
from tests.actors.longhorn.draft import merged
from tests.actors.provisioner import persistent_volume
from tests.e2e.lending import ONE_LOOP
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB, STORAGE_CLASS, claim, pod
from tests.e2e.workloads import NAMESPACE as WORKLOADS
from tests.e2e.world import DELAYS, World

pytestmark = ONE_LOOP

HERE = "node-4"
"""The node that pods may go to."""
DISK = "disk"
DOWN = "KubernetesNodeNotReady"
KEPT = "kept"
SETTLE_SECONDS = 20.0
HANG_SECONDS = 2.0
START_SECONDS = 10.0
DELAYS_HERE = msgspec.structs.replace(
    DELAYS,
    # Changed capacities wake pods, too; external-provisioner looks every minute.
    capacity_poll=600.0,
    node_status=(0.1, 0.3),
    attach_wish=(0.1, 0.5),
    attach=(0.5, 1.0),
)


async def set_up(world: World, *, is_there: bool) -> None:
    """Say whether the first node is up."""
    world.longhorn.set_ready("node-1", "" if is_there else DOWN)


async def set_disk(world: World, *, is_there: bool) -> None:
    """Say whether the second node has its disk, or another one."""
    uuid = disk_uuid("node-2", DISK if is_there else "another")
    changes = {"status": {"diskStatus": {DISK: {"diskUUID": uuid}}}}
    await world.api.patch(kinds.LONGHORN_NODES, Key(NAMESPACE, "node-2"), changes)


async def set_manager(world: World, *, is_there: bool) -> None:
    """Say whether the instance manager of the third node runs."""
    await world.let_run("node-3", manager="running" if is_there else "error")


class Case(msgspec.Struct, frozen=True):
    """What is missing on a node."""

    node: str
    what: str
    why: Rejection
    """What kube-scheduler says of the pods that wait."""
    let: Callable[..., Awaitable[None]]

    @property
    def asks(self) -> str:
        """The pod, and claim, that the extender is asked about."""
        return f"asks-{self.node}"

    @property
    def plain(self) -> str:
        """The one that it is not asked about."""
        return f"plain-{self.node}"


CASES = (
    Case("node-1", "node", ReplicasCannotStart(awaited=("node node-1 is back",)), set_up),
    Case("node-2", "disk", DataLost(), set_disk),
    Case(
        "node-3",
        "instance manager",
        ReplicasCannotStart(awaited=("an instance manager runs on node node-3",)),
        set_manager,
    ),
)


@pytest.mark.gate
async def test_pods_wait_until_something_can_read_their_volumes(share_world, report):
    async with share_world(delays=DELAYS_HERE, instances=1) as world:
        await begin(world)
        kept = state_of_kept(world)
        for case in CASES:
            await case.let(world, is_there=False)
            await world.cordon(case.node)
        await asyncio.sleep(1)

        for case in CASES:
            await world.api.create(pod(case.asks, case.asks), kinds.PODS)
            await world.api.create(pod(case.plain, case.plain, extender=False), kinds.PODS)
        for case in CASES:
            await came_to_rest(world, case)
        await asyncio.sleep(HANG_SECONDS)
        assert not any(world.seen.is_running(each.plain) for each in CASES)
        assert not any(is_given_up(world, each.asks) for each in CASES)

        for number, case in enumerate(CASES):
            waiting = [each.asks for each in CASES[number:]]
            assert not any(world.seen.node_of()[each] for each in waiting)
            bound, ran = await seconds_after_return(world, case)
            report.measured(
                f"a volume whose only replica waits for its {case.what}",
                f"with the extender, the pod waits, has a node {bound:.1f} s after that is back "
                f"and runs after {ran:.1f} s; without, it is bound at once and hangs until then",
            )
            assert ran < START_SECONDS
        assert state_of_kept(world) == kept


async def begin(world: World) -> None:
    """Have four nodes, two volumes on each of the first three, and a pod that runs."""
    await world.add_nodes(*[{DISK: 100}] * 4)
    await add_volume(world, KEPT, *(each.node for each in CASES), HERE)
    there = pod(KEPT, KEPT)
    there["spec"]["nodeName"] = HERE
    await world.api.create(there, kinds.PODS)
    for case in CASES:
        await add_volume(world, case.asks, case.node)
        await add_volume(world, case.plain, case.node)
    await until(lambda: world.seen.is_running(KEPT), within=SETTLE_SECONDS)
    await until(lambda: listed(world) == 2 * len(CASES) + 4, within=SETTLE_SECONDS)


async def add_volume(world: World, name: str, *nodes: str) -> None:
    """Have a volume with a claim that was in use before, with data on some nodes."""
    made = await world.api.create(claim(name, "1Gi"), kinds.CLAIMS)
    volume = f"pvc-{made['metadata']['uid']}"
    storage_class = world.longhorn.cluster.storage_classes.objects[Key("", STORAGE_CLASS)]
    await world.api.create(persistent_volume(volume, made, storage_class), kinds.PERSISTENT_VOLUMES)
    new = volume_object(
        volume, GIB, {"dataLocality": "disabled"}, {}, namespace=NAMESPACE, owner=HERE
    )
    # Longhorn must not miss any replica as long as they are not all there.
    blank = merged(standing.detached(new), {"spec": {"numberOfReplicas": 0}})
    there = await world.api.create(blank, kinds.VOLUMES)
    now = world.longhorn.cluster.timestamp()
    for node in nodes:
        replica = replica_object(there, GIB, "", Random(f"{volume} {node}"))
        placed = standing.placed(replica, node, DISK, now, runs=False)
        await world.api.create(placed, kinds.REPLICAS)
    whole = {"spec": {"numberOfReplicas": len(nodes)}}
    await world.api.patch(kinds.VOLUMES, key_of(there), whole)


async def came_to_rest(world: World, case: Case) -> None:
    """Wait until one pod is refused, and Longhorn has tried to attach the volume of the other."""
    seen, why = world.seen, str(case.why)
    await until(lambda: seen.is_refused(case.asks, why), within=SETTLE_SECONDS)
    await until(lambda: seen.node_of()[case.plain] == HERE, within=SETTLE_SECONDS)
    await until(lambda: is_given_up(world, case.plain), within=SETTLE_SECONDS)


def is_given_up(world: World, claim: str) -> bool:
    """Whether Longhorn has ever marked a replica of a claim's volume as failed."""
    volume = world.seen.volume_of(claim)
    return any(
        replica["spec"]["lastFailedAt"]
        for replica in world.longhorn.cluster.replicas.objects.values()
        if replica["spec"]["volumeName"] == volume
    )


async def seconds_after_return(world: World, case: Case) -> tuple[float, float]:
    """Bring back what is missing; say how long until the pod had a node, and ran, and the other."""
    seen, began = world.seen, time.time()
    await case.let(world, is_there=True)
    await until(lambda: seen.is_running(case.asks), within=SETTLE_SECONDS)
    await until(lambda: seen.is_running(case.plain), within=SETTLE_SECONDS)
    found = seen.pod(case.asks)
    assert found is not None
    uid = found["metadata"]["uid"]
    return seen.bound_at[uid] - began, seen.ran_at[uid] - began


def listed(world: World) -> int:
    """Count the replicas that Longhorn's nodes list."""
    nodes = world.longhorn.cluster.nodes.objects.values()
    return sum(len(each["status"]["diskStatus"][DISK]["scheduledReplica"]) for each in nodes)


def state_of_kept(world: World) -> list[Object | None]:
    """Return the pod that ran before, its volume, and the replicas of that."""
    cluster, volume = world.longhorn.cluster, world.seen.volume_of(KEPT)
    return [
        cluster.pods.get(KEPT, WORKLOADS),
        cluster.volumes.get(volume, NAMESPACE),
        *(
            replica
            for _, replica in sorted(cluster.replicas.objects.items())
            if replica["spec"]["volumeName"] == volume
        ),
    ]
