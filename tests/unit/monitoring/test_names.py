"""Dashboard and alerts name metrics, labels and values that the service has."""

import re

import pytest
from prometheus_client import CollectorRegistry, ProcessCollector

from app.config import CONTROLLER_NAME, NAME
from app.disk_schedule.metrics import ControllerMetrics, DiskFigures
from app.instance.room import Room, show_room
from app.kube.reflector import CAUSES
from app.serving.metrics import Metrics
from app.settings import Settings
from extender.holds import End, State
from monitoring.panels import NAMESPACE, ROWS, Query
from monitoring.rules import ALERTS
from monitoring.series import (
    CONTROLLER_JOB,
    FILTER_SECONDS_LIMIT,
    JOB,
    LONGHORN_DISKS,
    PREFIX,
)
from tests.unit.manifests.rendered import MANIFESTS
from tests.unit.monitoring.promql import grouping_labels, selectors

ADDED = {"namespace", "pod", "job"}
"""Labels that Prometheus adds to what it scrapes."""
QUERIES = [
    pytest.param(query, id=f"{panel.title}: {query.legend}")
    for row in ROWS
    for panel in row.panels
    for query in panel.queries
]
RULES = [pytest.param(Query(alert.expr, ""), id=alert.name) for alert in ALERTS]


def known() -> dict[str, dict[str, set[str]]]:
    """Return the values of each label by metric, of a service that leads."""
    registry = CollectorRegistry()
    metrics = Metrics(registry, version="1")
    metrics.heartbeat.labels("node-1")
    for state in State:
        metrics.holds.labels(state)
    for gauge in (metrics.objects, metrics.unreadable_objects, metrics.view_age_seconds):
        gauge.labels("pods")
    for cause in CAUSES:
        metrics.watch_restarts_total.labels("pods", cause)
    show_room(registry, lambda: {"filesystem": Room(1, 1, 1)})
    controller = ControllerMetrics(registry, version="1")
    controller.heartbeat.labels("node-1")
    controller.show_disks(lambda: [DiskFigures("node-1", "uuid-1", 1, 2, 0)])
    ProcessCollector(registry=registry)
    found: dict[str, dict[str, set[str]]] = {"up": {}}
    found |= {name: {"node": set(), "disk": set()} for name in LONGHORN_DISKS}
    for family in registry.collect():
        for sample in family.samples:
            values = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                values.setdefault(label, set()).add(value)
    return found


KNOWN = known()


@pytest.mark.parametrize("query", [*QUERIES, *RULES])
def test_metrics_exist(query):
    assert {each.metric for each in selectors(query.expr)} <= {*KNOWN}


@pytest.mark.parametrize("query", [*QUERIES, *RULES])
def test_every_name_in_an_expression_is_checked(query):
    assert len(selectors(query.expr)) >= max(1, query.expr.count(PREFIX))


@pytest.mark.parametrize("query", [*QUERIES, *RULES])
def test_values_of_labels_exist(query):
    for metric, matchers in selectors(query.expr):
        for label, operator, text in matchers:
            if label not in ADDED:
                values = text.split("|") if "~" in operator else [text]
                assert {*values} <= KNOWN[metric][label], (metric, label)


@pytest.mark.parametrize("query", [*QUERIES, *RULES])
def test_labels_that_are_kept_exist(query):
    labels = {label for each in selectors(query.expr) for label in KNOWN[each.metric]}

    assert grouping_labels(query.expr) <= labels | ADDED


@pytest.mark.parametrize("query", QUERIES)
def test_a_legend_names_labels_that_the_series_have(query):
    named = {*re.findall(r"\{\{(\w+)\}\}", query.legend)}

    assert named <= grouping_labels(query.expr)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_asks_for_one_namespace(query):
    for each in selectors(query.expr):
        assert ("namespace", "=", NAMESPACE) in each.matchers


@pytest.mark.parametrize("query", RULES)
def test_targets_of_others_do_not_alert(query):
    for each in selectors(query.expr):
        jobs = {("job", "=", JOB), ("job", "=", CONTROLLER_JOB)}
        is_of_one_kind = each.metric.startswith(PREFIX) or each.metric in LONGHORN_DISKS
        assert is_of_one_kind or jobs & {*each.matchers}


def test_jobs_are_named_as_the_pods_are():
    assert (JOB, CONTROLLER_JOB) == (NAME, CONTROLLER_NAME)


def test_holds_that_ran_out_are_those_of_the_service():
    [alert] = [alert for alert in ALERTS if alert.name == "HoldsExpire"]
    causes = {*re.findall(r'cause=~"([^"]*)"', alert.expr)}

    assert causes == {"|".join([*End][-3:])}  # as the help of the metric says


def test_slow_is_half_of_the_timeout_of_kube_scheduler():
    files = [*MANIFESTS.glob("scheduler/*.yaml")]
    timeouts = {
        float(found)
        for file in files
        for found in re.findall(r"httpTimeout: (\d+)s", file.read_text(encoding="utf-8"))
    }

    assert timeouts == {2 * FILTER_SECONDS_LIMIT}


def test_slow_is_the_bound_of_a_bucket():
    bounds = KNOWN[f"{PREFIX}filter_duration_seconds_bucket"]["le"]

    assert str(FILTER_SECONDS_LIMIT) in bounds


def test_a_view_is_stale_when_the_service_says_so():
    [stale] = [alert for alert in ALERTS if alert.name == "ViewStale"]

    assert stale.expr.endswith(f" > {Settings().view_age_limit_seconds:g}")
