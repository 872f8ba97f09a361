"""The cluster as the API server shows it: a reflector for each kind, and the view of them all."""

from collections.abc import Callable, Sequence
from random import Random

import structlog

from app.config import Settings
from app.instance.live_settings import LiveSettings, read_live_settings, relevant
from app.kube.connection import Connection
from app.kube.following import Following, Gap
from app.kube.mirror import Change
from app.kube.sources import sources
from app.kube.translate import ConfigMap
from app.metrics import Metrics
from extender import ClusterView, Unreadable, ViewBuilder

log = structlog.get_logger()


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
        self._metrics = metrics
        self._builder = ViewBuilder()
        self._config_map: dict[str, str] = {}
        self._read_settings: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self._problems: list[str] = []
        self._is_complete = False
        self._following = Following(
            connection,
            sources(settings),
            age_limit_seconds=settings.view_age_limit_seconds,
            metrics=metrics,
            clock=clock,
            random=random,
        )
        self._following.listeners.append(self._take)
        self.reflectors = self._following.reflectors

    @property
    def view(self) -> ClusterView:
        """The cluster as last heard of."""
        return self._builder.view

    @property
    def is_followed(self) -> bool:
        """Whether nothing is known to be missed at this moment."""
        return self._following.is_current

    def gaps(self, now: float) -> list[Gap]:
        """Return the kinds that were never listed, or not heard of for too long."""
        return self._following.gaps(now)

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
            self._is_complete = self._following.is_complete
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
