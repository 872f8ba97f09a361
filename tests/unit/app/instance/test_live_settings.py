"""Settings that change without a restart: where they come from, and what they may be."""

import pytest

from app.instance.live_settings import LiveSettings, read_live_settings

ENABLED = "scheduler-extender-enabled"
POD = "scheduler-extender-pod-scheduling-timeout"
NODE = "scheduler-extender-node-reservation-timeout"
DEFAULT = LiveSettings(
    enabled=True, pod_scheduling_timeout_seconds=5, node_reservation_timeout_seconds=60
)


@pytest.mark.parametrize(
    ("config_map", "expected"),
    [
        pytest.param({}, DEFAULT, id="nothing"),
        pytest.param({ENABLED: "false"}, LiveSettings(enabled=False), id="one"),
        pytest.param(
            {POD: "7", NODE: "8"},
            LiveSettings(pod_scheduling_timeout_seconds=7, node_reservation_timeout_seconds=8),
            id="two",
        ),
    ],
)
def test_values_come_from_the_config_map(config_map, expected):
    assert read_live_settings(config_map, DEFAULT) == (expected, [])


@pytest.mark.parametrize(
    ("text", "enabled"),
    [
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("1", True),
        ("t", True),
        ("false", False),
        ("False", False),
        ("0", False),
        (" true ", True),
        ("false\n", False),
        ("\tfalse\r\n", False),
        ("tRuE", None),
        ("yes", None),
        ("on", None),
        ("", None),
        ("2", None),
        ("tr ue", None),
        ("null", None),
        ("\uff11", None),
    ],
)
def test_enabled(text, enabled):
    for last in (LiveSettings(enabled=True), LiveSettings(enabled=False)):
        values, problems = read_live_settings({ENABLED: text}, last)

        assert values.enabled is (last.enabled if enabled is None else enabled)
        assert len(problems) == (enabled is None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("5", 5),
        ("600", 600),
        (" 30 ", 30),
        ("30\n", 30),
        ("+30", 30),
        ("007", 7),
        ("601", None),
        ("-1", None),
        ("1.5", None),
        ("5s", None),
        ("1e2", None),
        ("0x10", None),
        ("1_0", None),
        ("5 5", None),
        ("5\n5", None),
        ("", None),
        ("true", None),
        ("٣", None),
        ("²", None),
        ("\uff15", None),
        ("9" * 19, None),
        ("9" * 20_000, None),
        ("nan", None),
        ("inf", None),
    ],
)
@pytest.mark.parametrize(
    ("name", "field"),
    [(POD, "pod_scheduling_timeout_seconds"), (NODE, "node_reservation_timeout_seconds")],
)
def test_seconds(text, seconds, name, field):
    last = LiveSettings(pod_scheduling_timeout_seconds=11, node_reservation_timeout_seconds=11)

    values, problems = read_live_settings({name: text}, last)

    assert getattr(values, field) == (11 if seconds is None else seconds)
    assert len(problems) == (seconds is None)


def test_value_that_is_gone_has_its_default_again():
    last = LiveSettings(enabled=False, pod_scheduling_timeout_seconds=60)

    assert read_live_settings({}, last) == (DEFAULT, [])


def test_problem_with_one_value_leaves_the_others():
    given = {ENABLED: "false", POD: "soon", NODE: "60"}

    values, _ = read_live_settings(given, LiveSettings(pod_scheduling_timeout_seconds=9))

    assert values == LiveSettings(
        enabled=False, pod_scheduling_timeout_seconds=9, node_reservation_timeout_seconds=60
    )


def test_problems_name_the_setting_its_value_and_what_to_use():
    given = {ENABLED: "maybe\nlater", POD: "x" * 500, "enabled": "false", "typo": "1"}

    _, problems = read_live_settings(given, DEFAULT)

    assert len(problems) == 4
    assert all("\n" not in problem and len(problem) < 250 for problem in problems)
    told = "\n".join(problems)
    for part in (
        ENABLED,
        "'maybe\\nlater'",
        "true or false",
        POD,
        "0 to 600",
        "'enabled'",
        "'typo'",
    ):
        assert part in told


def test_problems_are_the_same_whatever_the_order_of_the_data():
    given = {"b": "", "a": "", POD: "?", ENABLED: "?"}
    turned = dict(reversed(given.items()))

    assert read_live_settings(given, DEFAULT) == read_live_settings(turned, DEFAULT)
