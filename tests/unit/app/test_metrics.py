"""Every metric is there from the start, with all its labels."""

from collections import Counter

import pytest
from prometheus_client import CollectorRegistry

from app.disk_schedule.metrics import ControllerMetrics, DiskFigures
from app.serving.metrics import OUTCOMES, Metrics, outcome_of
from extender import Answer, Basis, Rejection
from extender.demand.requests import PodRequest
from extender.verdicts import REASONS
from longhorn import NodeName
from tests.builders import pod, view_of

PREFIX = "longhorn_scheduler_extender_"


class Full(Rejection, frozen=True):
    reason = "insufficient_storage"


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(CollectorRegistry(), version="1.2.3")


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
        view=view_of(),
        basis=basis,
        candidates=[NodeName(name) for name in (*accepted, *rejected)],
        accepted=[NodeName(name) for name in accepted],
        rejected={NodeName(name): Full() for name in rejected},
        steps=7,
    )


def test_every_help_is_a_sentence(metrics):
    assert [f.name for f in metrics.registry.collect() if not f.documentation.endswith(".")] == []


STARTS: dict[str, dict[str, int]] = {
    "build_info": {"1.2.3": 1},
    "rejections_total": dict.fromkeys(REASONS, 0),
    "prioritizations_total": dict.fromkeys(("scored", "error", "unavailable", "bad_request"), 0),
    "attached_bytes_total": {"local": 0, "remote": 0},
}


@pytest.mark.parametrize(("name", "values"), STARTS.items(), ids=STARTS)
def test_metric_has_all_its_labels_from_the_start(metrics, name, values):
    assert labelled(metrics, name) == values


RESULTS = {
    "nothing_local": decision(Basis.NOTHING_LOCAL, "a"),
    "replicas": decision(Basis.REPLICAS, "a", rejected=("b",)),
    "fits": decision(Basis.PLACEMENT, "a", rejected=("b",)),
    "does_not_fit": decision(Basis.PLACEMENT, rejected=("b",)),
}


@pytest.mark.parametrize(("outcome", "result"), RESULTS.items(), ids=RESULTS)
def test_outcome_of_a_decision(outcome, result):
    assert outcome_of(result) == outcome


def test_decision_is_counted_with_its_rejections(metrics):
    result = decision(Basis.PLACEMENT, "a", rejected=("b", "c"))

    metrics.count_result(result, Counter({"insufficient_storage": 2}))
    metrics.count_failure("error")

    zeros = dict.fromkeys(OUTCOMES, 0)
    assert labelled(metrics, "decisions_total") == {**zeros, "fits": 1, "error": 1}
    assert labelled(metrics, "rejections_total")["insufficient_storage"] == 2
    assert metrics.registry.get_sample_value(f"{PREFIX}candidates_sum") == 3
    assert metrics.registry.get_sample_value(f"{PREFIX}packing_steps_sum") == 7


def test_counts_of_the_controller_begin_at_zero():
    registry = CollectorRegistry()
    ControllerMetrics(registry, version="1")

    values = {
        (sample.name.removeprefix(f"{PREFIX}disk_schedule_"), *sample.labels.values()): sample.value
        for family in registry.collect()
        for sample in family.samples
    }

    assert values["passes_total", "conflict"] == 0
    assert values["refusals_total", "too_large"] == 0
    assert values["changes_total", "granted"] == 0
    assert ("changes_total", "refused") not in values  # counted by reason


def test_disks_are_shown_as_they_are_at_the_scrape():
    registry = CollectorRegistry()
    metrics = ControllerMetrics(registry, version="1")
    figures = [DiskFigures("node-1", "uuid-1", 7, None, 2)]
    metrics.show_disks(lambda: figures)
    labels = {"node": "node-1", "disk": "uuid-1"}

    def shown(name: str) -> float | None:
        return registry.get_sample_value(f"{PREFIX}disk_schedule_{name}", labels)

    assert [shown(name) for name in ("held_bytes", "limit_bytes", "refused")] == [7, None, 2]
    figures.clear()
    assert shown("held_bytes") is None
