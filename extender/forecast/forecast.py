"""Where the replicas that Longhorn will place anywhere find room, each counted once.

The order to try first is Longhorn's: volume by volume, one replica after another, on the node
of the best group with the most unused bytes, which leaves the others most in balance. Where that
runs into a wall, others are moved (`moving`). This is no prediction: Longhorn's managers work on
figures of half a second ago and not on what others have just assigned. It is right in sum.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy

from extender.forecast.assignment import Assignment, Remote
from extender.forecast.coming import Coming, by_certainty
from extender.forecast.moving import Moving
from extender.forecast.ranking import Places
from extender.space import NodeSpace
from extender.work import Work
from longhorn import NodeName, Usage, VolumeName, may_share_zone
from packing import Item


class Forecast:
    """What will be placed, and where it would find room.

    Attributes:
        assignment: What is forecast on which node.
        nowhere: Volumes with replicas that find no room now, and how many.
    """

    def __init__(self, assignment: Assignment) -> None:
        """Nothing is forecast yet; nor is it in *assignment*, which this fills."""
        self.assignment = assignment
        self.nowhere: dict[VolumeName, int] = {}
        self._moving = Moving(assignment)

    def copy(
        self,
        load: Callable[[NodeSpace], Sequence[Item]],
        apart: Iterable[NodeName] = (),
        *,
        is_more: bool = False,
    ) -> "Forecast":
        """Return a forecast of its own with the same in it; the arguments are the assignment's."""
        new = Forecast(self.assignment.copy(load, apart, is_more=is_more))
        new.nowhere = dict(self.nowhere)
        return new

    def at_leisure(self) -> "Forecast":
        """Return the same for somebody whose work has no limit."""
        new = Forecast(copy(self.assignment))
        new.assignment.work = Work.unlimited()
        new.nowhere = self.nowhere
        return new

    @property
    def on(self) -> Mapping[NodeName, Sequence[Remote]]:
        """What will take room on each node."""
        return self.assignment.on

    @property
    def is_undecided(self) -> bool:
        """Whether room for some may exist that was not found within the limits."""
        return self._moving.is_undecided or self.assignment.is_cut_short

    def begin_moving(self, steps: int) -> None:
        """Have so many steps taken from now on to move what is forecast."""
        self.assignment.is_cut_short = False
        self._moving.begin(steps)

    def place_all(self, coming: Iterable[Coming]) -> None:
        """Find room for all of *coming*, the first first."""
        for each in coming:
            self.place(each)

    def place(self, coming: Coming) -> int:
        """Find room for the replicas of a volume, beside those of it that have some already.

        Returns for how many there is none.
        """
        assignment, name = self.assignment, coming.volume.name
        places = assignment.places(coming.need)
        usage = assignment.usage_of(coming)
        missing = max(0, coming.count - len(assignment.nodes_of(name)))
        while missing:
            best = self._best(coming, places, usage)
            if best is not None:
                assignment.put(coming, places.item, best)
                usage = assignment.with_one_on(best, usage)
            elif self._moving.make_room(coming, places, usage):
                usage = assignment.usage_of(coming)
            else:
                break
            missing -= 1
        if missing:
            self.nowhere[name] = missing
        else:
            self.nowhere.pop(name, None)
        return missing

    def take_out(self, name: VolumeName) -> tuple[NodeName, ...]:
        """Take away what is forecast of a volume; return where that was."""
        self.nowhere.pop(name, None)
        return self.assignment.take_out(name)

    def evict_beyond(self, node: NodeName) -> list[Coming]:
        """Take away what a node takes no more of what is forecast there; return of which volumes.

        The least sure goes, to find other nodes.
        """
        assignment = self.assignment
        evicted = [each.coming for each in self._beyond(node)]
        for coming in evicted:
            nodes = [*assignment.take_out(coming.volume.name)]
            nodes.remove(node)
            for other in nodes:
                assignment.put(coming, assignment.places(coming.need).item, other)
        return evicted

    def gives_way(self, name: NodeName, items: Sequence[Item]) -> bool:
        """Say whether a node may take *items* because what is forecast there finds other nodes.

        If that is not decided within the limits, it counts as yes.

        Args:
            name: The node.
            items: What it must take, its load included; they fit there alone.
        """
        return self._moving.gives_way(name, items)

    def _beyond(self, node: NodeName) -> list[Remote]:
        """Return what a node does not take of what is forecast there: the least sure of it."""
        assignment = self.assignment
        there = assignment.on.get(node, ())
        if not there or node not in assignment.view.spaces:
            return [*there]
        suited = [each for each in there if node in assignment.places(each.coming.need)]
        if len(suited) == len(there) and assignment.fits(node, assignment.taken(node).items):
            return []
        kept = [*assignment.load(node)]
        beyond = [each for each in there if not any(each is one for one in suited)]
        for remote in sorted(suited, key=lambda each: by_certainty(each.coming)):
            if assignment.fits(node, [*kept, remote.item]):
                kept.append(remote.item)
            else:
                beyond.append(remote)
        return beyond

    def _best(self, coming: Coming, places: Places, usage: Usage) -> NodeName | None:
        """Return the node that Longhorn would take for the next replica, None if none has room."""
        volume, settings = coming.volume, self.assignment.view.settings
        if places.are_none:
            return None
        preferred = self._stage_of_preferred(coming, places, usage)
        if preferred == 0:
            return coming.prefers
        zones = places.ranking.by_zone
        fresh = [zone for zone in zones if zone not in usage.zones]
        found = self._roomiest(fresh, places, usage)
        if found is None and may_share_zone(volume, settings):
            if preferred is not None:
                return coming.prefers
            others = [zone for zone in zones if zone in usage.zones]
            found = self._roomiest(others, places, usage)
        return found or self._again(coming, places, usage)

    def _stage_of_preferred(self, coming: Coming, places: Places, usage: Usage) -> int | None:
        """Return the stage of the node that the first replica goes to if it can, None if not."""
        name = coming.prefers
        if name is None or name in usage.nodes or name not in places:
            return None
        if not self.assignment.takes(name, places):
            return None
        return self.assignment.stage(name, coming, usage)

    def _again(self, coming: Coming, places: Places, usage: Usage) -> NodeName | None:
        """Return the node for one more replica among those that hold one of the volume."""
        by_stage: dict[int, list[NodeName]] = {}
        for name in sorted(usage.nodes):
            if name in places:
                stage = self.assignment.stage(name, coming, usage)
                if stage is not None and self.assignment.takes(name, places):
                    by_stage.setdefault(stage, []).append(name)
        if not by_stage:
            return None
        return max(
            by_stage[min(by_stage)], key=lambda name: self.assignment.unused_bytes(name, places)
        )

    def _roomiest(self, zones: Iterable[str], places: Places, usage: Usage) -> NodeName | None:
        """Return the node with the most unused bytes among those without a replica."""
        found = (self.assignment.roomiest(zone, places, usage) for zone in zones)
        ranks = [rank for rank in found if rank is not None]
        return min(ranks)[1] if ranks else None
