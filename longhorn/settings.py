"""Longhorn's settings, as far as its replica scheduler and its handling of drains read them."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

import msgspec

_VERSION = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})(?![0-9])")
_INT = re.compile(r"[+-]?[0-9]{1,19}")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


OWN_EXTENDER = "scheduler-extender-enabled"
"""The Setting that switches Longhorn's own extender on, as its proposal names it."""


class OwnExtender(StrEnum):
    """What is so of the scheduler extender that Longhorn has of its own since v1.13.

    Source: longhorn enhancements/20260209-scheduler-extender.md. A manager makes a Setting object
    with its default for every setting that it knows (longhorn-manager datastore/longhorn.go
    createNonExistingSettingCRsWithDefaultSetting): where there is none, it knows no extender.
    """

    ABSENT = "absent"
    OFF = "off"
    ON = "on"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings with Longhorn's defaults, the same from v1.8 to v1.13."""

    unreadable: str | None = None
    """The name of one whose value Longhorn cannot read either: it then places nothing. All others
    have their defaults then, which nothing is decided by."""

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
    allow_degraded: bool = True
    """Whether a volume of locality disabled may start before all its replicas are placed."""
    rebuild_limit: int = 5
    """Replicas that are rebuilt on a node at a time; 0: no replica is replaced."""
    instance_manager_image: str = ""
    """Of the instance managers of data engine v1 that take new engines and replicas; empty if it is
    not known."""
    version: str = ""
    """Of Longhorn, as v1.12.1; empty if it is not known."""

    @property
    def places_best_effort_at_attach(self) -> bool:
        """Whether replicas of best-effort volumes wait for the first attach, as since v1.10.

        Before, they are placed at once, as those of locality disabled are.
        """
        return self._is_since(1, 10)

    @property
    def expands_by_what_is_written(self) -> bool:
        """Whether volumes are only expanded where disks have it available, as since v1.11."""
        return self._is_since(1, 11)

    @property
    def chooses_by_balance(self) -> bool:
        """Whether of several disks the one is taken that leaves most balance, as since v1.11."""
        return self._is_since(1, 11)

    @property
    def reads_volume_topology(self) -> bool:
        """Whether a StorageClass may keep its volumes to one zone or region, as since v1.13."""
        return self._is_since(1, 13)

    def _is_since(self, major: int, minor: int) -> bool:
        """Whether the version is so new; one that cannot be read is."""
        found = _VERSION.match(self.version)
        return found is None or (int(found[1]), int(found[2])) >= (major, minor)


def read_settings(values: Mapping[str, str]) -> Settings:
    """Read the values of Setting objects, by name; absent ones have their default.

    Parsing is Longhorn's (datastore GetSettingAsInt and GetSettingAsBool): base 10 within
    64 bit and Go's spellings of true and false, nothing trimmed, no fall-back to the default.
    Longhorn reads a setting when it needs it. Here all are read, so that one that a particular
    search would not have asked for stops that search too. Its webhook keeps unreadable values out.
    """
    read: dict[str, object] = {}
    for name, (field, parse) in _FIELDS.items():
        if name not in values:
            continue
        try:
            read[field] = parse(values[name])
        except ValueError:
            return Settings(unreadable=name)
    return msgspec.convert(read, Settings)


def own_extender(values: Mapping[str, str]) -> OwnExtender:
    """Say by the values of Setting objects what is so of Longhorn's own extender."""
    value = values.get(OWN_EXTENDER)
    if value is None:
        return OwnExtender.ABSENT
    return OwnExtender.ON if value in _TRUE else OwnExtender.OFF


def default_values() -> dict[str, str]:
    """Return the values that absent settings have, by name; the version has none.

    Source: longhorn-manager types/setting.go, SettingDefinition of each; the same from v1.8 to
    v1.13. Where a value may differ by data engine, this is the one of all engines.
    """
    defaults = Settings()
    return {name: _written(getattr(defaults, field)) for name, (field, _) in _FIELDS.items()}


def parse_bool(value: str) -> bool:
    """Read one of Go's spellings of true and false; raise ValueError for anything else."""
    if value not in _TRUE and value not in _FALSE:
        raise ValueError(value)
    return value in _TRUE


def parse_int(value: str) -> int:
    """Read a decimal number of 64 bit as Go does; raise ValueError for anything else."""
    if not _INT.fullmatch(value) or not -(2**63) <= int(value) < 2**63:
        raise ValueError(value)
    return int(value)


def value_for_engine(value: str, engine: str) -> str:
    """Read a value that may differ by data engine: plain before Longhorn v1.10, JSON since.

    Raises:
        ValueError: It is neither, or has no value for the engine.
    """
    if not value.startswith("{"):
        return value
    try:
        return msgspec.json.decode(value, type=dict[str, str])[engine]
    except (KeyError, RecursionError, msgspec.MsgspecError) as error:
        raise ValueError(value) from error


def _is_on_for_v2(value: str) -> bool:
    """Read a boolean by data engine; what cannot be read means false and stops nothing.

    Source: longhorn-manager scheduler/replica_scheduler.go CheckAndReuseFailedReplica.
    """
    try:
        return parse_bool(value_for_engine(value, "v2"))
    except ValueError:
        return False


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_FIELDS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "storage-over-provisioning-percentage": ("over_provisioning_percent", parse_int),
    "storage-minimal-available-percentage": ("minimal_available_percent", parse_int),
    "replica-soft-anti-affinity": ("soft_anti_affinity", parse_bool),
    "replica-zone-soft-anti-affinity": ("zone_soft_anti_affinity", parse_bool),
    "replica-disk-soft-anti-affinity": ("disk_soft_anti_affinity", parse_bool),
    "allow-empty-node-selector-volume": ("allow_empty_node_selector", parse_bool),
    "allow-empty-disk-selector-volume": ("allow_empty_disk_selector", parse_bool),
    "replica-auto-balance": ("auto_balance", str),
    "replica-auto-balance-disk-pressure-percentage": ("disk_pressure_percent", parse_int),
    "replica-replenishment-wait-interval": ("replenishment_wait_seconds", parse_int),
    "node-drain-policy": ("drain_policy", str),
    "fast-replica-rebuild-enabled": ("fast_rebuild_v2", _is_on_for_v2),
    "allow-volume-creation-with-degraded-availability": ("allow_degraded", parse_bool),
    "concurrent-replica-rebuild-per-node-limit": ("rebuild_limit", parse_int),
    "default-instance-manager-image": ("instance_manager_image", str),
    "current-longhorn-version": ("version", str),
}
"""Setting: our field, how it is read."""

SCHEDULER_SETTINGS = frozenset(_FIELDS)
"""Names of the settings that decide where replicas go."""
