"""Where Longhorn's search puts the next replica of a volume, and why it passes each other node.

The search is that of `longhorn.candidates`. Here it is only asked, once for all nodes, and once for
each node that fits and is not taken, as if no other had room.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from cli.catalogue import PLACES
from cli.explaining.details import disk_reasons
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
    node_rejections,
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
    groups_of,
    host_of,
    is_potentially_reusable,
    is_usable,
    meets_topology,
    mismatch,
    new_replica,
    refusal_of,
    search,
    starts_replicas,
    usage_of,
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


class Hindrance(msgspec.Struct, frozen=True, kw_only=True):
    """What a node is to a replica, or one thing that keeps it off: *code* is in `PLACES`, or of a
    rejection."""

    code: str
    text: str
    rejection: Rejection | None = None
    shortfall: Shortfall | None = None
    """The disk that lacks least, if the node is short of room."""

    @property
    def takes(self) -> bool:
        """Whether the node takes the replica."""
        return self.code in _TAKES

    @property
    def about_disks(self) -> bool:
        """Whether it is about all disks of the node."""
        return self.rejection is not None and ClusterChange.DISKS in self.rejection.ended_by


_TAKES = ("next", "less_preferred")


def place_of(name: NodeName, sought: Sought, view: ClusterView) -> list[Hindrance]:
    """Say what a node is to the replica: that it takes it, or all that keeps it off."""
    space = view.spaces[name]
    if Reason.CLIENT_OPERATION_FAILED in sought.candidates.errors:
        return [_place("not_looked_at")]
    if sought.replica.hard_node_affinity not in (None, name):
        return [_place("other_node")]
    rejections = [*_rejections(space, sought, view)]
    if not rejections:
        if any(each.node == name for each in sought.next):
            return [_place("next")]
        if name in sought.candidates.hosts or _would_do_alone(name, sought):
            return [_place("less_preferred")]
    of_volume = _taken(space, sought, view)
    found = [_rejected(each, space, sought, view) for each in rejections]
    # Longhorn looks for room only where no replica of the volume keeps it off.
    about_disks = [each for each in found if each.about_disks]
    others = [each for each in found if not each.about_disks]
    if of_volume is None and not found:
        return [_place("replica_on_disk")]
    return [*others, *([_place(of_volume)] if of_volume else about_disks)]


def _place(code: str) -> Hindrance:
    return Hindrance(code=code, text=PLACES[code].short)


def _rejected(
    rejection: Rejection, space: NodeSpace, sought: Sought, view: ClusterView
) -> Hindrance:
    code, text = rejection.reason, str(rejection)
    if code == "disk_tags" and _has_disk_with_tags(space, sought, view):
        code, text = "tagged_disks_unusable", PLACES["tagged_disks_unusable"].short
    return Hindrance(
        code=code,
        text=text,
        rejection=rejection,
        shortfall=_shortfall(rejection, space, sought, view),
    )


def _has_disk_with_tags(space: NodeSpace, sought: Sought, view: ClusterView) -> bool:
    return any(mismatch(d.kind, sought.need, view.settings) is None for d in space.disks)


def _rejections(space: NodeSpace, sought: Sought, view: ClusterView) -> Iterator[Rejection]:
    """Yield what keeps any replica of the volume off a node, whatever others it has."""
    need, demand = sought.need, demand_of([("replica", sought.need)], view)
    yield from node_rejections(space)
    for selectors, topologies in ((), demand.topologies), (demand.node_selectors, ()):
        rejection = node_mismatch(space.node, selectors, topologies)
        if rejection is not None:
            yield rejection
    if need.places is not None and all(node != space.node.name for node, _ in need.places):
        yield LinkedCloneElsewhere()
    elif not starts_replicas(space.engines, need.engine):
        yield _not_started(space, need)
    if not _host_has_room(space.node.name, sought) and not _disks_would_do(space, need, view):
        short = shortage(demand, space, view)
        if isinstance(short, VolumesDoNotFit):  # its own replicas there are not listed yet
            short = InsufficientStorage(size_bytes=need.size_bytes)
        yield short


def disks_in_the_way(name: NodeName, sought: Sought, view: ClusterView) -> dict[str, str]:
    """Say of each disk of a node that takes no such replica what is in the way there."""
    space, reasons = view.spaces[name], disk_reasons(view, name)
    found = {}
    for each in space.disks:
        disk, parts = each.disk, list[str]()
        if disk.type != sought.need.disk_type:
            parts.append(f"is of type {disk.type}")
        missing = {t for tags in sought.need.disk_selectors for t in tags} - disk.tags
        if missing:
            parts.append(f"lacks the tags {', '.join(sorted(missing))}")
        if disk.name in reasons:
            parts.append(reasons[disk.name].text)
        if parts:
            found[str(disk.name)] = "; ".join(parts)
    return found


def _disks_would_do(space: NodeSpace, need: Need, view: ClusterView) -> bool:
    """Whether a node that Longhorn does not consider has a disk with room all the same."""
    is_considered = refusal_of(space.node) is None and meets_topology(space.node, need.topology)
    if is_considered and starts_replicas(space.engines, need.engine):
        return False
    return bool(host_of(space, need, view.settings).unused_bytes)


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


def _taken(space: NodeSpace, sought: Sought, view: ClusterView) -> str | None:
    """Say which replica of the volume keeps others off a node, whatever room that has."""
    node, volume = space.node, sought.volume
    in_use = [
        each
        for each in _own(sought)
        if not each.failed or (is_potentially_reusable(each) and not sought.replaces_failed)
    ]
    spaces = {**sought.hosts.spaces, node.name: space}
    usage = usage_of(in_use, spaces)
    if any(g.has(node.name, node.zone) for g in groups_of(volume, usage, view.settings, spaces)):
        return None
    return "replica_on_node" if node.name in usage.zone_of else "replica_in_zone"


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
