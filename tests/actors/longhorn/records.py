"""Volumes and replicas as Longhorn's controllers decide on them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

import msgspec

import longhorn
from app.kube.longhorn.resources import (
    BACKING_IMAGES,
    ENGINE_IMAGES,
    INSTANCE_MANAGERS,
    NODES,
    REPLICAS,
    VOLUMES,
)
from tests.actors.api import Object
from tests.actors.longhorn.clones import is_legacy
from tests.actors.longhorn.schedules import Room

T = TypeVar(
    "T",
    longhorn.Node,
    longhorn.Volume,
    longhorn.Replica,
    longhorn.BackingImage,
    longhorn.EngineImage,
    longhorn.InstanceManager,
)

_RESOURCES = {
    longhorn.Node: NODES,
    longhorn.Volume: VOLUMES,
    longhorn.Replica: REPLICAS,
    longhorn.BackingImage: BACKING_IMAGES,
    longhorn.EngineImage: ENGINE_IMAGES,
    longhorn.InstanceManager: INSTANCE_MANAGERS,
}

_MOST_RECORDED = 20_000
_recorded: dict[tuple[int, type], tuple[Object, object]] = {}
"""What was read of which object: it is kept as well, so that no other one gets its id."""

BEST_EFFORT = "best-effort"
STRICT_LOCAL = "strict-local"
DISABLED = "disabled"
NOWHERE: Mapping[str, str] = MappingProxyType({})
ALONE: Mapping[str, int] = MappingProxyType({})


class Volume(msgspec.Struct, frozen=True, kw_only=True):
    """A Volume object, as far as its life goes."""

    name: str
    wanted_replicas: int
    locality: str
    wished_node: str
    """Where it shall be attached; "" for nowhere."""
    is_for_pods: bool
    """Whether it is attached with a frontend; without one it is only attached for an eviction."""
    state: str
    current_node: str
    robustness: str
    scheduled: str
    """Status of its condition Scheduled; "" if there is none yet."""
    owner: str = ""
    """The node whose manager works on it while it shall be attached nowhere."""
    size_bytes: int = 0
    """As wished for; replicas that are smaller are to be expanded."""
    is_legacy_clone: bool = False
    """Whether it gets no other replicas than those that it has."""
    is_sharded: bool = False
    """Whether it has shards in place of replicas."""
    is_paused: bool = False
    """Whether some of its replicas are detached by plan: none is made or removed."""

    @property
    def waits_for_node(self) -> bool:
        """Whether its replicas are placed only when it is to be attached."""
        return self.locality in (BEST_EFFORT, STRICT_LOCAL)


class Replica(msgspec.Struct, frozen=True, kw_only=True):
    """A Replica object, as far as its life goes."""

    name: str
    node: str
    """Where it is assigned; "" while it is not."""
    hard_node: str
    is_healthy: bool
    is_evicting: bool
    is_running: bool
    is_leaving: bool
    """Whether it is being removed."""
    shall_run: bool = False
    is_failed: bool = False
    failed_at: str = ""
    is_given_up: bool = False
    """Whether it failed before it ever had data: it is of no use."""
    disk: str = ""
    zone: str = ""
    size_bytes: int = 0
    has_data: bool = False
    """Whether it ever had all data."""
    room: Room | None = None
    """What its disk has for it; None if no DiskSchedule is asked."""
    is_shared: bool = False
    """Whether linked clones share its data: then it stays."""

    @property
    def is_granted(self) -> bool:
        """Whether the disk it is assigned to lets it be there."""
        return self.room is None or self.room.covers(self.size_bytes)

    @property
    def is_usable(self) -> bool:
        """Whether it is placed and may run; what runs already is not stopped."""
        runs = self.shall_run or self.is_running
        return bool(self.node) and not self.is_failed and (runs or self.is_granted)


def read_volume(obj: Object) -> Volume:
    spec, status = obj["spec"], obj.get("status") or {}
    return Volume(
        name=obj["metadata"]["name"],
        wanted_replicas=spec["numberOfReplicas"],
        locality=spec["dataLocality"],
        wished_node=spec.get("nodeID", ""),
        is_for_pods=not spec.get("disableFrontend", False),
        state=status.get("state", ""),
        current_node=status.get("currentNodeID", ""),
        robustness=status.get("robustness", ""),
        scheduled=condition_status(status, "Scheduled"),
        owner=status.get("ownerID", ""),
        size_bytes=int(spec["size"]),
        is_legacy_clone=is_legacy(obj),
        is_sharded=spec.get("dataLayout") is not None,
    )


def read_replica(
    obj: Object,
    zones: Mapping[str, str] = NOWHERE,
    room: Room | None = None,
    shared: Mapping[str, int] = ALONE,
) -> Replica:
    """Read a Replica object.

    Args:
        obj: The object.
        zones: Those of the nodes, by name.
        room: What its disk has for it.
        shared: By how many replicas of linked clones others are shared, by their names.
    """
    spec, status = obj["spec"], obj.get("status") or {}
    return Replica(
        name=obj["metadata"]["name"],
        node=spec.get("nodeID", ""),
        hard_node=spec.get("hardNodeAffinity", ""),
        is_healthy=bool(spec.get("healthyAt")) and not spec.get("failedAt"),
        is_evicting=bool(spec.get("evictionRequested")),
        is_running=status.get("currentState") == "running",
        is_leaving=bool(obj["metadata"].get("deletionTimestamp")),
        shall_run=spec.get("desireState") == "running",
        is_failed=bool(spec.get("failedAt")),
        failed_at=spec.get("failedAt", ""),
        is_given_up=bool(spec.get("failedAt")) and not spec.get("healthyAt"),
        disk=spec.get("diskID", ""),
        zone=zones.get(spec.get("nodeID", ""), ""),
        size_bytes=int(spec["volumeSize"]),
        has_data=bool(spec.get("healthyAt")),
        room=room,
        is_shared=shared.get(obj["metadata"]["name"], 0) > 0,
    )


def recorded(obj: Object, type_: type[T]) -> T:
    """Read an object as `longhorn` decides on it. Nobody changes an object: a new one replaces it.

    So it is remembered: in a crowd, what is played would read hundreds for each of hundreds.
    """
    known = _recorded.get((id(obj), type_))
    if known is not None and known[0] is obj:
        record = known[1]
    else:
        resource = _RESOURCES[type_]
        record = resource.record_of(msgspec.convert(obj, resource.structure))
        if len(_recorded) >= _MOST_RECORDED:
            _recorded.clear()
        _recorded[id(obj), type_] = obj, record
    assert isinstance(record, type_)
    return record


def condition_status(status: Object, type_: str) -> str:
    """Return the status of the first condition of a type; "" if there is none."""
    return str(read_condition(status, type_).get("status", ""))


def read_condition(status: Object, type_: str) -> Object:
    """Return the first condition of a type; {} if there is none."""
    found = (each for each in status.get("conditions") or () if each["type"] == type_)
    return next(found, {})
