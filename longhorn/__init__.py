"""What Longhorn does: its objects and its rules, pure."""

from longhorn.records import (
    BackingImage,
    Disk,
    DiskId,
    DiskName,
    Locality,
    Node,
    NodeName,
    Replica,
    ReplicaName,
    TopologyTerm,
    Volume,
    VolumeName,
)
from longhorn.settings import (
    SCHEDULER_SETTINGS,
    Settings,
    UnreadableSetting,
    parse_bool,
    parse_int,
    read_settings,
    value_for_engine,
)

__all__ = [
    "SCHEDULER_SETTINGS",
    "BackingImage",
    "Disk",
    "DiskId",
    "DiskName",
    "Locality",
    "Node",
    "NodeName",
    "Replica",
    "ReplicaName",
    "Settings",
    "TopologyTerm",
    "UnreadableSetting",
    "Volume",
    "VolumeName",
    "parse_bool",
    "parse_int",
    "read_settings",
    "value_for_engine",
]
