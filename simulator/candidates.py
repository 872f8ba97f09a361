"""On which disks Longhorn may place a replica, or why on none.

Source: longhorn-manager scheduler/replica_scheduler.go FindDiskCandidates and ScheduleReplica.
Left out are linked clones, whose replicas go where the source volume has one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from simulator.disks import has_room, mismatch
from simulator.groups import best_disks, groups, usage_of
from simulator.nodes import may_schedule, meets_topology
from simulator.objects import BackingImage, Disk, Node, Replica, Volume, is_true
from simulator.reasons import Reason
from simulator.reuse import is_potentially_reusable, wait_is_over
from simulator.settings import Settings, UnreadableSetting


class Candidate(msgspec.Struct, frozen=True, order=True):
    """A disk, by its UUID, on the node it belongs to."""

    node: str
    disk: str


class Candidates(msgspec.Struct, frozen=True, kw_only=True):
    """The disks that may take the replica; if there are none, Longhorn's reasons."""

    disks: tuple[Candidate, ...] = ()
    """Sorted."""
    errors: tuple[Reason, ...] = ()
    """Sorted; may be empty without any disk: Longhorn does not say when anti-affinity or node tags
    keep every disk away."""
    preferred: tuple[Candidate, ...] = ()
    """Those of *disks* that Longhorn chooses among: if the volume wants a local replica and has
    none, those on its node, should there be any; else all."""
    unused_bytes: Mapping[Candidate, int] = {}
    """What is neither used, reserved nor promised on each disk; the choice balances it."""


def find_candidates(
    replica: Replica,
    volume: Volume,
    replicas: Iterable[Replica],
    nodes: Iterable[Node],
    settings: Settings | UnreadableSetting,
    *,
    backing_image: BackingImage | None = None,
    not_ready: Collection[str] = (),
    now: datetime,
) -> Candidates:
    """Find the disks that may take *replica*, which is not placed yet.

    Args:
        replica: The replica to place; of it, only hardNodeAffinity and the name matter.
        volume: Its volume.
        replicas: The volume's replicas. *replica* itself and other volumes' are passed over.
        nodes: All Longhorn nodes.
        settings: Longhorn's settings; with an unreadable one there are no candidates.
        backing_image: The volume's backing image; without it a volume that names one goes nowhere.
        not_ready: Nodes without a running instance manager or ready engine image for the volume's
            data engine. Nodes that opted out of v2 belong here too, for a v2 volume.
        now: Decides whether a degraded volume still waits for its failed replica.
    """
    hosts = [node for node in nodes if may_schedule(node)]
    if replica.spec.hard_node_affinity:
        hosts = [node for node in hosts if node.name == replica.spec.hard_node_affinity]
        if not hosts:
            return _nowhere(Reason.HARD_AFFINITY)
    if not hosts:
        return _nowhere(Reason.NODES_UNAVAILABLE)
    hosts = [node for node in hosts if meets_topology(node, volume)]
    if not hosts:
        return _nowhere(Reason.TOPOLOGY)
    hosts = [node for node in hosts if node.name not in not_ready]
    if not hosts:
        return _nowhere(Reason.ENGINE_IMAGE_NOT_READY)

    if isinstance(settings, UnreadableSetting):
        return _nowhere(Reason.CLIENT_OPERATION_FAILED)
    if volume.spec.backing_image and backing_image is None:
        return _nowhere(Reason.CLIENT_OPERATION_FAILED)
    waited = volume.status.robustness == "degraded" and wait_is_over(volume, settings, now)
    if waited is None:
        return _nowhere(Reason.CLIENT_OPERATION_FAILED)
    image = backing_image if volume.spec.backing_image else None
    others = [
        other
        for other in replicas
        if other.spec.volume_name == volume.name and other.name != replica.name
    ]
    return _search(hosts, volume, others, image, settings, replaces_failed=waited)


def _nowhere(*reasons: Reason) -> Candidates:
    return Candidates(errors=tuple(sorted(reasons)))


def _search(
    hosts: Sequence[Node],
    volume: Volume,
    replicas: Sequence[Replica],
    image: BackingImage | None,
    settings: Settings,
    *,
    replaces_failed: bool,
) -> Candidates:
    """Try group after group of *hosts*; failed replicas count while they may come back."""
    fitting: dict[str, list[Disk]] = {}
    reasons: dict[str, set[Reason]] = {}
    for node in hosts:
        fitting[node.name], reasons[node.name] = _sort_out(node, volume, replicas, image, settings)
    counted = [r for r in replicas if not r.spec.failed_at or is_potentially_reusable(r)]
    in_use = [r for r in counted if not (r.spec.failed_at and replaces_failed)]
    given: set[Reason] = set()
    for group in groups(hosts, usage_of(in_use, hosts), volume, image, settings):
        disks = best_disks(group, fitting, counted, volume, settings)
        if disks:
            return _found(disks, volume, replicas)
        given.update(reason for node in group for reason in reasons[node.name])
    return _nowhere(*given)


def _sort_out(
    node: Node,
    volume: Volume,
    replicas: Sequence[Replica],
    image: BackingImage | None,
    settings: Settings,
) -> tuple[list[Disk], set[Reason]]:
    """Return the disks of *node* that pass every check of their own, and the others' reasons."""
    usable = [
        disk
        for disk in node.disks()
        if disk.spec.allow_scheduling
        and not disk.spec.eviction_requested
        and is_true(disk.status.conditions, "Schedulable")
    ]
    if not usable:
        return [], {Reason.DISKS_UNAVAILABLE}
    fitting, reasons = [], set()
    for disk in usable:
        reason = mismatch(disk, volume, image, settings)
        if reason is None and has_room(disk, volume, replicas, settings):
            fitting.append(disk)
        else:
            reasons.add(reason or Reason.INSUFFICIENT_STORAGE)
    return fitting, reasons


def _found(disks: Sequence[Disk], volume: Volume, replicas: Sequence[Replica]) -> Candidates:
    unused = {
        Candidate(disk.node, disk.id): max(
            0,
            disk.status.storage_available
            - disk.spec.storage_reserved
            - disk.status.storage_scheduled,
        )
        for disk in disks
    }
    found = tuple(sorted(unused))
    local = tuple(each for each in found if each.node == volume.spec.node_id)
    has_local = any(
        r.spec.node_id == volume.spec.node_id and not r.spec.failed_at for r in replicas
    )
    wants_local = volume.spec.data_locality == "best-effort" and not has_local
    return Candidates(
        disks=found,
        preferred=local if wants_local and local else found,
        unused_bytes=unused,
    )
