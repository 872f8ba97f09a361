"""The score for free storage, which kube-scheduler gives from Kubernetes 1.37 on.

Source: kubernetes 1.37 pkg/scheduler/framework/plugins/volumebinding (volume_binding.go Score,
scorer.go) with the shape of apis/config/v1/defaults.go: 100 points if nothing is taken, 0 for all.
"""

from collections.abc import Mapping, Sequence

from msgspec import structs

from extender.demand import LONGHORN_PROVISIONERS
from extender.kubernetes import Claim, StorageClass, class_of
from longhorn import CAPACITY_TRACKING, Node, NodeDisks, NodeName, capacity_of, tracked_need
from planner.cluster import Cluster
from planner.records import Pod

_HUNDRED, _TENTHS = 100, 10


def volume_binding(
    pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
) -> Mapping[NodeName, float]:
    """Favour nodes of whose free storage the pod's new volumes take a smaller share.

    Only where Longhorn tells it to Kubernetes. kube-scheduler's figures are up to a minute old,
    and these are of the moment. Claims that take a PersistentVolume which is there do not count.
    """
    if not cluster.scores_capacity or not is_tracked(cluster):
        return {}
    asked = _asked(pod, cluster)
    if not asked:
        return {}
    sums = dict.fromkeys(nodes, 0)
    for class_, requested in asked:
        for name, free in _free(class_, nodes, cluster).items():
            sums[name] += _points(requested, free)
    return {name: int(points / len(asked) + 0.5) / _TENTHS for name, points in sums.items()}


def is_tracked(cluster: Cluster) -> bool:
    """Whether Longhorn tells Kubernetes what nodes have left."""
    return cluster.view.setting_values.get(CAPACITY_TRACKING) == "true"


def _asked(pod: Pod, cluster: Cluster) -> list[tuple[StorageClass, int]]:
    """Return how much new volumes of each class take together."""
    asked, classes = dict[str, int](), cluster.all(StorageClass)
    for key in pod.ref.claims:
        claim = cluster.get(Claim, key)
        if claim is None or claim.persistent_volume is not None:
            continue
        class_ = class_of(claim, classes)
        if class_ and class_.provisioner in LONGHORN_PROVISIONERS and not class_.is_immediate:
            asked[class_.name] = asked.get(class_.name, 0) + claim.requested_bytes
    return [(classes[name], requested) for name, requested in asked.items()]


def _points(requested: int, free: int) -> int:
    share = _HUNDRED * requested // free if free else _HUNDRED
    return max(0, _HUNDRED - share)


def _free(class_: StorageClass, nodes: Sequence[NodeName], cluster: Cluster) -> dict[NodeName, int]:
    """Return what Longhorn tells of each node, or of its zone; see `longhorn.tracking`."""
    spaces, settings = cluster.view.spaces, cluster.view.settings
    need, offered = tracked_need(class_.parameters), {*nodes}
    is_by_zone = class_.parameters.get("storageCapacityMode") == "zone"
    free = {
        name: capacity_of(_as_counted(space), need, settings).available_bytes
        for name, space in spaces.items()
        if is_by_zone or name in offered
    }
    if not is_by_zone:
        return {name: free.get(name, 0) for name in nodes}
    of_zone = dict[str, int]()
    for name, left in free.items():
        zone = spaces[name].node.zone
        of_zone[zone] = of_zone.get(zone, 0) + left
    return {name: of_zone[spaces[name].node.zone] if name in spaces else 0 for name in nodes}


def _as_counted(space: NodeDisks) -> Node:
    """Return the node with what is scheduled on its disks now, in the plan."""
    disks = (
        structs.replace(each.disk, scheduled_bytes=each.scheduled_bytes) for each in space.disks
    )
    return structs.replace(space.node, disks=tuple(disks))
