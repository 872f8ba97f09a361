"""Reads the JSON of any object: its record, or what is still known of one that cannot be read."""

from typing import Any, NamedTuple

import msgspec

from app.errors import BrokenObjectError
from app.kube.longhorn.resources import DISK_SCHEDULES, REPLICAS
from app.kube.resource import AnyRecord, Resource
from longhorn import NodeName, Unreadable, VolumeName, named_volume


class Item(NamedTuple):
    """One object as the API server lists it, or sends it in an event."""

    key: str
    """Namespace and name, joined by a slash; the name alone if it is in none."""
    version: str
    record: AnyRecord | Unreadable


def read_item(resource: Resource, raw: bytes | msgspec.Raw) -> Item:
    """Read the JSON of one object of a known kind.

    Raises:
        BrokenObjectError: It has no name to report.
        msgspec.DecodeError: It is no JSON.
    """
    try:
        decoded = msgspec.json.decode(raw, type=resource.structure)
        record: AnyRecord | Unreadable = resource.record_of(decoded)
    except (msgspec.ValidationError, ValueError) as error:
        document = msgspec.json.decode(raw)
        if not isinstance(document, dict):
            raise BrokenObjectError(f"is {type(document).__name__}, not an object") from error
        record = unreadable(document, resource, str(error))
        metadata = document["metadata"]
        namespace, name, version = (
            value if isinstance(value := metadata.get(field), str) else ""
            for field in ("namespace", "name", "resourceVersion")
        )
    else:
        metadata = decoded.metadata
        namespace, name = metadata.namespace, metadata.name
        version = metadata.resource_version or ""
    return Item(f"{namespace}/{name}" if namespace else name, version, record)


def unreadable(document: dict[str, Any], resource: Resource, why: str) -> Unreadable:
    metadata, spec = document.get("metadata"), document.get("spec")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    kind = resource.label
    if not isinstance(name, str) or not name:
        raise BrokenObjectError(f"is a {kind} without a name")
    if resource.has_namespaces and isinstance(metadata, dict):
        name = f"{metadata.get('namespace') or 'default'}/{name}"
    nodes: list[object] = []
    volume = None
    # Longhorn repeats the placement in labels, which may be readable where the spec is not.
    fields = spec if isinstance(spec, dict) else {}
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    labels = labels if isinstance(labels, dict) else {}
    if resource is DISK_SCHEDULES:
        nodes = [fields.get("nodeID"), labels.get("longhornnode")]
    elif resource is REPLICAS:
        nodes = [fields.get("nodeID"), fields.get("hardNodeAffinity"), labels.get("longhornnode")]
        volume = fields.get("volumeName") or labels.get("longhornvolume")
        volume = volume or named_volume(name)
    elif kind == "Node":
        nodes = [name]
    return Unreadable(
        kind=kind,
        name=name,
        why=why,
        nodes=tuple(NodeName(node) for node in nodes if isinstance(node, str) and node),
        volume=VolumeName(volume) if isinstance(volume, str) and volume else None,
    )
