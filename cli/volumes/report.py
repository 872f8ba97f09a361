"""All that `filter` tells of one claim or volume, as `-o json` prints it."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import msgspec

from cli.catalogue import PLACES, PODS, REJECTIONS, WAITS
from cli.remedies.remedy import RemedyReport
from cli.volumes.scheduled import ScheduledReport


class State(StrEnum):
    """How a volume is."""

    HEALTHY = "healthy"
    """Attached, and as many replicas are complete as are wanted."""
    DEGRADED = "degraded"
    """Attached, and fewer are."""
    FAULTED = "faulted"
    """No replica can be used."""
    NODE_DOWN = "node_down"
    """Attached to a node that is down, so that nothing is known of its engine."""
    DETACHED = "detached"
    """Not attached, or on the way."""
    DELETING = "deleting"
    NOT_CREATED = "not_created"
    """The claim has no volume yet."""
    OTHER_STORAGE = "other_storage"
    """Of a storage driver that is not Longhorn's."""


class ReplicaState(StrEnum):
    """How one replica is."""

    RUNNING = "running"
    STOPPED = "stopped"
    NORMAL = "normal"
    """Of a shard: with all its data."""
    EMPTY = "empty"
    """On its disk, never written to."""
    REBUILDING = "rebuilding"
    EVICTING = "evicting"
    FAILED = "failed"
    INACTIVE = "inactive"
    """The second one of a migration or an upgrade."""
    NOT_PLACED = "not_placed"
    TURNED_AWAY = "turned_away"
    """Its object names a disk, which has not granted it."""
    DELETING = "deleting"


def _one_of(*codes: str) -> msgspec.Meta:
    return msgspec.Meta(extra_json_schema={"enum": sorted(codes)})


PlaceCode = Annotated[str, _one_of(*PLACES, *REJECTIONS)]
WaitCode = Annotated[str, _one_of(*WAITS)]
PodCode = Annotated[str, _one_of(*PODS, *REJECTIONS)]


class ReplicaReport(msgspec.Struct):
    """One replica."""

    name: str
    node: str
    """Empty if it is not placed."""
    disk: str
    """The name of its disk; its UUID if the node lists no such disk; empty if it is not placed."""
    state: ReplicaState
    text: str


class WaitingReport(msgspec.Struct):
    """What the next replica waits for; *code* is in docs/filter-volume.md."""

    code: WaitCode
    text: str
    meaning: str
    action: str


class PlaceReport(msgspec.Struct):
    """What a node is to the next replica; *code* is in docs/filter-volume.md."""

    node: str
    takes: bool
    """Whether it would take the replica."""
    code: PlaceCode
    text: str
    """All that keeps the replica off, in Longhorn's order."""
    also: Sequence[PlaceCode] = ()
    """What keeps it off besides *code*."""
    details: Sequence[str] = ()
    """Figures."""
    disks: dict[str, str] = {}
    """What is in the way on each disk."""


class PodReport(msgspec.Struct):
    """A pod that uses the volume; *code* is in docs/filter-volume.md."""

    pod: str
    node: str
    """Empty if it has none."""
    code: PodCode
    text: str
    action: str


class HolderReport(msgspec.Struct):
    """What holds the volume somewhere, or keeps pods from it."""

    node: str
    """Where; empty if that is nowhere."""
    text: str
    action: str


class VolumeReport(msgspec.Struct, kw_only=True):
    """What `filter -o json` prints of a claim or a volume."""

    answer: str
    """In one line."""
    state: State
    done: bool
    """Whether all replicas are placed and complete, and no pod waits for the volume."""
    claim: str = ""
    """By namespace and name; empty if none leads to the volume."""
    volume: str = ""
    """Empty if there is none, or it is not Longhorn's."""
    size_bytes: int = 0
    locality: str = ""
    wanted_replicas: int = 0
    """Or shards, if it is erasure-coded."""
    placed_replicas: int = 0
    """On a disk, and neither failed nor leaving."""
    complete_replicas: int = 0
    """Of these, with all data."""
    attached_to: str = ""
    replicas: Sequence[ReplicaReport] = ()
    waiting: WaitingReport | None = None
    """What the next replica waits for; null if none is to come."""
    next: Sequence[str] = ()
    """NODE/DISK where Longhorn places the next replica; it takes one of them."""
    in_the_way: str = ""
    """What else may take that room first; empty if nothing is known to."""
    held: Sequence[HolderReport] = ()
    """What holds it, beside pods that use it where it is."""
    remedies: Sequence[RemedyReport] = ()
    """What would let the next replica be placed, if no node takes it, from the least to the most
    costly. Each was tried on the cluster."""
    nodes: Sequence[PlaceReport] = ()
    """Each node of Longhorn, for the next replica."""
    pods: Sequence[PodReport] = ()
    scheduled: ScheduledReport | None = None
    """The volume's condition; null if it has none."""
    action: str = ""
    """What to do about a claim without a volume, or a volume whose data cannot be read."""
