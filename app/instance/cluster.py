"""The cluster as the API server shows it: a reflector for each kind, and the view of them all."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

import structlog

from app.config import Settings
from app.instance.live_settings import LiveSettings, read_live_settings, relevant
from app.kube.connection import Connection
from app.kube.mirror import Change
from app.kube.reflector import CAUSES, Reflector
from app.kube.resources import Resource
from app.kube.sources import sources
from app.kube.translate import ConfigMap
from app.metrics import Metrics
from extender import ClusterView, Unreadable, ViewBuilder

log = structlog.get_logger()


class Gap(NamedTuple):
    """A kind of objects that is not known well enough to decide on."""

    kind: str
    why: str
    """The same text as long as the cause is the same."""
    trouble: str | None
    """The last error, None if there was none."""


class LiveCluster:
    """What is known of the cluster, and how well.

    Args:
        connection: To its API server.
        settings: Namespaces, and how old knowledge may be.
        metrics: Shows what is followed.
        clock: Monotonic seconds.
        random: Spreads retries.

    Attributes:
        listeners: Told what has changed, when the view is up to date with it.
        live_settings: The settings in force.
        reflectors: What follows the kinds, to be run.
    """

    def __init__(
        self,
        connection: Connection,
        settings: Settings,
        metrics: Metrics,
        *,
        clock: Callable[[], float],
        random: Random,
    ) -> None:
        self.listeners: list[Callable[[Sequence[Change]], None]] = []
        self.live_settings = LiveSettings()
        self._age_limit_seconds = settings.view_age_limit_seconds
        self._metrics = metrics
        self._clock = clock
        self._builder = ViewBuilder()
        self._config_map: dict[str, str] = {}
        self._read_settings: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self._problems: list[str] = []
        self._is_complete = False
        self.reflectors = [
            Reflector(
                connection,
                source,
                on_changes=self._take,
                on_restart=restart_counter(metrics, source.resource),
                clock=clock,
                random=random,
            )
            for source in sources(settings)
        ]
        for reflector in self.reflectors:
            self._show(reflector)

    @property
    def view(self) -> ClusterView:
        """The cluster as last heard of."""
        return self._builder.view

    @property
    def is_followed(self) -> bool:
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

    def _take(self, changes: Sequence[Change]) -> None:
        """Take what one reflector heard, and bring the view and the settings up to date."""
        for change in changes:
            self._builder.apply(*change)
            match change:
                case Change(new=ConfigMap(data=data)):
                    self._config_map = dict(data)
                case Change(ConfigMap() | Unreadable(kind="ConfigMap"), None):
                    self._config_map = {}
        if not self._is_complete:
            self._is_complete = all(each.is_complete for each in self.reflectors)
        if self._is_complete:
            self._builder.settle()
            self._follow_settings()
            for listener in self.listeners:
                listener(changes)

    def _follow_settings(self) -> None:
        given = (self._config_map, relevant(self.view.setting_values))
        if given == self._read_settings:
            return
        self._read_settings = given
        before = self.live_settings
        self.live_settings, problems = read_live_settings(*given, before)
        for problem in problems:
            if problem not in self._problems:
                self._metrics.settings_errors_total.inc()
                log.error("settings.unusable", error=problem)
        self._problems = problems
        if self.live_settings != before:
            log.info("settings.changed", settings=self.live_settings)

    def _show(self, reflector: Reflector) -> None:
        def age_seconds() -> float:
            if reflector.heard_at is None:
                return float("nan")
            return self._clock() - reflector.heard_at

        kind = reflector.name
        self._metrics.objects.labels(kind).set_function(lambda: reflector.objects)
        self._metrics.unreadable_objects.labels(kind).set_function(lambda: reflector.unreadable)
        self._metrics.view_age_seconds.labels(kind).set_function(age_seconds)


def restart_counter(metrics: Metrics, resource: Resource) -> Callable[[str], None]:
    """Return what counts the lists and watches of a kind that are begun anew."""
    counters = {
        cause: metrics.watch_restarts_total.labels(resource.name, cause) for cause in CAUSES
    }
    return lambda cause: counters[cause].inc()
