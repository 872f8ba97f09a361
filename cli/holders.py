"""Who keeps a volume where it is, or keeps pods from it, and what ends that."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from cli.catalogue import NOTES
from cli.kube.attachments import Attachment, DriverAttachment, Ticket
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from extender import ClusterView
from extender.demand import LONGHORN_DRIVERS
from extender.kubernetes import ClaimKey
from longhorn import Locality, NodeName, Unreadable, Volume, VolumeName, VolumeTold, is_down
from planner.naming import first_of
from planner.records import KubernetesNode
from planner.selectors import meets

_BY_POD = "csi-attacher"
_BY_HAND, _RESTORES = "longhorn-api", "volume-restore-controller"
_WORK = {
    _RESTORES: "for its restore from a backup",
    "volume-clone-controller": "to copy its data",
    "volume-expansion-controller": "to expand it",
    "volume-eviction-controller": "to move a replica away",
    "volume-rebuilding-controller": "to rebuild a replica while no pod uses it",
    "snapshot-controller": "for a snapshot",
    "backup-controller": "for a backup",
    "bim-ds-controller": "to export it as a backing image",
    "salvage-controller": "to salvage it",
}
"""The types of tickets. Source: longhorn-manager k8s/pkg/apis/longhorn/v1beta2/
volumeattachment.go AttacherType."""
_WAITS = "Wait until it is done: pods attach the volume after that."
_COPIED = "copy-completed-awaiting-healthy"
_MOST_NAMED = 3


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """What holds a volume; *node* is where, empty if that is nowhere."""

    node: str
    text: str
    action: str


def holders_of(volume: Volume, cluster: ClusterObjects, view: ClusterView) -> Iterator[Holder]:
    """Say what holds a volume, beside pods that simply use it where it is."""
    told = volume.told or VolumeTold()
    yield from _at_work(told)
    bound = {
        name
        for name, each in view.persistent_volumes.items()
        if each.volume_handle == volume.name and each.driver in LONGHORN_DRIVERS
    }
    yield from cut_off(volume, bound, cluster, view)
    claims = {key for key, each in view.claims.items() if each.persistent_volume in bound}
    users = [
        pod
        for _, pod in sorted(cluster.of(Pod).items())
        if not (claims.isdisjoint(pod.ref.claims) or pod.status.ended)
    ]
    attachments = [
        each
        for _, each in sorted(cluster.of(DriverAttachment).items())
        if each.persistent_volume in bound
    ]
    knows_pods = cluster.of(Pod) and all(kind != "Pod" for kind, _ in cluster.of(Unreadable))
    for attachment in attachments if knows_pods else ():
        there = [pod for pod in users if pod.status.node == attachment.node]
        yield from _of_kubernetes(attachment, there, view)
    tickets = (
        ticket
        for each in cluster.of(Attachment).values()
        if each.volume == volume.name
        for ticket in each.tickets
    )
    tickets = (each for each in tickets if not (told.restoring and each.type == _RESTORES))
    is_known = bool(cluster.of(DriverAttachment))
    yield from _of_longhorn(
        sorted(set(tickets), key=lambda each: (each.type, each.node)),
        {each.node for each in attachments} if is_known else None,
    )


def cut_off(
    volume: Volume, bound: Iterable[str], cluster: ClusterObjects, view: ClusterView
) -> Iterator[Holder]:
    """Say of a strict-local volume that its PersistentVolume leaves out the node of its replica.

    Longhorn attaches it there alone, and what a PersistentVolume is limited to cannot be changed.
    """
    known = cluster.of(KubernetesNode).values()
    replicas = view.replicas.get(volume.name, ())
    there = sorted({r.node for r in replicas if r.node is not None and not r.deleting})
    if volume.locality is not Locality.STRICT_LOCAL or volume.shared or not (there and known):
        return
    for name in sorted(bound):
        terms = view.persistent_volumes[name].terms
        if terms is None:
            continue
        allowed = sorted(node.name for node in known if any(meets(node, t) for t in terms))
        if set(there).isdisjoint(allowed):
            yield Holder(
                node="",
                text=f"it is strict-local with its replica on {first_of(there, _MOST_NAMED)}, and "
                f"PersistentVolume {name} allows {first_of(allowed, _MOST_NAMED) or 'no node'}: no "
                "node will do",
                action=NOTES["strict_local_cut_off"].action,
            )


def holders_for(
    pod: Pod, cluster: ClusterObjects, view: ClusterView
) -> Iterator[tuple[ClaimKey, Holder]]:
    """Say for which claims a pod waits that has a node and does not run, and what holds them."""
    status = pod.status
    waits = status.node is not None and not (status.running or status.ended)
    for key, _, volume in volumes_of(pod, view) if waits else ():
        for holder in holders_of(volume, cluster, view):
            if holder.node != status.node or volume.attached_to != status.node:
                yield key, holder


def volumes_of(pod: Pod, view: ClusterView) -> Iterator[tuple[ClaimKey, str, Volume]]:
    """Yield the volumes of a pod that are there, with their claims and PersistentVolumes."""
    for key in pod.ref.claims:
        claim = view.claims.get(key)
        bound = view.persistent_volumes.get(claim.persistent_volume or "") if claim else None
        volume = view.volumes.get(VolumeName(bound.volume_handle or "")) if bound else None
        if bound is not None and volume is not None:
            yield key, bound.name, volume


def _at_work(told: VolumeTold) -> Iterator[Holder]:
    if told.restoring:
        text = "it is being restored from a backup, and no pod attaches it before that is done"
        yield Holder(node="", text=text, action=_WAITS)
    if told.clone_state == _COPIED:
        yield Holder(
            node="",
            text="its data are copied, and Longhorn waits for the copy to be healthy before a pod "
            "may attach it",
            action="If it stays: delete the claim of the copy, and make it again. Longhorn v1.12.0 "
            "may wait for ever, so upgrade it.",
        )
    elif told.is_copied:
        text = f"it is a copy that is not done (cloneStatus {told.clone_state})"
        yield Holder(node="", text=text, action=_WAITS)


def _of_kubernetes(
    attachment: DriverAttachment, there: Sequence[Pod], view: ClusterView
) -> Iterator[Holder]:
    name, node = f"VolumeAttachment {attachment.name}", attachment.node
    space = view.spaces.get(node)
    is_gone = space is not None and is_down(space.node)
    if attachment.error:
        text = f"{name} cannot be attached to {node}: {attachment.error}"
        yield Holder(node=node, text=text, action="See what else is said of the volume.")
    elif attachment.deleting:
        text = f"{name} of node {node} is being deleted, and Longhorn has not let go yet"
        yield Holder(node=node, text=text, action="If it stays: see the log of longhorn-manager.")
    elif not there:
        sure = f", and node {node} is off for sure" if is_gone else ""
        yield Holder(
            node=node,
            text=f"{name} holds it on {node}, where no pod is known that uses it",
            action=f"If none does{sure}: `kubectl delete volumeattachment {attachment.name}`. "
            "Kubernetes does so by itself some 6 minutes after the pod is gone.",
        )
    elif is_gone:
        pods = ", ".join(sorted(pod.key for pod in there))
        yield Holder(
            node=node,
            text=f"pod {pods} is on node {node}, which is down",
            action="Bring the node back. If it is off for good: delete the pod by force, give the "
            "node the taint `node.kubernetes.io/out-of-service`, or set "
            "`node-down-pod-deletion-policy`, so that Longhorn deletes such pods.",
        )
    elif _all_end(there):
        pods = ", ".join(sorted(pod.key for pod in there))
        text = f"pod {pods} is ending on {node}, and uses it until it has ended"
        yield Holder(node=node, text=text, action="If it stays: see why the pod does not end.")


def _of_longhorn(tickets: Iterable[Ticket], held: set[NodeName] | None) -> Iterator[Holder]:
    for ticket in tickets:
        node = ticket.node
        if ticket.type == _BY_POD:
            if held is not None and node not in held:
                text = f"a ticket of the CSI driver is left on {node}, without a VolumeAttachment"
                action = "See the log of csi-attacher; a restart of it takes the ticket back."
                yield Holder(node=node, text=text, action=action)
        elif ticket.type == _BY_HAND:
            text = f"it was attached to {node} by hand, in the UI or by Longhorn's API"
            yield Holder(node=node, text=text, action="Detach it there.")
        elif ticket.type != "share-manager-controller":
            why = _WORK.get(ticket.type, f"for {ticket.type}")
            yield Holder(node=node, text=f"Longhorn attaches it to {node} {why}", action=_WAITS)


def _all_end(pods: Iterable[Pod]) -> bool:
    return all(pod.wishes is not None and pod.wishes.deleting for pod in pods)
