"""What Longhorn 1.13 does at its start that matters here: it makes the Settings that it knows.

Source: longhorn-manager datastore/longhorn.go createNonExistingSettingCRsWithDefaultSetting, and
for the defaults types/setting.go. The Settings of the extender are those of Longhorn's proposal,
enhancements/20260209-scheduler-extender.md. Versions and images are not among them: Longhorn writes
these by other ways (syncSettingsWithDefaultImages), and tests by their own.
"""

from typing import Final

import longhorn
from tests.actors.api import SETTINGS, Api
from tests.actors.longhorn.objects import setting
from tests.actors.longhorn.settings import (
    DEFAULT_ENGINE_IMAGE,
    DEFAULT_MANAGER_IMAGE,
    DEFAULTS,
    Settings,
)

ENABLED: Final = "scheduler-extender-enabled"
POD_SCHEDULING_TIMEOUT: Final = "scheduler-extender-pod-scheduling-timeout"
NODE_RESERVATION_TIMEOUT: Final = "scheduler-extender-node-reservation-timeout"

OF_EXTENDER: Final = {ENABLED: "false", POD_SCHEDULING_TIMEOUT: "5", NODE_RESERVATION_TIMEOUT: "5"}
_WRITTEN_OTHERWISE = {DEFAULT_ENGINE_IMAGE, DEFAULT_MANAGER_IMAGE, "current-longhorn-version"}
KNOWN: Final = {
    name: value
    for name, value in {**longhorn.default_values(), **DEFAULTS, **OF_EXTENDER}.items()
    if name not in _WRITTEN_OTHERWISE
}
"""The Settings of 1.13 that anything here reads, with their defaults."""


async def make_settings(api: Api, namespace: str) -> None:
    """Make an object for each Setting that has none; others stay as they are."""
    for name, value in KNOWN.items():
        await api.ensure(setting(name, value, namespace=namespace), SETTINGS)


def is_extender_on(settings: Settings) -> bool:
    return settings.get(ENABLED, OF_EXTENDER[ENABLED]) == "true"


def seconds(settings: Settings, name: str) -> int:
    """Read one of the extender's two timeouts."""
    return int(settings.get(name, OF_EXTENDER[name]))
