"""What Longhorn's objects say of themselves, for commands that explain.

It changes all the time: the service would take each change for news.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from app.kube import objects as kube
from app.kube.longhorn import objects
from app.kube.longhorn.translate import condition_of, node_record, volume_record
from longhorn import Condition, Node, Volume, VolumeTold


class SaidCondition(kube.Condition, frozen=True, rename="camel"):
    message: kube.Text = None


class SaidDiskStatus(objects.DiskStatus, frozen=True, rename="camel"):
    conditions: Sequence[SaidCondition] | None = None


class SaidNodeStatus(objects.NodeStatus, frozen=True, rename="camel"):
    conditions: Sequence[SaidCondition] | None = None
    disk_status: Mapping[str, SaidDiskStatus | None] | None = None


class SaidNode(objects.LonghornNode, frozen=True, rename="camel"):
    """A Longhorn Node with what its conditions say, which the service does not read."""

    status: SaidNodeStatus | None = None


class SaidVolumeSpec(objects.VolumeSpec, frozen=True, rename="camel"):
    offline_rebuilding: kube.Text = None


class SaidVolumeStatus(objects.VolumeStatus, frozen=True, rename="camel"):
    restore_required: bool | None = None
    expansion_required: bool | None = None
    conditions: Sequence[SaidCondition] | None = None


class SaidVolume(objects.Volume, frozen=True, rename="camel"):
    """A Volume with what it says of itself besides, which the service does not read."""

    spec: SaidVolumeSpec | None = None
    status: SaidVolumeStatus | None = None


def said_node_record(node: SaidNode) -> Node:
    """Translate a Longhorn Node with what its conditions say, which changes all the time."""
    record = node_record(node)
    status = node.status or SaidNodeStatus()
    disks = status.disk_status or {}
    return structs.replace(
        record,
        ready=_said(record.ready, status.conditions, "Ready"),
        schedulable=_said(record.schedulable, status.conditions, "Schedulable"),
        disks=tuple(
            structs.replace(
                disk,
                ready=_said(disk.ready, said.conditions, "Ready"),
                schedulable=_said(disk.schedulable, said.conditions, "Schedulable"),
            )
            for disk in record.disks
            for said in (disks[disk.name] or SaidDiskStatus(),)
        ),
    )


def said_volume_record(volume: SaidVolume) -> Volume:
    """Translate a Longhorn Volume with what it says of itself besides."""
    spec = volume.spec or SaidVolumeSpec()
    status = volume.status or SaidVolumeStatus()
    scheduled = condition_of(status.conditions, "Scheduled")
    return structs.replace(
        volume_record(volume),
        told=VolumeTold(
            state=status.state or "",
            robustness=status.robustness or "",
            scheduled=_said(scheduled, status.conditions, "Scheduled"),
            offline_rebuilding=spec.offline_rebuilding or "",
            restoring=bool(status.restore_required),
            expanding=bool(status.expansion_required),
            clone_state=(status.clone_status.state if status.clone_status else None) or "",
        ),
    )


def _said(
    condition: Condition, conditions: Iterable[SaidCondition] | None, type_: str
) -> Condition:
    messages = (each.message for each in conditions or () if each.type == type_)
    return structs.replace(condition, message=next(messages, None) or "")
