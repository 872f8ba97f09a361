"""Settings that change without a restart: where they come from, and what they may be."""

import pytest

from app.instance.live_settings import LiveSettings, read_live_settings

ENABLED = "scheduler-extender-enabled"
POD = "scheduler-extender-pod-scheduling-timeout"
NODE = "scheduler-extender-node-reservation-timeout"
DEFAULT = LiveSettings(
    enabled=True, pod_scheduling_timeout_seconds=5, node_reservation_timeout_seconds=60
)


TWO = LiveSettings(pod_scheduling_timeout_seconds=7, node_reservation_timeout_seconds=8)
GIVEN: dict[str, tuple[dict[str, str], LiveSettings]] = {
    "nothing": ({}, DEFAULT),
    "one": ({ENABLED: "false"}, LiveSettings(enabled=False)),
    "two": ({POD: "7", NODE: "8"}, TWO),
}


@pytest.mark.parametrize("last", [DEFAULT, LiveSettings(enabled=False), TWO], ids=repr)
@pytest.mark.parametrize(("config_map", "expected"), GIVEN.values(), ids=GIVEN)
def test_values_come_from_the_config_map_and_have_their_defaults_without(
    config_map, expected, last
):
    assert read_live_settings(config_map, last) == (expected, [])


BOOLEANS = {
    True: ["true", "True", "TRUE", "1", "t", " true "],
    False: ["false", "False", "0", "false\n", "\tfalse\r\n"],
    None: ["tRuE", "yes", "on", "", "2", "tr ue", "null", "\uff11"],
}


@pytest.mark.parametrize(
    ("text", "enabled"), [(text, enabled) for enabled, texts in BOOLEANS.items() for text in texts]
)
def test_enabled_is_a_boolean_of_go(text, enabled):
    for last in (True, False):
        values, problems = read_live_settings({ENABLED: text}, LiveSettings(enabled=last))

        assert values.enabled is (last if enabled is None else enabled)
        assert len(problems) == (enabled is None)


SECONDS = {"0": 0, "5": 5, "600": 600, " 30 ": 30, "30\n": 30, "+30": 30, "007": 7}
NO_SECONDS = ["601", "-1", "1.5", "5s", "1e2", "0x10", "1_0", "5 5", "5\n5", "", "true", "٣", "²"]
NO_SECONDS += ["\uff15", "9" * 19, "9" * 20_000, "nan", "inf"]


@pytest.mark.parametrize(
    ("text", "seconds"), [*SECONDS.items(), *((text, None) for text in NO_SECONDS)]
)
@pytest.mark.parametrize(
    ("name", "field"),
    [(POD, "pod_scheduling_timeout_seconds"), (NODE, "node_reservation_timeout_seconds")],
)
def test_seconds_are_a_whole_number_up_to_600(text, seconds, name, field):
    last = LiveSettings(pod_scheduling_timeout_seconds=11, node_reservation_timeout_seconds=11)

    values, problems = read_live_settings({name: text}, last)

    assert getattr(values, field) == (11 if seconds is None else seconds)
    assert len(problems) == (seconds is None)


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
        r"'maybe\nlater'",
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
