"""New Kubernetes Nodes: the taint that keeps pods off them, and what is told of their room."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from app.kube.connection import Connection
from app.kube.objects import KubeStruct, Metadata, Text
from app.kube.paths import path_of
from app.kube.resource import Resource
from app.quantity import parse_bytes
from longhorn import NodeName

_PATCH_SECONDS = 5.0


class NodeMetadata(Metadata, frozen=True, rename="camel"):
    labels: dict[str, str] | None = None


class NodeSpec(KubeStruct, frozen=True):
    taints: list[dict[str, Any]] | None = None


class NodeObject(KubeStruct, frozen=True):
    metadata: NodeMetadata
    spec: NodeSpec | None = None


class Topology(KubeStruct, frozen=True):
    match_labels: dict[str, str] | None = None


class CapacityObject(KubeStruct, frozen=True):
    metadata: Metadata
    storage_class_name: Text = None
    capacity: Text = None
    maximum_volume_size: Text = None
    node_topology: Topology | None = None


class NewNode(msgspec.Struct, frozen=True, kw_only=True):
    """A Kubernetes Node; of one without the taint nothing is known but its name."""

    name: NodeName
    is_tainted: bool = False
    version: str = ""
    labels: Mapping[str, str] = {}
    other_taints: tuple[Mapping[str, Any], ...] = ()
    """As they are, to write them back."""


class ToldRoom(msgspec.Struct, frozen=True, kw_only=True):
    """A CSIStorageCapacity: the largest new volume of a class on the nodes with some labels."""

    key: str
    storage_class: str
    size_bytes: int
    labels: Mapping[str, str] | None
    """None: on no node."""


def new_node_record(taint: str, node: NodeObject) -> NewNode:
    """Translate a Kubernetes Node, which may have a taint of that key."""
    name = NodeName(node.metadata.name)
    taints = (node.spec.taints if node.spec else None) or ()
    others = tuple(each for each in taints if each.get("key") != taint)
    if len(others) == len(taints):
        return NewNode(name=name)
    return NewNode(
        name=name,
        is_tainted=True,
        version=node.metadata.resource_version or "",
        labels=node.metadata.labels or {},
        other_taints=others,
    )


def told_room_record(capacity: CapacityObject) -> ToldRoom:
    """Translate a CSIStorageCapacity as kube-scheduler reads it.

    Raises:
        ValueError: A size is not a quantity.
    """
    size, topology = capacity.maximum_volume_size or capacity.capacity, capacity.node_topology
    return ToldRoom(
        key=f"{capacity.metadata.namespace}/{capacity.metadata.name}",
        storage_class=capacity.storage_class_name or "",
        size_bytes=0 if size is None else parse_bytes(size),
        labels=None if topology is None else topology.match_labels or {},
    )


def nodes_with(taint: str) -> Resource:
    """Return the kind of Kubernetes Nodes, read for a taint of that key."""
    return Resource(
        plural="nodes",
        kind="Node",
        structure=NodeObject,
        record=NewNode,
        record_of=partial(new_node_record, taint),
        is_advisory=True,
    )


CAPACITIES = Resource(
    group="storage.k8s.io",
    plural="csistoragecapacities",
    kind="CSIStorageCapacity",
    structure=CapacityObject,
    record=ToldRoom,
    record_of=told_room_record,
    has_namespaces=True,
)


async def take_taint_off(connection: Connection, node: NewNode) -> None:
    """Leave a node only its other taints, unless anything of it has changed since it was read.

    Not a JSON patch with a test of the taint: the version says the same, and all requests are of
    one form.

    Raises:
        StatusError: 404 if it is gone, 409 if it has changed.
        ApiError: It was not written, or that is not known.
    """
    change = {
        "metadata": {"resourceVersion": node.version},
        "spec": {"taints": [*node.other_taints]},
    }
    path = path_of("/api/v1", "nodes", name=node.name)
    await connection.request("PATCH", path, body=change, deadline_seconds=_PATCH_SECONDS)
