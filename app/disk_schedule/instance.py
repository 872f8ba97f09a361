"""One instance of the controller on a live cluster: its parts, and its life from start to end.

It is built from a connection, clocks and randomness alone, so that several can run on one loop and
on virtual time.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial

from app.config import CONTROLLER_NAME
from app.disk_schedule.controller import Controller
from app.disk_schedule.figures import disk_figures
from app.disk_schedule.keeping import Keeping
from app.disk_schedule.known import KnownDisks
from app.disk_schedule.metrics import ControllerMetrics
from app.disk_schedule.settings import ControllerSettings
from app.disk_schedule.stored import SCHEDULED
from app.kube.feed import Source
from app.kube.following import Following
from app.process.health import MetricsText, create_health_app
from app.process.life import Serve
from app.process.member import Member
from app.process.surroundings import Surroundings
from longhorn import Decision


class ControllerInstance:
    """One running instance of the controller of DiskSchedules.

    Args:
        around: What it finds around it; `run` closes the connection. Randomness also orders those
            who ask for room.
        settings: Of the process.
        metrics: Its metrics.
        version: Of the program.

    Attributes:
        known: What is known of disks and of those who need room on them.
        member: Whether it leads.
        app: What is served over HTTP.
    """

    def __init__(
        self,
        around: Surroundings,
        settings: ControllerSettings,
        *,
        metrics: ControllerMetrics,
        version: str,
    ) -> None:
        self._clock, self._metrics, self._passed_at = around.clock, metrics, float("nan")
        namespace = settings.longhorn_namespace
        self._following = _following(around, settings, metrics)
        self.member = Member(around, self._following, settings, CONTROLLER_NAME, metrics)
        self.known = KnownDisks()
        self._controller = Controller(
            around,
            namespace,
            self.known,
            may_write=self.may_write,
            on_decision=self._decided,
            on_conflict=partial(self._failed, "conflict"),
            on_failure=partial(self._failed, "failed"),
        )
        self._keeping = (
            Keeping(around, namespace, self.known, may_write=self.may_write)
            if settings.manage_objects
            else None
        )
        metrics.last_pass_age_seconds.set_function(lambda: around.clock() - self._passed_at)
        metrics.rivals.set_function(lambda: len(self.known.rivals()))
        metrics.show_disks(partial(disk_figures, self.known))
        text = MetricsText(metrics.registry, around.clock)
        self.app = create_health_app(self.unready, text.latest, version=version)
        self.member.listeners.append(self._role_changed)
        self._following.listeners.append(self._controller.note_changes)
        if self._keeping is not None:
            self._following.listeners.append(self._keeping.note_changes)

    async def run(self, stop: asyncio.Event, serve: Serve) -> None:
        """Work until told to stop, and then give back the lease (`Member.run`)."""
        await self.member.run(stop, serve, self._loops)

    def may_write(self) -> bool:
        """Whether it may write at this moment: it leads, and knows all that decisions rest on."""
        member = self.member
        return member.is_leading() and not member.is_stopping and member.is_informed()

    def unready(self) -> str | None:
        """Return why this instance could not decide now if it led, None if it could."""
        rivals = self.known.rivals()
        if not rivals:
            return self.member.unready()
        others = f" and {len(rivals) - 1} more" if len(rivals) > 1 else ""
        return self.member.unready(
            [
                "Longhorn has a controller of its own, so nothing is written here: "
                f"longhorn-manager has written DiskSchedule {rivals[0]}{others}; turn this "
                "controller off, or see docs/disk-schedule.md if that Longhorn is gone"
            ]
        )

    def _loops(self) -> Sequence[Coroutine[None, None, None]]:
        """Return what must run for as long as the instance does; none of them ends by itself."""
        followers = [reflector.run() for reflector in self._following.reflectors]
        loops = [*followers, self._controller.run()]
        return loops if self._keeping is None else [*loops, self._keeping.run()]

    def _role_changed(self, is_leading: bool) -> None:  # noqa: FBT001 (as the election tells it)
        if is_leading:
            self._controller.look_at_all()

    def _decided(self, decision: Decision) -> None:
        self._passed_at = self._clock()
        self._metrics.count_decision(decision)

    def _failed(self, outcome: str) -> None:
        self._passed_at = self._clock()
        self._metrics.count_pass(outcome)


def _following(
    around: Surroundings, settings: ControllerSettings, metrics: ControllerMetrics
) -> Following:
    return Following(
        around.connection,
        [Source(resource=each, namespace=settings.longhorn_namespace) for each in SCHEDULED],
        age_limit_seconds=settings.view_age_limit_seconds,
        metrics=metrics,
        clock=around.clock,
        random=around.random,
    )
