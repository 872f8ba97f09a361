"""Exact search for nodes on which all of several replicas find room together.

A replica goes to a node whose disks take it beside all else there, which is a packing of its own
(`packing`). Two replicas of one volume share no node, nor a zone where that is asked for.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from longhorn import NodeName, VolumeName
from packing import Item


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """One replica to find a node for."""

    volume: VolumeName
    item: Item
    nodes: tuple[NodeName, ...]
    """Where it may go, the best first."""
    apart: bool = True
    """Whether it shares no node with other replicas of its volume."""
    zones_apart: bool = False
    """Whether it shares no zone with them."""


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What a node has for replicas."""

    zone: str
    free_bytes: int
    """Logical bytes that are free on its disks, beside all that stays."""
    takes: Callable[[Sequence[Item]], bool]
    """Whether its disks take these, beside all that stays."""


Key = tuple[int, tuple[tuple[NodeName, tuple[str, ...]], ...]]


class Search:
    """One search.

    Args:
        pieces: What is to find room.
        rooms: The nodes that they name.
        step_limit: Most times that the disks of a node are packed.

    Attributes:
        is_cut_short: Whether the limit was reached: then nothing was proved.
        packed: How many times disks were packed.
    """

    def __init__(
        self, pieces: Sequence[Piece], rooms: Mapping[NodeName, Room], *, step_limit: int
    ) -> None:
        self.is_cut_short = False
        self.packed = 0
        self._pieces = sorted(
            pieces, key=lambda each: (len(each.nodes), -each.item.logical_bytes, each.volume)
        )
        self._rooms = rooms
        self._step_limit = step_limit
        self._on: dict[NodeName, list[Item]] = {name: [] for name in rooms}
        self._nodes: dict[VolumeName, list[NodeName]] = {}
        self._taken: dict[tuple[NodeName, tuple[str, ...]], bool] = {}
        self._dead: set[object] = set()

    def run(self) -> dict[Piece, list[NodeName]] | None:
        """Return the nodes of all pieces; None if there are none, or none were found in time.

        Equal pieces of one volume are one key with several nodes.
        """
        chosen: list[NodeName] = []
        if not self._descend(0, chosen):
            return None
        found: dict[Piece, list[NodeName]] = {}
        for piece, name in zip(self._pieces, chosen, strict=True):
            found.setdefault(piece, []).append(name)
        return found

    def _descend(self, index: int, chosen: list[NodeName]) -> bool:
        if index == len(self._pieces):
            return True
        key = self._key(index)
        if key in self._dead or not self._may_fit(index):
            return False
        piece = self._pieces[index]
        is_twin = index > 0 and self._pieces[index - 1] == piece
        first = piece.nodes.index(chosen[-1]) if is_twin else 0  # twins in one order only
        used = self._nodes.setdefault(piece.volume, [])
        for name in piece.nodes[first:]:
            if not self._is_allowed(piece, name, used) or not self._takes(name, piece.item):
                if self.is_cut_short:
                    return False
                continue
            self._on[name].append(piece.item)
            used.append(name)
            chosen.append(name)
            if self._descend(index + 1, chosen):
                return True
            chosen.pop()
            used.pop()
            self._on[name].pop()
            if self.is_cut_short:
                return False
        self._dead.add(key)
        return False

    def _is_allowed(self, piece: Piece, name: NodeName, used: Sequence[NodeName]) -> bool:
        if piece.apart and name in used:
            return False
        zone = self._rooms[name].zone
        return not piece.zones_apart or all(self._rooms[each].zone != zone for each in used)

    def _takes(self, name: NodeName, item: Item) -> bool:
        items = [*self._on[name], item]
        # Items that need the same are interchangeable: what they need is their key.
        key = (name, tuple(sorted(_kind_of(each) for each in items)))
        found = self._taken.get(key)
        if found is None:
            if self.packed >= self._step_limit:
                self.is_cut_short = True
                return False
            self.packed += 1
            found = self._taken[key] = self._rooms[name].takes(items)
        return found

    def _may_fit(self, index: int) -> bool:
        """Whether the bytes that are free suffice, with one replica of a volume on each node."""
        left = self._pieces[index:]
        wanted: dict[NodeName, dict[VolumeName, int]] = {}
        for piece in left:
            for name in piece.nodes:
                of_node = wanted.setdefault(name, {})
                size = piece.item.logical_bytes
                of_node[piece.volume] = (
                    max(of_node.get(piece.volume, 0), size)
                    if piece.apart
                    else of_node.get(piece.volume, 0) + size
                )
        smallest = min(piece.item.logical_bytes for piece in left)
        usable = 0
        for name, of_node in wanted.items():
            free = self._rooms[name].free_bytes - sum(i.logical_bytes for i in self._on[name])
            if free >= smallest:
                usable += min(free, sum(of_node.values()))
        return usable >= sum(piece.item.logical_bytes for piece in left)

    def _key(self, index: int) -> object:
        """Return what decides whether the pieces from *index* on find room."""
        volume = self._pieces[index].volume
        left = {piece.volume for piece in self._pieces[index:]}
        return (
            index,
            tuple(tuple(sorted(_kind_of(each) for each in items)) for items in self._on.values()),
            tuple(
                (name, tuple(self._nodes.get(name, ())))
                for name in sorted(left)
                if self._nodes.get(name)
            ),
            self._pieces[index - 1] == self._pieces[index] and self._nodes[volume][-1]
            if index
            else None,
        )


def _kind_of(item: Item) -> str:
    return f"{item.logical_bytes}/{item.physical_bytes}/{sorted(item.kinds)}"
