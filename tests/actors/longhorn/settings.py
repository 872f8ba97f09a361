"""Longhorn's settings as its controllers read them: the object's value, else the default."""

from collections.abc import Mapping
from typing import Final

import longhorn

DISABLE_WHEN_CORDONED: Final = "disable-scheduling-on-cordoned-node"
DEFAULT_LOCALITY: Final = "default-data-locality"
DEFAULT_REPLICAS: Final = "default-replica-count"
ALLOW_DEGRADED: Final = "allow-volume-creation-with-degraded-availability"
AUTO_SALVAGE: Final = "auto-salvage"
DEFAULT_ENGINE_IMAGE: Final = "default-engine-image"
DEFAULT_MANAGER_IMAGE: Final = "default-instance-manager-image"

DEFAULTS: Final = {
    DISABLE_WHEN_CORDONED: "true",
    DEFAULT_LOCALITY: "disabled",
    DEFAULT_REPLICAS: '{"v1":"3","v2":"3"}',
    ALLOW_DEGRADED: "true",
    AUTO_SALVAGE: "true",
    DEFAULT_ENGINE_IMAGE: "longhornio/longhorn-engine:v1.12.1",
    DEFAULT_MANAGER_IMAGE: "longhornio/longhorn-instance-manager:v1.12.1",
}

Settings = Mapping[str, str]
"""Values by name of the settings that have an object."""


def are_readable(settings: Settings) -> bool:
    """Say whether those that decide where replicas go can be read; else controllers fail."""
    return longhorn.read_settings(settings).unreadable is None


def known(settings: Settings) -> longhorn.Settings:
    """Read those that decide where replicas go; all of them can be read."""
    found = longhorn.read_settings(settings)
    assert found.unreadable is None, found
    return found


def text(settings: Settings, name: str) -> str:
    return settings.get(name, DEFAULTS[name])


def is_on(settings: Settings, name: str) -> bool:
    return text(settings, name) == "true"
