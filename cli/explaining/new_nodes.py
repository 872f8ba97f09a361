"""Whether a node that cluster-autoscaler adds would take a pod, by what it was told of such nodes.

That is in the CSIStorageCapacities of `scheduler-config --for cluster-autoscaler`: what a new node
has on its best disk, and on all of them. How many disks there are no object says, so that claims
which these figures allow may still not fit.
"""

from collections.abc import Iterator, Mapping, Sequence

from cli.explaining.notes import Note
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.storage_capacity import StorageCapacity
from cli.scheduler_config.autoscaler import TEMPLATE_LABEL
from extender import ClusterView, PodRef
from extender.demand import LONGHORN_PROVISIONERS, estimate_volume
from extender.kubernetes import Claim, StorageClass, class_of
from planner.naming import first_of
from planner.records import Selector
from planner.selectors import selects

_MOST_NAMES = 5
_Wanted = Mapping[str, tuple[StorageClass, list[Claim]]]
"""New claims by their class."""


def new_node_notes(pod: PodRef, cluster: ClusterObjects, view: ClusterView) -> Iterator[Note]:
    """Say that a pod, which no node takes, fits on no new node of any group either."""
    told = [
        (each, each.nodes)
        for each in cluster.of(StorageCapacity).values()
        if each.nodes is not None and TEMPLATE_LABEL in each.nodes.labels
    ]
    groups = {tuple(sorted(nodes.labels.items())): nodes.labels for _, nodes in told}
    wanted = _wanted(pod, view)
    whys = [_why_not(groups[key], told, wanted, view) for key in sorted(groups)]
    if all(whys):
        yield from (Note("no_new_node", why) for why in whys)


def _wanted(pod: PodRef, view: ClusterView) -> _Wanted:
    wanted: dict[str, tuple[StorageClass, list[Claim]]] = {}
    for claim in filter(None, map(view.claims.get, pod.claims)):
        class_ = class_of(claim, view.storage_classes)
        if claim.persistent_volume is not None or class_ is None or class_.is_immediate:
            continue
        if class_.provisioner in LONGHORN_PROVISIONERS:
            wanted.setdefault(class_.name, (class_, []))[1].append(claim)
    return wanted


def _why_not(
    labels: Mapping[str, str],
    told: Sequence[tuple[StorageCapacity, Selector]],
    wanted: _Wanted,
    view: ClusterView,
) -> str:
    """Return why a pod with such claims fits on no new node with these labels; "" if it may."""
    group = ", ".join(f"{key}={labels[key]}" for key in sorted(labels) if key != TEMPLATE_LABEL)
    nodes = f"new nodes with {group}" if group else "new nodes"
    for name, (class_, claims) in wanted.items():
        here = [each for each, of in told if each.storage_class == name and selects(of, labels)]
        best_bytes = max((each.size_bytes or 0 for each in here), default=0)
        large = [each.key for each in claims if each.requested_bytes > best_bytes]
        if large:
            return (
                f"cluster-autoscaler was told of no disk of {nodes} that takes claim "
                f"{first_of(large, _MOST_NAMES)}: it adds none for the pod"
            )
        local = [e for e in claims if estimate_volume(e, class_, view).needs_local_replica]
        totals = [each.total_bytes for each in here if each.total_bytes is not None]
        if totals and sum(each.requested_bytes for each in local) > max(totals):
            return (
                f"claims {first_of([each.key for each in local], _MOST_NAMES)} do not fit together "
                f"on the disks of {nodes}, by what cluster-autoscaler was told of these: it looks "
                "at each claim alone, and may add nodes in vain"
            )
    return ""
