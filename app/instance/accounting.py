"""What the disks of a node have left, and what takes it, for a person or a program to read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from extender import ClusterView
from extender.explaining import Charge, Expected, LocalDisks
from extender.space import why_unusable
from longhorn import DiskName, DiskSpace, NodeName, Part, Standing, VolumeName, parts


class RequestReport(msgspec.Struct):
    """What the DiskSchedule of a disk says of one replica, or of one copy of a backing image."""

    kind: Literal["replica", "backing_image"]
    name: str
    standing: Standing
    held_bytes: int
    """What it has of the disk."""
    asked_bytes: int
    """What it asks for; 0 if it is to be released."""
    counted_bytes: int
    """What counts of it, but for what is contested."""


class DiskReport(msgspec.Struct):
    """What one disk has left, in bytes."""

    name: str
    uuid: str
    usable: bool
    why: str
    limit_bytes: int
    """Most that Longhorn schedules on it."""
    scheduled_bytes: int
    """What Longhorn has scheduled, with what is placed there and not counted yet."""
    logical_headroom_bytes: int
    """What may still be scheduled."""
    physical_headroom_bytes: int
    """What may still be written. Only volumes that hold data already need it."""
    taken_bytes: int
    """What the pod's volumes would take of the logical headroom."""
    available_bytes: int
    minimal_available_bytes: int
    counted_by: Literal["node", "disk_schedule"]
    """By what replicas and backing images count that are scheduled on the disk."""
    contested_bytes: int
    """What of the scheduled bytes was refused, and would fit now."""
    requests: Sequence[RequestReport]
    """Of its DiskSchedule, if it is counted by that: replicas first, by name."""


class ChargeReport(msgspec.Struct):
    """What is held on a node for another pod, and is not in Longhorn's objects yet."""

    pod: str
    state: str
    """Of the hold: open if the pod may still go elsewhere, chosen if this is its node."""
    volume_bytes: Mapping[VolumeName, int]


class ExpectedReport(msgspec.Struct):
    """Room that a replica will take which Longhorn is about to place."""

    volume: str
    disk: str
    """One on which it fits beside all else; Longhorn may take another one. Empty if none is
    known."""
    size_bytes: int
    state: str
    """open if it comes with a pod that may yet go to several nodes, else sure."""


class NodeReport(msgspec.Struct):
    """A node's disks, and the disk for each of the pod's volumes if the node is accepted."""

    disks: list[DiskReport]
    holds: list[ChargeReport]
    forecast: list[ExpectedReport]
    assignment: Mapping[VolumeName, DiskName]
    """Volumes with a replica there already, and those that would be placed."""


def node_report(
    name: NodeName,
    local: LocalDisks,
    view: ClusterView,
    charges: Iterable[Charge],
    expected: Iterable[Expected] = (),
) -> NodeReport:
    """Put together what is known of one node."""
    disks = view.spaces[name].disks if name in view.spaces else ()
    return NodeReport(
        disks=[_disk_report(disk, local) for disk in disks],
        holds=[
            ChargeReport(
                pod=f"{charge.pod.namespace}/{charge.pod.name}",
                state=charge.state,
                volume_bytes=charge.bytes,
            )
            for charge in charges
        ],
        forecast=[
            ExpectedReport(
                volume=each.volume,
                disk=each.disk or "",
                size_bytes=each.bytes,
                state="sure" if each.is_sure else "open",
            )
            for each in expected
        ],
        assignment=dict([*local.existing.items(), *local.new.items()]),
    )


def _disk_report(space: DiskSpace, local: LocalDisks) -> DiskReport:
    why = why_unusable(space.disk)
    return DiskReport(
        name=space.disk.name,
        uuid=space.disk.id or "",
        usable=why is None,
        why=why or "",
        limit_bytes=space.limit_bytes,
        scheduled_bytes=space.scheduled_bytes,
        logical_headroom_bytes=space.logical_headroom_bytes,
        physical_headroom_bytes=space.physical_headroom_bytes,
        taken_bytes=sum(
            local.new_bytes[volume] for volume, disk in local.new.items() if disk == space.disk.name
        ),
        available_bytes=space.disk.available_bytes,
        minimal_available_bytes=space.minimal_available_bytes,
        counted_by="node" if space.schedule is None else "disk_schedule",
        contested_bytes=space.contested_bytes,
        requests=[*_requests(space)],
    )


def _requests(space: DiskSpace) -> Iterator[RequestReport]:
    schedule = space.schedule
    if schedule is None:
        return
    for replica, part in parts(schedule.replicas, schedule.held_replicas).items():
        yield _request("replica", replica, part)
    for image, part in parts(schedule.images, schedule.held_images).items():
        yield _request("backing_image", image, part)


def _request(kind: Literal["replica", "backing_image"], name: str, part: Part) -> RequestReport:
    return RequestReport(
        kind=kind,
        name=name,
        standing=part.standing,
        held_bytes=part.held_bytes,
        asked_bytes=part.asked_bytes,
        counted_bytes=part.bytes,
    )
