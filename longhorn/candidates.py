"""On which disks Longhorn may place a replica, or why on none; and which of them it takes.

It takes the one that leaves the others most in balance. The node comes first, as if its disks were
one; then a disk of it. In GiB, for a size of 100: node A has 300 and 200 unused, B 400. Taken from
A that leaves (400, 400), from B (500, 300), so A. There (200, 200, 400) is more even than
(300, 100, 400): the disk of 300.

Source: longhorn-manager scheduler/replica_scheduler.go FindDiskCandidates, ScheduleReplica and
getDiskWithMostBalanceScore.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from longhorn.balance import level_of, most_even, together
from longhorn.clones import lacks_source
from longhorn.engines import starts_replicas
from longhorn.groups import groups_of, usage_of
from longhorn.hosts import Host, Hosts, first_with_room, with_room_in
from longhorn.needs import Need, need_of
from longhorn.nodes import NodeDisks, meets_topology, refusal_of
from longhorn.records import BackingImage, DiskId, Locality, NodeName, Reason, Volume
from longhorn.replicas import Replica
from longhorn.reuse import is_potentially_reusable, wait_is_over
from longhorn.settings import Settings


class Cluster(Protocol):
    """What the search looks at."""

    @property
    def spaces(self) -> Mapping[NodeName, NodeDisks]:
        """The nodes."""

    @property
    def settings(self) -> Settings:
        """Longhorn's settings; with an unreadable one there are no candidates."""

    @property
    def backing_images(self) -> Mapping[str, BackingImage]:
        """By name; a volume that names another one goes nowhere."""


class Candidate(msgspec.Struct, frozen=True, order=True):
    """A disk, by its UUID, on the node it belongs to."""

    node: NodeName
    disk: DiskId


class Candidates(msgspec.Struct, frozen=True, kw_only=True):
    """The disks that may take the replica; if there are none, Longhorn's reasons."""

    hosts: Mapping[NodeName, Host] = {}
    """Their nodes."""
    preferred: Mapping[NodeName, Host] = {}
    """Those of *hosts* that Longhorn chooses among: if the volume wants a local replica and has
    none, its own node, should it be there; else all."""
    errors: tuple[Reason, ...] = ()
    """Sorted; may be empty without any disk: Longhorn does not say when anti-affinity or node tags
    keep every disk away."""

    @property
    def disks(self) -> tuple[Candidate, ...]:
        """Return the disks, sorted."""
        found = ((name, disk) for name, host in self.hosts.items() for disk in host.unused_bytes)
        return tuple(sorted(Candidate(name, disk) for name, disk in found))


def find_candidates(
    replica: Replica,
    volume: Volume,
    replicas: Collection[Replica],
    cluster: Cluster,
    now: datetime,
) -> Candidates:
    """Find the disks that may take *replica*, which is not placed yet.

    Args:
        replica: The replica to place; of it, only its name, its hardNodeAffinity and what it shares
            data with matter.
        replicas: The volume's replicas, and of a linked clone those of the volume that it shares
            data with. *replica* itself and other volumes' are passed over.
        now: Decides whether a degraded volume still waits for its failed replica.
    """
    settings, image = cluster.settings, cluster.backing_images.get(volume.backing_image or "")
    if lacks_source(replica, volume, replicas):
        return _nowhere(Reason.CLIENT_OPERATION_FAILED)
    need = need_of(volume, image, replicas, replica)
    spaces = _considered(cluster.spaces.values(), need, replica.hard_node_affinity)
    if isinstance(spaces, Reason):
        return _nowhere(spaces)
    if settings.unreadable is not None:
        return _nowhere(Reason.CLIENT_OPERATION_FAILED)
    if volume.backing_image is not None and image is None:
        return _nowhere(Reason.CLIENT_OPERATION_FAILED)
    waited = volume.degraded and wait_is_over(volume, settings, now)
    if waited is None:
        return _nowhere(Reason.CLIENT_OPERATION_FAILED)
    hosts = Hosts(need, settings, spaces)
    return search(replica, volume, replicas, hosts, replaces_failed=waited)


def search(
    replica: Replica,
    volume: Volume,
    replicas: Iterable[Replica],
    hosts: Hosts,
    *,
    replaces_failed: bool,
) -> Candidates:
    """Find the disks that may take *replica* on nodes of which it is known where its like fit.

    Args:
        replica: The replica to place; of it, only the name matters.
        replicas: The volume's replicas. *replica* itself and other volumes' are passed over.
        replaces_failed: Whether failed replicas that may come back are waited for no longer.
    """
    settings = hosts.settings
    others = [r for r in replicas if r.volume == volume.name and r.name != replica.name]
    counted = [r for r in others if not r.failed or is_potentially_reusable(r)]
    in_use = [r for r in counted if not (r.failed and replaces_failed)]
    beside = hosts.beside(others)
    order = groups_of(volume, usage_of(in_use, hosts.spaces), settings, hosts.spaces)
    kept = beside is hosts.each
    with_room = hosts.with_room_in if kept else lambda group: with_room_in(group, beside)
    found = first_with_room(order, with_room, counted, volume, settings)
    if not found:
        tried = (
            host.reasons
            for name, host in beside.items()
            if any(group.has(name, host.zone, host.has_tags) for group in order)
        )
        return _nowhere(*{reason for reasons in tried for reason in reasons})
    here, preferred = volume.node, found
    if here is not None and here in found and wants_replica_on_node(volume, others):
        preferred = {here: found[here]}
    return Candidates(hosts=found, preferred=preferred)


def wants_replica_on_node(volume: Volume, replicas: Iterable[Replica]) -> bool:
    """Say whether the next replica is to be on the volume's own node, if it finds room there."""
    has_local = any(r.node == volume.node and not r.failed for r in replicas)
    return volume.locality is Locality.BEST_EFFORT and not has_local


def choices(candidates: Candidates, size_bytes: int) -> tuple[Candidate, ...]:
    """Return every disk that Longhorn may take for a replica of *size_bytes*, sorted.

    Several where its choice is arbitrary: where they leave the same balance, or where none of them
    has the size unused, as on disks that are over-provisioned or partly written. None if there
    are no candidates.
    """
    hosts = candidates.preferred
    nodes = chosen_nodes(hosts, size_bytes)
    chosen = {node: chosen_disks(hosts, node, size_bytes) for node in nodes}
    if not all(chosen.values()):
        chosen = {}
    chosen = chosen or {node: [*host.unused_bytes] for node, host in hosts.items()}
    return tuple(sorted(Candidate(node, disk) for node, disks in chosen.items() for disk in disks))


def chosen_nodes(hosts: Mapping[NodeName, Host], size_bytes: int) -> list[NodeName]:
    """Return the nodes among which the choice is arbitrary; none if that is so for all disks."""
    if not hosts:
        return []
    unused = {name: host.level.total for name, host in hosts.items()}
    return most_even(level_of(unused.values()), unused, size_bytes)


def chosen_disks(hosts: Mapping[NodeName, Host], node: NodeName, size_bytes: int) -> list[DiskId]:
    """Return the same of the disks of one of the chosen nodes."""
    level = together([host.level for host in hosts.values()])
    return most_even(level, hosts[node].unused_bytes, size_bytes)


def _considered(
    nodes: Iterable[NodeDisks], need: Need, hard_node_affinity: NodeName | None
) -> list[NodeDisks] | Reason:
    """Return the nodes that are considered at all, or the first test that leaves none."""
    tests: list[tuple[Reason, Callable[[NodeDisks], bool]]] = []
    if need.places is not None:
        sources = {name for name, _ in need.places}
        tests.append((Reason.LINKED_CLONE, lambda space: space.node.name in sources))
    if hard_node_affinity is not None:
        tests.append((Reason.HARD_AFFINITY, lambda each: each.node.name == hard_node_affinity))
    if need.topology:
        tests.append((Reason.TOPOLOGY, lambda space: meets_topology(space.node, need.topology)))
    tests.append((Reason.NODES_UNAVAILABLE, lambda _: True))
    tests.append(
        (Reason.ENGINE_IMAGE_NOT_READY, lambda space: starts_replicas(space.engines, need.engine))
    )
    spaces = [space for space in nodes if refusal_of(space.node) is None]
    for reason, test in tests:
        spaces = [*filter(test, spaces)]
        if not spaces:
            return reason
    return spaces


def _nowhere(*reasons: Reason) -> Candidates:
    return Candidates(errors=tuple(sorted(reasons)))
