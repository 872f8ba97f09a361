"""One packing problem as the search sees it: nodes, what proves that one is dead, and moves.

The docstring of `packing/search.py` explains the theory and the words used here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import gcd

import msgspec
from msgspec.structs import replace

from packing.bounds import Mask, Room, Rooms, bits, confined_kinds, is_stranded
from packing.types import Bin, BinId, Item, ItemId, Kind

_LARGE_PARTS = (3, 4)  # groups of the types larger than such a part of the largest bin

Twins = list[int]  # indexes of interchangeable bins
Move = tuple[int, Twins]  # one item of this type into one of these bins
View = tuple[Mask, Room]  # all of a bin that matters for the rest of the search


class Node(msgspec.Struct):
    left: list[int]  # items by type
    left_mask: Mask  # types with items left
    takes: list[Mask]  # types each bin can take one of
    logical_bytes: list[int]  # room left by bin
    physical_bytes: list[int]
    needs: list[tuple[int, int, int]]  # logical bytes, physical bytes, items left by group


class Frame(msgspec.Struct):
    node: Node
    key: object  # of nodes with equal keys, either all have a packing or none has
    moves: Iterator[Move]
    move: Move | None = None  # the one being searched


class Problem:
    """What stays the same during one search: types, bins, groups, and what can fill a room."""

    def __init__(self, items: Sequence[Item], bins: Sequence[Bin]) -> None:
        bins = [bin_ for bin_ in bins if not all(is_stranded(item, [bin_]) for item in items)]
        items, self.bins = _reduced(items, bins)
        # How much a byte of each dimension weighs in an order of items: more if it is scarcer.
        self.logical_weight = sum(bin_.physical_bytes for bin_ in self.bins) or 1
        self.physical_weight = sum(bin_.logical_bytes for bin_ in self.bins) or 1
        self.types = self._types(items)
        self.sizes = [(some[0].logical_bytes, some[0].physical_bytes) for some in self.types]
        self.counts = [len(some) for some in self.types]
        self.rooms = Rooms(self.sizes, self.counts, bin_count=len(self.bins))
        self.class_masks = self._class_masks()
        self.as_free = self._as_free()
        self.groups = self._groups(items)
        self.groups_of = [
            [index for index, group in enumerate(self.groups) if group >> type_ & 1]
            for type_ in range(len(self.types))
        ]
        self.charge = 1 + len(self.bins) * (len(self.types) + 4 * len(self.groups)) // 4096

    def root(self) -> Node:
        units = {mask: self._units(mask) for mask in set(self.class_masks)}
        classes = list(zip(self.bins, self.class_masks, strict=True))
        logical_bytes = [_whole(bin_.logical_bytes, units[mask][0]) for bin_, mask in classes]
        physical_bytes = [_whole(bin_.physical_bytes, units[mask][1]) for bin_, mask in classes]
        rooms = zip(self.class_masks, logical_bytes, physical_bytes, strict=True)
        return Node(
            left=self.counts,
            left_mask=(1 << len(self.types)) - 1,
            takes=[mask & self.rooms.fitting(*room) for mask, *room in rooms],
            logical_bytes=logical_bytes,
            physical_bytes=physical_bytes,
            needs=[self._need(group) for group in self.groups],
        )

    def _units(self, class_mask: Mask) -> tuple[int, int]:
        sizes = [self.sizes[type_] for type_ in bits(class_mask)]
        return gcd(*[size for size, _ in sizes]), gcd(*[weight for _, weight in sizes])

    def place(self, node: Node, move: Move) -> Node:
        """Return the node after the move. The copy costs little compared with `frame`."""
        type_, (index, *_) = move
        size, weight = self.sizes[type_]
        left, takes, needs = node.left[:], node.takes[:], node.needs[:]
        logical_bytes, physical_bytes = node.logical_bytes[:], node.physical_bytes[:]
        left[type_] -= 1
        logical_bytes[index] -= size
        physical_bytes[index] -= weight
        takes[index] &= self.rooms.fitting(logical_bytes[index], physical_bytes[index])
        for group in self.groups_of[type_]:
            logical_need, physical_need, count = needs[group]
            needs[group] = logical_need - size, physical_need - weight, count - 1
        left_mask = node.left_mask if left[type_] else node.left_mask & ~(1 << type_)
        return Node(left, left_mask, takes, logical_bytes, physical_bytes, needs)

    def frame(self, node: Node, *, dead: Set[object]) -> Frame | None:
        """Return the node with the moves to try, or None if it is dead."""
        views = self._views(node)
        reachable = 0
        for mask, _ in views:
            reachable |= mask
        if reachable != node.left_mask:
            return None
        key = tuple(node.left), frozenset([(view, len(twins)) for view, twins in views.items()])
        if key in dead:
            return None
        tightest = self._tightest(node, views)
        if tightest is None:
            return None
        return Frame(node, key, iter(self._moves(node, views, tightest)))

    def assignment(self, stack: Iterable[Frame]) -> dict[ItemId, BinId]:
        items = [iter(some) for some in self.types]
        moves = [frame.move for frame in stack if frame.move]
        return {next(items[type_]).id: self.bins[twins[0]].id for type_, twins in moves}

    def _views(self, node: Node) -> dict[View, Twins]:
        views: dict[View, Twins] = {}
        for index, takes in enumerate(node.takes):
            mask = takes & node.left_mask
            if mask:
                view = mask, self._room(node, index, mask)
                if view in views:
                    views[view].append(index)
                else:
                    views[view] = [index]
        return views

    def _room(self, node: Node, index: int, mask: Mask) -> Room:
        return self.rooms.room(
            mask, self.class_masks[index], node.logical_bytes[index], node.physical_bytes[index]
        )

    def _tightest(self, node: Node, views: Mapping[View, Twins]) -> tuple[Mask, Twins] | None:
        """Find the bin that must take something and has the fewest types to take.

        Returns:
            These types as a mask, and the bin with its twins; no bins if none must take anything;
            None if some group needs more than there is.
        """
        found: tuple[Mask, Twins] = (0, [])
        fewest = len(self.types) + 1
        for index, (_, _, count) in enumerate(node.needs):
            tight = self._tight(node, views, index) if count else []
            if tight is None:
                return None
            for mask, twins in tight:
                if mask.bit_count() < fewest:
                    fewest = mask.bit_count()
                    found = mask, twins
        return found

    def _tight(
        self, node: Node, views: Mapping[View, Twins], index: int
    ) -> list[tuple[Mask, Twins]] | None:
        """List the bins without which the group lacks room; None if it lacks room even with all."""
        group = self.groups[index]
        logical_lack, physical_lack, count_lack = node.needs[index]
        inside = []
        for (mask, room), twins in views.items():
            shared = mask & group
            if shared:
                usable = room if shared == mask else self._room(node, twins[0], shared)
                logical_bytes, physical_bytes, most, _ = usable
                logical_lack -= logical_bytes * len(twins)
                physical_lack -= physical_bytes * len(twins)
                count_lack -= most * len(twins)
                inside.append((shared, usable, twins))
        if logical_lack > 0 or physical_lack > 0 or count_lack > 0:
            return None
        return [
            (shared, twins)
            for shared, (logical_bytes, physical_bytes, most, _), twins in inside
            if logical_lack + logical_bytes > 0
            or physical_lack + physical_bytes > 0
            or count_lack + most > 0
        ]

    def _moves(
        self, node: Node, views: Mapping[View, Twins], tightest: tuple[Mask, Twins]
    ) -> list[Move]:
        for (mask, room), twins in views.items():
            if room.filler >= 0 and not mask & ~self.as_free[room.filler]:
                return [(room.filler, twins)]
        type_, bin_count = _scarcest(views, node.left_mask)
        mask, twins = tightest
        if twins and mask.bit_count() < bin_count:
            return [(type_, twins) for type_ in bits(mask)]
        usable = [view for view in views if view[0] >> type_ & 1]
        usable.sort(key=lambda view: self._weight(view[1].logical_bytes, view[1].physical_bytes))
        return [(type_, views[view]) for view in usable]

    def _weight(self, logical_bytes: int, physical_bytes: int) -> int:
        return logical_bytes * self.logical_weight + physical_bytes * self.physical_weight

    def _types(self, items: Sequence[Item]) -> list[list[Item]]:
        """Group equal items into types, largest first."""
        types: dict[tuple[int, int, frozenset[Kind]], list[Item]] = {}
        for item in items:
            types.setdefault((item.logical_bytes, item.physical_bytes, item.kinds), []).append(item)
        return [
            types[key]
            for key in sorted(
                types, key=lambda key: (-self._weight(key[0], key[1]), -key[0], sorted(key[2]))
            )
        ]

    def _class_masks(self) -> list[Mask]:
        """Return for each bin the types its kind admits; bins that admit the same are one class."""
        by_kind = {
            kind: _mask(kind in some[0].kinds for some in self.types)
            for kind in {bin_.kind for bin_ in self.bins}
        }
        return [by_kind[bin_.kind] for bin_ in self.bins]

    def _as_free(self) -> list[Mask]:
        """Return for each type the types that may go into every bin it may go into."""
        classes = set(self.class_masks)
        as_free = []
        for type_ in range(len(self.types)):
            mask = -1
            for class_mask in classes:
                if class_mask >> type_ & 1:
                    mask &= class_mask
            as_free.append(mask)
        return as_free

    def _groups(self, items: Sequence[Item]) -> list[Mask]:
        confined = [
            _mask(some[0].kinds <= kinds for some in self.types)
            for kinds in confined_kinds(items, self.bins)
        ]
        largest = (
            max(bin_.logical_bytes for bin_ in self.bins),
            max(bin_.physical_bytes for bin_ in self.bins),
        )
        large = [
            _mask(size[dimension] * parts > largest[dimension] for size in self.sizes)
            for dimension in (0, 1)
            for parts in _LARGE_PARTS
        ]
        return [group for group in dict.fromkeys([*confined, *large]) if group]

    def _need(self, group: Mask) -> tuple[int, int, int]:
        logical_bytes = physical_bytes = count = 0
        for type_ in bits(group):
            size, weight = self.sizes[type_]
            logical_bytes += self.counts[type_] * size
            physical_bytes += self.counts[type_] * weight
            count += self.counts[type_]
        return logical_bytes, physical_bytes, count


def _reduced(items: Sequence[Item], bins: Sequence[Bin]) -> tuple[list[Item], list[Bin]]:
    """Leave out differences between items that decide nothing, so that more items are equal.

    These are kinds that no bin has, and a dimension in which all items together fit the smallest
    bin: its sizes and rooms become zero.
    """
    present = {bin_.kind for bin_ in bins}
    idle: dict[str, int] = {}
    if sum(item.logical_bytes for item in items) <= min(bin_.logical_bytes for bin_ in bins):
        idle["logical_bytes"] = 0
    if sum(item.physical_bytes for item in items) <= min(bin_.physical_bytes for bin_ in bins):
        idle["physical_bytes"] = 0
    confined = [
        item if item.kinds <= present else replace(item, kinds=item.kinds & present)
        for item in items
    ]
    if not idle:
        return confined, list(bins)
    return [replace(item, **idle) for item in confined], [replace(bin_, **idle) for bin_ in bins]


def _whole(room_bytes: int, unit_bytes: int) -> int:
    """Round down to a multiple of the sizes' common divisor: even sizes never fill an odd room."""
    return room_bytes - room_bytes % unit_bytes if unit_bytes else room_bytes


def _mask(members: Iterable[bool]) -> Mask:
    mask = 0
    for type_, is_member in enumerate(members):
        if is_member:
            mask |= 1 << type_
    return mask


def _scarcest(views: Iterable[View], left_mask: Mask) -> tuple[int, int]:
    """Return the first type with the fewest views, and how many these are.

    Counts all types at once: bit n of ``planes[i]`` is digit i of the binary count of type n.
    """
    planes: list[Mask] = []
    for mask, _ in views:
        carry = mask
        for digit, plane in enumerate(planes):
            planes[digit], carry = plane ^ carry, plane & carry
        if carry:
            planes.append(carry)
    fewest = left_mask
    for plane in reversed(planes):
        fewest = fewest & ~plane or fewest
    type_ = next(bits(fewest))
    return type_, sum((plane >> type_ & 1) << digit for digit, plane in enumerate(planes))
