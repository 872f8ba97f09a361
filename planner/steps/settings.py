"""Change a setting of Longhorn's."""

from collections.abc import Mapping

import msgspec

from longhorn import (
    SCHEDULER_SETTINGS,
    Setting,
    parse_bool,
    parse_int,
    read_settings,
    value_for_engine,
)
from planner.errors import PlanError, unknown
from planner.following import CORDON_SETTING
from planner.picture import Event
from planner.plan import Plan

_LARGEST = 2**31 - 1
OTHER_SETTINGS = frozenset(
    {"default-data-locality", "default-replica-count", "disable-scheduling-on-cordoned-node"}
)
"""That plans read besides those which decide where replicas go."""

_WORDS: Mapping[str, tuple[str, ...]] = {
    "default-data-locality": ("disabled", "best-effort", "strict-local"),
    "node-drain-policy": (
        "block-if-contains-last-replica",
        "block-for-eviction",
        "block-for-eviction-if-contains-last-replica",
        "allow-if-replica-is-stopped",
        "always-allow",
    ),
    "replica-auto-balance": ("disabled", "least-effort", "best-effort"),
}
_NUMBERS: Mapping[str, tuple[int, int]] = {
    "concurrent-replica-rebuild-per-node-limit": (0, _LARGEST),
    "default-replica-count": (1, 20),
    "replica-auto-balance-disk-pressure-percentage": (0, 100),
    "replica-replenishment-wait-interval": (0, _LARGEST),
    "storage-minimal-available-percentage": (0, 100),
    "storage-over-provisioning-percentage": (0, _LARGEST),
}
"""Least and most. Source: longhorn-manager types/setting.go, ValueIntRange and Choices."""


class ChangeSetting(msgspec.Struct, frozen=True, kw_only=True):
    """Give a setting another value."""

    name: str
    value: str

    @property
    def title(self) -> str:
        """What is done."""
        return f"set {self.name}={self.value}"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        known = SCHEDULER_SETTINGS | OTHER_SETTINGS
        if self.name not in known:
            raise unknown("setting that a plan depends on called", self.name, known)
        wrong = _problem(self.name, self.value)
        if wrong is not None:
            raise PlanError(f"Setting {self.name} cannot be {self.value[:60]!r}; {wrong}")
        plan.cluster.put(Setting(name=self.name, value=self.value))
        return plan.settle()


def _problem(name: str, value: str) -> str | None:
    """Say what to give a setting instead of a value that Longhorn refuses, None if it takes it."""
    if name in _WORDS:
        words = _WORDS[name]
        return None if value in words else f"give one of {', '.join(words)}"
    if name in _NUMBERS:
        least, most = _NUMBERS[name]
        upper = f" to {most}" if most < _LARGEST else " up"
        return None if _is_number(value, least, most) else f"give a number from {least}{upper}"
    if name == CORDON_SETTING:
        return None if _is_bool(value) else "give true or false"
    is_read = read_settings({name: value}).unreadable is None
    return None if is_read else "give true or false"


def _is_number(value: str, least: int, most: int) -> bool:
    try:
        return least <= parse_int(value_for_engine(value, "v1")) <= most
    except ValueError:
        return False


def _is_bool(value: str) -> bool:
    try:
        parse_bool(value)
    except ValueError:
        return False
    return True
