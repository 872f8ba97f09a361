"""What the disks of a node have left, and what takes it, for a person or a program to read."""

from collections.abc import Iterable, Mapping

import msgspec

from extender import Charge, ClusterView, DiskSpace, Plan
from longhorn import DiskName, NodeName, VolumeName


class DiskReport(msgspec.Struct):
    """What one disk has left, in bytes."""

    name: str
    uuid: str
    usable: bool
    why: str
    limit_bytes: int
    promised_bytes: int
    left_bytes: int
    """What may still be promised."""
    writable_bytes: int
    """What may still be written; volumes that hold data already are charged with these."""
    taken_bytes: int
    """What the pod's volumes would take of it."""
    available_bytes: int
    minimal_available_bytes: int


class ChargeReport(msgspec.Struct):
    """What is promised on a node to another pod, and does not show in Longhorn's objects yet."""

    pod: str
    state: str
    """offered: the pod may still go elsewhere. placed: this is its node."""
    bytes: Mapping[VolumeName, int]


class NodeReport(msgspec.Struct):
    """A node's disks, and the disk for each of the pod's volumes if the node is accepted."""

    disks: list[DiskReport]
    promised: list[ChargeReport]
    assignment: Mapping[VolumeName, DiskName]
    """Volumes with a replica there already, and those that would be placed."""


def node_report(
    name: NodeName, plan: Plan, view: ClusterView, promised: Iterable[Charge]
) -> NodeReport:
    """Put together what is known of one node."""
    disks = view.spaces[name].disks if name in view.spaces else ()
    return NodeReport(
        disks=[_disk_report(disk, plan) for disk in disks],
        promised=[
            ChargeReport(
                pod=f"{charge.pod.namespace}/{charge.pod.name}",
                state=charge.state,
                bytes=charge.bytes,
            )
            for charge in promised
        ],
        assignment=dict([*plan.existing.items(), *plan.new.items()]),
    )


def _disk_report(space: DiskSpace, plan: Plan) -> DiskReport:
    return DiskReport(
        name=space.disk.name,
        uuid=space.disk.id,
        usable=not space.unusable,
        why=space.unusable,
        limit_bytes=space.limit_bytes,
        promised_bytes=space.promised_bytes,
        left_bytes=space.logical_headroom_bytes,
        writable_bytes=space.physical_headroom_bytes,
        taken_bytes=sum(
            plan.new_bytes[volume] for volume, disk in plan.new.items() if disk == space.disk.name
        ),
        available_bytes=space.disk.available_bytes,
        minimal_available_bytes=space.minimal_available_bytes,
    )
