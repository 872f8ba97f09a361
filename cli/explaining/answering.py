"""Whether anybody answers about pods, and schedules those that name the second scheduler."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import structs

from app.config import NAME
from app.instance.live_settings import NOBODY_LEADS, LiveSettings, read_live_settings
from app.settings import Settings
from cli.doctor.facts import ConfigMapSeen, LeaseSeen, SchedulerSeen, Unread
from cli.doctor.rights import SECOND_SCHEDULER

_SILENCE = timedelta(seconds=60)
"""A Lease that was not renewed for so long has no leader. Clocks differ by less."""


class Answering(msgspec.Struct, frozen=True, kw_only=True):
    """Who is missing; empty where all is well, or where that is not known."""

    why_nobody_leads: str = ""
    why_no_scheduler: str = ""
    is_installed: bool = True
    """Whether anything of the extender is there."""


NOBODY_MISSING = Answering()


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of those who answer about pods and schedule them; None is not there."""

    namespace: str
    at: datetime
    lease: LeaseSeen | Unread | None = None
    config_map: ConfigMapSeen | Unread | None = None
    scheduler: SchedulerSeen | Unread | None = None
    elsewhere: Sequence[str] = ()
    """Namespaces that have the service; nothing else was looked for then."""

    @property
    def answering(self) -> Answering:
        """Who is missing. What may not be read is taken to be well."""
        if self.elsewhere:
            return NOBODY_MISSING  # EXTENDER_NAMESPACE leads to another one than is asked
        return Answering(
            why_nobody_leads=why_nobody_leads(self.lease, self.config_map, self.namespace, self.at),
            why_no_scheduler=why_no_scheduler(self.scheduler, self.namespace),
            is_installed=not (self.lease is self.scheduler is self.config_map is None),
        )


def look(settings: Settings, kubeconfig: Path | None, context: str | None) -> Seen:
    """Look in a live cluster who is there.

    Raises:
        AppError: There is no cluster to connect to.
    """
    from app.kube.connecting import connect  # noqa: PLC0415 (it takes long)
    from cli.doctor.inspection import instances, scheduling  # noqa: PLC0415
    from cli.doctor.inspection.requests import Requests  # noqa: PLC0415

    async def read() -> Seen:
        connection = await connect(kubeconfig, context)
        asked = Requests(connection)
        found = Seen(namespace=settings.namespace, at=datetime.now(UTC))
        try:
            lease = await instances.lease_now(asked, found.namespace)
            elsewhere = await scheduling.elsewhere(asked) if lease is None else ()
            if elsewhere:
                return structs.replace(found, elsewhere=elsewhere)
            return structs.replace(
                found,
                lease=lease,
                scheduler=await scheduling.second_scheduler(asked, found.namespace),
                config_map=await instances.config_map(asked, found.namespace),
            )
        finally:
            await connection.close()

    return asyncio.run(read())


def why_nobody_leads(
    lease: LeaseSeen | Unread | None,
    config_map: ConfigMapSeen | Unread | None,
    namespace: str,
    now: datetime,
) -> str:
    """Say why no instance leads; empty if one does, or that is not known."""
    if isinstance(config_map, ConfigMapSeen):
        values, _ = read_live_settings(config_map.data, LiveSettings())
        if not values.enabled:
            return NOBODY_LEADS.partition(": ")[2]
    name = f"Lease {NAME} in {namespace}"
    if isinstance(lease, Unread):
        return ""
    if lease is None:
        return f"there is no {name}"
    if not lease.holder:
        return f"nobody holds {name}"
    if lease.renewed is not None and now - lease.renewed > _SILENCE:
        return f"{name} was last renewed at {lease.renewed:%Y-%m-%d %H:%M:%S} UTC"
    return ""


def why_no_scheduler(scheduler: SchedulerSeen | Unread | None, namespace: str) -> str:
    """Say why the second scheduler does not run; empty if it does, or that is not known."""
    name = f"Deployment {SECOND_SCHEDULER} in {namespace}"
    if scheduler is None:
        return f"there is no {name}"
    if isinstance(scheduler, Unread) or isinstance(scheduler.pods, Unread):
        return ""
    if not any(pod.is_ready for pod in scheduler.pods):
        return f"no pod of {name} is ready"
    return ""
