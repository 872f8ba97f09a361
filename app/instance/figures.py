"""What the metrics show of days to come."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from app.metrics import NAMESPACE
from extender.ahead.room import Left, NodeClass

_CLASS = NodeClass._fields
_LEFT = {
    "limit_bytes": "The most that may be scheduled",
    "headroom_bytes": "What may still be scheduled",
    "physical_headroom_bytes": "What may still be written",
}
"""In the order of `Left`."""


class Ahead(NamedTuple):
    """Figures for days to come, as they were last worked out."""

    largest_bytes: Mapping[str, int]
    """The largest new volume that fits, by StorageClass."""
    left: Mapping[NodeClass, Left]
    may_be_lost: Mapping[str, int]
    """How many nodes may be lost at once: by their data, and by the room for them."""
    seconds: float
    """What it took to work them out, of this process alone."""


def show_ahead(registry: CollectorRegistry, figures: Callable[[], Ahead | None]) -> None:
    """Show what *figures* returns when metrics are read."""
    registry.register(_Ahead(figures))


class _Ahead(Collector):
    """What was worked out last; a scrape works out nothing. No series before there is anything."""

    def __init__(self, figures: Callable[[], Ahead | None]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return the families."""
        found = self._figures()
        volume = _family(
            "largest_volume_bytes",
            "The largest new volume of a StorageClass with which a pod finds a node; 0 if none "
            "does. Shown by the leader, as are the next five.",
            ["storage_class"],
        )
        left = [
            _family(f"class_{name}", f"{text} of all disks of a class that take replicas.", _CLASS)
            for name, text in _LEFT.items()
        ]
        lost = _family(
            "nodes_may_be_lost",
            "How many nodes may be lost at once, whichever, 2 at most: so that each volume keeps "
            "its data, or that what they have scheduled has room on the others.",
            ["by"],
        )
        took = _family("ahead_seconds", "What it took to work out these figures last.", [])
        if found is not None:
            for name, size_bytes in found.largest_bytes.items():
                volume.add_metric([name], size_bytes)
            for class_, sums in found.left.items():
                for family, value in zip(left, sums, strict=True):
                    family.add_metric(class_, value)
            for by, count in found.may_be_lost.items():
                lost.add_metric([by], count)
            took.add_metric([], found.seconds)
        yield from (volume, *left, lost, took)


def _family(name: str, text: str, labels: Sequence[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{NAMESPACE}_{name}", text, labels=labels)
