"""The view of all records of one cluster."""

from app.kube.cluster_objects import ClusterObjects
from extender import ClusterView, ViewBuilder


def build_view(cluster: ClusterObjects) -> ClusterView:
    """Index the records, and work out what every node has left."""
    builder = ViewBuilder()
    for record in cluster.records():
        builder.apply(None, record)
    builder.settle()
    return builder.view
