"""Where the replicas that Longhorn will place anywhere find room, each counted once.

The order to try first is Longhorn's: volume by volume, one replica after another, on the node
of the best group with the most unused bytes, which leaves the others most in balance. Where that
runs into a wall, others are moved (`joint`). This is no prediction: Longhorn's managers work on
figures of half a second ago and not on what others have just assigned. It is right in sum.
"""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush, heapreplace
from itertools import islice

import msgspec

from extender.forecast.coming import Coming
from extender.forecast.joint import Piece, Room, Search
from extender.forecast.loads import Loads
from extender.forecast.ranking import Rank, Ranking, Rankings
from extender.space import NodeSpace
from extender.view import ClusterView
from longhorn import (
    Need,
    NodeName,
    Settings,
    Usage,
    VolumeName,
    refusal_of,
    stage_of,
    usage_of,
)
from packing import Infeasible, Item, Undecided, is_stranded, pack

MOST_MOVED = 48
"""So many replicas are moved at most to make room for one more."""
MOST_PACKED = 300
"""So many times one search packs the disks of a node at most."""


class Remote(msgspec.Struct, frozen=True, kw_only=True):
    """Room that one replica will take on a node."""

    coming: Coming
    item: Item


Found = dict[Piece, tuple[Remote, list[NodeName]]]
"""Each of the equal replicas of a volume, and the nodes that they are to go to."""


class Forecast:
    """What will be placed, and where it would find room.

    Attributes:
        on: What will take room on each node.
        nowhere: Volumes with replicas that find no room now, and how many.
    """

    def __init__(
        self,
        view: ClusterView,
        settings: Settings,
        loads: Loads,
        rankings: Rankings,
        *,
        step_limit: int,
        extra: Mapping[NodeName, tuple[Item, ...]] | None = None,
    ) -> None:
        self.on: dict[NodeName, list[Remote]] = {}
        self.nowhere: dict[VolumeName, int] = {}
        self._view = view
        self._settings = settings
        self._loads = loads
        self._rankings = rankings
        self._step_limit = step_limit
        self._steps_left = 4 * MOST_PACKED
        self._extra = extra or {}
        self._heaps: dict[tuple[Need, str], list[Rank]] = {}
        self._taken: dict[NodeName, int] = {}
        """Bytes that this forecast and the loads take of a node."""

    def place_all(self, coming: Iterable[Coming]) -> None:
        """Find room for all of *coming*, the first first."""
        for each in coming:
            missing = self.place(each)
            if missing:
                self.nowhere[each.volume.name] = missing

    def place(self, coming: Coming) -> int:
        """Find room for the replicas of a volume; return for how many there is none."""
        ranking = self._rankings.of(coming.need, self._view, self._settings)
        usage = self._usage_of(coming)
        for placed in range(coming.count):
            name = self._best(coming, ranking, usage)
            if name is None:
                if not self._make_room(coming, ranking, usage):
                    return coming.count - placed
                usage = self._usage_of(coming)
                continue
            self._put(coming, ranking.item, name)
            usage = _with(usage, name, self._view.spaces[name].node.zone)
        return 0

    def gives_way(self, name: NodeName, items: Sequence[Item]) -> bool:
        """Say whether a node may take *items* because what is forecast there finds other nodes.

        If that is not decided within the limits, it counts as yes.

        Args:
            name: The node.
            items: What it must take, its load included; they fit there alone.
        """
        moved = self.on.get(name, [])
        fixed = {name: items}
        if isinstance(self._search(moved, fixed), dict):
            return True
        others = [each for on, remotes in self.on.items() if on != name for each in remotes]
        if not others or len(moved) + len(others) > MOST_MOVED:
            return bool(others)
        return self._search([*moved, *others], fixed) is not None

    def worst_on(self, name: NodeName, coming: Iterable[Coming]) -> tuple[Item, ...]:
        """Return what a node takes if as many of *coming* go there as ever may."""
        items = []
        for each in coming:
            ranking = self._rankings.of(each.need, self._view, self._settings)
            if not each.count or name not in ranking.entries:
                continue
            usage = self._usage_of(each, with_forecast=False)
            node, volume = self._view.spaces[name].node, each.volume
            if stage_of(node, usage, volume, self._settings) is not None:
                is_soft = _is_soft(volume.soft_anti_affinity, self._settings.soft_anti_affinity)
                items += [ranking.item] * (each.count if is_soft else 1)
        return tuple(items)

    # --- one replica after another ---

    def _best(self, coming: Coming, ranking: Ranking, usage: Usage) -> NodeName | None:
        """Return the node that Longhorn would take for the next replica, None if none has room."""
        volume, settings, item = coming.volume, self._settings, ranking.item
        preferred = coming.prefers
        if preferred is not None and preferred in ranking.entries:
            node = self._view.spaces[preferred].node
            stage = stage_of(node, usage, volume, settings)
            if stage == 0 and self._takes(preferred, item):
                return preferred
        fresh = [zone for zone in ranking.by_zone if zone not in usage.zones]
        found = self._roomiest(fresh, ranking, coming, usage)
        if found is not None:
            return found
        others = [zone for zone in ranking.by_zone if zone in usage.zones]
        by_stage: dict[int, list[NodeName]] = {}
        for name in sorted(usage.nodes):
            if name in ranking.entries:
                stage = stage_of(self._view.spaces[name].node, usage, volume, settings)
                if stage is not None and self._takes(name, item):
                    by_stage.setdefault(stage, []).append(name)
        zone_is_soft = _is_soft(volume.zone_soft_anti_affinity, settings.zone_soft_anti_affinity)
        if zone_is_soft:
            found = self._roomiest(others, ranking, coming, usage)
            if found is not None:
                return found
        if not by_stage:
            return None
        return max(by_stage[min(by_stage)], key=lambda each: self._unused(each, ranking))

    def _roomiest(
        self, zones: Iterable[str], ranking: Ranking, coming: Coming, usage: Usage
    ) -> NodeName | None:
        """Return the node with the most unused bytes among those without a replica."""
        tops = []
        for zone in zones:
            rank = self._top(zone, ranking, coming.need, usage)
            if rank is not None:
                tops.append(rank)
        return min(tops)[1] if tops else None

    def _top(self, zone: str, ranking: Ranking, need: Need, usage: Usage) -> Rank | None:
        """Return the first rank of a zone as of now; nodes that are full are dropped for good."""
        key = (need, zone)
        heap = self._heaps.get(key)
        if heap is None:
            heap = self._heaps[key] = [*ranking.by_zone[zone]]  # what is sorted is a heap
        aside, found = [], None
        while heap:
            rank = heap[0]
            name = rank[1]
            now = (-self._unused(name, ranking), name)
            if now != rank:
                heapreplace(heap, now)
            elif name in usage.nodes:
                aside.append(heappop(heap))
            elif not self._takes(name, ranking.item):
                heappop(heap)
            else:
                found = rank
                break
        for rank in aside:
            heappush(heap, rank)
        return found

    def _unused(self, name: NodeName, ranking: Ranking) -> int:
        base = -ranking.entries[name][1][0]
        return max(0, base - self._taken.get(name, 0))

    def _takes(self, name: NodeName, item: Item) -> bool:
        space = self._view.spaces[name]
        load = self._load(name)
        remotes = self.on.get(name)
        if not load and not remotes:
            return True  # the ranking has only nodes that take it
        return fits((*load, *(each.item for each in remotes or ()), item), space, self._step_limit)

    def _put(self, coming: Coming, item: Item, name: NodeName) -> None:
        if name not in self._taken:
            self._taken[name] = sum(each.logical_bytes for each in self._load(name))
        self._taken[name] += item.logical_bytes
        count = sum(each.coming.volume.name == coming.volume.name for each in self.on.get(name, ()))
        own = msgspec.structs.replace(item, id=f"due/{coming.volume.name}/{count}")
        self.on.setdefault(name, []).append(Remote(coming=coming, item=own))

    def _usage_of(self, coming: Coming, *, with_forecast: bool = True) -> Usage:
        """Return which nodes and zones the volume uses, with what is forecast of it."""
        spaces = self._view.spaces
        held = [r.node for r in coming.replicas if r.node is not None]
        hosts = [
            spaces[name]
            for name in dict.fromkeys(held)
            if name in spaces and refusal_of(spaces[name].node) is None
        ]
        usage = usage_of(coming.replicas, hosts)
        if coming.local is not None and coming.local in spaces:
            usage = _with(usage, coming.local, spaces[coming.local].node.zone)
        for name, remotes in self.on.items() if with_forecast else ():
            if any(each.coming.volume.name == coming.volume.name for each in remotes):
                usage = _with(usage, name, spaces[name].node.zone)
        return usage

    # --- moving others ---

    def _make_room(self, coming: Coming, ranking: Ranking, usage: Usage) -> bool:
        """Find room for one more replica of a volume by moving others, and move them."""
        may_help = any(
            name in ranking.entries
            and stage_of(self._view.spaces[name].node, usage, coming.volume, self._settings)
            is not None
            for name in self.on
        )
        if not may_help:
            return False
        moved = [remote for remotes in self.on.values() for remote in remotes]
        one = Remote(coming=coming, item=ranking.item)
        found = self._search([*moved, one], {})
        if not isinstance(found, dict):
            return False
        self.on, self._taken = {}, {}
        for remote, names in found.values():
            for name in names:
                self._put(remote.coming, remote.item, name)
        self._heaps.clear()  # nodes that were full may have room
        return True

    def _search(
        self, moved: Sequence[Remote], fixed: Mapping[NodeName, Sequence[Item]]
    ) -> Found | Undecided | None:
        """Find nodes on which all of *moved* fit together.

        Args:
            moved: What may go anywhere; all else that is forecast stays.
            fixed: What some nodes must take besides, in place of their load.
        """
        staying = {
            name: [each.item for each in remotes if not any(each is other for other in moved)]
            for name, remotes in self.on.items()
        }
        targets = self._targets(moved, [*self.on, *fixed])
        pieces: dict[Piece, Remote] = {}
        todo: list[Piece] = []
        for remote in moved:
            piece = self._piece(remote, targets)
            pieces.setdefault(piece, remote)
            todo.append(piece)
        if not all(piece.nodes for piece in todo):
            return None
        rooms = {
            name: self._room(name, [*fixed.get(name, self._load(name)), *staying.get(name, ())])
            for name in targets
        }
        search = Search(todo, rooms, step_limit=min(self._steps_left, MOST_PACKED))
        found = search.run()
        self._steps_left = max(0, self._steps_left - search.packed)
        if search.is_cut_short:
            return Undecided(search.packed)
        if found is None:
            return None
        return {piece: (pieces[piece], names) for piece, names in found.items()}

    def _targets(self, moved: Sequence[Remote], names: Iterable[NodeName]) -> list[NodeName]:
        """Return *names*, and as many other nodes with room as could ever be needed."""
        targets = dict.fromkeys(name for name in names if name in self._view.spaces)
        needs = dict.fromkeys(remote.coming.need for remote in moved)
        for need in needs:
            ranking = self._rankings.of(need, self._view, self._settings)
            for ranks in ranking.by_zone.values():
                fresh = (name for _, name in ranks if name not in self.on)
                targets |= dict.fromkeys(islice(fresh, len(moved)))
        return [*targets]

    def _piece(self, remote: Remote, targets: Iterable[NodeName]) -> Piece:
        coming, settings = remote.coming, self._settings
        volume = coming.volume
        ranking = self._rankings.of(coming.need, self._view, settings)
        usage = self._usage_of(coming, with_forecast=False)
        allowed = [
            name
            for name in targets
            if name in ranking.entries
            and stage_of(self._view.spaces[name].node, usage, volume, settings) is not None
        ]
        allowed.sort(key=lambda name: (-self._unused(name, ranking), name))
        return Piece(
            volume=volume.name,
            item=ranking.item,
            nodes=tuple(allowed),
            apart=not _is_soft(volume.soft_anti_affinity, settings.soft_anti_affinity),
            zones_apart=not _is_soft(
                volume.zone_soft_anti_affinity, settings.zone_soft_anti_affinity
            ),
        )

    def _room(self, name: NodeName, there: Sequence[Item]) -> Room:
        space = self._view.spaces[name]
        free = sum(max(0, bin_.logical_bytes) for bin_ in space.bins)
        return Room(
            zone=space.node.zone,
            free_bytes=free - sum(item.logical_bytes for item in there),
            takes=lambda items: fits((*there, *items), space, self._step_limit),
        )

    def _load(self, name: NodeName) -> tuple[Item, ...]:
        return self._loads.on(self._view.spaces[name]).items + self._extra.get(name, ())


def fits(items: Sequence[Item], space: NodeSpace, step_limit: int) -> bool:
    """Say whether a node takes all of *items*; not decided within the limit counts as yes."""
    logical = sum(item.logical_bytes for item in items)
    physical = sum(item.physical_bytes for item in items)
    for bin_ in space.roomiest:
        if (
            logical <= bin_.logical_bytes
            and physical <= bin_.physical_bytes
            and all(bin_.kind in item.kinds for item in items)
        ):
            return True
    if any(is_stranded(item, space.roomiest) for item in items):
        return False
    return not isinstance(pack(items, space.bins, step_limit=step_limit), Infeasible)


def _with(usage: Usage, name: NodeName, zone: str) -> Usage:
    """Return *usage* with one more replica."""
    return Usage(
        nodes=usage.nodes | {name},
        zones=usage.zones | {zone},
        staying_nodes=usage.staying_nodes | {name},
        staying_zones=usage.staying_zones | {zone},
    )


def _is_soft(of_volume: bool | None, setting: bool) -> bool:  # noqa: FBT001 (both are settings)
    return setting if of_volume is None else of_volume
