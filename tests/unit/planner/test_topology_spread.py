"""Topology spread constraints: which nodes they leave out, and how they score the others.

Nodes a and b are in zone x, c in y and d in z; the constraints are those of kube-scheduler's
documentation.
"""

from typing import Any

from longhorn import NodeName
from planner.cluster import Cluster
from planner.policy import TODAY_POLICY
from planner.predicates import PREDICATES
from planner.records import KubernetesNode, Pod, Selector, Spread, Taint
from tests.unit.planner.scheduling import (
    cluster,
    labelled,
    node,
    refused,
    schedule,
    web,
)

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = Selector(labels={"app": "web"})
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


def test_a_cordoned_zone_counts_as_the_emptiest():
    tainted = Taint(key="node.kubernetes.io/unschedulable", value="", effect="NoSchedule")
    where = cluster(nodes(d=tainted), *on("ac"))

    assert refused(PREDICATES["PodTopologySpread"], web("new", spreads=(spread(),)), where) == {
        "a": FULL,
        "b": FULL,
        "c": FULL,
    }


def test_all_constraints_are_to_be_met_and_nodes_count_that_have_all_labels():
    where = cluster([*nodes(), *labelled(e={ZONE: "z"})], *on("ace"))
    asked = web("new", spreads=(spread(), spread(HOST)))

    found = refused(PREDICATES["PodTopologySpread"], asked, where)

    # The pod on e is in no domain of nodes, so zone z counts as empty, and only d is left.
    assert sorted(found) == ["a", "b", "c", "e"]
    assert found["e"] == f"it lacks label {HOST} of a topology spread"


def test_pods_that_come_and_go_are_counted():
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


def test_the_policy_of_today_keeps_to_constraints():
    where = cluster(nodes(), *on("ac"))

    decision = schedule(TODAY_POLICY, web("new", spreads=(spread(),)), where)

    assert decision.node == "d"
    assert {each.code for each in decision.refusals.values()} == {"topology_spread"}
