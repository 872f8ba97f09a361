"""Longhorn's settings are read as Longhorn reads them."""

import pytest

from longhorn import (
    SCHEDULER_SETTINGS,
    Settings,
    default_values,
    parse_bool,
    parse_int,
    read_settings,
    value_for_engine,
)

OVER_PROVISIONING = "storage-over-provisioning-percentage"
FAST_REBUILD = "fast-replica-rebuild-enabled"


def test_absent_settings_have_longhorns_defaults():
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


def test_default_values_are_those_of_absent_settings():
    assert default_values().keys() == SCHEDULER_SETTINGS
    assert read_settings(default_values()) == read_settings({})


def test_every_setting_is_read():
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
        "allow-volume-creation-with-degraded-availability": "false",
        "concurrent-replica-rebuild-per-node-limit": "0",
        "default-instance-manager-image": "manager:1",
        "current-longhorn-version": "v1.9.2",
    }

    assert values.keys() == SCHEDULER_SETTINGS
    assert read_settings(values | {"storage-network": "abc"}) == Settings(
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
        allow_degraded=False,
        rebuild_limit=0,
        instance_manager_image="manager:1",
        version="v1.9.2",
    )


@pytest.mark.parametrize(
    ("value", "engine", "expected"),
    [
        pytest.param("best-effort", "v2", "best-effort", id="plain"),
        pytest.param('{"v1":"1","v2":"2"}', "v1", "1", id="json-v1"),
        pytest.param('{"v1":"1","v2":"2"}', "v2", "2", id="json-v2"),
    ],
)
def test_values_by_engine_are_read_in_both_forms(value, engine, expected):
    assert value_for_engine(value, engine) == expected


@pytest.mark.parametrize(
    "value",
    [
        pytest.param('{"v2":"disabled"}', id="json-without-v1"),
        pytest.param("{", id="broken-json"),
        pytest.param('{"v1":' * 50_000, id="very-deep-json"),
        pytest.param('{"v1":3,"v2":3}', id="json-numbers"),
    ],
)
def test_values_by_engine_that_cannot_be_read_are_refused(value):
    with pytest.raises(ValueError, match=r"[{]"):
        value_for_engine(value, "v1")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param(OVER_PROVISIONING, "abc", id="word-for-a-number"),
        pytest.param(OVER_PROVISIONING, "", id="nothing-for-a-number"),
        pytest.param(OVER_PROVISIONING, " 100", id="space-before-a-number"),
        pytest.param(OVER_PROVISIONING, "100\n", id="line-after-a-number"),
        pytest.param(OVER_PROVISIONING, "1e2", id="exponent"),
        pytest.param(OVER_PROVISIONING, "100.0", id="fraction"),
        pytest.param(OVER_PROVISIONING, "1_00", id="underscore"),
        pytest.param(OVER_PROVISIONING, "\N{ARABIC-INDIC DIGIT FIVE}", id="other-digits"),
        pytest.param(OVER_PROVISIONING, str(2**63), id="beyond-64-bit"),
        pytest.param(OVER_PROVISIONING, "9" * 9999, id="thousands-of-digits"),
        pytest.param("storage-over-provisioning-percentage", '{"v1":"1"}', id="json"),
        pytest.param("storage-minimal-available-percentage", "25 %", id="percent-sign"),
        pytest.param("allow-empty-node-selector-volume", "yes", id="yes"),
        pytest.param("allow-empty-node-selector-volume", "tRUE", id="odd-case"),
        pytest.param("allow-empty-disk-selector-volume", "", id="nothing-for-a-bool"),
        pytest.param("replica-soft-anti-affinity", "2", id="two-for-a-bool"),
        pytest.param("replica-replenishment-wait-interval", "1h", id="unit"),
    ],
)
def test_value_longhorn_cannot_read_is_named(name, value):
    assert read_settings({name: value}) == Settings(unreadable=name)


@pytest.mark.parametrize("value", ["1", "t", "T", "TRUE", "true", "True"])
def test_true_in_all_of_gos_spellings(value):
    assert parse_bool(value) is True


@pytest.mark.parametrize("value", ["0", "f", "F", "FALSE", "false", "False"])
def test_false_in_all_of_gos_spellings(value):
    assert parse_bool(value) is False


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("0", 0),
        ("+5", 5),
        ("-5", -5),
        ("007", 7),
        (str(2**63 - 1), 2**63 - 1),
        (str(-(2**63)), -(2**63)),
    ],
)
def test_numbers_as_go_reads_them(value, number):
    assert parse_int(value) == number


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
def test_values_by_data_engine(value, *, expected):
    """What cannot be read here means false, and stops nothing."""
    assert read_settings({FAST_REBUILD: value}) == Settings(fast_rebuild_v2=expected)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("v1.9.2", False),
        ("v1.8.0-rc1", False),
        ("v1.10.0", True),
        ("1.12.1", True),
        ("v2.0.0", True),
        ("", True),
        ("master", True),
        ("v1.100000.0", True),
    ],
)
def test_since_when_best_effort_volumes_wait_for_their_attach(version, *, expected):
    settings = read_settings({"current-longhorn-version": version})

    assert settings.places_best_effort_at_attach is expected
