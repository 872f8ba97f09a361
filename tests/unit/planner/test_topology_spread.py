"""Topology spread constraints: which nodes they leave out, and how they score the others.

Nodes a and b are in zone x, c in y and d in z; the constraints are those of kube-scheduler's
documentation.
"""

from typing import Any

import pytest

from extender import NodeTerm, Requirement
from longhorn import NodeName
from planner.cluster import Cluster
from planner.policy import TODAY_POLICY
from planner.predicates import PREDICATES
from planner.priorities import PRIORITIES
from planner.records import KubernetesNode, Pod, Selector, Spread, Taint, Toleration
from tests.unit.planner.scheduling import (
    cluster,
    labelled,
    node,
    refused,
    schedule,
    scores,
    service,
    web,
)

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = Selector(labels={"app": "web"})
IN_X_OR_Y = (NodeTerm(labels=(Requirement(key=ZONE, operator="In", values=("x", "y")),)),)
FULL = f"by maxSkew 1 over {ZONE}, no pod more may come to its domain now"


def nodes(**taints: Taint) -> list[KubernetesNode]:
    """Build the four nodes, with a taint where one is given."""
    zones = {"a": "x", "b": "x", "c": "y", "d": "z"}
    return [
        node(
            name,
            labels={HOST: name, ZONE: zone},
            taints=(taints[name],) if name in taints else (),
        )
        for name, zone in zones.items()
    ]


def on(names: str, **wishes: Any) -> list[Pod]:
    """Build a pod of the service for each letter, on the node of that name."""
    return [web(f"{number}-{name}", on=name, **wishes) for number, name in enumerate(names)]


def spread(key: str = ZONE, skew: int = 1, **fields: Any) -> Spread:
    return Spread(topology_key=key, max_skew=skew, **{"selector": WEB, **fields})


def left_out(asked: Pod, where: Cluster) -> str:
    """Return the names of the nodes that are refused."""
    return "".join(sorted(refused(PREDICATES["PodTopologySpread"], asked, where)))


@pytest.mark.parametrize(
    ("there", "constraint", "names"),
    [
        pytest.param("", spread(), "", id="the-first-may-go-anywhere"),
        pytest.param("a", spread(), "ab", id="the-domain-with-more-is-left-out"),
        pytest.param("ac", spread(), "abc", id="one-domain-is-emptier"),
        pytest.param("acd", spread(), "", id="all-have-one"),
        pytest.param("aacd", spread(), "ab", id="one-has-two"),
        pytest.param("aa", spread(skew=2), "ab", id="max-skew-2"),
        pytest.param("a", spread(skew=2), "", id="below-max-skew-2"),
        pytest.param("a", spread(HOST), "a", id="each-node-is-a-domain"),
        pytest.param("acd", spread(least_domains=3), "", id="as-many-domains-as-min-domains"),
        pytest.param("acd", spread(least_domains=4), "abcd", id="fewer-domains-than-min-domains"),
        pytest.param("aaa", spread(selector=None), "", id="no-selector-counts-no-pod"),
        pytest.param("aaa", spread(selector=Selector()), "", id="nor-does-one-that-takes-all"),
        pytest.param("aa", spread(is_required=False), "", id="a-soft-one-leaves-no-node-out"),
        pytest.param("", spread("rack"), "abcd", id="a-node-without-the-label-is-in-no-domain"),
    ],
)
def test_do_not_schedule_leaves_domains_out(there: str, constraint: Spread, names: str) -> None:
    where = cluster(nodes(), *on(there))

    assert left_out(web("new", spreads=(constraint,)), where) == names


def test_a_pod_that_its_own_constraint_does_not_select_adds_nothing() -> None:
    other = Selector(labels={"app": "db"})
    where = cluster(nodes(), *(pod for pod in on("a", labels={"app": "db"})))

    assert left_out(web("new", spreads=(spread(selector=other),)), where) == ""
    assert left_out(web("new", spreads=(spread(selector=WEB),)), where) == ""
    both = spread(selector=Selector(requirements=(Requirement(key="app", operator="Exists"),)))
    assert left_out(web("new", spreads=(both,)), where) == "ab"


def test_only_pods_of_the_namespace_count_that_are_not_being_deleted() -> None:
    elsewhere = on("a", namespace="other")
    where = cluster(nodes(), *elsewhere, *on("c", deleting=True))

    assert left_out(web("new", spreads=(spread(),)), where) == ""


@pytest.mark.parametrize(
    ("there", "wishes", "constraint", "names"),
    [
        pytest.param("a", {"node_selector": {ZONE: "x"}}, spread(), "", id="node-selector-honored"),
        pytest.param("ac", {"terms": IN_X_OR_Y}, spread(), "", id="node-affinity-honored"),
        pytest.param(
            "ac",
            {"terms": IN_X_OR_Y},
            spread(only_allowed=False),
            "abc",
            id="node-affinity-ignored",
        ),
        pytest.param("ac", {}, spread(), "abc", id="taints-ignored"),
        pytest.param("ac", {}, spread(only_tolerated=True), "", id="taints-honored"),
        pytest.param(
            "ac",
            {"tolerations": (Toleration(operator="Exists"),)},
            spread(only_tolerated=True),
            "abc",
            id="a-taint-that-is-tolerated",
        ),
    ],
)
def test_which_domains_count_where_no_pod_may_go(
    there: str, wishes: dict[str, Any], constraint: Spread, names: str
) -> None:
    """Zone z has no pod, and one node with a taint: while it counts, all others wait for it."""
    where = cluster(nodes(d=Taint(key="t", value="", effect="NoSchedule")), *on(there))

    assert left_out(web("new", spreads=(constraint,), **wishes), where) == names


def test_a_cordoned_zone_counts_as_the_emptiest() -> None:
    tainted = Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule")
    where = cluster(nodes(d=tainted), *on("ac"))

    assert refused(PREDICATES["PodTopologySpread"], web("new", spreads=(spread(),)), where) == {
        "a": FULL,
        "b": FULL,
        "c": FULL,
    }


def test_all_constraints_are_to_be_met_and_nodes_count_that_have_all_labels() -> None:
    where = cluster([*nodes(), *labelled(e={ZONE: "z"})], *on("ace"))
    asked = web("new", spreads=(spread(), spread(HOST)))

    found = refused(PREDICATES["PodTopologySpread"], asked, where)

    # The pod on e is in no domain of nodes, so zone z counts as empty, and only d is left.
    assert sorted(found) == ["a", "b", "c", "e"]
    assert found["e"] == f"it lacks label {HOST} of a topology spread"


def test_pods_that_come_and_go_are_counted() -> None:
    where = cluster(nodes(), *on("ac"))
    asked = web("new", spreads=(spread(),))
    assert left_out(asked, where) == "abc"

    where.put_pod(web("more", on="d"))
    assert left_out(asked, where) == ""
    where.remove_pod("default/0-a")
    assert left_out(asked, where) == "cd"
    where.remove_node(NodeName("b"))
    where.remove_node(NodeName("a"))
    assert left_out(asked, where) == ""


def test_schedule_anyway_favours_domains_with_fewer_pods() -> None:
    where = cluster(nodes(), *on("aac"))

    found = scores(
        PRIORITIES["PodTopologySpread"], web("new", spreads=(spread(is_required=False),)), where
    )

    # costs: log(5) a pod: a and b 3, c 2, d 0
    assert found == {"a": 0, "b": 0, "c": 3.3, "d": 10}


def test_max_skew_of_schedule_anyway_waters_differences_down() -> None:
    where = cluster(nodes(), *on("aac"))
    asked = web("new", spreads=(spread(skew=4, is_required=False),))

    # costs: log(5) a pod and 3: a and b 6, c 5, d 3
    assert scores(PRIORITIES["PodTopologySpread"], asked, where) == {
        "a": 5,
        "b": 5,
        "c": 6.6,
        "d": 10,
    }


def test_nodes_count_by_themselves_for_the_label_of_their_names() -> None:
    where = cluster(nodes(), *on("aac"))
    asked = web("new", spreads=(spread(HOST, is_required=False),))

    # costs: log(6) a pod: a 4, c 2
    assert scores(PRIORITIES["PodTopologySpread"], asked, where) == {
        "a": 0,
        "b": 10,
        "c": 5,
        "d": 10,
    }


def test_a_node_that_lacks_a_label_of_schedule_anyway_has_no_score() -> None:
    where = cluster([*nodes(), *labelled(e={HOST: "e"})], *on("a"))
    asked = web("new", spreads=(spread(is_required=False),))

    found = scores(PRIORITIES["PodTopologySpread"], asked, where)

    assert (found["e"], found["d"]) == (0, 10)


def test_a_pod_with_constraints_is_not_spread_by_default() -> None:
    where = cluster(nodes(), *on("a"), services=[service()])

    default = scores(PRIORITIES["PodTopologySpread"], web("new"), where)
    own = scores(PRIORITIES["PodTopologySpread"], web("new", spreads=(spread(),)), where)

    assert default["a"] < default["d"]
    assert {*own.values()} == {0}


def test_the_policy_of_today_keeps_to_constraints() -> None:
    where = cluster(nodes(), *on("ac"))

    decision = schedule(TODAY_POLICY, web("new", spreads=(spread(),)), where)

    assert decision.node == "d"
    assert {each.code for each in decision.refusals.values()} == {"topology_spread"}
