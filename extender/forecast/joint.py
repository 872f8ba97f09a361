"""Exact search for nodes on which all of several replicas find room together.

A replica goes to a node whose disks take it beside all else there, which is a packing of its own
(`packing`). Two replicas of one volume share no node, nor a zone where that is asked for.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from longhorn import NodeName, VolumeName
from packing import Item

PACKING_STEPS = 5
"""So many steps of the search take the time of packing the disks of a node."""


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


class Ahead(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the pieces that are still to be placed."""

    bytes_: int
    smallest_bytes: int
    most_bytes: Mapping[NodeName, int]
    """The most that may go to each node."""
    most_of_zones: Mapping[str, int]
    """The most that may go to all nodes of each zone."""
    volumes: tuple[VolumeName, ...]


class Search:
    """One search.

    Args:
        pieces: What is to find room.
        rooms: The nodes that they name.
        step_limit: Most steps. A piece to find a node for is one, packing disks is several.

    Attributes:
        is_cut_short: Whether the limit was reached: then nothing was proved.
        steps: How many were taken.
    """

    def __init__(
        self, pieces: Sequence[Piece], rooms: Mapping[NodeName, Room], *, step_limit: int
    ) -> None:
        self.is_cut_short = False
        self.steps = 0
        self._pieces = sorted(
            pieces, key=lambda each: (len(each.nodes), -each.item.logical_bytes, each.volume)
        )
        self._ahead = _ahead(self._pieces, rooms)
        self._rooms = rooms
        self._step_limit = step_limit
        self._on: dict[NodeName, list[Item]] = {name: [] for name in rooms}
        self._kinds: dict[NodeName, tuple[str, ...]] = dict.fromkeys(rooms, ())
        """Of what is on each node. Items that need the same are interchangeable."""
        self._free = {name: room.free_bytes for name, room in rooms.items()}
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
        if key in self._dead or not self._may_fit(index) or not self._may_step(1):
            return False
        piece = self._pieces[index]
        is_twin = index > 0 and self._pieces[index - 1] == piece
        first = piece.nodes.index(chosen[-1]) if is_twin else 0  # twins in one order only
        used = self._nodes.setdefault(piece.volume, [])
        item, size, kind = piece.item, piece.item.logical_bytes, _kind_of(piece.item)
        for name in piece.nodes[first:]:
            if not self._is_allowed(piece, name, used):
                continue
            before = self._kinds[name]
            kinds = tuple(sorted((*before, kind)))
            if self._takes(name, item, kinds):
                self._on[name].append(item)
                self._kinds[name] = kinds
                self._free[name] -= size
                used.append(name)
                chosen.append(name)
                if self._descend(index + 1, chosen):
                    return True
                chosen.pop()
                used.pop()
                self._free[name] += size
                self._kinds[name] = before
                self._on[name].pop()
            if self.is_cut_short:
                return False
        self._dead.add(key)
        return False

    def _may_step(self, steps: int) -> bool:
        if self.steps + steps > self._step_limit:
            self.is_cut_short = True
            return False
        self.steps += steps
        return True

    def _is_allowed(self, piece: Piece, name: NodeName, used: Sequence[NodeName]) -> bool:
        if piece.apart and name in used:
            return False
        zone = self._rooms[name].zone
        return not piece.zones_apart or all(self._rooms[each].zone != zone for each in used)

    def _takes(self, name: NodeName, item: Item, kinds: tuple[str, ...]) -> bool:
        found = self._taken.get((name, kinds))
        if found is None:
            if not self._may_step(PACKING_STEPS):
                return False
            found = self._taken[name, kinds] = self._rooms[name].takes([*self._on[name], item])
        return found

    def _may_fit(self, index: int) -> bool:
        """Whether the bytes that are free suffice, with one replica of a volume on each node."""
        ahead = self._ahead[index]
        usable: dict[str, int] = {}
        for name, most in ahead.most_bytes.items():
            free = self._free[name]
            if free >= ahead.smallest_bytes:
                zone = self._rooms[name].zone
                usable[zone] = usable.get(zone, 0) + min(free, most)
        found = sum(min(size, ahead.most_of_zones[zone]) for zone, size in usable.items())
        return found >= ahead.bytes_

    def _key(self, index: int) -> object:
        """Return what decides whether the pieces from *index* on find room."""
        volume = self._pieces[index].volume
        return (
            index,
            tuple(self._kinds.values()),
            tuple(
                (name, tuple(self._nodes[name]))
                for name in self._ahead[index].volumes
                if self._nodes.get(name)
            ),
            self._pieces[index - 1] == self._pieces[index] and self._nodes[volume][-1]
            if index
            else None,
        )


def _ahead(pieces: Sequence[Piece], rooms: Mapping[NodeName, Room]) -> list[Ahead]:
    """Return for each piece what is known of it and all after it."""
    found: list[Ahead] = []
    total, smallest = 0, pieces[-1].item.logical_bytes if pieces else 0
    most: dict[NodeName, int] = {}
    of_volume: dict[tuple[NodeName, VolumeName], int] = {}
    of_zone: dict[tuple[str, VolumeName], int] = {}
    most_of_zones: dict[str, int] = {}
    volumes: dict[VolumeName, None] = {}
    for piece in reversed(pieces):
        size = piece.item.logical_bytes
        total, smallest = total + size, min(smallest, size)
        volumes[piece.volume] = None
        for name in piece.nodes:
            before = of_volume.get((name, piece.volume), 0)
            now = max(before, size) if piece.apart else before + size
            of_volume[name, piece.volume] = now
            most[name] = most.get(name, 0) + now - before
        for zone in {rooms[name].zone for name in piece.nodes}:
            before = of_zone.get((zone, piece.volume), 0)
            now = max(before, size) if piece.zones_apart else before + size
            of_zone[zone, piece.volume] = now
            most_of_zones[zone] = most_of_zones.get(zone, 0) + now - before
        found.append(
            Ahead(
                bytes_=total,
                smallest_bytes=smallest,
                most_bytes=dict(most),
                most_of_zones=dict(most_of_zones),
                volumes=tuple(volumes),
            )
        )
    return found[::-1]


def _kind_of(item: Item) -> str:
    return f"{item.logical_bytes}/{item.physical_bytes}/{sorted(item.kinds)}"
