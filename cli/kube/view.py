"""The view of all records of one cluster."""

from cli.kube.cluster_objects import ClusterObjects
from extender import ClusterView, ViewBuilder
from extender.kubernetes import opt_out
from planner.records import KubernetesNode


def build_view(cluster: ClusterObjects) -> ClusterView:
    """Index the records, and work out what every node has left."""
    return view_builder(cluster).view


def view_builder(cluster: ClusterObjects) -> ViewBuilder:
    """Return what keeps that view, so that changes can be tried on it."""
    builder = ViewBuilder()
    for record in cluster.records():
        builder.apply(None, record)
    for node in cluster.of(KubernetesNode).values():
        builder.apply(None, opt_out(node.name, node.labels))
    builder.settle()
    return builder
