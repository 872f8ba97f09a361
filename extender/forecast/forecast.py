"""Where the replicas that Longhorn will place anywhere find room, each counted once.

The order to try first is Longhorn's: volume by volume, one replica after another, on the node
of the best group with the most unused bytes, which leaves the others most in balance. Where that
runs into a wall, others are moved (`moving`). This is no prediction: Longhorn's managers work on
figures of half a second ago and not on what others have just assigned. It is right in sum.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush, heapreplace

from extender.forecast.assignment import Assignment, Remote
from extender.forecast.coming import Coming
from extender.forecast.moving import Moving
from extender.forecast.ranking import Places, Rank
from longhorn import Need, NodeName, Usage, VolumeName, may_share_zone
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
        self._heaps: dict[tuple[Need, str], list[Rank]] = {}

    @property
    def on(self) -> dict[NodeName, list[Remote]]:
        """What will take room on each node."""
        return self.assignment.on

    @property
    def is_undecided(self) -> bool:
        """Whether room for some may exist that was not found within the limits."""
        return self._moving.is_undecided

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

    def place_all(self, coming: Iterable[Coming]) -> None:
        """Find room for all of *coming*, the first first."""
        for each in coming:
            missing = self.place(each)
            if missing:
                self.nowhere[each.volume.name] = missing

    def place(self, coming: Coming) -> int:
        """Find room for the replicas of a volume; return for how many there is none."""
        assignment = self.assignment
        places = assignment.places(coming.need)
        usage = assignment.usage_of(coming)
        for placed in range(coming.count):
            name = self._best(coming, places, usage)
            if name is None:
                if not self._moving.make_room(coming, places, usage):
                    return coming.count - placed
                self._heaps.clear()  # nodes that were full may have room
                usage = assignment.usage_of(coming)
                continue
            assignment.put(coming, places.item, name)
            usage = assignment.with_one_on(name, usage)
        return 0

    def gives_way(self, name: NodeName, items: Sequence[Item]) -> bool:
        """Say whether a node may take *items* because what is forecast there finds other nodes.

        If that is not decided within the limits, it counts as yes.

        Args:
            name: The node.
            items: What it must take, its load included; they fit there alone.
        """
        return self._moving.gives_way(name, items)

    def _best(self, coming: Coming, places: Places, usage: Usage) -> NodeName | None:
        """Return the node that Longhorn would take for the next replica, None if none has room."""
        volume, settings = coming.volume, self.assignment.settings
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
            now = (-self.assignment.unused_bytes(name, places), name)
            if now != rank:
                heapreplace(heap, now)
            elif name in usage.nodes:
                aside.append(heappop(heap))
            elif not self.assignment.takes(name, places):
                heappop(heap)
            else:
                found = rank
                break
        for rank in aside:
            heappush(heap, rank)
        return found
