"""Whether Longhorn's own choice of disks leads to a packing: in some order, in every one, unseen.

A packing proves that room exists. Longhorn places one replica at a time on the disk that it likes
best, in an order that nobody chooses. And as its figures are half a second old, it may place
several before it sees the first.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from operator import itemgetter

from extender.space import NodeSpace
from longhorn import Candidate, Candidates, DiskId, DiskKind, DiskSpace, choices, takes_replicas
from packing import Bin, Item, Kind

MOST_STEPS = 2_000
"""Placements that are tried at most; beyond, the weaker word is said."""


class Robustness(StrEnum):
    """How sure it is that Longhorn finds room for all volumes, the surest last."""

    SOME_ORDER = "some order"
    EVERY_ORDER = "every order"
    EVERY_ORDER_AND_STALE = "every order, even on old figures"


class _CutShortError(Exception):
    """More steps than allowed."""


_Piece = tuple[int, int, frozenset[Kind]]
"""The logical and the physical bytes of a replica, and the kinds of disks that it may use."""


def robustness(
    items: Sequence[Item],
    space: NodeSpace,
    kinds: Mapping[DiskKind, Kind],
    *,
    step_limit: int = MOST_STEPS,
) -> Robustness:
    """Say how sure it is that Longhorn finds room for all *items* on a node.

    They fit there in some order. Longhorn may also choose a disk that is not ready, where a replica
    would not start: then only some order is sure. Of such a disk the tags are not looked at.

    Args:
        items: All replicas that are about to come, those of other pods as well.
        space: The node.
        kinds: The number of each kind of disk.
        step_limit: Most placements that are tried.

    Complexity: bounded by *step_limit*.
    """
    if space.all_usable and _is_sure(items, space.bins):
        return Robustness.EVERY_ORDER_AND_STALE
    disks = _Disks(space, kinds, step_limit)
    pieces = sorted((i.logical_bytes, i.physical_bytes, i.kinds) for i in items)
    try:
        if not disks.take_in_every_order(tuple(pieces), {}, set()):
            return Robustness.SOME_ORDER
    except _CutShortError:
        return Robustness.SOME_ORDER
    is_stale_too = disks.take_unseen(pieces)
    return Robustness.EVERY_ORDER_AND_STALE if is_stale_too else Robustness.EVERY_ORDER


def _is_sure(items: Sequence[Item], bins: Sequence[Bin]) -> bool:
    """Whether each disk that takes any of *items* takes all of them."""
    logical = sum(item.logical_bytes for item in items)
    physical = sum(item.physical_bytes for item in items)
    return all(
        logical <= bin_.logical_bytes and physical <= bin_.physical_bytes
        for bin_ in bins
        if any(
            bin_.kind in item.kinds
            and item.logical_bytes <= bin_.logical_bytes
            and item.physical_bytes <= bin_.physical_bytes
            for item in items
        )
    )


class _Disks:
    """The disks of one node as Longhorn chooses among them."""

    def __init__(self, space: NodeSpace, kinds: Mapping[DiskKind, Kind], step_limit: int) -> None:
        self._node = space.node.name
        usable = {bin_.id for bin_ in space.bins}
        self._spaces: dict[DiskId, DiskSpace] = {}
        self._kinds: dict[DiskId, Kind] = {}
        """Of the usable ones. Others have no number, or one from a time when they were usable."""
        self._unusable: set[DiskId] = set()
        for each in space.disks:
            if each.disk.id is not None and takes_replicas(each.disk):
                self._spaces[each.disk.id] = each
                if each.disk.name in usable:
                    self._kinds[each.disk.id] = kinds[each.kind]
                else:
                    self._unusable.add(each.disk.id)
        self._suitable: dict[_Piece, Sequence[tuple[Candidate, DiskSpace, int]]] = {}
        self._steps_left = step_limit

    def take_in_every_order(
        self, pieces: tuple[_Piece, ...], taken: Mapping[DiskId, int], known: set[object]
    ) -> bool:
        """Whether all orders and all arbitrary choices place *pieces* beside what is *taken*."""
        key = pieces, tuple(sorted(taken.items()))
        if not pieces or key in known:
            return True
        for index, piece in enumerate(pieces):
            if index and pieces[index - 1] == piece:
                continue
            chosen = self._choices(piece, taken)
            if not chosen or not self._unusable.isdisjoint(chosen):
                return False
            rest = pieces[:index] + pieces[index + 1 :]
            for disk in chosen:
                self._steps_left -= 1
                if self._steps_left < 0:
                    raise _CutShortError
                more = {**taken, disk: taken.get(disk, 0) + piece[0]}
                if not self.take_in_every_order(rest, more, known):
                    return False
        known.add(key)
        return True

    def take_unseen(self, pieces: Sequence[_Piece]) -> bool:
        """Whether no disk is overfull even if each piece is placed as if it were the first.

        What pieces hold already shows on a disk only once it is copied, so it counts here as well.
        """
        most: dict[DiskId, tuple[int, int]] = {}
        for piece in pieces:
            for disk in self._choices(piece, {}):
                logical, physical = most.get(disk, (0, 0))
                most[disk] = logical + piece[0], physical + piece[1]
        return all(
            logical <= self._spaces[disk].logical_headroom_bytes
            and physical <= self._spaces[disk].physical_headroom_bytes
            for disk, (logical, physical) in most.items()
        )

    def _choices(self, piece: _Piece, taken: Mapping[DiskId, int]) -> tuple[DiskId, ...]:
        """Return the disks that Longhorn may take for one replica."""
        if piece not in self._suitable:
            self._suitable[piece] = self._that_suit(*piece)
        unused = {
            each: space.unused_bytes(taken_bytes)
            for each, space, most_bytes in self._suitable[piece]
            if (taken_bytes := taken.get(each.disk, 0)) <= most_bytes
        }
        found = tuple(unused)
        candidates = Candidates(disks=found, preferred=found, unused_bytes=unused)
        return tuple(each.disk for each in choices(candidates, piece[0]))

    def _that_suit(
        self, logical: int, physical: int, kinds: frozenset[Kind]
    ) -> Sequence[tuple[Candidate, DiskSpace, int]]:
        """Return the disks that may take a replica, sorted, and what they may have taken before."""
        return [
            (Candidate(self._node, disk), space, space.logical_headroom_bytes - logical)
            for disk, space in sorted(self._spaces.items(), key=itemgetter(0))
            if (disk in self._unusable or self._kinds[disk] in kinds)
            and physical <= space.physical_headroom_bytes
        ]
