"""What Longhorn's managers conclude from nodes, disks and settings as they are now.

Source: longhorn-manager controller/node_controller.go, which looks at them every 30 s and whenever
they change.
"""

from collections.abc import Callable
from functools import cache

from msgspec import structs

from longhorn import (
    CORDONED,
    Condition,
    Disk,
    DiskSpace,
    Node,
    NodeDisks,
    NodeName,
    ReplicaName,
    VolumeName,
    is_schedulable,
    needs_eviction,
    parse_bool,
)
from planner.cluster import Cluster
from planner.records import KubernetesNode

CORDON_SETTING = "disable-scheduling-on-cordoned-node"
_FULL = "DiskPressure"


def follow_nodes(cluster: Cluster) -> None:
    """Bring the conditions of Longhorn Nodes up to date with cordons, and those of disks with room.

    A disk that was too full and is no more takes replicas again. One that became too full has no
    room, and needs no condition to refuse them.
    """
    for name, space in [*cluster.view.spaces.items()]:
        known = cluster.nodes.get(name)
        changed = structs.replace(
            space.node,
            schedulable=_schedulable(space.node, known, cluster),
            disks=tuple(map(_with_condition, space.disks)),
        )
        if changed != space.node:
            cluster.put(changed)


def to_be_moved(cluster: Cluster) -> frozenset[ReplicaName]:
    """Return the replicas that Longhorn moves away: off what is evicted, and by node-drain-policy.

    With an unreadable setting those that move already go on.
    """
    view, guarding = cluster.view, guarding_nodes(cluster)
    found = set[ReplicaName]()
    for name, replicas in view.replicas.items():
        for each in replicas:
            space = view.spaces.get(each.node) if each.node is not None else None
            if view.settings.unreadable is not None:
                is_moved = each.evicting
            else:
                is_moved = (
                    space is not None
                    and not each.failed
                    and _may_evict(space, cluster)
                    and needs_eviction(
                        each,
                        replicas,
                        space.node,
                        view.settings,
                        cordoned=_is_cordoned(space.node.name, cluster),
                        guarded=guarding(name),
                    )
                )
            if is_moved:
                found.add(each.name)
    return frozenset(found)


def guarding_nodes(cluster: Cluster) -> Callable[[VolumeName], frozenset[NodeName]]:
    """Return what says of a volume on which nodes no drain takes its replicas now.

    They are not cordoned, and the instance manager of its data engine runs: it has a
    PodDisruptionBudget then. The nodes are found once for each engine, when they are asked for.
    """
    view = cluster.view

    @cache
    def of_engine(*, is_v2: bool) -> frozenset[NodeName]:
        return frozenset(
            name
            for name, node in cluster.nodes.items()
            if not node.cordoned
            and (space := view.spaces.get(name)) is not None
            and space.node.ready.is_true
            and space.engines.runs(is_v2=is_v2)
        )

    return lambda name: of_engine(is_v2=name in view.volumes and view.volumes[name].is_v2)


def _may_evict(space: NodeDisks, cluster: Cluster) -> bool:
    """Whether it is worth asking: most nodes have nothing that is evicted."""
    node = space.node
    return (
        node.evicting
        or _is_cordoned(node.name, cluster)
        or any(disk.evicting for disk in node.disks)
    )


def _is_cordoned(name: NodeName, cluster: Cluster) -> bool:
    known = cluster.nodes.get(name)
    return known is not None and known.cordoned


def _schedulable(node: Node, known: KubernetesNode | None, cluster: Cluster) -> Condition:
    value = cluster.view.setting_values.get(CORDON_SETTING, "true")
    try:
        counts = parse_bool(value)
    except ValueError:
        return node.schedulable
    if known is None:
        return node.schedulable
    if known.cordoned and counts:
        return Condition("False", CORDONED) if node.schedulable.is_true else node.schedulable
    return Condition("True") if node.schedulable.reason == CORDONED else node.schedulable


def _with_condition(space: DiskSpace) -> Disk:
    disk = space.disk
    is_relieved = disk.schedulable.reason == _FULL and disk.ready.is_true and is_schedulable(space)
    return structs.replace(disk, schedulable=Condition("True")) if is_relieved else disk
