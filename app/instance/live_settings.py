"""The settings that change without a restart, from our ConfigMap alone.

Longhorn Settings of the same names belong to Longhorn's own extender (`longhorn.OwnExtender`).
"""

from collections.abc import Mapping

import msgspec

from app.config import NAME
from longhorn import parse_bool, parse_int

ENABLED = "scheduler-extender-enabled"
INJECT = "scheduler-extender-inject"
POD_SCHEDULING_TIMEOUT = "scheduler-extender-pod-scheduling-timeout"
NODE_RESERVATION_TIMEOUT = "scheduler-extender-node-reservation-timeout"

NOBODY_LEADS = f"no instance leads: {ENABLED} is false in the ConfigMap {NAME}"

_LONGEST_SECONDS = 600
"""As long as kube-scheduler itself waits for a claim to be bound."""


class LiveSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The values in force."""

    enabled: bool = True
    inject: bool = False
    """Whether new pods are made to ask: from the first answer of an installation to its end."""
    pod_scheduling_timeout_seconds: int = 5
    node_reservation_timeout_seconds: int = 60


_FIELDS = {
    ENABLED: "enabled",
    INJECT: "inject",
    POD_SCHEDULING_TIMEOUT: "pod_scheduling_timeout_seconds",
    NODE_RESERVATION_TIMEOUT: "node_reservation_timeout_seconds",
}


def read_live_settings(
    config_map: Mapping[str, str], last: LiveSettings
) -> tuple[LiveSettings, list[str]]:
    """Return the values in force, and a text for each that cannot be used.

    Args:
        config_map: The data of our ConfigMap, empty if there is none.
        last: The values so far. A value that cannot be read stays as it was; one that is not
            set has its default.
    """
    values: dict[str, bool | int] = {}
    problems = [
        f"the ConfigMap has {key!r}, which is no setting; use {', '.join(sorted(_FIELDS))}"
        for key in sorted(config_map.keys() - _FIELDS.keys())
    ]
    for name, field in _FIELDS.items():
        text = config_map.get(name)
        if text is None:
            continue
        try:
            values[field] = _read(name, text.strip())  # a YAML block ends in a line break
        except ValueError:
            values[field] = getattr(last, field)
            problems.append(f"{name} is {text[:60]!r}; use {_allowed(name)}")
    return msgspec.convert(values, LiveSettings), problems


def _read(name: str, text: str) -> bool | int:
    if name in (ENABLED, INJECT):
        return parse_bool(text)
    seconds = parse_int(text)
    if not 0 <= seconds <= _LONGEST_SECONDS:
        raise ValueError(text)
    return seconds


def _allowed(name: str) -> str:
    return "true or false" if name in (ENABLED, INJECT) else f"seconds from 0 to {_LONGEST_SECONDS}"
