"""The three steps: filter, prioritize, select."""

from copy import deepcopy
from random import Random

import pytest

from extender.kubernetes import ClaimKey
from planner.engine import Scheduler
from planner.policy import SEED_POLICY, TODAY_POLICY
from planner.priorities import PRIORITIES, label_preference, service_anti_affinity
from planner.records import Taint
from tests.builders import GIB, claim, disk, storage_class
from tests.builders import node as longhorn_node
from tests.unit.planner.scheduling import (
    cluster,
    labelled,
    node,
    pod,
    policy,
    schedule,
    scores,
    service,
    web,
)

THREE = [node("a"), node("b"), node("c")]
A = THREE[0].name
FULL = node("full", {"cpu": 0, "memory": 0, "pods": 0})


def test_a_pod_gets_its_node_in_three_steps():
    where = cluster(labelled(a={}, b={"fast": "yes"}, c={"zone": "z"}))
    rules = policy(
        [
            {
                "name": "NoZone",
                "argument": {"labelsPresence": {"labels": ["zone"], "presence": False}},
            }
        ],
        [{"name": "Fast", "weight": 1, "argument": {"labelPreference": {"label": "fast"}}}],
    )

    found = schedule(rules, pod(), where)

    assert [*found.refusals] == ["c"]
    assert found.scores == {"a": 0, "b": 10}
    assert found.node == "b"


def test_a_node_must_pass_every_predicate():
    where = cluster(
        [node("a"), node("b", labels={"zone": "z"}), FULL, node("d", labels={"zone": "z"})],
        pod("other", on="d", requests={"cpu": 4000}),
    )
    asked = pod(node_selector={"zone": "z"}, requests={"cpu": 1})

    found = schedule(policy(["PodFitsResources", "MatchNodeSelector"]), asked, where)

    assert {name: why.code for name, why in found.refusals.items()} == {
        "full": "too_many_pods",
        "d": "insufficient_resources",
        "a": "node_selector",
    }
    assert found.node == "b"


def test_scheduling_changes_neither_pod_nor_cluster():
    where = cluster(THREE, web("first", on="a"), services=[service()])
    asked = web("second", requests={"cpu": 100})
    before = deepcopy((asked, where.nodes, where.pods, where.requested(A)))

    schedule(TODAY_POLICY, asked, where)

    assert (asked, where.nodes, where.pods, where.requested(A)) == before


@pytest.mark.parametrize(
    "priority",
    [
        *PRIORITIES.values(),
        service_anti_affinity("zone"),
        label_preference("zone", presence=True),
    ],
)
@pytest.mark.parametrize("cpu", [0, 500, 4000, 100_000])
def test_scores_are_from_0_to_10(priority, cpu):
    nodes = [*labelled(a={"zone": "z"}, b={"kubernetes.io/hostname": "b"}), FULL, node("bare", {})]
    taint = Taint(key="old", value="", effect="PreferNoSchedule")
    where = cluster(
        [*nodes, node("tainted", taints=(taint,))],
        *(web(f"{name}-{i}", on=name, requests={"cpu": 900}) for name in "ab" for i in range(5)),
        services=[service()],
    )

    found = scores(priority, web("new", requests={"cpu": cpu}), where)

    assert sorted(found) == ["a", "b", "bare", "full", "tainted"]
    assert all(0 <= each <= 10 for each in found.values())


def test_scores_are_multiplied_by_weights_and_added():
    where = cluster(labelled(a={"fast": "1"}, b={"fast": "1", "big": "1"}))
    rules = policy(
        [],
        [
            {"name": "Fast", "weight": 3, "argument": {"labelPreference": {"label": "fast"}}},
            {"name": "Big", "weight": 2, "argument": {"labelPreference": {"label": "big"}}},
            {"name": "EqualPriority", "weight": 7},
        ],
    )

    found = schedule(rules, pod(), where)

    assert found.scores == {"a": 3 * 10 + 7, "b": 3 * 10 + 2 * 10 + 7}


@pytest.mark.parametrize(("fast", "big", "node"), [(1, 2, "b"), (2, 1, "a")])
def test_a_higher_weight_makes_a_priority_more_important(fast, big, node):
    where = cluster(labelled(a={"fast": "1"}, b={"big": "1"}))
    rules = policy(
        [],
        [
            {"name": "Fast", "weight": fast, "argument": {"labelPreference": {"label": "fast"}}},
            {"name": "Big", "weight": big, "argument": {"labelPreference": {"label": "big"}}},
        ],
    )

    assert schedule(rules, pod(), where).node == node


def test_the_default_weight_is_1():
    assert {each.weight for each in SEED_POLICY.priorities} == {1}


def test_the_node_with_the_highest_score_is_chosen():
    where = cluster(
        THREE,
        pod("one", on="a", requests={"cpu": 2000, "memory": 4 * GIB}),
        pod("two", on="c", requests={"cpu": 1000, "memory": 2 * GIB}),
    )
    rules = policy([], ["LeastRequestedPriority"])

    found = schedule(rules, pod(), where)

    assert found.scores == {"a": 5, "b": 10, "c": 7}
    assert found.node == "b"


def test_one_of_equal_nodes_is_chosen_at_random_by_the_seed():
    where = cluster(THREE)
    scheduler = Scheduler(SEED_POLICY, Random(1))

    chosen = [scheduler.schedule(pod(), where).node for _ in range(300)]
    again = Scheduler(SEED_POLICY, Random(1))

    assert [again.schedule(pod(), where).node for _ in range(300)] == chosen
    assert all(70 < chosen.count(each.name) < 130 for each in THREE)


def test_the_choice_does_not_hang_on_the_order_of_nodes():
    one, other = cluster(THREE), cluster(reversed(THREE))

    for seed in range(20):
        found = [schedule(TODAY_POLICY, pod(), where, seed) for where in (one, other)]
        assert found[0].node == found[1].node
        assert found[0].scores == found[1].scores


def test_a_pod_that_no_node_fits_gets_none():
    found = schedule(SEED_POLICY, pod(requests={"cpu": 4001}), cluster(THREE))

    assert found.node is None
    assert found.scores == {}
    assert {why.text for why in found.refusals.values()} == {
        "too little cpu is left for what the pod asks"
    }


def test_without_nodes_a_pod_gets_none():
    assert schedule(TODAY_POLICY, pod(), cluster([])).node is None


def test_without_priorities_all_nodes_have_one_point():
    assert schedule(policy(), pod(), cluster(THREE)).scores == {"a": 1, "b": 1, "c": 1}


def test_the_extender_is_asked_last_about_the_nodes_that_are_left():
    small, large = (disk(maximum_bytes=size * GIB) for size in (5, 100))
    where = cluster(
        [*THREE, node("cordoned", cordoned=True)],
        records=[
            longhorn_node("a", small),
            longhorn_node("b", large),
            longhorn_node("cordoned", large),
            claim("data", size_bytes=10 * GIB),
            storage_class("local"),
        ],
    )
    rules = policy(["LonghornFit", "CheckNodeUnschedulable"], ["LonghornScore"])

    found = schedule(rules, pod(claims=["data"]), where)

    assert {name: (why.code, why.text) for name, why in found.refusals.items()} == {
        "cordoned": ("node_cordoned", "Kubernetes node is cordoned"),
        "a": (
            "insufficient_storage",
            "no disk of the Longhorn node has room for a volume of 10 GiB",
        ),
        "c": ("unknown_node", "no Longhorn node of this name"),
    }
    assert found.node == "b"
    assert found.answer is not None
    assert found.answer.accepted == ["b"]
    assert {*found.answer.rejected} == {"a", "c"}


def test_the_extenders_scores_count_as_kube_scheduler_gets_them():
    where = cluster(
        THREE[:2],
        records=[
            longhorn_node("a", disk(maximum_bytes=50 * GIB)),
            longhorn_node("b", disk(maximum_bytes=500 * GIB)),
            claim("data", size_bytes=10 * GIB),
            storage_class("local"),
        ],
    )
    asked = pod(claims=["data"])

    found = schedule(policy([], ["LonghornScore"]), asked, where)

    totals = where.scores(asked, [*where.nodes])
    assert found.scores == {name: each.total for name, each in totals.items()}
    assert found.node == "b"


def test_a_claim_that_leads_nowhere_refuses_all_nodes_with_the_text():
    where = cluster(THREE[:2])
    key = ClaimKey("default/data")

    found = schedule(TODAY_POLICY, pod(claims=["data"]), where)

    assert found.node is None
    assert found.answer is None
    assert {why.code for why in found.refusals.values()} == {"object_not_found"}
    assert all(key in why.text for why in found.refusals.values())


def test_a_claim_that_leads_nowhere_scores_no_node():
    found = schedule(policy([], ["LonghornScore"]), pod(claims=["data"]), cluster(THREE[:2]))

    assert found.scores == {"a": 0, "b": 0}
