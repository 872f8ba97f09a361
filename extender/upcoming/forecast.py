"""Where the replicas that Longhorn will place anywhere find room, each counted once.

They are taken volume by volume, one replica after another, as Longhorn does: each goes to the node
of the best group with the most unused bytes, which leaves the others most in balance. None is moved
for another one. This is no prediction: Longhorn's managers work on figures of half a second ago and
not on what others have just assigned. It is right in sum.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec import structs

from extender.space import NodeSpace
from extender.upcoming.eligibility import Eligibility, Rank
from extender.upcoming.undo import UndoLog
from extender.upcoming.upcoming import Upcoming, by_certainty
from extender.view import ClusterView
from extender.work import Work
from longhorn import NodeName, Usage, VolumeName
from packing import Infeasible, Item, is_stranded, pack

Pinned = Callable[[NodeSpace], Sequence[Upcoming]]
"""Returns what comes to a node for itself."""
_PAIRS_PER_STEP, _RANKS_PER_STEP = 40, 100
"""So many pairs of replica and disk are packed, and so many nodes are passed over, in the time of a
step."""


class Taken(NamedTuple):
    """All that comes to one node."""

    items: tuple[Item, ...]
    logical_bytes: int
    physical_bytes: int


class Forecast:
    """What comes anywhere, and the node that it is forecast on.

    What can be taken back is in the log: `on`, `nowhere`, counts, sums, and the nodes of each
    volume. What follows from these is remembered beside it: whoever takes changes back
    (`Book.back_to`) tells of the nodes by `note_taken`.

    Args:
        view: The cluster.
        pinned: Returns what a node takes for itself.
        log: Where changes are noted, so that they can be taken back.
        step_limit: Of one packing.

    Attributes:
        on: What is forecast on each node; of each record one replica.
        nowhere: Volumes with replicas that find no room now, and how many.
        counts: How many replicas find room, sure ones and those of open holds, and how many none.
        eligibility: Which nodes suit which replicas.
        work: What may still be done.
        is_cut_short: Whether a node with room may be there that was not found, as work was over.
    """

    def __init__(self, view: ClusterView, pinned: Pinned, log: UndoLog, step_limit: int) -> None:
        self.on: dict[NodeName, tuple[Upcoming, ...]] = {}
        self.nowhere: dict[VolumeName, int] = {}
        self.counts = {"sure": 0, "open": 0, "nowhere": 0}
        self._sums = {"bytes": 0}
        self.eligibility = Eligibility(view, lambda name: self.taken(name).logical_bytes)
        self.work = Work.unlimited()
        self.is_cut_short = False
        self._pinned = pinned
        self._log = log
        self._step_limit = step_limit
        self._nodes_of: dict[VolumeName, tuple[NodeName, ...]] = {}
        """Where replicas of each volume are forecast, a node as often as it gets one."""
        self._taken: dict[NodeName, Taken] = {}
        self._misfits: dict[NodeName, list[Item]] = {}
        """The smallest replicas that nodes do not take."""

    def nodes_of(self, name: VolumeName) -> tuple[NodeName, ...]:
        """Return where replicas of a volume are forecast, a node as often as it gets one."""
        return self._nodes_of.get(name, ())

    @property
    def total_bytes(self) -> int:
        """The room that all takes that is forecast anywhere."""
        return self._sums["bytes"]

    @property
    def volumes(self) -> Iterable[VolumeName]:
        """The volumes of which something is forecast."""
        return self._nodes_of.keys()

    def usage_of(self, upcoming: Upcoming) -> Usage:
        """Return which nodes and zones the volume uses, with what is forecast of it."""
        usage = self.eligibility.usage_of(upcoming)
        for node in self.nodes_of(upcoming.volume.name):
            usage = usage.plus(node, self.eligibility.view.spaces[node].node.zone)
        return usage

    def taken(self, name: NodeName) -> Taken:
        """Return what a node takes for itself, and by this forecast."""
        found = self._taken.get(name)
        if found is None:
            space = self.eligibility.view.spaces.get(name)
            pinned = () if space is None else self._pinned(space)
            items = tuple([each.item for each in (*pinned, *self.on.get(name, ()))])
            found = self._taken[name] = Taken(
                items,
                sum([item.logical_bytes for item in items]),
                sum([item.physical_bytes for item in items]),
            )
        return found

    def place(self, upcoming: Upcoming, beside: Pinned | None = None) -> int:
        """Find room for the replicas of a volume, beside those of it that have some already.

        Returns for how many there is none.

        Args:
            beside: Returns what else a node must take.
        """
        name = upcoming.volume.name
        missing = max(0, upcoming.count - len(self.nodes_of(name)))
        while missing:
            best = self._best_node(upcoming, beside)
            if best is None:
                break
            self.put(upcoming, best)
            missing -= 1
        self._note_missing(name, missing)
        return missing

    def keep(self, upcoming: Upcoming, nodes: Iterable[NodeName]) -> None:
        """Put replicas of a volume on these nodes, where they may be; all others are left out."""
        eligibility = self.eligibility
        for node in nodes:
            if len(self.nodes_of(upcoming.volume.name)) == upcoming.count:
                break
            if eligibility.may_go(upcoming, node) and self._takes(node, upcoming):
                groups = eligibility.groups(upcoming, self.usage_of(upcoming))
                if eligibility.is_in(groups, node):
                    self.put(upcoming, node)

    def put(self, upcoming: Upcoming, name: NodeName) -> None:
        """Put one more replica of a volume on a node."""
        volume = upcoming.volume.name
        nodes = self.nodes_of(volume)
        id_ = f"{volume}/{nodes.count(name)}" if name in nodes else str(volume)
        if upcoming.item.id != id_:  # what was evicted elsewhere has the id that it had there
            upcoming = structs.replace(upcoming, item=structs.replace(upcoming.item, id=id_))
        self._log.set(self.on, name, (*self.on.get(name, ()), upcoming))
        self._log.set(self._nodes_of, volume, (*nodes, name))
        self._count(upcoming, 1)
        self.note_taken(name, may_take_more=False)

    def take_out(self, name: VolumeName) -> tuple[NodeName, ...]:
        """Take away what is forecast of a volume; return where that was."""
        nodes = self.nodes_of(name)
        self._note_missing(name, 0)
        self._log.pop(self._nodes_of, name)
        for node in dict.fromkeys(nodes):
            there = self.on[node]
            rest = tuple(each for each in there if each.volume.name != name)
            one = next(each for each in there if each.volume.name == name)
            self._count(one, len(rest) - len(there))
            if rest:
                self._log.set(self.on, node, rest)
            else:
                self._log.pop(self.on, node)
            self.note_taken(node, may_take_more=True)
        return nodes

    def evict_beyond(self, node: NodeName) -> list[Upcoming]:
        """Take away what a node takes no more of what is forecast there; return of which volumes.

        The least sure goes, to find other nodes.
        """
        evicted = self._no_longer_taken(node)
        for upcoming in evicted:
            rest = [*self.take_out(upcoming.volume.name)]
            rest.remove(node)
            for name in rest:
                self.put(upcoming, name)
        return evicted

    def fits(self, name: NodeName, items: Sequence[Item]) -> bool:
        """Whether a node takes all of *items*; not decided within the limit counts as yes."""
        space = self.eligibility.view.spaces[name]
        self.work.spend(1 + len(items) * len(space.bins) // _PAIRS_PER_STEP)
        is_fit = _fits_one_disk(items, space)
        if is_fit is None:
            outcome = pack(items, space.bins, step_limit=self._step_limit)
            self.work.spend(outcome.steps)
            is_fit = not isinstance(outcome, Infeasible)
        return is_fit

    def note_space(self, name: NodeName) -> None:
        """Note that the space of a node has changed."""
        self.eligibility.note_space(name)
        self.note_taken(name, may_take_more=True)

    def note_taken(self, name: NodeName, *, may_take_more: bool) -> None:
        """Note that something else comes to a node; *may_take_more* if it may take more now."""
        self._taken.pop(name, None)
        if may_take_more:
            self._misfits.pop(name, None)
        self.eligibility.note_taken(name, may_take_more=may_take_more)

    def _note_missing(self, name: VolumeName, missing: int) -> None:
        before = self.nowhere.get(name, 0)
        if missing != before:
            self._log.set(self.counts, "nowhere", self.counts["nowhere"] + missing - before)
            if missing:
                self._log.set(self.nowhere, name, missing)
            else:
                self._log.pop(self.nowhere, name)

    def _count(self, upcoming: Upcoming, more: int) -> None:
        """Count more replicas of a volume that find room, or fewer."""
        kind = "sure" if upcoming.is_sure else "open"
        more_bytes = more * upcoming.item.logical_bytes
        self._log.set(self.counts, kind, self.counts[kind] + more)
        self._log.set(self._sums, "bytes", self.total_bytes + more_bytes)

    def _takes(self, name: NodeName, upcoming: Upcoming, beside: Pinned | None = None) -> bool:
        """Whether a node takes one more replica."""
        item, misfits = upcoming.item, self._misfits.get(name, ())
        if any(_is_as_large(item, each) for each in misfits):
            return False
        if not self.eligibility.may_go(upcoming, name):
            return False
        taken = self.taken(name).items
        if beside is not None:
            more = beside(self.eligibility.view.spaces[name])
            return self.fits(name, (*taken, *(each.item for each in more), item))
        if not taken or self.fits(name, (*taken, item)):
            return True
        empty = structs.replace(item, physical_bytes=0)
        if not item.physical_bytes or not self.fits(name, (*taken, empty)):
            item = empty  # whatever is written to it, it has no room
            self.eligibility.takers(upcoming.need).refuse(name, item.logical_bytes)
        self._misfits[name] = [*(each for each in misfits if not _is_as_large(each, item)), item]
        return False

    def _no_longer_taken(self, node: NodeName) -> list[Upcoming]:
        """Return what a node does not take of what is forecast there: the least sure of it."""
        there, space = self.on.get(node, ()), self.eligibility.view.spaces.get(node)
        if not there or space is None:
            return [*there]
        suited = [each for each in there if self.eligibility.may_go(each, node)]
        if len(suited) == len(there) and self.fits(node, self.taken(node).items):
            return []
        kept = [each.item for each in self._pinned(space)]
        beyond = [each for each in there if not any(each is one for one in suited)]
        for upcoming in sorted(suited, key=by_certainty):
            if self.fits(node, [*kept, upcoming.item]):
                kept.append(upcoming.item)
            else:
                beyond.append(upcoming)
        return beyond

    def _best_node(self, upcoming: Upcoming, beside: Pinned | None) -> NodeName | None:
        """Return the node that Longhorn would take for the next replica, None if none has room.

        Longhorn's groups, on an index of nodes (`Takers`): which of them takes a replica is known
        of each profile, zone by zone, so that nobody goes through thousands of nodes for each of
        hundreds.
        """
        usage, prefers = self.usage_of(upcoming), upcoming.prefers
        takers, spaces = self.eligibility.takers(upcoming.need), self.eligibility.view.spaces
        if prefers is not None and (
            prefers in usage.zone_of or not self._takes(prefers, upcoming, beside)
        ):
            prefers = None
        tried = set[str]()
        for group in self.eligibility.groups(upcoming, usage):
            if prefers is not None and group.has(prefers, spaces[prefers].node.zone):
                return prefers
            if group.only is not None:
                ranks = [
                    (-max(0, takers.unused_bytes(name) - self.taken(name).logical_bytes), name)
                    for name in group.only
                    if self._takes(name, upcoming, beside)
                ]
            else:
                zones = [z for z in takers.zones if z not in group.but_zones and z not in tried]
                tried.update(zones)
                found = (self._roomiest_in(zone, upcoming, usage, beside) for zone in zones)
                ranks = [rank for rank in found if rank is not None]
            if ranks:
                return min(ranks)[1]
        return None

    def _roomiest_in(
        self, zone: str, upcoming: Upcoming, usage: Usage, beside: Pinned | None
    ) -> Rank | None:
        """Return the node with the most unused bytes among those of a zone without a replica."""
        takers, size = self.eligibility.takers(upcoming.need), upcoming.item.logical_bytes
        most = takers.most_bytes
        ranks = takers.ranks(zone) if takers.may_take(zone, size) else ()
        self.work.spend(len(ranks) // _RANKS_PER_STEP)
        for rank in ranks:
            name = rank[1]
            if most[name] < size or name in usage.zone_of:
                continue
            if self.work.is_over:
                self.is_cut_short = True
                return None
            if self._takes(name, upcoming, beside):
                return rank
        if ranks and beside is None:
            takers.note_full(zone)
        return None


def _fits_one_disk(items: Sequence[Item], space: NodeSpace) -> bool | None:
    """Whether one disk takes all of *items*; False if none takes one of them, else None."""
    logical = sum([item.logical_bytes for item in items])
    physical = sum([item.physical_bytes for item in items])
    for bin_ in space.roomiest:
        if (
            logical <= bin_.logical_bytes
            and physical <= bin_.physical_bytes
            and all(bin_.kind in item.kinds for item in items)
        ):
            return True
    return False if any(is_stranded(item, space.roomiest) for item in items) else None


def _is_as_large(item: Item, other: Item) -> bool:
    return (
        item.logical_bytes >= other.logical_bytes
        and item.physical_bytes >= other.physical_bytes
        and item.kinds <= other.kinds
    )
