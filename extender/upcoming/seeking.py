"""Finds room in the forecast for what has none yet, later for what found none, but not for ever."""

from bisect import bisect_left
from collections.abc import Mapping
from heapq import heappop, heappush

from extender.upcoming.finding import find_room
from extender.upcoming.forecast import Forecast
from extender.upcoming.upcoming import Certainty, Upcoming, by_certainty
from extender.view import ClusterView
from extender.work import Work
from longhorn import Due, VolumeName

PATIENCE_SECONDS = 60.0
"""Longhorn tries again every 30 s."""


class Patience:
    """Since when replicas are due that find room, and are not placed all the same.

    What no hold backs comes from Longhorn's objects alone. If it is not placed though it fits,
    there is something that the forecast does not know, such as an engine image that is not ready.
    It must not keep room from others for ever.
    """

    def __init__(self) -> None:
        self._since: dict[VolumeName, tuple[Due, float]] = {}
        """The first first."""
        self._over: dict[VolumeName, Due] = {}

    def found_room(self, name: VolumeName, due: Due, now: float) -> None:
        """Note that a volume of which this is due finds room at a time, in seconds."""
        known = self._since.get(name)
        if known is None or known[0] != due:
            self._since.pop(name, None)
            self._since[name] = due, now

    def found_none(self, name: VolumeName) -> None:
        """Note that a volume finds no room now, or that nothing of it is to be placed."""
        self._since.pop(name, None)

    def is_over(self, name: VolumeName, due: Due | None) -> bool:
        """Whether a volume found room for too long, and what is due of it has not changed since."""
        over = self._over.get(name)
        if over is None:
            return False
        if over != due:
            del self._over[name]
        return over == due

    def newly_over(self, now: float) -> list[VolumeName]:
        """Return the volumes that have found room for too long by now, each once."""
        found = []
        while self._since:
            name, (due, since) = next(iter(self._since.items()))
            if now - since < PATIENCE_SECONDS:
                break
            del self._since[name]
            self._over[name] = due
            found.append(name)
        return found


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
