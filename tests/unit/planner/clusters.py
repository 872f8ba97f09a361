"""Clusters in memory for these tests."""

from collections.abc import Iterable
from typing import Any

from longhorn import NodeName
from planner.cluster import Cluster
from planner.records import CPU, MEMORY, PODS, KubernetesNode, Pod, Wishes
from tests.builders import GENEROUS, GIB, pod


def kubernetes_node(name: str, *, cores: int = 8, **fields: Any) -> KubernetesNode:
    """Build a node with 16 GiB of memory and room for 110 pods."""
    return KubernetesNode(
        name=NodeName(name),
        allocatable={CPU: cores * 1000, MEMORY: 16 * GIB, PODS: 110},
        **{"labels": {"kubernetes.io/hostname": name}, **fields},
    )


def cluster_of(*records: Any) -> Cluster:
    """Build a cluster of records; pods and Kubernetes nodes may be among them."""
    cluster = Cluster(GENEROUS)
    fill(cluster, records)
    return cluster


def fill(cluster: Cluster, records: Iterable[Any]) -> None:
    """Put such records into a cluster."""
    for record in records:
        match record:
            case KubernetesNode():
                cluster.put_node(record)
            case Pod():
                cluster.put_pod(record)
            case _:
                cluster.put(record)


def pod_with(*claims: str, name: str = "pod", on: str | None = None, **wishes: Any) -> Pod:
    """Build a pod of a StatefulSet that uses the claims of these names."""
    ref = pod(*claims, name=name)
    if not claims:
        ref = type(ref)(namespace=ref.namespace, name=ref.name, uid=ref.uid, claims=())
    return Pod(
        ref=ref,
        node=NodeName(on) if on else None,
        wishes=Wishes(**{"owner": ("StatefulSet", "db"), **wishes}),
    )
