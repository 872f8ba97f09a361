"""What a claim without a volume of Longhorn waits for, if for anything."""

from collections.abc import Sequence

from cli.catalogue import ERRORS
from cli.kube.pods import Pod
from cli.volumes.report import PodReport, State, VolumeReport
from extender import ClusterView, PodRef, UnresolvableClaimError
from extender.demand import LONGHORN_PROVISIONERS, needed_class, resolve
from extender.kubernetes import Claim

NOT_CREATED = "not created yet: "
"""What the answer begins with."""


def unbound(claim: Claim, pods: Sequence[Pod], view: ClusterView) -> VolumeReport:
    """Say what a claim waits for that has no volume."""
    try:
        found = needed_class(claim, view)
        if found.provisioner not in LONGHORN_PROVISIONERS:
            return other_storage(f"class {found.name} is of {found.provisioner}", claim.key)
        resolve(PodRef(namespace="", name="", uid="", claims=(claim.key,)), view)
    except UnresolvableClaimError as error:
        return _report(claim, str(error), ERRORS[error.problem].action, pods)
    provisioner = (
        "Longhorn's provisioner is to make it, within seconds",
        "If it stays: its events have the error, `kubectl describe pvc`.",
    )
    if found.is_immediate:
        return _report(claim, *provisioner, pods)
    if claim.selected_node is not None or any(pod.status.node for pod in pods):
        return _report(claim, *provisioner, pods)
    if not pods:
        return _report(
            claim,
            f"class {found.name} has WaitForFirstConsumer, and no pod uses the claim",
            "Nothing, until a pod uses it.",
            pods,
        )
    names = ", ".join(pod.key for pod in pods)
    return _report(
        claim,
        f"class {found.name} has WaitForFirstConsumer, and its pod {names} has no node yet",
        f"Ask `filter pod/{pods[0].key}`, which says why.",
        pods,
    )


def other_storage(why: str, claim: str) -> VolumeReport:
    """Say that a claim is of a storage driver that is not Longhorn's."""
    return VolumeReport(
        answer=f"not Longhorn's: {why}",
        state=State.OTHER_STORAGE,
        done=False,
        claim=claim,
        action="Ask that driver; what is said here is about Longhorn alone.",
    )


def _report(claim: Claim, why: str, action: str, pods: Sequence[Pod]) -> VolumeReport:
    return VolumeReport(
        answer=f"{NOT_CREATED}{why}",
        state=State.NOT_CREATED,
        done=False,
        claim=claim.key,
        size_bytes=claim.requested_bytes,
        pods=[
            PodReport(
                pod=pod.key,
                node=pod.status.node or "",
                code="on_its_way" if pod.status.node else "no_node",
                text="waits for the claim" if pod.status.node else "has no node yet",
                action=action,
            )
            for pod in pods
        ],
        action=action,
    )
