"""Which volumes are to find room in the forecast next: the surest first, then those without any."""

from bisect import bisect_left
from collections.abc import Mapping
from heapq import heappop, heappush

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
        """Oldest first."""
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


class PlacementQueue:
    """Finds room for one volume after another, as far as there is work left.

    Args:
        forecast: Where room is found.
        anywhere: What comes anywhere, by volume, up to date.

    Attributes:
        patience: With replicas that find room, and are not placed all the same.
        is_roomier: Whether some replica may find room that found none.
    """

    def __init__(self, forecast: Forecast, anywhere: Mapping[VolumeName, Upcoming]) -> None:
        self.patience = Patience()
        self.is_roomier = False
        self._forecast, self._anywhere = forecast, anywhere
        self._turns: list[tuple[bool, VolumeName]] = []
        """The volumes that are to find room, a heap: the surest first."""
        self._next_retried = (False, VolumeName(""))
        """Where the next round of retries begins."""

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, upcoming: Upcoming) -> None:
        """Have room be found for a volume in its turn."""
        heappush(self._turns, by_certainty(upcoming))

    def take_turns(self, view: ClusterView, now: float, work: Work) -> None:
        """Find room for the volumes whose turn it is, at a time in seconds."""
        while self._turns and not work.is_over:
            upcoming, is_first = self._anywhere.get(self._turns[0][1]), not work.spent
            if upcoming is not None:
                missing = self._place(upcoming, view, now)
                if missing and self._forecast.is_cut_short and not is_first:
                    break  # the next time there is more work left for it
                if missing and upcoming.is_sure and self._take_out_open():
                    self._place(upcoming, view, now)
            heappop(self._turns)

    def retry(self, view: ClusterView, now: float, work: Work) -> None:
        """Find room for what found none, if there may be some.

        A volume that gets no turn is the first the next time.
        """
        nowhere = self._forecast.nowhere
        if not (self.is_roomier and nowhere):
            return
        self.is_roomier = False
        waiting = sorted(by_certainty(self._anywhere[name]) for name in nowhere)
        first = bisect_left(waiting, self._next_retried)
        for turn in (*waiting[first:], *waiting[:first]):
            if work.is_over:
                self.is_roomier, self._next_retried = True, turn
                break
            work.spend(1)
            self._place(self._anywhere[turn[1]], view, now)

    def _place(self, upcoming: Upcoming, view: ClusterView, now: float) -> int:
        missing, name = self._forecast.place(upcoming), upcoming.volume.name
        self._forecast.work.spend(upcoming.count)
        if upcoming.certainty is Certainty.SHOWN:
            if missing < upcoming.count:
                self.patience.found_room(name, view.due[name], now)
            else:
                self.patience.found_none(name)
        return missing

    def _take_out_open(self) -> bool:
        """Take away what comes only with open holds, to find room for it after all else."""
        found = [name for name in self._forecast.volumes if not self._anywhere[name].is_sure]
        for name in found:
            self._forecast.take_out(name)
            self.add(self._anywhere[name])
        return bool(found)
