"""Every metric is there from the start, with all its labels."""

from collections import Counter

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from app.metrics import OUTCOMES, Metrics, outcome_of
from extender import REASONS, Answer, Basis, Rejection
from extender.demand.requests import PodRequest
from longhorn import NodeName
from tests.builders import pod

PREFIX = "longhorn_scheduler_extender_"


class Full(Rejection, frozen=True):
    reason = "insufficient_storage"


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(CollectorRegistry(), version="1.2.3")


def families(metrics: Metrics) -> dict[str, Metric]:
    return {family.name: family for family in metrics.registry.collect()}


def labelled(metrics: Metrics, name: str) -> dict[str, float]:
    return {
        next(iter(sample.labels.values())): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == PREFIX + name
    }


def decision(basis: Basis, *accepted: str, rejected: tuple[str, ...] = ()) -> Answer:
    return Answer(
        request=PodRequest(pod=pod(), volumes=()),
        basis=basis,
        accepted=[NodeName(name) for name in accepted],
        rejected={NodeName(name): Full() for name in rejected},
        steps=7,
    )


def test_all_metrics_are_there(metrics: Metrics) -> None:
    assert {family.name: family.type for family in metrics.registry.collect()} == {
        f"{PREFIX}filter_duration_seconds": "histogram",
        f"{PREFIX}decisions": "counter",
        f"{PREFIX}rejections": "counter",
        f"{PREFIX}requests_in_flight": "gauge",
        f"{PREFIX}request_bytes": "histogram",
        f"{PREFIX}candidates": "histogram",
        f"{PREFIX}packing_steps": "histogram",
        f"{PREFIX}heartbeat": "gauge",
        f"{PREFIX}leader_transitions": "counter",
        f"{PREFIX}objects": "gauge",
        f"{PREFIX}unreadable_objects": "gauge",
        f"{PREFIX}view_age_seconds": "gauge",
        f"{PREFIX}watch_restarts": "counter",
        f"{PREFIX}settings_errors": "counter",
        f"{PREFIX}pod_scheduling_wait_duration_seconds": "histogram",
        f"{PREFIX}node_reservation_duration_seconds": "histogram",
        f"{PREFIX}node_choice_duration_seconds": "histogram",
        f"{PREFIX}holds": "gauge",
        f"{PREFIX}holds_ended": "counter",
        f"{PREFIX}filter_waiting": "gauge",
        f"{PREFIX}filter_wait_duration_seconds": "histogram",
        f"{PREFIX}waiting_pods": "gauge",
        f"{PREFIX}longest_wait_seconds": "gauge",
        f"{PREFIX}wake_ups": "counter",
        f"{PREFIX}connections": "gauge",
        f"{PREFIX}connections_ended": "counter",
        f"{PREFIX}tls_reloads": "counter",
        f"{PREFIX}build_info": "gauge",
    }


def test_every_help_is_a_sentence(metrics: Metrics) -> None:
    assert [f.name for f in families(metrics).values() if not f.documentation.endswith(".")] == []


def test_an_attribute_has_the_name_of_its_metric(metrics: Metrics) -> None:
    attributes = {name for name in vars(metrics) if not name.startswith("_")} - {"registry"}
    names = {
        family.name.removeprefix(PREFIX) + ("_total" if family.type == "counter" else "")
        for family in families(metrics).values()
    }

    assert attributes == names - {"build_info"}


def test_every_outcome_begins_at_zero(metrics: Metrics) -> None:
    assert labelled(metrics, "decisions_total") == dict.fromkeys(
        [
            "nothing_local",
            "replicas",
            "fits",
            "does_not_fit",
            "error",
            "unavailable",
            "bad_request",
        ],
        0,
    )


def test_every_reason_begins_at_zero(metrics: Metrics) -> None:
    assert labelled(metrics, "rejections_total") == dict.fromkeys(REASONS, 0)


def test_the_version_is_a_label(metrics: Metrics) -> None:
    assert labelled(metrics, "build_info") == {"1.2.3": 1}


def test_durations_are_told_apart_from_a_tenth_of_a_millisecond_to_ten_seconds(
    metrics: Metrics,
) -> None:
    bounds = [
        sample.labels["le"]
        for sample in families(metrics)[f"{PREFIX}filter_duration_seconds"].samples
        if sample.name.endswith("_bucket")
    ]

    assert (bounds[0], bounds[-2:]) == ("0.0001", ["10.0", "+Inf"])


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        pytest.param(decision(Basis.NOTHING_LOCAL, "a"), "nothing_local", id="nothing-local"),
        pytest.param(decision(Basis.REPLICAS, "a", rejected=("b",)), "replicas", id="replicas"),
        pytest.param(decision(Basis.PLACEMENT, "a", rejected=("b",)), "fits", id="fits"),
        pytest.param(decision(Basis.PLACEMENT, rejected=("b",)), "does_not_fit", id="rejected"),
        pytest.param(decision(Basis.PLACEMENT), "does_not_fit", id="no-candidates"),
    ],
)
def test_the_outcome_of_a_decision(result: Answer, outcome: str) -> None:
    assert outcome_of(result) == outcome


def test_no_outcome_is_outside_the_closed_set() -> None:
    made = {
        outcome_of(decision(basis, *accepted))
        for basis in Basis
        for accepted in ((), (NodeName("a"),))
    }

    assert made | {"error", "unavailable", "bad_request"} == set(OUTCOMES)


def test_a_decision_is_counted_with_its_rejections(metrics: Metrics) -> None:
    result = decision(Basis.PLACEMENT, "a", rejected=("b", "c"))

    metrics.count_result(result, Counter({"insufficient_storage": 2}))

    assert (
        labelled(metrics, "decisions_total")["fits"],
        labelled(metrics, "rejections_total")["insufficient_storage"],
        metrics.registry.get_sample_value(f"{PREFIX}candidates_sum"),
        metrics.registry.get_sample_value(f"{PREFIX}packing_steps_sum"),
    ) == (1, 2, 3, 7)


def test_a_failure_is_counted(metrics: Metrics) -> None:
    metrics.count_failure("error")

    assert labelled(metrics, "decisions_total")["error"] == 1
