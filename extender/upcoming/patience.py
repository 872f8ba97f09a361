"""Which volumes Longhorn does not place, though their replicas would find room.

What no hold backs comes from Longhorn's objects alone. If it is not placed though it fits, there is
something that the forecast does not know, such as an engine image that is not ready. It must not
keep room from others for ever.
"""

from longhorn import Due, VolumeName

PATIENCE_SECONDS = 60.0
"""Longhorn tries again every 30 s."""


class Patience:
    """Since when replicas are due that find room."""

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
