"""What Kubernetes is told of the room for new volumes: kube-scheduler leaves nodes out by it.

Source: kubernetes pkg/scheduler/framework/plugins/volumebinding/binder.go (`hasEnoughCapacity`,
`capacitySufficient`, `nodeHasAccess`): a node is left out unless one CSIStorageCapacity of the
claim's class reaches it and is large enough, if the CSIDriver has storageCapacity.
"""

from collections.abc import Collection, Iterable, Mapping

import msgspec

from app.kube import objects
from app.quantity import parse_bytes
from cli.kube.planned_rules import LabelSelector, selector_of
from longhorn import NodeName
from planner.records import KubernetesNode, Selector
from planner.selectors import selects


class DriverSpec(objects.KubeStruct, frozen=True):
    storage_capacity: bool | None = None


class CsiDriverObject(objects.KubeStruct, frozen=True):
    metadata: objects.Metadata
    spec: DriverSpec | None = None


class StorageCapacityObject(objects.KubeStruct, frozen=True):
    metadata: objects.Metadata
    storage_class_name: objects.Text = None
    capacity: objects.Text = None
    maximum_volume_size: objects.Text = None
    node_topology: LabelSelector | None = None


class CsiDriver(msgspec.Struct, frozen=True, kw_only=True):
    """A CSIDriver."""

    name: str
    is_tracked: bool = False
    """Whether kube-scheduler looks at what it tells of the room on nodes."""


class StorageCapacity(msgspec.Struct, frozen=True, kw_only=True):
    """A CSIStorageCapacity: the room for new volumes of one class on some nodes."""

    key: str
    storage_class: str
    size_bytes: int | None = None
    """The largest new volume; None if nothing is said."""
    total_bytes: int | None = None
    """All new volumes together."""
    nodes: Selector | None = None
    """Which nodes; None: none."""


def driver_record(driver: CsiDriverObject) -> CsiDriver:
    """Translate a CSIDriver."""
    tracked = driver.spec is not None and bool(driver.spec.storage_capacity)
    return CsiDriver(name=driver.metadata.name, is_tracked=tracked)


def capacity_record(capacity: StorageCapacityObject) -> StorageCapacity:
    """Translate a CSIStorageCapacity.

    Raises:
        ValueError: A size is not a quantity.
    """
    total, topology = capacity.capacity, capacity.node_topology
    size = capacity.maximum_volume_size or total
    return StorageCapacity(
        key=f"{capacity.metadata.namespace}/{capacity.metadata.name}",
        storage_class=capacity.storage_class_name or "",
        size_bytes=None if size is None else parse_bytes(size),
        total_bytes=None if total is None else parse_bytes(total),
        nodes=None if topology is None else selector_of(topology),
    )


def too_small(
    size_bytes: int,
    storage_class: str,
    names: Iterable[NodeName],
    nodes: Mapping[NodeName, KubernetesNode],
    capacities: Collection[StorageCapacity],
) -> list[NodeName]:
    """Return of some nodes those that kube-scheduler leaves out for a new volume of this size."""
    enough = [
        each.nodes
        for each in capacities
        if each.storage_class == storage_class
        and each.nodes is not None
        and (each.size_bytes or 0) >= size_bytes
        and each.size_bytes is not None
    ]
    return [
        name
        for name in names
        if name in nodes and not any(selects(each, nodes[name].labels) for each in enough)
    ]
