"""Where Longhorn's search puts the next replica of a volume, and why it passes each other node.

The search is that of `longhorn.candidates`. Here it is only asked, once for all nodes, and once for
each node that fits and is not taken, as if no other had room.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from extender import ClusterView, Rejection
from extender.demand import demand_of, source_replicas
from extender.explaining import Shortfall, Trials, least_growth
from extender.space import NodeSpace
from extender.upcoming import need_in
from extender.verdicts import (
    ClusterChange,
    EngineImageMissing,
    EngineSwitchedOff,
    InstanceManagerMissing,
    InsufficientStorage,
    LinkedCloneElsewhere,
    VolumesDoNotFit,
    node_mismatch,
    node_rejection,
    shortage,
)
from longhorn import (
    Candidate,
    Candidates,
    Hosts,
    Moment,
    Need,
    NodeName,
    Reason,
    Replica,
    ReplicaName,
    Volume,
    choices,
    find_candidates,
    is_usable,
    may_share_node,
    may_share_zone,
    new_replica,
    search,
    starts_replicas,
    wait_is_over,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STEP_LIMIT = 100_000


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """The next replica of a volume, and what the search finds for it."""

    volume: Volume
    replica: Replica
    replicas: Sequence[Replica]
    """Those that there are of the volume, and of the one that it shares data with."""
    need: Need
    candidates: Candidates
    next: Sequence[Candidate]
    """The disks of which Longhorn takes one."""
    replaces_failed: bool
    """Whether a failed replica that may come back is waited for no longer."""
    hosts: Hosts


def seek(
    volume: Volume, view: ClusterView, utc: Moment | None, *, only: NodeName | None, waits: bool
) -> Sought | None:
    """Look for a place for the next replica of a volume, None if Longhorn places none.

    Args:
        volume: The volume.
        view: The cluster.
        utc: The date and time, None if it is not known.
        only: The only node that it may go to, if there is one.
        waits: Whether a failed replica is waited for first: then it is as when that is over.
    """
    own = view.replicas.get(volume.name, ())
    replica = next(
        (r for r in own if is_usable(r) and r.node is None and r.hard_node_affinity == only),
        new_replica(volume, ReplicaName(""), only),
    )
    need = need_in(volume, view, replica)
    if need is None:
        return None
    settings = view.settings
    now = utc or volume.degraded_at or _EPOCH
    if waits and volume.degraded_at is not None:
        over = volume.degraded_at + timedelta(seconds=settings.replenishment_wait_seconds)
        now = max(now, over)
    replicas = (*own, *source_replicas(volume, view))
    candidates = find_candidates(replica, volume, replicas, view, now)
    return Sought(
        volume=volume,
        replica=replica,
        replicas=replicas,
        need=need,
        candidates=candidates,
        next=choices(candidates, volume.replica_bytes),
        replaces_failed=volume.degraded and bool(wait_is_over(volume, settings, now)),
        hosts=Hosts(need, settings, view.spaces.values()),
    )


def place_of(
    name: NodeName, sought: Sought, view: ClusterView
) -> tuple[str, Rejection | None, Shortfall | None]:
    """Say what a node is to the replica: a code of `words.PLACES`, or of a rejection with it.

    A node that is short of room comes with the disk that lacks least.
    """
    space = view.spaces[name]
    if Reason.CLIENT_OPERATION_FAILED in sought.candidates.errors:
        return "not_looked_at", None, None
    only = sought.replica.hard_node_affinity
    if only not in (None, name):
        return "other_node", None, None
    rejection = _rejection(space, sought, view)
    if rejection is not None:
        return rejection.reason, rejection, _shortfall(rejection, space, sought, view)
    if any(each.node == name for each in sought.next):
        return "next", None, None
    if name in sought.candidates.hosts or _would_do_alone(name, sought):
        return "less_preferred", None, None
    return _taken(space, sought, view), None, None


def _rejection(space: NodeSpace, sought: Sought, view: ClusterView) -> Rejection | None:
    """Say what keeps any replica of the volume off a node, whatever others it has."""
    need, demand = sought.need, demand_of([("replica", sought.need)], view)
    rejection = node_rejection(space) or node_mismatch(
        space.node, demand.node_selectors, demand.topologies
    )
    if rejection is not None:
        return rejection
    if need.places is not None and all(node != space.node.name for node, _ in need.places):
        return LinkedCloneElsewhere()
    if not starts_replicas(space.engines, need.engine):
        return _not_started(space, need)
    if _host_has_room(space.node.name, sought):
        return None
    short = shortage(demand, space, view)
    if isinstance(short, VolumesDoNotFit):  # what its own replicas take there is not listed yet
        return InsufficientStorage(size_bytes=need.size_bytes)
    return short


def _not_started(space: NodeSpace, need: Need) -> Rejection:
    is_v2 = need.engine.is_v2
    if is_v2 and not space.engines.allows_v2:
        return EngineSwitchedOff()
    if not space.engines.runs(is_v2=is_v2):
        return InstanceManagerMissing()
    return EngineImageMissing()


def _host_has_room(name: NodeName, sought: Sought) -> bool:
    host = sought.hosts.beside(_own(sought)).get(name)
    return host is not None and bool(host.unused_bytes)


def _own(sought: Sought) -> list[Replica]:
    return [each for each in sought.replicas if each.volume == sought.volume.name]


def _would_do_alone(name: NodeName, sought: Sought) -> bool:
    """Whether the search would take a node if no other without a replica of the volume had room."""
    settings, spaces = sought.hosts.settings, sought.hosts.spaces
    alone = Hosts(sought.need, settings, spaces.values())
    alone.each = {name: sought.hosts.each[name]}
    found = search(
        sought.replica,
        sought.volume,
        sought.replicas,
        alone,
        replaces_failed=sought.replaces_failed,
    )
    return name in found.hosts


def _taken(space: NodeSpace, sought: Sought, view: ClusterView) -> str:
    """Say what of the volume keeps a replica off a node that has room."""
    nodes = {each.node for each in _own(sought) if each.node is not None}
    zones = {view.spaces[node].node.zone for node in nodes if node in view.spaces}
    volume, settings = sought.volume, view.settings
    if space.node.name in nodes and not (
        may_share_node(volume, settings) and may_share_zone(volume, settings)
    ):
        return "replica_on_node"
    if space.node.zone in zones and not may_share_zone(volume, settings):
        return "replica_in_zone"
    return "replica_on_disk"


def _shortfall(
    rejection: Rejection, space: NodeSpace, sought: Sought, view: ClusterView
) -> Shortfall | None:
    if ClusterChange.ROOM not in rejection.ended_by:
        return None
    items = demand_of([("replica", sought.need)], view).items
    return least_growth(items, space.bins, Trials(_STEP_LIMIT))


def named(candidates: Iterable[Candidate], view: ClusterView) -> Mapping[NodeName, Sequence[str]]:
    """Return the names of disks, by their node."""
    found: dict[NodeName, list[str]] = {}
    for each in candidates:
        disks = view.spaces[each.node].disks
        names = [str(one.disk.name) for one in disks if one.disk.id == each.disk]
        found.setdefault(each.node, []).extend(names)
    return found
