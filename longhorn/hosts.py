"""The nodes that Longhorn considers for a replica, and on which of their disks it fits."""

from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from longhorn.balance import Level, level_of
from longhorn.disks import DiskSpace, has_room, is_on, mismatch, takes_replicas
from longhorn.engines import starts_replicas
from longhorn.groups import Group, may_share_disk
from longhorn.needs import Need
from longhorn.nodes import NodeDisks, has_tags, meets_topology, refusal_of
from longhorn.records import DiskId, NodeName, Reason, Volume
from longhorn.replicas import Replica
from longhorn.settings import Settings

_MOST_KEPT = 32
"""So many sets of zones: those of a volume's replicas in one of a few zones each."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A node, and the disks of it that a replica fits on."""

    zone: str
    has_tags: bool
    """Whether it has the node tags that are asked for."""
    unused_bytes: Mapping[DiskId, int]
    """What is unused on each of the disks; the choice balances it."""
    level: Level = level_of(())
    """Of the disks."""
    reasons: Collection[Reason] = ()
    """Why other disks of it take none."""

    def without(self, disks: Collection[DiskId | None]) -> "Host":
        """Return the same node without some of its disks."""
        unused = {each: left for each, left in self.unused_bytes.items() if each not in disks}
        return msgspec.structs.replace(self, unused_bytes=unused, level=level_of(unused.values()))


def host_of(
    space: NodeDisks, need: Need, settings: Settings, replicas: Iterable[Replica] = ()
) -> Host:
    """Say on which disks of a node such a replica fits.

    A disk that takes no replicas at all gives no reason while another one of its node does.
    """
    unused, reasons = dict[DiskId, int](), set[Reason]()
    for each in space.disks:
        if takes_replicas(each.disk):
            reason = disk_reason(space.node.name, each, need, replicas, settings)
            if reason is not None:
                reasons.add(reason)
            elif each.disk.id is not None:
                unused[each.disk.id] = each.unused_bytes()
    if not unused and not reasons:
        reasons.add(Reason.DISKS_UNAVAILABLE)
    return Host(
        zone=space.node.zone,
        has_tags=has_tags(space.node, need, settings),
        unused_bytes=unused,
        level=level_of(unused.values()),
        reasons=tuple(reasons),
    )


class Hosts:
    """The nodes that Longhorn considers for replicas of one need, kept up to date node by node.

    Attributes:
        spaces: Of the nodes that get replicas and are in the zones that are asked for.
        each: What of these fits.
    """

    def __init__(self, need: Need, settings: Settings, spaces: Iterable[NodeDisks] = ()) -> None:
        self.settings = settings
        self.spaces: dict[NodeName, NodeDisks] = {}
        self.each: dict[NodeName, Host] = {}
        self._need = need
        self._outside: dict[frozenset[str], dict[NodeName, Host]] = {}
        """What `with_room_in` has found, by the zones that are left out."""
        for space in spaces:
            self.note(space.node.name, space)

    def note(self, name: NodeName, space: NodeDisks | None) -> None:
        """Note that a node has changed, None if it is gone."""
        self.spaces.pop(name, None)
        self.each.pop(name, None)
        for found in self._outside.values():
            found.pop(name, None)
        if space is None or refusal_of(space.node) is not None:
            return
        if meets_topology(space.node, self._need.topology) and starts_replicas(
            space.engines, self._need.engine
        ):
            self.spaces[name] = space
            host = self.each[name] = host_of(space, self._need, self.settings)
            for zones, found in self._outside.items():
                if _is_outside(host, zones):
                    found[name] = host

    def with_room_in(self, group: Group) -> Mapping[NodeName, Host]:
        """Return those with a disk that fits of the nodes that are in a group.

        Of a group that zones alone decide they are kept: nearly all replicas go to one of these,
        and between two of them few nodes have changed.
        """
        if group.only is not None or group.but or not group.asks_for_tags:
            return with_room_in(group, self.each)
        zones = frozenset(group.but_zones)
        if zones not in self._outside:
            if len(self._outside) == _MOST_KEPT:
                self._outside.clear()
            self._outside[zones] = with_room_in(group, self.each)
        return self._outside[zones]

    def beside(self, replicas: Collection[Replica]) -> Mapping[NodeName, Host]:
        """Return what fits beside other replicas of the same volume."""
        used = {replica.disk for replica in replicas}
        again = {
            name: host_of(space, self._need, self.settings, replicas)
            for name in {replica.node for replica in replicas}
            if name is not None
            and (space := self.spaces.get(name)) is not None
            and any(
                each.disk.id in used and _uncounted_bytes(name, each, replicas)
                for each in space.disks
            )
        }
        return {**self.each, **again} if again else self.each


def first_with_room(
    order: Iterable[Group],
    with_room: Callable[[Group], Mapping[NodeName, Host]],
    replicas: Iterable[Replica],
    volume: Volume,
    settings: Settings,
) -> Mapping[NodeName, Host]:
    """Return the nodes of the first group with disks that fit and hold no replica of the volume.

    If every disk that fits holds one, none counts, or all if the volume's replicas may share disks.

    Args:
        with_room: Returns the nodes of a group with disks that pass all other checks.
        replicas: Those of the volume that count, also ones being deleted.
    """
    used = {r.disk for r in replicas if r.disk is not None}  # by UUID alone, on whatever node
    for group in order:
        found = with_room(group)
        cut = {
            name: host.without(used)
            for disk in used
            for name, host in found.items()
            if disk in host.unused_bytes
        }
        full = {name for name, host in cut.items() if not host.unused_bytes}
        fresh = {**found, **cut} if cut else found
        if full:
            fresh = {name: host for name, host in fresh.items() if name not in full}
        if fresh or (found and may_share_disk(volume, settings)):
            return fresh or found
    return {}


def with_room_in(group: Group, hosts: Mapping[NodeName, Host]) -> dict[NodeName, Host]:
    """Return those with a disk that fits of the nodes that are in a group.

    It is `Group.has` for all at once: with thousands of nodes most of a search is spent here.
    """
    if group.only is not None:
        hosts = {name: hosts[name] for name in sorted(group.only) if name in hosts}
    but, but_zones, any_tags = group.but, group.but_zones, not group.asks_for_tags
    return {
        name: host
        for name, host in hosts.items()
        if host.unused_bytes
        and (host.has_tags or any_tags)
        and name not in but
        and host.zone not in but_zones
    }


def _is_outside(host: Host, zones: frozenset[str]) -> bool:
    return bool(host.unused_bytes) and host.has_tags and host.zone not in zones


def disk_reason(
    name: NodeName, space: DiskSpace, need: Need, replicas: Iterable[Replica], settings: Settings
) -> Reason | None:
    """Say what keeps a replica off one disk of a node that gets replicas, None if nothing does.

    Args:
        replicas: The other replicas of its volume: those placed on the disk and not listed there
            yet are added to what is scheduled. Longhorn forgets other volumes' ones.
    """
    if not takes_replicas(space.disk):
        return Reason.DISKS_UNAVAILABLE
    if need.places is not None and (name, space.disk.id) not in need.places:
        return Reason.DISKS_UNAVAILABLE
    reason = mismatch(space.kind, need, settings)
    if reason is not None:
        return reason
    uncounted_bytes = _uncounted_bytes(name, space, replicas)
    if not has_room(space, need, space.scheduled_bytes + uncounted_bytes):
        return Reason.INSUFFICIENT_STORAGE
    return None


def _uncounted_bytes(name: NodeName, space: DiskSpace, replicas: Iterable[Replica]) -> int:
    """Return what replicas take of a disk that does not count them yet."""
    return sum(
        replica.size_bytes
        for replica in replicas
        if is_on(replica, name, space.disk)
        and replica.name not in space.disk.listed
        and replica.name not in space.unlisted
    )
