"""Longhorn objects for these tests, built as JSON and read as from the API server."""

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from longhorn import (
    BackingImage,
    Candidates,
    Engines,
    Node,
    Replica,
    Settings,
    Volume,
    find_candidates,
    node_disks,
)
from tests.actors.longhorn.placement import around
from tests.builders import GIB, conditions, read

NOW = datetime(2026, 8, 20, 12, 0, tzinfo=UTC)

NOT_READY = conditions(Ready="False", Schedulable="True")
NOT_SCHEDULABLE = conditions(Ready="True", Schedulable="False")
"""Conditions of disks; of a node, it is cordoned then."""

Json = Mapping[str, Any]
Record = TypeVar("Record", Node, Volume, Replica, BackingImage)


def record(document: Json, type_: type[Record]) -> Record:
    """Read an object of Longhorn's that does not say its kind."""
    found = read({"apiVersion": "longhorn.io/v1beta2", "kind": type_.__name__, **document})
    assert isinstance(found, type_), found
    return found


def disk(
    maximum: float = 100,
    available: float | None = None,
    scheduled: float = 0,
    *,
    spec: Json | None = None,
    status: Json | None = None,
) -> Json:
    """Build spec and status of a usable disk, sizes in GiB; mappings replace single fields."""
    available = maximum if available is None else available
    return {
        "spec": {
            "diskType": "filesystem",
            "allowScheduling": True,
            "evictionRequested": False,
            "storageReserved": 0,
            "tags": [],
            **(spec or {}),
        },
        "status": {
            "filesystemType": "ext2/ext3",
            "storageMaximum": int(maximum * GIB),
            "storageAvailable": int(available * GIB),
            "storageScheduled": int(scheduled * GIB),
            "scheduledReplica": {},
            "conditions": conditions(Ready="True", Schedulable="True"),
            **(status or {}),
        },
    }


def node(
    name: str = "a",
    *disks: Json,
    spec: Json | None = None,
    status: Json | None = None,
    deleting: bool = False,
) -> Node:
    """Build a usable node, of one empty disk unless disks are given; UUIDs are a1, a2 and so on."""
    named = {f"{name}{number}": each for number, each in enumerate(disks or (disk(),), start=1)}
    document = {
        "metadata": {"name": name, **({"deletionTimestamp": "2026-08-20"} if deleting else {})},
        "spec": {
            "allowScheduling": True,
            "tags": [],
            "disks": {key: each["spec"] for key, each in named.items()},
            **(spec or {}),
        },
        "status": {
            "conditions": conditions(Ready="True", Schedulable="True"),
            "diskStatus": {key: {"diskUUID": key, **each["status"]} for key, each in named.items()},
            **(status or {}),
        },
    }
    return record(document, Node)


def nodes(text: str) -> list[Node]:
    """Read nodes: `a:100,60@z` is node a, in zone z; its disks a1 and a2 have 100 and 60 GiB.

    `a` has one empty disk of 100 GiB. Of `100/8` 8 GiB are available, of `100-95` 95 are scheduled.
    """
    found = []
    for word in text.split():
        name, _, zone = word.partition("@")
        name, _, sizes = name.partition(":")
        disks = []
        for size in filter(None, sizes.split(",")):
            parts = re.fullmatch(r"(\d+)(?:/([\d.]+))?(?:-(\d+))?", size)
            assert parts, f"cannot read {word!r}"
            maximum, available, scheduled = parts.groups()
            disks.append(disk(int(maximum), float(available or maximum), int(scheduled or 0)))
        found.append(node(name, *disks, status={"zone": zone}))
    return found


FLAGS: Json = {
    "evicting": {"evictionRequested": True},
    "failed": {"failedAt": "2026-08-20T11:50:00Z"},
    "inactive": {"active": False},
    "rebuilding": {"healthyAt": ""},
    "given-up": {"failedAt": "2026-08-20T11:50:00Z", "rebuildRetryCount": 5},
    "deleting": {"deleting": True},
}


def replicas(text: str) -> list[Replica]:
    """Read replicas: `a1` is vol-r-1, on disk a1; the next one is vol-r-2.

    Words may follow, of `FLAGS`: `a1/failed` failed ten minutes ago, and so on.
    """
    found = []
    for number, word in enumerate(text.split(), start=1):
        on, *said = word.split("/")
        given = {field: value for flag in said for field, value in FLAGS[flag].items()}
        found.append(replica(on, name=f"vol-r-{number}", **given))
    return found


def volume(
    size: float = 10,
    *,
    size_bytes: int | None = None,
    status: Json | None = None,
    **spec: Any,
) -> Volume:
    """Build a detached volume `vol` of locality disabled; size in GiB."""
    size_bytes = int(size * GIB) if size_bytes is None else size_bytes
    document = {
        "metadata": {"name": "vol"},
        "spec": {
            "size": str(size_bytes),
            "dataEngine": "v1",
            "dataLocality": "disabled",
            **spec,
        },
        "status": status or {},
    }
    return record(document, Volume)


def degraded(since: str) -> Json:
    """Build the status of a volume that is degraded."""
    return {"robustness": "degraded", "lastDegradedAt": since}


def replica(
    disk: str = "",
    *,
    name: str = "vol-r-1",
    size: float = 10,
    deleting: bool = False,
    status: Json | None = None,
    **spec: Any,
) -> Replica:
    """Build a healthy replica of `vol` on a disk, or one that is not placed yet; size in GiB."""
    document = {
        "metadata": {"name": name, **({"deletionTimestamp": "2026-08-20"} if deleting else {})},
        "spec": {
            "volumeName": "vol",
            "volumeSize": str(int(size * GIB)),
            "nodeID": disk[:-1],
            "diskID": disk,
            "healthyAt": "2026-08-20T00:00:00Z" if disk else "",
            "active": True,
            **spec,
        },
        "status": status or {},
    }
    return record(document, Replica)


def failed(disk: str, *, name: str = "vol-r-1", **spec: Any) -> Replica:
    """Build a replica that failed ten minutes ago."""
    return replica(disk, name=name, **({"failedAt": "2026-08-20T11:50:00Z"} | spec))


def image(**spec: Any) -> BackingImage:
    """Build a backing image."""
    return record({"metadata": {"name": "image"}, "spec": spec}, BackingImage)


def search(
    of: Volume,
    *nodes: Node,
    replicas: Iterable[Replica] = (),
    pinned_to: str = "",
    settings: Settings | None = None,
    not_starting: Collection[str] = (),
    backing_image: BackingImage | None = None,
    sharing: str = "",
) -> Candidates:
    """Find the candidates for a new replica of a volume; it does not start on some nodes.

    Args:
        sharing: The replica that it shares data with, if that is settled.
    """
    how: dict[str, Any] = {"hardNodeAffinity": pinned_to, "linkedCloneSrcReplicaName": sharing}
    new = replica(name="vol-r-new", **how)
    settings = settings or Settings()
    spaces = [
        msgspec.structs.replace(
            node_disks(each, settings), engines=Engines(runs_v1=each.name not in not_starting)
        )
        for each in nodes
    ]
    return find_candidates(new, of, [*replicas, new], around(spaces, settings, backing_image), NOW)


def disks_for(of: Volume, *nodes: Node, **how: Any) -> list[str]:
    """Return the UUIDs of the candidates, as `search` does."""
    return [candidate.disk for candidate in search(of, *nodes, **how).disks]
