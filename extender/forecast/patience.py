"""Which volumes Longhorn does not place, though their replicas would find room.

What no hold backs comes from Longhorn's objects alone. If it is not placed though it fits, there is
something that the forecast does not know, such as an engine image that is not ready. It must not
keep room from others for ever.
"""

from collections.abc import Iterable

from extender.view import ClusterView
from longhorn import Due, VolumeName

PATIENCE_SECONDS = 60.0
"""Longhorn tries again every 30 s."""


class Patience:
    """Since when replicas are due that find room."""

    def __init__(self) -> None:
        self._since: dict[VolumeName, tuple[Due, float]] = {}

    def note(self, placed: Iterable[VolumeName], view: ClusterView, now: float) -> None:
        """Note which volumes the forecast finds room for at a time, in seconds."""
        found = {*placed}
        kept = {
            name: (due, since)
            for name, (due, since) in self._since.items()
            if view.due.get(name) == due and (name in found or now - since >= PATIENCE_SECONDS)
        }
        self._since = {
            **{name: (view.due[name], now) for name in found if name in view.due},
            **kept,
        }

    def is_over(self, view: ClusterView, now: float) -> frozenset[VolumeName]:
        """Return the volumes that found room for too long, and of which nothing has changed."""
        return frozenset(
            name
            for name, (due, since) in self._since.items()
            if now - since >= PATIENCE_SECONDS and view.due.get(name) == due
        )
