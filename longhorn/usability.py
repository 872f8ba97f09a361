"""What a replica is worth to its volume, and what must come back before it can be used.

Sources: longhorn-manager controller/volume_controller.go openVolumeDependentResources and
canInstanceManagerLaunchReplica; for disks that are not ready IsReplicaUnavailable, which Longhorn
asks in a migration: at an attach it tries, and the replica's process ends in an error.
"""

from enum import IntEnum, StrEnum, auto

import msgspec

from longhorn.needs import Engine
from longhorn.nodes import NodeDisks, is_down
from longhorn.records import Disk, DiskName, NodeName
from longhorn.replicas import Replica

_OF_THE_NODE = "NodeNotReady"
"""Why no disk of a node is ready whose manager is away: that says nothing of the disk, and replicas
start there. Source: controller/node_controller.go markAllDisksNotReadyWhenNodeNotReady."""


class Usability(StrEnum):
    """What a replica is worth to its volume. The order is that of the questions."""

    DELETING = "deleting"
    INACTIVE = "inactive"
    """The second one of a migration or an upgrade."""
    UNPLACED = "unplaced"
    NEVER_HEALTHY = "never-healthy"
    """It has failed or is being rebuilt, and never had all data."""
    UNKNOWN = "unknown"
    """Its node cannot be read, or a disk of that has no UUID yet."""
    GONE = "gone"
    """Its node is not there any more, or does not have its disk."""
    SALVAGEABLE = "salvageable"
    """It has failed, with all data of that time."""
    AWAITED = "awaited"
    """It has all data, and something must come back before it can be started."""
    USABLE = "usable"


class Missing(IntEnum):
    """What must come back, in the order in which it is asked for; for a salvage NODE and DISK."""

    NODE = auto()
    MANAGER = auto()
    ENGINE = auto()
    IMAGE = auto()
    DISK = auto()


class Awaited(msgspec.Struct, frozen=True, order=True):
    """What must come back before a replica can be started, or salvaged; `str()` says what then."""

    node: NodeName
    missing: Missing
    disk: DiskName = DiskName("")
    is_salvage: bool = False

    def __str__(self) -> str:
        match self.missing:
            case Missing.NODE:
                return f"node {self.node} is back"
            case Missing.MANAGER:
                return f"an instance manager runs on node {self.node}"
            case Missing.ENGINE:
                return f"data engine v2 is on again on node {self.node}"
            case Missing.IMAGE:
                return f"the engine image is ready on node {self.node}"
            case Missing.DISK if self.is_salvage:
                return f"disk {self.node}/{self.disk} is schedulable"
        return f"disk {self.node}/{self.disk} is ready"


def judge_replica(
    replica: Replica,
    engine: Engine,
    there: NodeDisks | None,
    *,
    is_new: bool,
    is_known: bool = True,
) -> tuple[Usability, Awaited | None]:
    """Say what a replica is worth, and what must come back first.

    Args:
        replica: The replica.
        engine: What runs it.
        there: Its node, None if that is not there.
        is_new: Whether its volume was never written to.
        is_known: Whether it is known how its node is.
    """
    usability = _without_place(replica, is_new=is_new)
    if usability is not None:
        return usability, None
    if not is_known:
        return Usability.UNKNOWN, None
    if there is None:
        return Usability.GONE, None
    disk = next((each.disk for each in there.disks if each.disk.id == replica.disk), None)
    if disk is None:
        is_known = all(each.disk.id is not None for each in there.disks)
        return (Usability.GONE if is_known else Usability.UNKNOWN), None
    missing = _missing_for(replica, engine, there, disk)
    awaits = None
    if missing is not None:
        is_disk = missing is Missing.DISK
        name = disk.name if is_disk else DiskName("")
        awaits = Awaited(there.node.name, missing, name, is_disk and replica.failed)
    if replica.failed:
        return Usability.SALVAGEABLE, awaits
    return (Usability.AWAITED if awaits else Usability.USABLE), awaits


def _without_place(replica: Replica, *, is_new: bool) -> Usability | None:
    """Say what a replica is worth if where it is does not matter."""
    if replica.deleting:
        return Usability.DELETING
    if not replica.active:
        return Usability.INACTIVE
    if replica.node is None or replica.disk is None:
        return Usability.UNPLACED
    if not replica.healthy_once and (replica.failed or not is_new):
        return Usability.NEVER_HEALTHY
    return None


def _missing_for(replica: Replica, engine: Engine, there: NodeDisks, disk: Disk) -> Missing | None:
    """Say what is missing first for a replica to be started; or, if it failed, to be salvaged."""
    engines = there.engines
    if is_down(there.node):
        return Missing.NODE
    if replica.failed:
        return None if disk.schedulable.is_true else Missing.DISK
    if not engines.runs(is_v2=engine.is_v2):
        return Missing.MANAGER
    if engine.is_v2 and not engines.allows_v2:
        return Missing.ENGINE
    if not (engine.is_v2 or engines.has_image(engine.image)):
        return Missing.IMAGE
    is_ready = disk.ready.is_true or disk.ready.reason == _OF_THE_NODE
    return None if is_ready else Missing.DISK
