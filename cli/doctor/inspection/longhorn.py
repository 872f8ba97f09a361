"""Reads Longhorn's objects."""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import structs

from app.kube.errors import StatusError
from app.kube.feed import Source
from app.kube.longhorn.resources import DISK_SCHEDULES, LONGHORN_RESOURCES, VOLUMES
from app.kube.mirror import Known
from app.kube.resource import Resource
from app.settings import Settings
from cli.doctor import objects
from cli.doctor.facts import Unread, VolumeSeen
from cli.doctor.inspection.requests import NOT_FOUND, Requests
from cli.doctor.reading import reading

_VOLUMES = structs.replace(
    VOLUMES, structure=objects.Volume, record=VolumeSeen, record_of=objects.volume_seen
)


async def served_kinds(requests: Requests, settings: Settings) -> Mapping[str, bool | Unread]:
    """Return of each kind that the extender cannot do without whether it is served."""
    async with asyncio.TaskGroup() as tasks:
        kinds = {
            resource.name: tasks.create_task(_is_served(resource, requests, settings))
            for resource in LONGHORN_RESOURCES
            if not (resource.is_optional or resource.is_advisory)
        }
    return {name: kind.result() for name, kind in kinds.items()}


async def listed(
    resource: Resource, requests: Requests, settings: Settings
) -> Sequence[Known] | Unread:
    source = Source(resource=resource, namespace=settings.longhorn_namespace)
    return await reading(
        f"list {resource.name} in {settings.longhorn_namespace}", requests.records(source)
    )


async def volumes(requests: Requests, settings: Settings) -> Sequence[Known] | Unread:
    return await listed(_VOLUMES, requests, settings)


async def disk_schedules(requests: Requests, settings: Settings) -> Sequence[Known] | Unread | None:
    source = Source(resource=DISK_SCHEDULES, namespace=settings.longhorn_namespace)

    async def read() -> Sequence[Known] | None:
        if not await requests.is_served(source):
            return None
        return await requests.records(source)

    return await reading(f"list {DISK_SCHEDULES.name} in {settings.longhorn_namespace}", read())


async def _is_served(resource: Resource, requests: Requests, settings: Settings) -> bool | Unread:
    async def read() -> bool:
        try:
            await requests.get(
                resource.path(settings.longhorn_namespace), objects.Count, query=[("limit", "1")]
            )
        except StatusError as error:
            if error.status == NOT_FOUND:
                return False
            raise
        return True

    return await reading(f"list {resource.name} in {settings.longhorn_namespace}", read())
