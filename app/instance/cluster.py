"""The cluster as the API server shows it: a reflector for each kind, and the view of them all."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import NoReturn

import structlog

from app.config import NAME
from app.instance.live_settings import LiveSettings, read_live_settings
from app.kube.following import Following, Gap
from app.kube.longhorn.resources import NODES
from app.kube.mirror import Change
from app.kube.sources import sources
from app.kube.translate import ConfigMap
from app.process.surroundings import Surroundings
from app.serving.metrics import Metrics
from app.settings import Settings
from extender import ClusterView, ViewBuilder
from longhorn import OwnExtender, Setting, Unreadable, own_extender

log = structlog.get_logger()


class LiveCluster:
    """What is known of the cluster, and how well.

    Args:
        around: What the instance finds around it.
        settings: Namespaces, and how old knowledge may be.
        metrics: Shows what is followed.

    Attributes:
        listeners: Told what has changed, when the view is up to date with it. Told without changes
            once the view is also up to date with what is worked out in pieces.
        live_settings: The settings in force.
        own_extender: Whether Longhorn has an extender of its own. Nothing is decided by it.
        reflectors: What follows the kinds.
    """

    def __init__(self, around: Surroundings, settings: Settings, metrics: Metrics) -> None:
        self.listeners: list[Callable[[Sequence[Change]], None]] = []
        self.live_settings = LiveSettings()
        self._metrics = metrics
        self._builder = ViewBuilder()
        self._config_map: dict[str, str] = {}
        self._read_settings: dict[str, str] = {}
        self._problems: list[str] = []
        self.own_extender = OwnExtender.ABSENT
        self._settings_changed = True
        """Whether our ConfigMap or a Setting of Longhorn's may have changed."""
        self._is_complete = False
        """Whether all that was listed first is worked out."""
        self._is_behind = asyncio.Event()
        self._following = Following(
            around.connection,
            sources(settings),
            age_limit_seconds=settings.view_age_limit_seconds,
            metrics=metrics,
            clock=around.clock,
            random=around.random,
        )
        self._following.listeners.append(self._note_changes)
        self.reflectors = self._following.reflectors

    @property
    def view(self) -> ClusterView:
        """The cluster as last heard of."""
        return self._builder.view

    @property
    def is_current(self) -> bool:
        """Whether nothing is known to be missed at this moment."""
        return self._following.is_current

    def gaps(self, now: float) -> list[Gap]:
        """Return the kinds that were never listed or worked out, or not heard of for too long."""
        gaps = self._following.gaps(now)
        if not (gaps or self._is_complete):
            return [Gap(NODES.name, "not worked out yet", None)]
        return gaps

    def loops(self) -> list[Coroutine[None, None, NoReturn]]:
        """Return what must run for the cluster to be followed."""
        return [*(reflector.run() for reflector in self.reflectors), self._catch_up()]

    async def _catch_up(self) -> NoReturn:
        """Work out what concerns many nodes or volumes, and give way after each piece."""
        while True:
            await self._is_behind.wait()
            while self._builder.is_behind:
                self._builder.settle_piece()
                await asyncio.sleep(0)
            self._is_behind.clear()
            self._is_complete = True
            self._tell(())

    def _note_changes(self, changes: Sequence[Change]) -> None:
        """Take in what one reflector heard, and bring the view and the settings up to date."""
        for change in changes:
            self._builder.apply(*change)
            match change:
                case Change(new=ConfigMap(data=data)):
                    self._config_map = dict(data)
                case Change(ConfigMap() | Unreadable(kind="ConfigMap"), None):
                    self._config_map = {}
                case Change(Setting()) | Change(new=Setting()):
                    pass
                case _:
                    continue
            self._settings_changed = True
        if self._is_complete or self._following.is_complete:
            self._builder.settle_changes()
            if self._builder.is_behind or not self._is_complete:
                self._is_behind.set()
            if self._is_complete:
                self._tell(changes)

    def _tell(self, changes: Sequence[Change]) -> None:
        if self._settings_changed:
            self._settings_changed = False
            self._follow_settings()
        for listener in self.listeners:
            listener(changes)

    def _follow_settings(self) -> None:
        self._follow_own_extender()
        if self._config_map == self._read_settings:
            return
        self._read_settings = self._config_map
        before = self.live_settings
        self.live_settings, problems = read_live_settings(self._config_map, before)
        for problem in problems:
            if problem not in self._problems:
                self._metrics.settings_errors_total.inc()
                log.error("settings.unusable", error=problem)
        self._problems = problems
        if self.live_settings != before:
            now = self.live_settings
            tell = log.info if now.enabled else log.warning  # then nobody leads
            tell("settings.changed", source=f"configmap/{NAME}", settings=now)

    def _follow_own_extender(self) -> None:
        found = own_extender(self.view.setting_values)
        if found is not self.own_extender:
            self.own_extender = found
            self._metrics.show_own_extender(found)
            log.info("longhorn.own_extender", state=found)
