"""Longhorn's settings as its controllers read them: the object's value, else the default."""

from collections.abc import Mapping
from typing import Final

OVER_PROVISIONING: Final = "storage-over-provisioning-percentage"
MINIMAL_AVAILABLE: Final = "storage-minimal-available-percentage"
ALLOW_EMPTY_NODE_SELECTOR: Final = "allow-empty-node-selector-volume"
ALLOW_EMPTY_DISK_SELECTOR: Final = "allow-empty-disk-selector-volume"
DISABLE_WHEN_CORDONED: Final = "disable-scheduling-on-cordoned-node"
DEFAULT_LOCALITY: Final = "default-data-locality"
DEFAULT_REPLICAS: Final = "default-replica-count"
DRAIN_POLICY: Final = "node-drain-policy"

DEFAULTS: Final = {
    OVER_PROVISIONING: "100",
    MINIMAL_AVAILABLE: "25",
    ALLOW_EMPTY_NODE_SELECTOR: "true",
    ALLOW_EMPTY_DISK_SELECTOR: "true",
    DISABLE_WHEN_CORDONED: "true",
    DEFAULT_LOCALITY: "disabled",
    DEFAULT_REPLICAS: '{"v1":"3","v2":"3"}',
    DRAIN_POLICY: "block-if-contains-last-replica",
}

Settings = Mapping[str, str]
"""Values by name of the settings that have an object."""


def text(settings: Settings, name: str) -> str:
    return settings.get(name, DEFAULTS[name])


def number(settings: Settings, name: str) -> int:
    return int(text(settings, name))


def is_on(settings: Settings, name: str) -> bool:
    return text(settings, name) == "true"
