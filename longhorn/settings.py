"""Longhorn's own settings, as far as they decide where a replica may go."""

import re
from collections.abc import Callable, Mapping

import msgspec

_INT = re.compile(r"[+-]?[0-9]{1,19}")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that Longhorn's replica scheduler reads, as far as we follow it."""

    over_provisioning_percent: int
    minimal_available_percent: int
    allow_empty_node_selector: bool
    allow_empty_disk_selector: bool


class UnreadableSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting whose value Longhorn could not read either: it then schedules nothing at all."""

    name: str


def read_settings(settings: Mapping[str, str]) -> Settings | UnreadableSetting:
    """Read the scheduler's settings from the values of Setting objects, by name.

    Absent ones have their default.

    Parsing is Longhorn's (datastore GetSettingAsInt and GetSettingAsBool): base 10 within
    64 bit and Go's spellings of true and false, nothing trimmed, no fall-back to the default.
    """
    values: dict[str, object] = {}
    for name, (field, default, read) in _SETTINGS.items():
        try:
            values[field] = read(settings.get(name, default))
        except ValueError:
            return UnreadableSetting(name=name)
    return msgspec.convert(values, Settings)


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


_SETTINGS: Mapping[str, tuple[str, str, Callable[[str], object]]] = {
    "storage-over-provisioning-percentage": ("over_provisioning_percent", "100", parse_int),
    "storage-minimal-available-percentage": ("minimal_available_percent", "25", parse_int),
    "allow-empty-node-selector-volume": ("allow_empty_node_selector", "true", parse_bool),
    "allow-empty-disk-selector-volume": ("allow_empty_disk_selector", "true", parse_bool),
}
"""Setting: our field, Longhorn's default (the same from v1.8 to v1.13), how it is read."""

SCHEDULER_SETTINGS = frozenset(_SETTINGS)
