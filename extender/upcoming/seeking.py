"""Finds room in the forecast for what has none yet, and later for what found none."""

from bisect import bisect_left
from collections.abc import Mapping
from heapq import heappop, heappush

from extender.upcoming.finding import find_room
from extender.upcoming.forecast import Forecast
from extender.upcoming.patience import Patience
from extender.upcoming.upcoming import Certainty, Upcoming, by_certainty
from extender.view import ClusterView
from extender.work import Work
from longhorn import VolumeName


class Seeking:
    """The volumes whose replicas are to find room, the surest first.

    Attributes:
        is_roomier: Whether some replica may find room that found none.
    """

    def __init__(
        self, forecast: Forecast, anywhere: Mapping[VolumeName, Upcoming], patience: Patience
    ) -> None:
        self.is_roomier = False
        self._forecast = forecast
        self._anywhere = anywhere
        self._patience = patience
        self._turns: list[tuple[bool, VolumeName]] = []
        """A heap."""
        self._next_tried = (False, VolumeName(""))
        """Of many without room, who is tried again first."""

    def __bool__(self) -> bool:
        return bool(self._turns)

    def add(self, upcoming: Upcoming) -> None:
        """Add a volume."""
        heappush(self._turns, by_certainty(upcoming))

    def find_rooms(self, view: ClusterView, now: float, work: Work) -> None:
        """Find room for what was added, as far as there is work left."""
        while self._turns and not work.is_over:
            upcoming, is_first = self._anywhere.get(self._turns[0][1]), not work.spent
            if upcoming is not None:
                missing = self._find_room(upcoming, view, now)
                if missing and self._forecast.is_cut_short and not is_first:
                    break  # the next time there is more work left for it
                if missing and upcoming.is_sure and self._take_out_open():
                    self._find_room(upcoming, view, now)
            heappop(self._turns)

    def try_again(self, view: ClusterView, now: float, work: Work) -> None:
        """Find room for what found none, if there may be some.

        Who gets no turn is the first the next time.
        """
        if not (self.is_roomier and self._forecast.nowhere):
            return
        self.is_roomier = False
        waiting = sorted(by_certainty(self._anywhere[name]) for name in self._forecast.nowhere)
        first = bisect_left(waiting, self._next_tried)
        for turn in (*waiting[first:], *waiting[:first]):
            if work.is_over:
                self.is_roomier, self._next_tried = True, turn
                break
            work.spend(1)
            self._find_room(self._anywhere[turn[1]], view, now)

    def _find_room(self, upcoming: Upcoming, view: ClusterView, now: float) -> int:
        missing = find_room(self._forecast, upcoming)
        self._forecast.work.spend(upcoming.count)
        name = upcoming.volume.name
        if upcoming.certainty is Certainty.SHOWN:
            if missing < upcoming.count:
                self._patience.found_room(name, view.due[name], now)
            else:
                self._patience.found_none(name)
        return missing

    def _take_out_open(self) -> bool:
        """Take away what comes only with open holds, to find room for it after all else."""
        found = [name for name in self._forecast.volumes if not self._anywhere[name].is_sure]
        for name in found:
            self._forecast.take_out(name)
            self.add(self._anywhere[name])
        return bool(found)
