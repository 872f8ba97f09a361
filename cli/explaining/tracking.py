"""Nodes that kube-scheduler leaves out by what it is told of room for volumes."""

from collections.abc import Iterable, Iterator

from cli.explaining.notes import Note
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.storage_capacity import CsiDriver, StorageCapacity, too_small
from extender import ClusterView, PodRef
from extender.demand import LONGHORN_DRIVERS
from extender.kubernetes import class_of
from longhorn import CAPACITY_TRACKING, NodeName, told_bytes
from planner.naming import first_of
from planner.records import KubernetesNode

_MOST_NAMES = 5


def tracking_notes(
    pod: PodRef, cluster: ClusterObjects, view: ClusterView, accepted: Iterable[NodeName]
) -> Iterator[Note]:
    """Name accepted nodes that kube-scheduler leaves out by what it is told of room for volumes.

    It looks at CSIStorageCapacities, which are renewed once a minute. Where they are not known,
    they are taken to be as Longhorn's setting and its disks would have them now.

    Args:
        pod: The pod.
        cluster: What Kubernetes was told, if that is known.
        view: The cluster.
        accepted: The nodes where the pod's volumes fit.
    """
    drivers, told = cluster.of(CsiDriver), [*cluster.of(StorageCapacity).values()]
    tracked = {name for name, each in drivers.items() if each.is_tracked}
    is_on = tracked & LONGHORN_DRIVERS if drivers else _is_set(view)
    values = view.setting_values
    is_forced = CAPACITY_TRACKING not in values and bool(view.settings.version)
    names = [*accepted]
    for key in pod.claims if is_on else ():
        claim = view.claims.get(key)
        if claim is None or claim.persistent_volume is not None:
            continue
        class_ = class_of(claim, view.storage_classes)
        if class_ is None or class_.provisioner not in LONGHORN_DRIVERS or class_.is_immediate:
            continue
        size_bytes = claim.requested_bytes
        if told:
            by, known = "CSIStorageCapacities say", cluster.of(KubernetesNode)
            left_out = too_small(size_bytes, class_.name, names, known, told)
        else:
            by, nodes = "Longhorn tells it", (space.node for space in view.spaces.values())
            largest = told_bytes(nodes, class_.parameters, view.settings)
            left_out = [name for name in names if largest.get(name, 0) < size_bytes]
        if left_out:
            yield Note(
                "capacity_forced" if is_forced else "capacity_tracking",
                f"kube-scheduler leaves out {first_of(left_out, _MOST_NAMES)}: claim {key} is "
                f"larger than what {by} of the disks there",
                refuses=len(left_out) == len(names),
            )


def _is_set(view: ClusterView) -> bool:
    return view.setting_values.get(CAPACITY_TRACKING) == "true"
