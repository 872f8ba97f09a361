"""Moving what is forecast to other nodes, so that something else finds room."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from extender.forecast.assignment import Assignment, Remote
from extender.forecast.coming import Coming
from extender.forecast.joint import Piece, Room, Search
from extender.forecast.ranking import Places
from longhorn import NodeName, Usage, VolumeName, may_share_node, may_share_zone
from packing import Item, Undecided

MOST_MOVED = 200
"""So many replicas are moved at most to make room for one more."""
MOST_STEPS = 1_500
"""Of one search; all searches of a request may take four times as many."""
PAIRS_PER_STEP = 5
"""So many pairs of replica and node are set up for a search at the cost of a step."""
NODES_PER_STEP = 5
"""So many nodes are looked at for whether a replica may go there at the cost of a step."""
ROOMS_PER_STEP = 50
"""A step of a search among so many nodes more takes the time of another one."""
MOST_LOOKED_AT = 1_000
"""So many nodes that something is forecast on are looked at for what could be moved."""
MOST_TARGETS = 400
"""With more nodes that something is forecast on, a search is about those that it moves from."""

Found = dict[Piece, tuple[Remote, list[NodeName]]]
"""Each of the equal replicas of a volume, and the nodes that they are to go to."""


class Moving:
    """Moves what is forecast, within limits for one request.

    Attributes:
        is_undecided: Whether room may exist that was not found within the limits.
    """

    def __init__(self, assignment: Assignment) -> None:
        self.is_undecided = False
        self._assignment = assignment
        self._steps_left = 4 * MOST_STEPS

    def begin(self, steps: int) -> None:
        """Begin anew: so many steps may be taken from now on."""
        self.is_undecided = False
        self._steps_left = steps

    def gives_way(self, name: NodeName, items: Sequence[Item]) -> bool:
        """Say whether what is forecast on a node finds others if it takes *items*."""
        on = self._assignment.on
        moved = on.get(name, ())
        fixed = {name: items}
        found = self._search(moved, [name], fixed)
        if isinstance(found, dict) or len(on) == (name in on):
            return found is not None
        if not self._has_bytes_for(name, items):
            return False
        others = [*islice(_others(on, name), MOST_MOVED - len(moved) + 1)]
        if len(moved) + len(others) > MOST_MOVED:
            return True
        return self._search([*moved, *others], [name, *on], fixed) is not None

    def make_room(self, coming: Coming, places: Places, usage: Usage) -> bool:
        """Find room for one more replica of a volume by moving others, and move them."""
        assignment = self._assignment
        on = assignment.on
        if self._is_over:
            self.is_undecided = True
            assignment.is_cut_short |= assignment.work.is_over
            return False
        looked_at = [*islice(on, MOST_LOOKED_AT)]
        near = {n for n in looked_at if n in places and self._may_go(coming, n, usage)}
        self._spend(len(looked_at) // NODES_PER_STEP)
        if not near:
            return False
        cleared, moved = set[NodeName](), list[Remote]()
        for name in sorted(looked_at, key=lambda each: (each not in near, each)):
            if len(moved) + len(on[name]) < MOST_MOVED:
                cleared.add(name)
                moved += on[name]
        one = Remote(coming=coming, item=places.item)
        found = self._search([*moved, one], cleared, {})
        if not isinstance(found, dict):
            self.is_undecided |= isinstance(found, Undecided)
            return False
        assignment.clear(cleared)
        for remote, names in found.values():
            for name in names:
                assignment.put(remote.coming, remote.item, name)
        return True

    def _has_bytes_for(self, name: NodeName, items: Sequence[Item]) -> bool:
        """Whether all nodes together have the bytes for what is forecast, beside *items* on one."""
        assignment = self._assignment
        here = assignment.free_bytes(name) - sum(item.logical_bytes for item in items)
        moved = sum(each.item.logical_bytes for each in assignment.on.get(name, ()))
        return moved <= max(0, here) + assignment.spare_bytes(but=name)

    def _search(
        self,
        moved: Sequence[Remote],
        nodes: Collection[NodeName],
        fixed: Mapping[NodeName, Sequence[Item]],
    ) -> Found | Undecided | None:
        """Find nodes on which all of *moved* fit together.

        Args:
            moved: What may go anywhere; all else that is forecast stays.
            nodes: Where it is now.
            fixed: What some nodes must take besides, in place of their load.
        """
        if self._is_over:
            return Undecided(0)
        going = {id(each) for each in moved}
        targets = self._targets(moved, nodes)
        setting_up = len(moved) * len(targets) // PAIRS_PER_STEP
        if setting_up >= self._steps_left:
            self._steps_left = 0  # others would not be smaller by much
            return Undecided(0)
        if setting_up >= self._assignment.work.left:
            self._assignment.is_cut_short = True
            return Undecided(0)
        self._spend(setting_up)
        rooms = {name: self._room(name, self._staying(name, going, fixed)) for name in targets}
        of_volume: dict[VolumeName, Piece] = {}
        pieces: dict[Piece, Remote] = {}
        todo: list[Piece] = []
        for remote in moved:
            volume = remote.coming.volume.name
            piece = of_volume.get(volume)
            if piece is None:
                piece = of_volume[volume] = self._piece(remote, rooms, self._kept(volume, going))
            pieces.setdefault(piece, remote)
            todo.append(piece)
        if not all(piece.nodes for piece in todo):
            return None
        weight = 1 + len(rooms) // ROOMS_PER_STEP  # each step looks at all of them
        search = Search(todo, rooms, step_limit=min(self._steps_left, MOST_STEPS) // weight)
        found = search.run()
        self._spend(search.steps * weight)
        if search.is_cut_short:
            return Undecided(search.steps)
        if found is None:
            return None
        return {piece: (pieces[piece], names) for piece, names in found.items()}

    def _kept(self, volume: VolumeName, going: Collection[int]) -> list[NodeName]:
        """Return the nodes on which replicas of a volume stay that are not in *going*."""
        return [
            name
            for name in dict.fromkeys(self._assignment.nodes_of(volume))
            for each in self._assignment.on[name]
            if each.coming.volume.name == volume and id(each) not in going
        ]

    def _staying(
        self, name: NodeName, going: Collection[int], fixed: Mapping[NodeName, Sequence[Item]]
    ) -> list[Item]:
        """Return what a node takes in any case, if those whose ids are in *going* may leave it."""
        load = fixed[name] if name in fixed else self._assignment.load(name)
        there = self._assignment.on.get(name, ())
        return [*load, *(each.item for each in there if id(each) not in going)]

    @property
    def _is_over(self) -> bool:
        return not self._steps_left or self._assignment.work.is_over

    def _spend(self, steps: int) -> None:
        self._assignment.work.spend(steps)
        self._steps_left = max(0, self._steps_left - steps)

    def _targets(self, moved: Sequence[Remote], nodes: Collection[NodeName]) -> list[NodeName]:
        """Return all nodes that something is forecast on, and others as could ever be needed.

        That something may be moved in a circle, all its nodes take part. On large clusters that
        would be too many: then only those *nodes* do from which something is moved.
        """
        assignment = self._assignment
        names = nodes if len(assignment.on) > MOST_TARGETS else {*nodes, *assignment.on}
        known = {name for name in names if name in assignment.view.spaces}
        targets = dict.fromkeys(sorted(known))
        for coming in {each.coming.volume.name: each.coming for each in moved}.values():
            places = assignment.places(coming.need)
            usage = assignment.usage_of(coming, with_forecast=False)
            for zone in places.ranking.by_zone:
                looked_at = 0
                fresh = 0
                for name in assignment.may_take(zone, places):
                    if fresh == len(moved) or self._is_over:
                        break
                    if name not in known and self._may_go(coming, name, usage):
                        looked_at += 1
                        if assignment.takes(name, places):
                            fresh += 1
                            targets[name] = None
                self._spend(looked_at)
        return [*targets]

    def _may_go(self, coming: Coming, name: NodeName, usage: Usage) -> bool:
        """Whether a replica may go to a node that takes it."""
        return self._assignment.stage(name, coming, usage) is not None

    def _piece(
        self, remote: Remote, rooms: Mapping[NodeName, Room], kept: Iterable[NodeName]
    ) -> Piece:
        """Say where a replica may go, while others of its volume stay on the nodes *kept*."""
        assignment, coming = self._assignment, remote.coming
        settings = assignment.view.settings
        volume, item = coming.volume, remote.item
        places = assignment.places(coming.need)
        usage = assignment.usage_of(coming, with_forecast=False)
        for name in kept:
            usage = assignment.with_one_on(name, usage)
        allowed = [
            name
            for name, room in rooms.items()
            if room.free_bytes >= item.logical_bytes
            and name in places
            and self._may_go(coming, name, usage)
        ]
        allowed.sort(key=lambda name: (-assignment.unused_bytes(name, places), name))
        return Piece(
            volume=volume.name,
            item=places.item,
            nodes=tuple(allowed),
            apart=not may_share_node(volume, settings),
            zones_apart=not may_share_zone(volume, settings),
        )

    def _room(self, name: NodeName, there: Sequence[Item]) -> Room:
        assignment = self._assignment
        return Room(
            zone=self._assignment.view.spaces[name].node.zone,
            free_bytes=assignment.free_bytes(name) - sum(item.logical_bytes for item in there),
            takes=lambda items: assignment.fits(name, [*there, *items]),
        )


def _others(on: Mapping[NodeName, Sequence[Remote]], name: NodeName) -> Iterator[Remote]:
    """Yield what is forecast on all nodes but one."""
    for other, remotes in on.items():
        if other != name:
            yield from remotes
