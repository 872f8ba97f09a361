"""Nodes and disks at one moment, for before and after."""

from collections.abc import Collection, Iterable, Mapping

from extender.space import NodeSpace, why_unusable
from longhorn import DiskId, DiskSpace, NodeName, Replica, ReplicaName, VolumeName, refusal_of
from planner.cluster import Cluster
from planner.naming import natural
from planner.picture import DiskReport, NodeReport, ReplicaReport
from planner.records import CPU, MEMORY, KubernetesNode


def draw(
    cluster: Cluster,
    names: Mapping[VolumeName, str],
    *,
    new_pods: Collection[str] = (),
    new_replicas: Collection[ReplicaName] = (),
) -> dict[str, NodeReport]:
    """Return all nodes by name, in order.

    Args:
        cluster: The cluster.
        names: What to call volumes.
        new_pods: The pods that a plan placed.
        new_replicas: The replicas that it placed.
    """
    spaces, on_disk = cluster.view.spaces, _by_disk(cluster)
    reports = {}
    for name in sorted({*cluster.nodes, *spaces}, key=natural):
        node, space = cluster.nodes.get(name), spaces.get(name)
        pods, requested = [*cluster.pods_on(name)], cluster.requested(name)
        allocatable = node.allocatable if node else {}
        reports[str(name)] = NodeReport(
            name=name,
            zone=space.node.zone if space else "",
            problem=_node_problem(
                node, space, knows_nodes=bool(cluster.nodes), knows_longhorn=bool(spaces)
            ),
            pods=tuple(sorted(pods, key=lambda key: (key not in new_pods, natural(key)))),
            requested_millicores=requested.get(CPU, 0),
            allocatable_millicores=allocatable.get(CPU, 0),
            requested_memory_bytes=requested.get(MEMORY, 0),
            allocatable_memory_bytes=allocatable.get(MEMORY, 0),
            disks=tuple(
                _disk(each, on_disk.get((name, each.disk.id), ()), names, new_replicas)
                for each in (space.disks if space else ())
            ),
        )
    return reports


def _by_disk(cluster: Cluster) -> dict[tuple[NodeName, DiskId | None], list[Replica]]:
    found: dict[tuple[NodeName, DiskId | None], list[Replica]] = {}
    for replicas in cluster.view.replicas.values():
        for each in replicas:
            if each.node is not None and each.disk is not None:
                found.setdefault((each.node, each.disk), []).append(each)
    return found


def _disk(
    space: DiskSpace,
    replicas: Iterable[Replica],
    names: Mapping[VolumeName, str],
    new: Collection[ReplicaName],
) -> DiskReport:
    disk, refusal = space.disk, why_unusable(space.disk)
    return DiskReport(
        name=disk.name,
        maximum_bytes=disk.maximum_bytes,
        reserved_bytes=disk.reserved_bytes,
        available_bytes=disk.available_bytes,
        limit_bytes=space.limit_bytes,
        scheduled_bytes=space.scheduled_bytes,
        replicas=tuple(
            ReplicaReport(
                volume=names.get(each.volume, each.volume),
                size_bytes=each.size_bytes,
                is_new=each.name in new,
                is_failed=each.failed,
            )
            for each in sorted(replicas, key=lambda replica: replica.name)
        ),
        problem=str(refusal) if refusal else "",
    )


def _node_problem(
    node: KubernetesNode | None,
    space: NodeSpace | None,
    *,
    knows_nodes: bool,
    knows_longhorn: bool,
) -> str:
    if knows_nodes and node is None:
        return "is no Kubernetes node"
    if node is not None and node.cordoned:
        return "is cordoned"
    if space is None:
        return "has no Longhorn Node" if knows_longhorn else ""
    refusal = refusal_of(space.node)
    return f"Longhorn Node {refusal}" if refusal else ""
