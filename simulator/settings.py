"""Longhorn's settings, as far as its replica scheduler and its handling of drains read them."""

import re
from collections.abc import Callable, Mapping

import msgspec

_INT = re.compile(r"[+-]?[0-9]+")
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings with Longhorn's defaults, the same from v1.8 to v1.13."""

    over_provisioning_percent: int = 100
    minimal_available_percent: int = 25
    soft_anti_affinity: bool = False
    zone_soft_anti_affinity: bool = True
    disk_soft_anti_affinity: bool = True
    allow_empty_node_selector: bool = True
    allow_empty_disk_selector: bool = True
    auto_balance: str = "disabled"
    disk_pressure_percent: int = 90
    """Use of a disk above which best-effort auto-balance moves replicas away; 0 turns that off."""
    replenishment_wait_seconds: int = 600
    drain_policy: str = "block-if-contains-last-replica"
    fast_rebuild_v2: bool = True
    """Whether failed replicas of data engine v2 are reused."""


class UnreadableSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting whose value Longhorn cannot read: it then places nothing."""

    name: str


def read_settings(values: Mapping[str, str]) -> Settings | UnreadableSetting:
    """Read the values of Setting objects, by name; absent ones have their default.

    Numbers and booleans are read as Go does, nothing trimmed and no fall-back to the default
    (longhorn-manager datastore GetSettingAsInt and GetSettingAsBool). Longhorn reads a setting
    when it needs it; here all are read, so one that a particular search would not have asked for
    stops that search too. Its webhook keeps unreadable values out.
    """
    read: dict[str, object] = {}
    for name, (field, parse) in _FIELDS.items():
        if name not in values:
            continue
        try:
            read[field] = parse(values[name])
        except ValueError:
            return UnreadableSetting(name=name)
    return msgspec.convert(read, Settings)


def _parse_int(value: str) -> int:
    if not _INT.fullmatch(value) or not -(2**63) <= int(value) < 2**63:
        raise ValueError(value)
    return int(value)


def _parse_bool(value: str) -> bool:
    if value not in _BOOLS:
        raise ValueError(value)
    return _BOOLS[value]


def _is_on_for_v2(value: str) -> bool:
    """Read a boolean that is plain before Longhorn v1.10 and JSON by data engine since.

    An unreadable value means false (replica_scheduler.go CheckAndReuseFailedReplica).
    """
    try:
        by_engine = msgspec.json.decode(value, type=dict[str, str])
    except (msgspec.MsgspecError, RecursionError):
        return _BOOLS.get(value, False)
    return _BOOLS.get(by_engine.get("v2", ""), False)


_FIELDS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "storage-over-provisioning-percentage": ("over_provisioning_percent", _parse_int),
    "storage-minimal-available-percentage": ("minimal_available_percent", _parse_int),
    "replica-soft-anti-affinity": ("soft_anti_affinity", _parse_bool),
    "replica-zone-soft-anti-affinity": ("zone_soft_anti_affinity", _parse_bool),
    "replica-disk-soft-anti-affinity": ("disk_soft_anti_affinity", _parse_bool),
    "allow-empty-node-selector-volume": ("allow_empty_node_selector", _parse_bool),
    "allow-empty-disk-selector-volume": ("allow_empty_disk_selector", _parse_bool),
    "replica-auto-balance": ("auto_balance", str),
    "replica-auto-balance-disk-pressure-percentage": ("disk_pressure_percent", _parse_int),
    "replica-replenishment-wait-interval": ("replenishment_wait_seconds", _parse_int),
    "node-drain-policy": ("drain_policy", str),
    "fast-replica-rebuild-enabled": ("fast_rebuild_v2", _is_on_for_v2),
}
"""Setting: our field, how it is read."""
