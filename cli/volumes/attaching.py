"""The pods that use a volume: whether it is attached to their nodes, and why not."""

from collections.abc import Iterable, Iterator

import msgspec

from cli.catalogue import PODS, REJECTIONS
from cli.kube.pods import Pod
from extender import ClusterView, PodRef, Rejection, UnresolvableClaimError
from extender.demand import resolve_for_scheduled
from extender.kubernetes import ClaimKey
from extender.verdicts import StrictLocalElsewhere, UnknownNode, strict_nodes, unattachable
from longhorn import (
    NodeName,
    Volume,
    due_replicas,
    needed_to_start,
)

_OF_DATA = ("data_lost", "replicas_cannot_start", "volume_faulted")
"""The reasons of which `filter` of the volume itself says more."""


class PodStanding(msgspec.Struct, frozen=True, kw_only=True):
    """How one pod stands that uses the volume; *code* is in the catalogue, or of a rejection."""

    pod: str
    node: str
    """Empty if it has none."""
    code: str
    text: str

    @property
    def is_served(self) -> bool:
        """Whether nothing more is to happen to the volume for it."""
        return self.code in ("attached", "shared", "no_node")

    @property
    def is_of_replicas(self) -> bool:
        """Whether `filter` of the volume says of its replicas what is to be done."""
        return self.code in (*_OF_DATA, "faulted", "replicas_first")

    @property
    def action(self) -> str:
        """What to do, below what is said of the volume's replicas."""
        if self.code in _OF_DATA:
            return "See to its replicas, as above."
        remedy = PODS.get(self.code) or REJECTIONS[self.code]
        return remedy.action.replace("pod/NAME", f"pod/{self.pod}")


def pods_of(claim: ClaimKey, pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods that use a claim and have not ended, by name."""
    phases = ("Succeeded", "Failed")
    return sorted(
        (
            pod
            for pod in pods
            if claim in pod.ref.claims
            and not (pod.status.ended or (pod.wishes is not None and pod.wishes.phase in phases))
        ),
        key=lambda pod: pod.key,
    )


def standings(
    volume: Volume, claim: ClaimKey, pods: Iterable[Pod], view: ClusterView
) -> Iterator[PodStanding]:
    """Say of each pod that uses a volume how it stands."""
    for pod in pods:
        node = pod.status.node
        if node is None:
            code, text = "no_node", "has no node yet"
        else:
            code, text = _on_node(volume, claim, node, view)
        yield PodStanding(pod=pod.key, node=node or "", code=code, text=text)


def _on_node(volume: Volume, claim: ClaimKey, node: NodeName, view: ClusterView) -> tuple[str, str]:
    if volume.attached_to == node:
        return "attached", "the volume is attached there"
    if volume.shared and volume.attached_to is not None:
        return "shared", f"shared: the volume is attached to {volume.attached_to}"
    try:
        refused = _refusal(volume, claim, node, view)
    except UnresolvableClaimError as error:
        return "claim_unusable", str(error)
    if refused is not None:
        return refused.reason, str(refused)
    if volume.attached_to is not None:
        return "attached_elsewhere", f"the volume is attached to {volume.attached_to}"
    if volume.told is not None and volume.told.robustness == "faulted":
        return "faulted", "the volume is faulted"
    replicas = view.replicas.get(volume.name, ())
    due = due_replicas(volume, replicas, view.settings, attaching=True, paused=view.paused)
    coming = due.anywhere + (due.on_node is not None)
    needed = needed_to_start(volume, replicas, view.settings, due=coming)
    if needed:
        return "replicas_first", f"{needed} more must have a disk first"
    return "on_its_way", "the volume is not attached there yet"


def _refusal(
    volume: Volume, claim: ClaimKey, node: NodeName, view: ClusterView
) -> Rejection | None:
    """Say why the volume cannot be attached to a node, by the rules of every pod."""
    pod = PodRef(namespace="", name="", uid="", claims=(claim,))
    request = resolve_for_scheduled(pod, view)
    refused = unattachable(request, [node], view)
    if node in refused:
        return refused[node]
    if node not in view.spaces and node not in view.unreadable_nodes:
        return UnknownNode()
    there = strict_nodes(request, view).get(volume.name)
    return StrictLocalElsewhere() if there and node not in there else None
