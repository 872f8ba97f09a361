"""Which pods belong to the same service."""

from collections.abc import Mapping

from longhorn import NodeName
from planner.cluster import Cluster
from planner.records import Pod, Service


def services_of(pod: Pod, cluster: Cluster) -> list[Service]:
    """Return the services of the pod's namespace whose selector its labels meet.

    A service without selector has no pods.
    """
    return [
        service
        for service in cluster.services
        if service.namespace == pod.ref.namespace
        and service.selector
        and service.selector.items() <= pod.wishes.labels.items()
    ]


def peers(pod: Pod, cluster: Cluster) -> Mapping[NodeName, int]:
    """Return how many pods of the same service are on each node; those of any, if it has several.

    A pod that is being deleted does not count.
    """
    namespace = pod.ref.namespace
    selectors = [each.selector for each in services_of(pod, cluster)]
    if not selectors:
        return {}

    def is_peer(other: Pod) -> bool:
        wishes = other.wishes
        return (
            other.ref.namespace == namespace
            and not wishes.deleting
            and any(each.items() <= wishes.labels.items() for each in selectors)
        )

    distinct = frozenset(tuple(sorted(each.items())) for each in selectors)
    return cluster.tally(("peers", namespace, distinct), is_peer)
