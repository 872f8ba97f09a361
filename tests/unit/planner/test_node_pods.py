"""Pods that belong to a node go with it, and are made nowhere else."""

from random import Random
from typing import Any

import pytest

from planner.picture import Event, Kind
from planner.plan import Plan
from planner.policy import TODAY_POLICY
from planner.records import Budget, Selector
from planner.steps.draining import Drain
from planner.steps.nodes import LoseNode
from tests.unit.planner.clusters import cluster_of, kubernetes_node, pod_with

ALL_STAY = Budget(namespace="default", name="all", selector=Selector(), least_available="100%")
"""As the budgets that Longhorn makes for its instance managers."""


def plan_with_pod(**wishes: Any) -> Plan:
    """Plan for two nodes, with a pod on the first one."""
    cluster = cluster_of(
        kubernetes_node("node-1"), kubernetes_node("node-2"), pod_with(on="node-1", **wishes)
    )
    cluster.budgets.append(ALL_STAY)
    return Plan(cluster, TODAY_POLICY, Random(1), in_flight=1)


@pytest.mark.parametrize(
    "wishes",
    [
        {"owner": ("InstanceManager", "im-1")},
        {"owner": ("BackingImageManager", "bim-1")},
        {"owner": ("DaemonSet", "agent"), "of_daemon_set": True},
        {"owner": ("Node", "node-1"), "is_static": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [Drain, LoseNode])
def test_it_is_made_on_no_other_node(wishes, kind):
    plan = plan_with_pod(**wishes)

    assert plan.take(kind(nodes=("node-1",))).events == ()
    assert {pod.node for pod in plan.cluster.pods.values()} <= {"node-1"}


def test_a_budget_counts_for_other_pods():
    plan = plan_with_pod()

    [event] = plan.take(Drain(nodes=("node-1",))).events

    text = "is not evicted: PodDisruptionBudget all allows no disruption"
    assert event == Event(kind=Kind.REFUSED, object="default/pod", node="node-1", text=text)
