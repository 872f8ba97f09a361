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
from extender.forecast.loads import Loads, fits
from extender.forecast.ranking import Places, Rank, Rankings
from extender.space import NodeSpace
from extender.view import ClusterView
from longhorn import (
    Need,
    NodeName,
    Settings,
    Usage,
    VolumeName,
    may_share_node,
    may_share_zone,
    stage_of,
    usage_of,
)
from packing import Item, Undecided

MOST_MOVED = 200
"""So many replicas are moved at most to make room for one more."""
MOST_STEPS = 1_500
"""Of one search; a request may take four times as many."""
_LOOKED_AT = 8
"""So many of the roomiest nodes of a zone are looked at for a better choice."""
PAIRS_PER_STEP = 100
"""So many pairs of replica and node are set up for a search at the cost of a step."""


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
        is_undecided: Whether room for some may exist that was not found within the limits.
    """

    def __init__(
        self,
        view: ClusterView,
        settings: Settings,
        loads: Loads,
        rankings: Rankings,
        *,
        step_limit: int,
    ) -> None:
        self.on: dict[NodeName, list[Remote]] = {}
        self.nowhere: dict[VolumeName, int] = {}
        self._view = view
        self._settings = settings
        self._loads = loads
        self._rankings = rankings
        self._step_limit = step_limit
        self.is_undecided = False
        self._steps_left = 4 * MOST_STEPS
        self._places_of: dict[Need, Places] = {}
        self._heaps: dict[tuple[Need, str], list[Rank]] = {}
        self._taken: dict[NodeName, int] = {}
        """Bytes that this forecast and the loads take of a node."""
        self._nodes_of: dict[VolumeName, set[NodeName]] = {}
        """Where replicas of each volume are forecast."""
        self._spare: dict[NodeName, int] | None = None
        """Bytes that are left on each node, once they were asked for."""
        self._spare_bytes = 0

    @property
    def unbacked(self) -> set[VolumeName]:
        """The volumes that find room here, and that no hold tells of."""
        remotes = (each for there in self.on.values() for each in there)
        return {each.coming.volume.name for each in remotes if not each.coming.is_held}

    def counts(self) -> dict[str, int]:
        """Count the replicas that are sure, those of open holds, and those without room."""
        sure = [each.coming.is_sure for there in self.on.values() for each in there]
        return {
            "sure": sum(sure),
            "open": len(sure) - sum(sure),
            "nowhere": sum(self.nowhere.values()),
        }

    def _places(self, need: Need) -> Places:
        found = self._places_of.get(need)
        if found is None:
            found = self._rankings.places(need, self._view, self._settings)
            self._places_of[need] = found
        return found

    def place_all(self, coming: Iterable[Coming]) -> None:
        """Find room for all of *coming*, the first first."""
        for each in coming:
            missing = self.place(each)
            if missing:
                self.nowhere[each.volume.name] = missing

    def place(self, coming: Coming) -> int:
        """Find room for the replicas of a volume; return for how many there is none."""
        places = self._places(coming.need)
        usage = self._usage_of(coming)
        for placed in range(coming.count):
            name = self._best(coming, places, usage)
            if name is None:
                if not self._make_room(coming, places, usage):
                    return coming.count - placed
                usage = self._usage_of(coming)
                continue
            self._put(coming, places.item, name)
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
        found = self._search(moved, fixed)
        others = [each for on, remotes in self.on.items() if on != name for each in remotes]
        if isinstance(found, dict) or not others:
            return found is not None
        if not self._has_bytes_for(name, items):
            return False
        if len(moved) + len(others) > MOST_MOVED:
            return True
        return self._search([*moved, *others], fixed) is not None

    def takers(
        self, name: NodeName, coming: Iterable[Coming], *, beside_bytes: int | None
    ) -> tuple[Item, ...]:
        """Return what a node takes if as many of *coming* go there as ever may.

        Args:
            name: The node.
            coming: What will be placed anywhere.
            beside_bytes: If Longhorn is taken at its word that it chooses the node with the most
                unused bytes: as many may be placed on any node before. None: every node is
                possible on which a replica is allowed.
        """
        items = []
        for each in coming:
            places = self._places(each.need)
            if not each.count or name not in places:
                continue
            usage = self._usage_of(each, with_forecast=False)
            stage = self._stage(name, each, usage)
            if stage is None:
                continue
            if beside_bytes is not None and self._is_outdone(
                name, each, usage, stage, beside_bytes=beside_bytes
            ):
                continue
            items += [places.item] * self._most_on_a_node(each)
        return tuple(items)

    def most_bytes(self, coming: Iterable[Coming]) -> int:
        """Return how many bytes of *coming* may go to one node."""
        return sum(each.need.size_bytes * self._most_on_a_node(each) for each in coming)

    def _most_on_a_node(self, coming: Coming) -> int:
        return coming.count if may_share_node(coming.volume, self._settings) else 1

    def _stage(self, name: NodeName, coming: Coming, usage: Usage) -> int | None:
        return stage_of(self._view.spaces[name].node, usage, coming.volume, self._settings)

    def _is_outdone(
        self, name: NodeName, coming: Coming, usage: Usage, stage: int, *, beside_bytes: int
    ) -> bool:
        """Whether each of the replicas has a better choice than a node, whatever comes first.

        A node is better if it has more unused bytes even if all that may go there does. A zone
        without a replica of the volume comes before one with; but it takes only one replica
        before the others, so several better nodes in one such zone keep no second replica away.
        """
        places = self._places(coming.need)
        size = places.item.logical_bytes
        here, zone = places.ranking.unused_bytes(name), self._view.spaces[name].node.zone
        better: dict[str, int] = {}
        fresher = set[str]()
        for its_zone, ranks in places.ranking.by_zone.items():
            for less_unused, other in ranks[:_LOOKED_AT]:
                load = sum(item.logical_bytes for item in self._load(other))
                left = -less_unused - load - beside_bytes
                if other != name and left >= size and other in places:
                    other_stage = self._stage(other, coming, usage)
                    if other_stage is not None and other_stage <= stage and left > here:
                        better[its_zone] = better.get(its_zone, 0) + 1
                    elif other_stage is not None and other_stage < stage:
                        fresher.add(its_zone)
        # The pod's own replica may take one of the better nodes.
        count = coming.count + (coming.has_local and coming.local is None)
        if stage == 0 and zone not in better and len(better) < count:
            return False
        return sum(better.values()) + len(fresher - better.keys()) >= count

    # --- one replica after another ---

    def _best(self, coming: Coming, places: Places, usage: Usage) -> NodeName | None:
        """Return the node that Longhorn would take for the next replica, None if none has room."""
        volume, settings = coming.volume, self._settings
        if places.are_none:
            return None
        preferred = self._stage_of_preferred(coming, places, usage)
        if preferred == 0:
            return coming.prefers
        zones = places.ranking.by_zone
        fresh = [zone for zone in zones if zone not in usage.zones]
        found = self._roomiest(fresh, places, coming, usage)
        if found is None and may_share_zone(volume, settings):
            if preferred is not None:
                return coming.prefers
            others = [zone for zone in zones if zone in usage.zones]
            found = self._roomiest(others, places, coming, usage)
        return found or self._again(coming, places, usage)

    def _stage_of_preferred(self, coming: Coming, places: Places, usage: Usage) -> int | None:
        """Return the stage of the node that the first replica goes to if it can, None if not."""
        name = coming.prefers
        if name is None or name in usage.nodes or name not in places:
            return None
        if not self._takes(name, places):
            return None
        return self._stage(name, coming, usage)

    def _again(self, coming: Coming, places: Places, usage: Usage) -> NodeName | None:
        """Return the node for one more replica among those that hold one of the volume."""
        by_stage: dict[int, list[NodeName]] = {}
        for name in sorted(usage.nodes):
            if name in places:
                stage = self._stage(name, coming, usage)
                if stage is not None and self._takes(name, places):
                    by_stage.setdefault(stage, []).append(name)
        if not by_stage:
            return None
        return max(by_stage[min(by_stage)], key=lambda name: self._unused(name, places))

    def _roomiest(
        self, zones: Iterable[str], places: Places, coming: Coming, usage: Usage
    ) -> NodeName | None:
        """Return the node with the most unused bytes among those without a replica."""
        tops = []
        for zone in zones:
            rank = self._top(zone, places, coming.need, usage)
            if rank is not None:
                tops.append(rank)
        return min(tops)[1] if tops else None

    def _top(self, zone: str, places: Places, need: Need, usage: Usage) -> Rank | None:
        """Return the first rank of a zone as of now; nodes that are full are dropped for good."""
        key = (need, zone)
        heap = self._heaps.get(key)
        if heap is None:
            heap = self._heaps[key] = [*places.ranking.by_zone[zone]]  # what is sorted is a heap
        aside, found = [], None
        while heap:
            rank = heap[0]
            name = rank[1]
            now = (-self._unused(name, places), name)
            if now != rank:
                heapreplace(heap, now)
            elif name in usage.nodes:
                aside.append(heappop(heap))
            elif not self._takes(name, places):
                heappop(heap)
            else:
                found = rank
                break
        for rank in aside:
            heappush(heap, rank)
        return found

    def _unused(self, name: NodeName, places: Places) -> int:
        return max(0, places.ranking.unused_bytes(name) - self._taken_of(name))

    def _taken_of(self, name: NodeName) -> int:
        taken = self._taken.get(name)
        if taken is None:
            there = (*self._load(name), *(each.item for each in self.on.get(name, ())))
            taken = self._taken[name] = sum(item.logical_bytes for item in there)
        return taken

    def _takes(self, name: NodeName, places: Places) -> bool:
        space, item = self._view.spaces[name], places.item
        load, remotes = self._load(name), self.on.get(name)
        if not load and not remotes:
            return name in places
        return fits((*load, *(each.item for each in remotes or ()), item), space, self._step_limit)

    def _put(self, coming: Coming, item: Item, name: NodeName) -> None:
        self._taken[name] = self._taken_of(name) + item.logical_bytes
        count = sum(each.coming.volume.name == coming.volume.name for each in self.on.get(name, ()))
        own = msgspec.structs.replace(item, id=f"due/{coming.volume.name}/{count}")
        self.on.setdefault(name, []).append(Remote(coming=coming, item=own))
        self._nodes_of.setdefault(coming.volume.name, set()).add(name)
        self._spare = None

    def _usage_of(self, coming: Coming, *, with_forecast: bool = True) -> Usage:
        """Return which nodes and zones the volume uses, with what is forecast of it."""
        spaces = self._view.spaces
        held = [r.node for r in coming.replicas if r.node is not None]
        hosts = [
            spaces[name]
            for name in dict.fromkeys(held)
            if name in spaces and spaces[name].refusal is None
        ]
        usage = usage_of(coming.replicas, hosts)
        if coming.local is not None and coming.local in spaces:
            usage = _with(usage, coming.local, spaces[coming.local].node.zone)
        for name in self._nodes_of.get(coming.volume.name, ()) if with_forecast else ():
            usage = _with(usage, name, spaces[name].node.zone)
        return usage

    # --- moving others ---

    def _has_bytes_for(self, name: NodeName, items: Sequence[Item]) -> bool:
        """Whether all nodes together have the bytes for what is forecast, beside *items* on one."""
        if self._spare is None:
            self._spare = {
                other: max(0, _bytes_of(space) - self._taken_of(other))
                for other, space in self._view.spaces.items()
                if space.takes_replicas
            }
            self._spare_bytes = sum(self._spare.values())
        here = _bytes_of(self._view.spaces[name]) - sum(item.logical_bytes for item in items)
        moved = sum(each.item.logical_bytes for each in self.on.get(name, ()))
        return moved <= max(0, here) + self._spare_bytes - self._spare.get(name, 0)

    def _make_room(self, coming: Coming, places: Places, usage: Usage) -> bool:
        """Find room for one more replica of a volume by moving others, and move them."""
        near = {n for n in self.on if n in places and self._may_go(coming, n, usage)}
        if not near:
            return False
        cleared, moved = set[NodeName](), list[Remote]()
        for name in sorted(self.on, key=lambda each: (each not in near, each)):
            if len(moved) + len(self.on[name]) < MOST_MOVED:
                cleared.add(name)
                moved += self.on[name]
        one = Remote(coming=coming, item=places.item)
        found = self._search([*moved, one], {})
        if not isinstance(found, dict):
            self.is_undecided |= isinstance(found, Undecided)
            return False
        self.on = {name: there for name, there in self.on.items() if name not in cleared}
        self._taken.clear()
        for remote in moved:
            self._nodes_of[remote.coming.volume.name] -= cleared
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
        if not self._steps_left:
            return Undecided(0)
        going = {id(each) for each in moved}
        staying: dict[NodeName, list[Item]] = {}
        kept: dict[VolumeName, list[NodeName]] = {}
        for name, remotes in self.on.items():
            for each in remotes:
                if id(each) not in going:
                    staying.setdefault(name, []).append(each.item)
                    kept.setdefault(each.coming.volume.name, []).append(name)
        rooms = {
            name: self._room(name, [*fixed.get(name, self._load(name)), *staying.get(name, ())])
            for name in self._targets(moved, [*self.on, *fixed])
        }
        of_volume: dict[VolumeName, Piece] = {}
        pieces: dict[Piece, Remote] = {}
        todo: list[Piece] = []
        for remote in moved:
            volume = remote.coming.volume.name
            piece = of_volume.get(volume) or self._piece(remote, rooms, kept.get(volume, ()))
            of_volume[volume] = piece
            pieces.setdefault(piece, remote)
            todo.append(piece)
        if not all(piece.nodes for piece in todo):
            return None
        search = Search(todo, rooms, step_limit=min(self._steps_left, MOST_STEPS))
        found = search.run()
        setting_up = len(todo) * len(rooms) // PAIRS_PER_STEP
        self._steps_left = max(0, self._steps_left - search.steps - setting_up)
        if search.is_cut_short:
            return Undecided(search.steps)
        if found is None:
            return None
        return {piece: (pieces[piece], names) for piece, names in found.items()}

    def _targets(self, moved: Sequence[Remote], names: Iterable[NodeName]) -> list[NodeName]:
        """Return *names*, and as many other nodes with room as could ever be needed."""
        known = {name for name in names if name in self._view.spaces}
        targets = dict.fromkeys(sorted(known))
        for coming in {each.coming.volume.name: each.coming for each in moved}.values():
            places = self._places(coming.need)
            usage = self._usage_of(coming, with_forecast=False)
            for ranks in places.ranking.by_zone.values():
                fresh = (
                    name
                    for _, name in ranks
                    if name not in known
                    and self._may_go(coming, name, usage)
                    and self._takes(name, places)
                )
                targets |= dict.fromkeys(islice(fresh, len(moved)))
        return [*targets]

    def _may_go(self, coming: Coming, name: NodeName, usage: Usage) -> bool:
        """Whether a replica may go to a node that takes it."""
        return self._stage(name, coming, usage) is not None

    def _piece(
        self, remote: Remote, rooms: Mapping[NodeName, Room], kept: Iterable[NodeName]
    ) -> Piece:
        """Say where a replica may go, while others of its volume stay on the nodes *kept*."""
        coming, settings = remote.coming, self._settings
        volume, item = coming.volume, remote.item
        places = self._places(coming.need)
        usage = self._usage_of(coming, with_forecast=False)
        for name in kept:
            usage = _with(usage, name, self._view.spaces[name].node.zone)
        allowed = [
            name
            for name, room in rooms.items()
            if room.free_bytes >= item.logical_bytes
            and name in places
            and self._may_go(coming, name, usage)
        ]
        allowed.sort(key=lambda name: (-self._unused(name, places), name))
        return Piece(
            volume=volume.name,
            item=places.item,
            nodes=tuple(allowed),
            apart=not may_share_node(volume, settings),
            zones_apart=not may_share_zone(volume, settings),
        )

    def _room(self, name: NodeName, there: Sequence[Item]) -> Room:
        space = self._view.spaces[name]
        return Room(
            zone=space.node.zone,
            free_bytes=_bytes_of(space) - sum(item.logical_bytes for item in there),
            takes=lambda items: fits((*there, *items), space, self._step_limit),
        )

    def _load(self, name: NodeName) -> tuple[Item, ...]:
        """Return what a node takes for sure.

        An open hold counts on each of its nodes. If what is due had to find room beside all of
        that, it might find none, and then its room would be given away.
        """
        return self._loads.on(self._view.spaces[name]).sure_items


def _bytes_of(space: NodeSpace) -> int:
    """Return what may still be scheduled on all disks of a node."""
    return sum(max(0, bin_.logical_bytes) for bin_ in space.bins)


def _with(usage: Usage, name: NodeName, zone: str) -> Usage:
    """Return *usage* with one more replica."""
    return Usage(
        nodes=usage.nodes | {name},
        zones=usage.zones | {zone},
        staying_nodes=usage.staying_nodes | {name},
        staying_zones=usage.staying_zones | {zone},
    )
