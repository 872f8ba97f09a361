"""Reports to draw: one by hand that shows everything there is, and one as large as you like."""

from collections.abc import Iterable

import msgspec

from planner.outcome import PlanReport
from planner.picture import (
    DiskReport,
    Event,
    Kind,
    NodeReport,
    Place,
    PlannedVolume,
    PlanWarning,
    Reason,
    ReplicaReport,
    StepReport,
)
from tests.builders import GIB


def replica(
    volume: str, size_gib: int, *, new: bool = False, failed: bool = False
) -> ReplicaReport:
    """Build a replica on a disk."""
    return ReplicaReport(volume=volume, size_bytes=size_gib * GIB, is_new=new, is_failed=failed)


def disk(
    name: str,
    *replicas: ReplicaReport,
    maximum_gib: int = 100,
    limit_gib: int = 100,
    reserved_gib: int = 0,
    used_gib: int = 0,
    scheduled_gib: int | None = None,
    held_gib: int = 0,
    problem: str = "",
) -> DiskReport:
    """Build a disk; what is scheduled on it are its replicas, unless it is said."""
    sum_bytes = sum(each.size_bytes for each in replicas)
    return DiskReport(
        name=name,
        maximum_bytes=maximum_gib * GIB,
        reserved_bytes=reserved_gib * GIB,
        available_bytes=(maximum_gib - used_gib) * GIB,
        limit_bytes=limit_gib * GIB,
        scheduled_bytes=sum_bytes if scheduled_gib is None else scheduled_gib * GIB,
        held_bytes=held_gib * GIB,
        replicas=replicas,
        problem=problem,
    )


def node(name: str, *disks: DiskReport, zone: str = "", problem: str = "") -> NodeReport:
    """Build a node without pods."""
    return NodeReport(name=name, zone=zone, problem=problem, disks=disks)


def plan(*steps: StepReport, placed: int = 0, pending: int = 0) -> PlanReport:
    """Build a plan of these steps."""
    return PlanReport(
        origin="cluster.yaml",
        policy="today",
        seed=1,
        steps=steps,
        placed=placed,
        pending=pending,
    )


def step(
    title: str, nodes: Iterable[NodeReport] = (), *events: Event, warning: PlanWarning | None = None
) -> StepReport:
    """Build a step that removes no nodes."""
    warnings = () if warning is None else (warning,)
    return StepReport(title=title, nodes=tuple(nodes), events=events, warnings=warnings)


_NO_ROOM = Reason(
    code="insufficient_storage",
    text="no disk of the Longhorn node has room for a volume of 120 GiB",
    nodes=("node-a1", "node-a2", "node-b1"),
    remedy="Add a disk, free one, or ask for less.",
)


def example() -> PlanReport:
    """Build the plan of a small shop: more replicas of its database, then a node is drained."""
    logs, web = "shop/logs", "shop/web-assets"
    data = [f"shop/data-db-{number}" for number in range(4)]
    a1 = node(
        "node-a1",
        disk("ssd-1", replica(logs, 40), replica(data[0], 60), used_gib=45, reserved_gib=10,
             maximum_gib=200, limit_gib=190),
        disk("ssd-2", replica(web, 20), used_gib=12),
        zone="east",
    )  # fmt: skip
    a2 = node(
        "node-a2",
        disk("ssd-1", replica(data[0], 60), used_gib=30, scheduled_gib=75),
        disk("hdd-1", maximum_gib=50, limit_gib=50, problem="scheduling is disabled"),
        zone="east",
    )
    b1 = node(
        "node-b1",
        disk("ssd-1", replica(logs, 40), replica(web, 20), used_gib=25),
        disk("ssd-2", replica(data[0], 60, failed=True), used_gib=60),
        zone="west",
    )
    a1, a2, b1 = _busy(a1, 4500), _busy(a2, 1500), _busy(b1, 3000)
    degraded = PlanWarning(
        code="degraded", object="Volume shop/data-db-0", text="one of its 3 replicas has failed"
    )
    a1_placed = _with_new(a1, ("ssd-1", data[1], 20), ("ssd-2", data[2], 30))
    a2_placed = _with_new(a2, ("ssd-1", data[1], 20))
    b1_placed = _with_new(b1, ("ssd-1", data[1], 20), ("ssd-1", data[2], 30))
    why_not = "its StatefulSet makes it once shop/db-3 runs"
    place = step(
        "place StatefulSet shop/db, 3 pods",
        [a1_placed, a2_placed, b1_placed],
        _placed("shop/db-1", 87.0, data[1], 20, "node-a2/ssd-1 node-a1/ssd-1 node-b1/ssd-1"),
        _placed("shop/db-2", 61.0, data[2], 30, "node-b1/ssd-1 node-a1/ssd-2 nowhere"),
        Event(kind=Kind.PENDING, object="shop/db-3", reasons=(_NO_ROOM,)),
        Event(kind=Kind.NOT_CREATED, object="shop/db-4", text=why_not),
        warning=PlanWarning(
            code="over_limit",
            object="Disk ssd-1 of node-b1",
            text="is scheduled beyond its limit by 10.0 GiB",
        ),
    )
    drain = StepReport(
        title="drain node-a1",
        removed_nodes=("node-a1",),
        nodes=(msgspec.structs.replace(a2_placed, problem="is cordoned"),),
        events=(
            Event(kind=Kind.MOVED, object="shop/db-0", before="node-a1", node="node-b1"),
            Event(kind=Kind.LOST, object="shop/debug", text="nothing makes it again"),
        ),
    )
    now = step("now", [a1, a2, b1], warning=degraded)
    return plan(now, place, drain, placed=3, pending=2)


def large(nodes: int, disks: int, *, zones: int = 3, replicas: int = 3) -> PlanReport:
    """Build a plan of two steps with *nodes* nodes of *disks* disks of *replicas* replicas each."""
    found = tuple(
        node(
            f"node-{number:04}",
            *(
                disk(
                    f"disk-{each}",
                    *(
                        # Each volume has a replica on three neighbouring nodes.
                        replica(f"space/volume-{(number - (r % 3)) % nodes}-{each}-{r // 3}", 20)
                        for r in range(replicas)
                    ),
                    used_gib=30,
                    reserved_gib=5,
                )
                for each in range(disks)
            ),
            zone=f"zone-{number % zones}",
        )
        for number in range(nodes)
    )
    changed = _with_new(found[0], (found[0].disks[0].name, "space/new", 10))
    return plan(step("now", found), step("place Pod space/pod", [changed]))


def _placed(pod: str, score: float, volume: str, size_gib: int, places: str) -> Event:
    """Build the event of a pod whose new volume has a replica at each of these places."""
    found = [each.partition("/") for each in places.split()]
    replicas = [Place(node=node, disk=disk) if disk else Place() for node, _, disk in found]
    made = PlannedVolume(
        name=volume,
        size_bytes=size_gib * GIB,
        locality="best-effort",
        replicas=tuple(replicas),
    )
    return Event(kind=Kind.PLACED, object=pod, node=replicas[0].node, score=score, volumes=(made,))


def _busy(found: NodeReport, requested_millicores: int) -> NodeReport:
    return msgspec.structs.replace(
        found,
        pods=("shop/db-0", "shop/web"),
        requested_millicores=requested_millicores,
        allocatable_millicores=8000,
        requested_memory_bytes=12 * GIB,
        allocatable_memory_bytes=32 * GIB,
    )


def _with_new(found: NodeReport, *replicas: tuple[str, str, int]) -> NodeReport:
    """Return a node with more replicas: for each a disk, the volume, and its size in GiB."""
    disks = []
    for old in found.disks:
        new = tuple(replica(of, gib, new=True) for name, of, gib in replicas if name == old.name)
        added_bytes = sum(each.size_bytes for each in new)
        disks.append(
            msgspec.structs.replace(
                old,
                replicas=(*old.replicas, *new),
                scheduled_bytes=old.scheduled_bytes + added_bytes,
            )
        )
    return msgspec.structs.replace(found, disks=tuple(disks))
