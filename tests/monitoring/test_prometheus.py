"""A real Prometheus gets data for every panel, and alerts when there is something wrong."""

import asyncio
from math import isfinite

import pytest

from monitoring.panels import ROWS
from monitoring.rules import ALERTS, Alert
from tests.monitoring.scenario import NOT_PROVOKED, PROVOKED, Recording, record

QUERIES = [
    pytest.param(query, id=f"{panel.title}: {query.legend}")
    for row in ROWS
    for panel in row.panels
    for query in panel.queries
]
BY_NAME = {alert.name: alert for alert in ALERTS}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """What Prometheus told of two minutes of work and trouble."""
    return asyncio.run(record(tmp_path_factory.mktemp("prometheus")))


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_the_dashboard_returns_numbers(query, recording):
    values = [value for series in recording.panels[query] for _, value in series.points]

    assert any(isfinite(value) for value in values)


def test_every_rule_is_evaluated(recording):
    assert recording.unhealthy == {}


def test_every_rule_is_evaluated_with_its_true_durations(recording):
    assert recording.expressions == {alert.alert: "" for alert in ALERTS}


def test_nothing_alerts_while_nothing_is_wrong(recording):
    assert recording.in_quiet == {}


@pytest.mark.parametrize("name", PROVOKED)
def test_an_alert_fires_when_it_is_provoked(name, recording):
    assert BY_NAME[name].alert in recording.fired


def test_every_other_alert_says_why_it_is_not_provoked_here():
    assert {*PROVOKED} | {*NOT_PROVOKED} == {*BY_NAME}
    assert not {*PROVOKED} & {*NOT_PROVOKED}


@pytest.mark.parametrize("name", PROVOKED)
def test_an_alert_says_what_it_is_about(name, recording):
    alert: Alert = BY_NAME[name]
    told = recording.fired[alert.alert]
    texts = [told["annotations"]["summary"], told["annotations"]["description"]]

    assert told["labels"]["severity"] == alert.labels.severity
    assert not [text for text in texts if "<no value>" in text]
    assert "{{" not in "".join(texts)
