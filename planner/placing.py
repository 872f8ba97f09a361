"""Where Longhorn puts one replica, kept ready for the next of its kind.

It is the search of `longhorn.find_candidates` and the choice of `longhorn.choices`, for clusters of
thousands of disks: which disks fit a need is worked out again only for nodes that changed. What
is rare (auto-balance, failed or evicted replicas, nodes shared by softness) goes the long way.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from random import Random

import msgspec

from extender import ClusterView, Cursor, NodeSpace
from longhorn import (
    BackingImage,
    Candidate,
    DiskId,
    Moment,
    Need,
    NodeName,
    Reason,
    Replica,
    Settings,
    Volume,
    choices,
    disk_reason,
    find_candidates,
    has_tags,
    is_potentially_reusable,
    may_share_node,
    may_share_zone,
    meets_topology,
    need_of,
    refusal_of,
    takes_replicas,
    wants_replica_on_node,
)
from longhorn.choice import Level, level_of, most_even

_REMEMBERED_NEEDS = 64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A node with the disks that fit a need."""

    zone: str
    disks: Mapping[DiskId, int]
    """What is unused on each."""
    level: Level
    """Of the disks."""


class Refusing(msgspec.Struct, frozen=True, kw_only=True):
    """A node that gets replicas and has the tags, and of whose disks none fits a need."""

    zone: str
    reasons: frozenset[Reason]


class Fitting:
    """The nodes with disks that fit one need, and the others, kept up to date.

    Attributes:
        hosts: By name.
        refusing: By name.
    """

    def __init__(self, need: Need) -> None:
        self.hosts: dict[NodeName, Host] = {}
        self.refusing: dict[NodeName, Refusing] = {}
        self._need = need
        self._cursor: Cursor | None = None

    def catch_up(self, view: ClusterView, settings: Settings) -> None:
        """Take in what has changed since the last time."""
        changed, self._cursor = view.changes.since(self._cursor)
        if changed is None:
            self.hosts.clear()
            self.refusing.clear()
            changed = [*view.spaces]
        for name in changed:
            self.hosts.pop(name, None)
            self.refusing.pop(name, None)
            space = view.spaces.get(name)
            found = None if space is None else _host(space, self._need, settings)
            if isinstance(found, Host):
                self.hosts[name] = found
            elif found is not None:
                self.refusing[name] = found


class Placing:
    """Chooses disks for replicas.

    Args:
        random: For what Longhorn leaves to chance: the choice between disks that are as good.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._fitting: dict[Need, Fitting] = {}
        self._settings: Settings | None = None

    def place(
        self,
        replica: Replica,
        volume: Volume,
        view: ClusterView,
        utc: Moment | None = None,
    ) -> Candidate | tuple[Reason, ...]:
        """Return the disk for a replica that is not placed, or Longhorn's reasons for none.

        Args:
            replica: The replica; of it, only hardNodeAffinity and the name matter.
            volume: Its volume.
            view: The cluster.
            utc: Decides whether a degraded volume still waits for its failed replica.
        """
        # Longhorn's search passes over those that failed and do not come back.
        replicas = [
            each
            for each in view.replicas.get(volume.name, ())
            if not each.failed or is_potentially_reusable(each)
        ]
        image = view.backing_images.get(volume.backing_image or "")
        settings = view.settings
        if settings.unreadable is None and _is_plain(replica, volume, replicas, settings):
            found = self._quickly(volume, replicas, view, settings)
            if found is not None:
                return found
        return self._at_length(replica, volume, image, replicas, view, utc)

    def _quickly(
        self,
        volume: Volume,
        replicas: Sequence[Replica],
        view: ClusterView,
        settings: Settings,
    ) -> Candidate | tuple[Reason, ...] | None:
        """Return the disk if a node without a replica of the volume takes it.

        Else the reasons, or None if another node may take it, or all nodes are left out.
        """
        fitting = self._fitting_of(need_of(volume, None), view, settings)
        hosts = fitting.hosts
        used = {r.node for r in replicas if r.node is not None and _counts(r.node, volume, view)}
        zones = {view.spaces[name].node.zone for name in used}
        group = hosts
        if zones:
            group = {name: host for name, host in hosts.items() if host.zone not in zones}
            if not group and may_share_zone(volume, settings):
                group = {name: host for name, host in hosts.items() if name not in used}
        if not group:
            if may_share_node(volume, settings) or not (hosts or fitting.refusing):
                return None
            not_tried = () if may_share_zone(volume, settings) else zones
            return _reasons(fitting.refusing, used, not_tried)
        here = volume.node
        if here is not None and here in group and wants_replica_on_node(volume, replicas):
            group = {here: group[here]}
        return self._choose(group, volume.size_bytes)

    def _choose(self, group: Mapping[NodeName, Host], size_bytes: int) -> Candidate:
        """Choose the node, then a disk of it, as `longhorn.choices` says."""
        unused = {name: host.level.total for name, host in group.items()}
        nodes = sorted(most_even(level_of(unused.values()), unused, size_bytes))
        if nodes:
            node = self._random.choice(nodes)
            level = _together([host.level for host in group.values()])
            disks = sorted(most_even(level, group[node].disks, size_bytes))
            if disks:
                return Candidate(node, self._random.choice(disks))
        return self._random.choice(
            sorted(Candidate(name, disk) for name, host in group.items() for disk in host.disks)
        )

    def _at_length(
        self,
        replica: Replica,
        volume: Volume,
        image: BackingImage | None,
        replicas: Iterable[Replica],
        view: ClusterView,
        utc: Moment | None,
    ) -> Candidate | tuple[Reason, ...]:
        candidates = find_candidates(
            replica,
            volume,
            replicas,
            view.spaces.values(),
            view.settings,
            backing_image=image,
            now=utc or volume.degraded_at or _EPOCH,
        )
        chosen = choices(candidates, volume.size_bytes)
        return self._random.choice(chosen) if chosen else candidates.errors

    def _fitting_of(self, need: Need, view: ClusterView, settings: Settings) -> Fitting:
        if self._settings != settings:
            self._settings = settings
            self._fitting.clear()
        fitting = self._fitting.pop(need, None) or Fitting(need)
        self._fitting[need] = fitting
        if len(self._fitting) > _REMEMBERED_NEEDS:
            del self._fitting[next(iter(self._fitting))]
        fitting.catch_up(view, settings)
        return fitting


def _is_plain(
    replica: Replica, volume: Volume, replicas: Iterable[Replica], settings: Settings
) -> bool:
    """Whether only where a volume's replicas are decides where the next one goes."""
    return (
        replica.hard_node_affinity is None
        and volume.backing_image is None
        and (volume.auto_balance or settings.auto_balance) != "best-effort"
        and not any(each.failed or each.deleting or each.evicting for each in replicas)
    )


def _counts(name: NodeName, volume: Volume, view: ClusterView) -> bool:
    """Whether a replica on a node keeps others off it; not if the node gets none itself."""
    space = view.spaces.get(name)
    return (
        space is not None
        and refusal_of(space.node) is None
        and meets_topology(space.node, volume.topology)
    )


def _host(space: NodeSpace, need: Need, settings: Settings) -> Host | Refusing | None:
    node, reasons = space.node, set[Reason]()
    if refusal_of(node) is not None or not meets_topology(node, need.topology):
        return None
    if not has_tags(node, need, settings):
        return None
    disks = dict[DiskId, int]()
    for each in space.disks:
        if takes_replicas(each.disk):
            reason = disk_reason(node.name, each, need, (), settings)
            if reason is not None:
                reasons.add(reason)
            elif each.disk.id is not None:
                disks[each.disk.id] = each.unused_bytes()
    if not disks:
        found = frozenset(reasons) or frozenset({Reason.DISKS_UNAVAILABLE})
        return Refusing(zone=node.zone, reasons=found)
    return Host(zone=node.zone, disks=disks, level=level_of(disks.values()))


def _reasons(
    refusing: Mapping[NodeName, Refusing],
    used: Collection[NodeName],
    not_tried: Collection[str],
) -> tuple[Reason, ...]:
    """Return why the nodes are left out that Longhorn looks at.

    Args:
        refusing: Nodes without a disk that fits.
        used: Nodes with replicas of the volume, which it may not share.
        not_tried: Their zones, if the volume may not share these either.
    """
    return tuple(
        sorted(
            {
                reason
                for name, each in refusing.items()
                if each.zone not in not_tried and name not in used
                for reason in each.reasons
            }
        )
    )


def _together(levels: Collection[Level]) -> Level:
    """Return the level of all places of several levels."""
    largest = max(level.largest for level in levels)
    having = [level for level in levels if level.largest == largest]
    return Level(
        largest=largest,
        is_shared=len(having) > 1 or having[0].is_shared,
        smallest=min(level.smallest for level in levels),
        total=sum(level.total for level in levels),
    )
