"""How long pods wait for their nodes and for their replicas, as the metrics count it."""

from collections.abc import Mapping

import pytest
from prometheus_client import CollectorRegistry

from app.serving.metrics import Metrics
from extender.holds import End
from extender.holds.hold import Ended, Hold, Sighting, advance
from longhorn import NodeName
from tests.builders import hold

HERE = NodeName("node-1")
PREFIX = "longhorn_scheduler_extender_"
CHOSEN = "node_choice_duration_seconds"
NO_NODE, BOUND = (f"pod_scheduling_wait_duration_seconds {each}" for each in ("false", "true"))
NOT_PLACED, PLACED = (f"node_reservation_duration_seconds {each}" for each in ("false", "true"))
NOMINATED, ON_NODE = Sighting(nominated=HERE), Sighting(node=HERE)
OPEN, ONLY = hold(now=100.0), hold(nodes=["node-1"], only_candidate=True, now=100.0)
ROWS: dict[str, tuple[Hold, Mapping[float, Sighting], End, float, Mapping[str, float]]] = {
    # An answer at 100 s, when what is seen of the pod, how and when it ends; the seconds observed.
    "nothing-seen": (OPEN, {}, End.NOT_CHOSEN, 105.0, {NO_NODE: 5}),
    "asked-again": (OPEN, {}, End.REPLACED, 101.0, {NO_NODE: 1}),
    "nominated": (OPEN, {101.0: NOMINATED}, End.UNSCHEDULED, 104.0, {CHOSEN: 1, NO_NODE: 4}),
    "bound-and-placed": (OPEN, {101.0: NOMINATED, 103.0: ON_NODE}, End.CONFIRMED, 106.0,
        {CHOSEN: 1, BOUND: 3, PLACED: 3}),
    "bound-at-once": (OPEN, {102.0: ON_NODE}, End.NOT_PLACED, 109.0,
        {CHOSEN: 2, BOUND: 2, NOT_PLACED: 7}),
    # Longhorn places nothing before the pod is bound, even if that is heard of later.
    "placed-before-the-binding-is-seen":
        (OPEN, {101.0: NOMINATED}, End.CONFIRMED, 104.0, {CHOSEN: 1, BOUND: 4}),
    "only-candidate": (ONLY, {101.0: NOMINATED}, End.POD_GONE, 104.0, {NO_NODE: 4}),
    "bound-twice": (OPEN, {101.0: ON_NODE, 102.0: ON_NODE}, End.POD_GONE, 104.0,
        {CHOSEN: 1, BOUND: 1, NOT_PLACED: 3}),
}  # fmt: skip


def observed(metrics: Metrics) -> dict[str, float]:
    """Return the sum of what was observed once, by the name and the label of the metric."""
    counts, sums = dict[str, float](), dict[str, float]()
    for sample in (each for family in metrics.registry.collect() for each in family.samples):
        for kind, values in (("_count", counts), ("_sum", sums)):
            if sample.name.endswith(f"duration_seconds{kind}"):
                name = sample.name.removeprefix(PREFIX).removesuffix(kind)
                values[" ".join([name, *sample.labels.values()])] = sample.value
    assert {*counts.values()} <= {0, 1}
    return {name: sums[name] for name, count in counts.items() if count}


@pytest.mark.parametrize("row", ROWS)
def test_parts_of_the_wait_of_a_pod(row):
    before, sightings, why, at, expected = ROWS[row]
    metrics = Metrics(CollectorRegistry(), version="1")

    for now, sighting in sightings.items():
        after = advance(before, sighting, now)
        assert isinstance(after, Hold)
        metrics.count_choice(before, after, now)
        before = after
    metrics.count_end(Ended(hold=before, why=why, at=at))

    assert observed(metrics) == expected
    ended = f"{PREFIX}holds_ended_total"
    assert metrics.registry.get_sample_value(ended, {"cause": why}) == 1
