"""What became of one pod, for people."""

from collections.abc import Callable, Collection, Iterator

from extender.demand import LONGHORN_PROVISIONERS
from extender.kubernetes import Claim, PersistentVolume, StorageClass, class_of
from longhorn import (
    Node,
    NodeName,
    Replica,
    ReplicaName,
    Volume,
    VolumeName,
    is_serving,
)
from planner.cluster import Cluster
from planner.engine import Decision
from planner.lacking import figures
from planner.naming import natural
from planner.picture import Event, Kind, Place, PlannedVolume, Reason
from planner.priorities import is_tracked
from planner.records import Pod


def pod_event(
    pod: Pod,
    cluster: Cluster,
    decision: Decision | None,
    *,
    before: NodeName | None,
    waits_for: str | None,
    new_replicas: Collection[ReplicaName],
    disk_of: Callable[[Replica], str],
) -> Event:
    """Say what became of a pod.

    Args:
        pod: The pod, as it is in the cluster now.
        cluster: The cluster.
        decision: The last one about it, if it was asked about.
        before: Where it was before, if it comes back.
        waits_for: The pod that must run before it is created, if one must.
        new_replicas: The replicas that the plan placed.
        disk_of: Says what the disk of a replica is called.
    """
    if pod.node is not None:
        return Event(
            kind=Kind.PLACED if before is None else Kind.MOVED,
            object=pod.key,
            node=pod.node,
            before=before,
            score=None if decision is None else decision.scores.get(pod.node),
            volumes=tuple(_volumes(pod, cluster, new_replicas, disk_of)),
        )
    if waits_for is not None:
        text = f"is created once {waits_for} runs"
        return Event(kind=Kind.NOT_CREATED, object=pod.key, before=before, text=text)
    reasons = () if decision is None else reasons_of(decision)
    nodes = len(cluster.nodes)
    return Event(
        kind=Kind.PENDING,
        object=pod.key,
        before=before,
        text=f"0 of {nodes} nodes" if nodes != 1 else "not on the one node",
        reasons=reasons,
    )


def unplanned_of(pod: Pod, cluster: Cluster) -> Iterator[str]:
    """Yield what a pod asks for that decides over its node, and that no plan goes by."""
    yield from pod.wishes.unplanned
    if pod.node is None and pod.wishes.priority:
        yield f"priority {pod.wishes.priority} (nothing is evicted to make room)"
    for key in pod.ref.claims:
        claim = cluster.get(Claim, key)
        class_ = class_of(claim, cluster.all(StorageClass)) if claim else None
        if class_ is None:
            continue
        if class_.provisioner in LONGHORN_PROVISIONERS:
            if not cluster.all(Node):
                yield "volumes of Longhorn (none of its Nodes is known, nor what room they have)"
            if claim is not None and _is_tracked(claim, class_, cluster):
                yield (
                    f"capacity tracking for StorageClass {class_.name} (kube-scheduler leaves out "
                    f"nodes whose best disk is smaller than a new volume)"
                )
        else:
            yield f"volumes of StorageClass {class_.name} (where its driver has room is not known)"


def _is_tracked(claim: Claim, class_: StorageClass, cluster: Cluster) -> bool:
    """Whether kube-scheduler goes by what Longhorn tells it of disks: for new volumes alone."""
    if not is_tracked(cluster):
        return False
    bound = cluster.get(PersistentVolume, claim.persistent_volume or "")
    volume = cluster.get(Volume, bound.volume_handle or "") if bound else None
    is_new = claim.persistent_volume is None or (volume is not None and volume.is_estimate)
    return is_new and not class_.is_immediate


def reasons_of(decision: Decision) -> tuple[Reason, ...]:
    """Return why nodes were left out, the commonest first."""
    nodes: dict[tuple[str, str], list[NodeName]] = {}
    for name, refusal in decision.refusals.items():
        nodes.setdefault((refusal.code, refusal.text), []).append(name)
    return tuple(
        Reason(
            code=code,
            text=text + figures([each for name in names for each in refusals[name].lacks]),
            nodes=tuple(sorted(names, key=natural)),
        )
        for refusals in (decision.refusals,)
        for (code, text), names in sorted(nodes.items(), key=lambda item: (-len(item[1]), item[0]))
    )


def _volumes(
    pod: Pod,
    cluster: Cluster,
    new_replicas: Collection[ReplicaName],
    disk_of: Callable[[Replica], str],
) -> list[PlannedVolume]:
    found = []
    for key in pod.ref.claims:
        claim = cluster.get(Claim, key)
        bound = cluster.get(PersistentVolume, claim.persistent_volume or "") if claim else None
        handle = VolumeName(bound.volume_handle or "") if bound else None
        volume = cluster.get(Volume, handle) if handle else None
        if volume is None:
            continue
        replicas = [each for each in cluster.view.replicas.get(volume.name, ()) if is_serving(each)]
        # The one beside the pod first.
        replicas.sort(key=lambda each: (each.node != pod.node, each.name))
        places = [
            Place(node=each.node, disk=disk_of(each), is_new=each.name in new_replicas)
            for each in replicas
        ]
        is_known = bool(places) or not volume.sharded
        missing = max(0, volume.wanted_replicas - len(places)) if is_known else 0
        found.append(
            PlannedVolume(
                name=str(key),
                size_bytes=volume.size_bytes,
                locality=str(volume.locality),
                replicas=(*places, *(Place() for _ in range(missing))),
            )
        )
    return found
