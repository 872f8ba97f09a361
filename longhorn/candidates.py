"""On which disks Longhorn may place a replica, or why on none.

Source: longhorn-manager scheduler/replica_scheduler.go FindDiskCandidates and ScheduleReplica.
Left out are linked clones, whose replicas go where the source volume has one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from longhorn.disks import DiskSpace, has_room, is_on, mismatch, takes_replicas
from longhorn.groups import best_disks, groups, usage_of
from longhorn.needs import Need, need_of
from longhorn.nodes import NodeSpace, meets_topology, refusal_of
from longhorn.reasons import Reason
from longhorn.records import BackingImage, DiskId, Locality, NodeName, Replica, Volume
from longhorn.reuse import is_potentially_reusable, wait_is_over
from longhorn.settings import Settings


class Candidate(msgspec.Struct, frozen=True, order=True):
    """A disk, by its UUID, on the node it belongs to."""

    node: NodeName
    disk: DiskId


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
    """What is neither used, reserved nor scheduled on each disk; the choice balances it."""


def find_candidates(
    replica: Replica,
    volume: Volume,
    replicas: Iterable[Replica],
    nodes: Iterable[NodeSpace],
    settings: Settings,
    *,
    backing_image: BackingImage | None = None,
    not_ready: Collection[NodeName] = (),
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
    hosts = [space for space in nodes if refusal_of(space.node) is None]
    if replica.hard_node_affinity is not None:
        hosts = [space for space in hosts if space.node.name == replica.hard_node_affinity]
        if not hosts:
            return _nowhere(Reason.HARD_AFFINITY)
    if not hosts:
        return _nowhere(Reason.NODES_UNAVAILABLE)
    hosts = [space for space in hosts if meets_topology(space.node, volume.topology)]
    if not hosts:
        return _nowhere(Reason.TOPOLOGY)
    hosts = [space for space in hosts if space.node.name not in not_ready]
    if not hosts:
        return _nowhere(Reason.ENGINE_IMAGE_NOT_READY)

    if settings.unreadable is not None:
        return _nowhere(Reason.CLIENT_OPERATION_FAILED)
    if volume.backing_image is not None and backing_image is None:
        return _nowhere(Reason.CLIENT_OPERATION_FAILED)
    waited = volume.degraded and wait_is_over(volume, settings, now)
    if waited is None:
        return _nowhere(Reason.CLIENT_OPERATION_FAILED)
    need = need_of(volume, None if volume.backing_image is None else backing_image)
    others = [
        other for other in replicas if other.volume == volume.name and other.name != replica.name
    ]
    return _search(hosts, volume, need, others, settings, replaces_failed=waited)


def disk_reason(
    name: NodeName,
    space: DiskSpace,
    need: Need,
    replicas: Iterable[Replica],
    settings: Settings,
) -> Reason | None:
    """Say what keeps a replica off one disk of a node that gets replicas, None if nothing does.

    Args:
        name: The disk's node.
        space: The disk.
        need: What the replica asks for.
        replicas: The other replicas of its volume: those placed on the disk and not listed there
            yet are added to what is scheduled. Longhorn forgets other volumes' ones.
        settings: Longhorn's settings.
    """
    if not takes_replicas(space.disk):
        return Reason.DISKS_UNAVAILABLE
    reason = mismatch(space.kind, need, settings)
    if reason is not None:
        return reason
    uncounted = sum(
        replica.size_bytes
        for replica in replicas
        if is_on(replica, name, space.disk)
        and replica.name not in space.disk.listed
        and replica.name not in space.unlisted
    )
    if not has_room(space, need, space.scheduled_bytes + uncounted):
        return Reason.INSUFFICIENT_STORAGE
    return None


def wants_replica_on_node(volume: Volume, replicas: Iterable[Replica]) -> bool:
    """Say whether the next replica is to be on the volume's own node, if it finds room there."""
    has_local = any(r.node == volume.node and not r.failed for r in replicas)
    return volume.locality is Locality.BEST_EFFORT and not has_local


def _nowhere(*reasons: Reason) -> Candidates:
    return Candidates(errors=tuple(sorted(reasons)))


def _search(
    hosts: Sequence[NodeSpace],
    volume: Volume,
    need: Need,
    replicas: Sequence[Replica],
    settings: Settings,
    *,
    replaces_failed: bool,
) -> Candidates:
    """Try group after group of *hosts*; failed replicas count while they may come back."""
    fitting: dict[NodeName, list[DiskSpace]] = {}
    reasons: dict[NodeName, set[Reason]] = {}
    for host in hosts:
        name = host.node.name
        fitting[name], reasons[name] = _sort_out(host, need, replicas, settings)
    counted = [r for r in replicas if not r.failed or is_potentially_reusable(r)]
    in_use = [r for r in counted if not (r.failed and replaces_failed)]
    given: set[Reason] = set()
    for group in groups(hosts, usage_of(in_use, hosts), volume, need, settings):
        disks = best_disks(group, fitting, counted, volume, settings)
        if disks:
            return _found(disks, volume, replicas)
        given.update(reason for space in group for reason in reasons[space.node.name])
    return _nowhere(*given)


def _sort_out(
    host: NodeSpace, need: Need, replicas: Sequence[Replica], settings: Settings
) -> tuple[list[DiskSpace], set[Reason]]:
    """Return the disks of a node that pass every check of their own, and the others' reasons.

    A disk that takes no replicas at all gives no reason while another one of its node does.
    """
    fitting, reasons = [], set()
    for space in host.disks:
        if takes_replicas(space.disk):
            reason = disk_reason(host.node.name, space, need, replicas, settings)
            if reason is None:
                fitting.append(space)
            else:
                reasons.add(reason)
    if not fitting and not reasons:
        reasons.add(Reason.DISKS_UNAVAILABLE)
    return fitting, reasons


def _found(
    disks: Sequence[tuple[NodeName, DiskSpace]], volume: Volume, replicas: Sequence[Replica]
) -> Candidates:
    unused = {
        Candidate(name, space.disk.id): space.unused_bytes()
        for name, space in disks
        if space.disk.id is not None
    }
    found = tuple(sorted(unused))
    local = tuple(each for each in found if each.node == volume.node)
    wants_local = wants_replica_on_node(volume, replicas)
    return Candidates(
        disks=found,
        preferred=local if wants_local and local else found,
        unused_bytes=unused,
    )
