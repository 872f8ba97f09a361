"""What the controller of DiskSchedules reads besides: what it needs to write them back.

Decisions on pods read less of the same kinds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from app.kube.longhorn import objects
from app.kube.longhorn.resources import BACKING_IMAGES, DISK_SCHEDULES, NODES, REPLICAS, SETTINGS
from app.kube.longhorn.translate import disk_schedule_record
from app.kube.objects import Bytes, Condition, Integer, KubeStruct, Metadata, Text
from longhorn import DiskId, DiskSchedule

READY = "Ready"
"""The type of the condition that is True once a decision was made."""


class FieldManager(KubeStruct, frozen=True):
    manager: Text = None
    subresource: Text = None


class StoredMetadata(Metadata, frozen=True, rename="camel"):
    finalizers: list[str] | None = None
    managed_fields: Sequence[FieldManager] | None = None


class StoredStatus(KubeStruct, frozen=True):
    replicas: dict[str, objects.DiskScheduleEntry | None] | None = None
    backing_images: dict[str, objects.DiskScheduleEntry | None] | None = None
    storage_scheduled: Integer | None = None
    conditions: list[dict[str, Any]] | None = None


class StoredObject(KubeStruct, frozen=True):
    metadata: StoredMetadata
    spec: objects.DiskScheduleSpec | None = None
    status: StoredStatus | None = None


class ImageSpec(KubeStruct, frozen=True):
    disk_file_spec_map: dict[str, Any] | None = None
    data_engine: Text = None


class ImageStatus(KubeStruct, frozen=True):
    size: Bytes = None


class Image(KubeStruct, frozen=True):
    metadata: Metadata
    spec: ImageSpec | None = None
    status: ImageStatus | None = None


class StoredSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """A DiskSchedule in one version, and what is needed to write the next one."""

    name: DiskId
    version: str
    schedule: DiskSchedule
    finalizers: tuple[str, ...]
    conditions: tuple[Mapping[str, Any], ...]
    """As written, also those that mean nothing here."""
    managers: frozenset[tuple[str, str]]
    """Who has written it: the name of the field manager, and the subresource or nothing."""


class ImageCopies(msgspec.Struct, frozen=True, kw_only=True):
    """A BackingImage, and the disks that have a copy of it or are to have one."""

    name: str
    size_bytes: int
    """Of each copy; 0 while that is not known."""
    on_disks: frozenset[DiskId]
    is_v2: bool
    deleting: bool


def stored_schedule_record(stored: StoredObject) -> StoredSchedule:
    """Translate a DiskSchedule."""
    metadata, status = stored.metadata, stored.status or StoredStatus()
    conditions = tuple(status.conditions or ())
    schedule = disk_schedule_record(
        objects.DiskSchedule(
            metadata=metadata,
            spec=stored.spec,
            status=objects.DiskScheduleStatus(
                replicas=status.replicas,
                backing_images=status.backing_images,
                storage_scheduled=status.storage_scheduled,
                conditions=msgspec.convert(conditions, tuple[Condition, ...]),
            ),
        )
    )
    return StoredSchedule(
        name=schedule.name,
        version=metadata.resource_version or "",
        schedule=schedule,
        finalizers=tuple(metadata.finalizers or ()),
        conditions=conditions,
        managers=frozenset(
            (each.manager or "", each.subresource or "") for each in metadata.managed_fields or ()
        ),
    )


def image_copies_record(image: Image) -> ImageCopies:
    """Translate a BackingImage."""
    spec = image.spec or ImageSpec()
    return ImageCopies(
        name=image.metadata.name,
        size_bytes=int((image.status.size if image.status else None) or 0),
        on_disks=frozenset(DiskId(each) for each in spec.disk_file_spec_map or {}),
        is_v2=spec.data_engine == "v2",
        deleting=bool(image.metadata.deletion_timestamp),
    )


STORED_SCHEDULES = structs.replace(
    DISK_SCHEDULES,
    structure=StoredObject,
    record=StoredSchedule,
    record_of=stored_schedule_record,
    is_optional=False,
)
IMAGE_COPIES = structs.replace(
    BACKING_IMAGES, structure=Image, record=ImageCopies, record_of=image_copies_record
)
SCHEDULED = (STORED_SCHEDULES, NODES, REPLICAS, IMAGE_COPIES, SETTINGS)
"""What the controller reads, in Longhorn's namespace."""
