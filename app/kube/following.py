"""Several kinds of objects, each followed by a reflector, and how well they are known."""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import NamedTuple

from app.kube.connection import Connection
from app.kube.feed import Source
from app.kube.mirror import Change
from app.kube.reflector import CAUSES, Reflector
from app.kube.resource import Resource
from app.metrics import ProcessMetrics


class Gap(NamedTuple):
    """A kind of objects that is not known well enough to decide on."""

    kind: str
    why: str
    """The same text as long as the cause is the same."""
    trouble: str | None
    """The last error, None if there was none."""

    def __str__(self) -> str:
        """Say it to a person."""
        return f"{self.kind}: {self.why}" + ("" if self.trouble is None else f": {self.trouble}")


class Following:
    """What follows the objects of several kinds.

    Args:
        connection: To the API server.
        sources: What to follow.
        age_limit_seconds: How old knowledge may be.
        metrics: Shows what is followed.
        clock: Monotonic seconds.
        random: Spreads retries.

    Attributes:
        listeners: Told what has changed, of one kind at a time.
        reflectors: One for each kind, to be run.
    """

    def __init__(
        self,
        connection: Connection,
        sources: Iterable[Source],
        *,
        age_limit_seconds: float,
        metrics: ProcessMetrics,
        clock: Callable[[], float],
        random: Random,
    ) -> None:
        self.listeners: list[Callable[[Sequence[Change]], None]] = []
        self._age_limit_seconds = age_limit_seconds
        self._clock = clock
        self.reflectors = [
            Reflector(
                connection,
                source,
                on_changes=self._tell,
                on_restart=restart_counter(metrics, source.resource),
                clock=clock,
                random=random,
            )
            for source in sources
        ]
        for reflector in self.reflectors:
            self._show(reflector, metrics)

    @property
    def is_complete(self) -> bool:
        """Whether all objects of every kind were known at some time."""
        return all(each.is_complete for each in self.reflectors)

    @property
    def is_current(self) -> bool:
        """Whether nothing is known to be missed at this moment."""
        return not any(each.trouble for each in self.reflectors)

    def gaps(self, now: float) -> list[Gap]:
        """Return the kinds that were never listed, or not heard of for too long."""
        gaps = []
        for each in self.reflectors:
            if not each.is_complete:
                gaps.append(Gap(each.name, "not listed yet", each.trouble or None))
            elif each.heard_at is not None and now - each.heard_at > self._age_limit_seconds:
                why = f"not heard of for more than {self._age_limit_seconds:g} s"
                gaps.append(Gap(each.name, why, each.trouble or None))
        return gaps

    def _tell(self, changes: Sequence[Change]) -> None:
        for listener in self.listeners:
            listener(changes)

    def _show(self, reflector: Reflector, metrics: ProcessMetrics) -> None:
        def age_seconds() -> float:
            if reflector.heard_at is None:
                return float("nan")
            if reflector.is_absent:  # there is nothing to hear of
                return 0.0
            return self._clock() - reflector.heard_at

        kind = reflector.name
        metrics.objects.labels(kind).set_function(lambda: reflector.objects)
        metrics.unreadable_objects.labels(kind).set_function(lambda: reflector.unreadable)
        metrics.view_age_seconds.labels(kind).set_function(age_seconds)


def restart_counter(metrics: ProcessMetrics, resource: Resource) -> Callable[[str], None]:
    """Return what counts the lists and watches of a kind that are begun anew."""
    counters = {
        cause: metrics.watch_restarts_total.labels(resource.name, cause) for cause in CAUSES
    }
    return lambda cause: counters[cause].inc()
