"""Longhorn's settings are read as Longhorn reads them."""

import pytest

from simulator import Settings, UnreadableSetting, read_settings

INT = "storage-over-provisioning-percentage"
BOOL = "replica-soft-anti-affinity"
FAST_REBUILD = "fast-replica-rebuild-enabled"


def test_absent_settings_have_longhorns_defaults() -> None:
    assert read_settings({}) == Settings(
        over_provisioning_percent=100,
        minimal_available_percent=25,
        soft_anti_affinity=False,
        zone_soft_anti_affinity=True,
        disk_soft_anti_affinity=True,
        allow_empty_node_selector=True,
        allow_empty_disk_selector=True,
        auto_balance="disabled",
        disk_pressure_percent=90,
        replenishment_wait_seconds=600,
        drain_policy="block-if-contains-last-replica",
        fast_rebuild_v2=True,
    )


def test_every_setting_is_read() -> None:
    values = {
        "storage-over-provisioning-percentage": "200",
        "storage-minimal-available-percentage": "10",
        "replica-soft-anti-affinity": "true",
        "replica-zone-soft-anti-affinity": "false",
        "replica-disk-soft-anti-affinity": "false",
        "allow-empty-node-selector-volume": "false",
        "allow-empty-disk-selector-volume": "false",
        "replica-auto-balance": "best-effort",
        "replica-auto-balance-disk-pressure-percentage": "80",
        "replica-replenishment-wait-interval": "30",
        "node-drain-policy": "always-allow",
        "fast-replica-rebuild-enabled": "false",
        "a-setting-of-no-interest": "abc",
    }

    assert read_settings(values) == Settings(
        over_provisioning_percent=200,
        minimal_available_percent=10,
        soft_anti_affinity=True,
        zone_soft_anti_affinity=False,
        disk_soft_anti_affinity=False,
        allow_empty_node_selector=False,
        allow_empty_disk_selector=False,
        auto_balance="best-effort",
        disk_pressure_percent=80,
        replenishment_wait_seconds=30,
        drain_policy="always-allow",
        fast_rebuild_v2=False,
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [("0", 0), ("+7", 7), ("-1", -1), ("007", 7), (str(2**63 - 1), 2**63 - 1)],
)
def test_numbers(value: str, expected: int) -> None:
    assert read_settings({INT: value}) == Settings(over_provisioning_percent=expected)


@pytest.mark.parametrize(
    "value", ["", " 1", "1 ", "1_0", "1.0", "1e2", "0x10", "abc", "٣", str(2**63), '{"v1":"100"}']
)
def test_unreadable_numbers(value: str) -> None:
    assert read_settings({INT: value}) == UnreadableSetting(name=INT)


@pytest.mark.parametrize("value", ["1", "t", "T", "TRUE", "true", "True"])
def test_true(value: str) -> None:
    assert read_settings({BOOL: value}) == Settings(soft_anti_affinity=True)


@pytest.mark.parametrize("value", ["0", "f", "F", "FALSE", "false", "False"])
def test_false(value: str) -> None:
    assert read_settings({BOOL: value}) == Settings(soft_anti_affinity=False)


@pytest.mark.parametrize("value", ["", "yes", "tRUE", " true", "2"])
def test_unreadable_booleans(value: str) -> None:
    assert read_settings({BOOL: value}) == UnreadableSetting(name=BOOL)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"v1":"false","v2":"true"}', True),
        ('{"v1":"true","v2":"false"}', False),
        ('{"v1":"true"}', False),
        ("true", True),
        ("1", True),
        ("false", False),
        ("abc", False),
        ("[" * 5_000, False),
    ],
)
def test_values_by_data_engine(value: str, *, expected: bool) -> None:
    """What cannot be read here means false, and stops nothing."""
    assert read_settings({FAST_REBUILD: value}) == Settings(fast_rebuild_v2=expected)
