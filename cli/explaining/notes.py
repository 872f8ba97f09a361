"""What stands outside the disks: whether kube-scheduler asks about a pod at all, and the rest."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from app.config import RESOURCE
from app.serving.admission import OPT_OUT_LABEL, OPTED_OUT
from cli.catalogue import NOTES
from cli.explaining.answering import Answering
from cli.explaining.claims import ClaimReport
from cli.kube.pods import Pod
from cli.scheduler_config.wanted import SCHEDULER_NAME
from extender import ClusterView, PodRef
from extender.demand import DEFAULT_SCHEDULERS, has_volume
from extender.explaining import Hindrance, Spread
from extender.kubernetes import Claim, class_of
from longhorn import Locality, VolumeName
from planner.naming import first_of
from planner.records import Wishes

_MOST_NAMES = 5
NO_SCHEDULER = "the pod has its node by spec.nodeName, and not by kube-scheduler"


class Note(msgspec.Struct, frozen=True):
    """One thing to know about the pod; *code* is in the table of remedies."""

    code: str
    text: str
    refuses: bool = False
    """Whether the pod does not start because of it, whatever nodes fit."""
    do: str = ""
    """What to do, where that depends on more than the code."""

    @property
    def action(self) -> str:
        """What to do."""
        return self.do or NOTES[self.code].action


def pod_notes(pod: Pod, schedulers: Iterable[str]) -> Iterator[Note]:
    """Say what of the pod itself keeps the extender from being asked about it.

    Args:
        pod: The pod; without wishes nothing is known of it.
        schedulers: Names of schedulers that ask the extender, beside the cluster's own.
    """
    wishes = pod.wishes or Wishes()
    yield from _life(pod, wishes)
    if pod.wishes is None:
        return
    if wishes.scheduler not in (*DEFAULT_SCHEDULERS, SCHEDULER_NAME, *schedulers):
        yield Note(
            "other_scheduler",
            f"schedulerName is {wishes.scheduler}: whether that one asks the extender is not known",
        )
    if wishes.gates and pod.status.node is None:
        yield Note(
            "scheduling_gates",
            f"kube-scheduler does not look at the pod while it has schedulingGates, and it has "
            f"{first_of(wishes.gates, _MOST_NAMES)}",
            refuses=True,
        )
    if wishes.has_pod_rules:
        yield Note(
            "pod_rules_unjudged",
            "the pod requires affinity to other pods or topology spread, which is not judged here",
        )


def ask_notes(pod: Pod, claims: Iterable[ClaimReport]) -> Iterator[Note]:
    """Say why kube-scheduler does not ask about a pod with Longhorn volumes, if so."""
    wishes = pod.wishes
    has_volume = any(each.state in ("new", "exists", "unusable") for each in claims)
    if wishes is None or not has_volume or RESOURCE in wishes.resources:
        return
    text = f"no container asks for {RESOURCE}, so kube-scheduler does not ask the extender"
    if wishes.labels.get(OPT_OUT_LABEL) == OPTED_OUT:
        yield Note("opted_out", f"{text}; label {OPT_OUT_LABEL}: {OPTED_OUT} turns injection off")
    elif wishes.of_daemon_set:
        yield Note("of_daemon_set", f"{text}; injection leaves pods of a DaemonSet out")
    else:
        yield Note("does_not_ask", f"{text}; injection did not change this pod")


def _life(pod: Pod, wishes: Wishes) -> Iterator[Note]:
    if wishes.phase in ("Succeeded", "Failed"):
        yield Note("pod_finished", f"the pod has ended ({wishes.phase})")
    elif wishes.deleting:
        yield Note("pod_deleting", "the pod is being deleted")
    elif pod.status.node is not None:
        yield Note("pod_bound", f"the pod is bound to {pod.status.node} already")


def claim_notes(pod: Pod, view: ClusterView) -> Iterator[Note]:
    """Name the claims for which kube-scheduler refuses the pod, or that get no volume by it.

    Sources: kubernetes pkg/scheduler/framework/plugins/volumebinding/volume_binding.go PreFilter,
    staging/src/k8s.io/component-helpers/storage/ephemeral/ephemeral.go VolumeIsForPod.
    """
    for key in pod.ref.claims:
        claim = view.claims.get(key)
        if claim is None:
            continue
        if key in pod.ephemeral and _is_of_another(claim, pod.ref):
            yield Note(
                "claim_of_another",
                f"claim {key} has the name that the claim of an ephemeral volume gets, and is not "
                "the pod's: PVC was not created for pod",
                refuses=True,
            )
        if lacks_scheduler(claim, [pod], view):
            yield Note("node_name", f"{NO_SCHEDULER}: claim {key} gets no volume", refuses=True)
        if claim.persistent_volume is not None:
            continue
        storage_class = class_of(claim, view.storage_classes)
        if storage_class is not None and storage_class.is_immediate:
            yield Note(
                "immediate_binding",
                f"claim {key} is not bound, and StorageClass {storage_class.name} has "
                "volumeBindingMode: Immediate, so kube-scheduler refuses the pod",
                refuses=True,
            )


def _is_of_another(claim: Claim, pod: PodRef) -> bool:
    """Whether a claim was not made for a pod; of one that is only in a file that is not known."""
    return bool(claim.uid and (pod.uid or not claim.controller)) and claim.controller != pod.uid


def lacks_scheduler(claim: Claim, pods: Iterable[Pod], view: ClusterView) -> bool:
    """Whether a claim waits for kube-scheduler's choice of a node, while a pod of it has its node.

    kube-scheduler writes the choice into the claim before it binds the pod (source: kubernetes
    pkg/scheduler/framework/plugins/volumebinding/binder.go bindAPIUpdate).
    """
    class_ = class_of(claim, view.storage_classes)
    waits = class_ is not None and not class_.is_immediate and claim.selected_node is None
    has_user = any(p.status.node and not p.status.ended for p in pods)
    return waits and has_user and not has_volume(claim, view)


def answering_notes(pod: Pod, answering: Answering, schedulers: Iterable[str]) -> Iterator[Note]:
    """Say that nobody is there who would schedule the pod, or answer about it.

    Args:
        pod: The pod; without wishes nothing is known of it.
        answering: What is known of the service, and of the second scheduler.
        schedulers: Names of the second scheduler.
    """
    if pod.wishes is None or pod.status.node is not None:
        return
    if answering.why_no_scheduler and pod.wishes.scheduler in schedulers:
        yield Note(
            "scheduler_absent",
            f"schedulerName is {pod.wishes.scheduler}, and {answering.why_no_scheduler}",
            refuses=True,
        )
    if answering.why_nobody_leads and RESOURCE in pod.wishes.resources:
        yield Note(
            "nobody_leads",
            f"no instance of the extender leads, so kube-scheduler gets no answer about the pod: "
            f"{answering.why_nobody_leads}",
            refuses=True,
        )


def hold_notes(pods: Iterable[Pod]) -> Iterator[Note]:
    """Name those of *pods* that the leader may hold room for while nothing in the cluster shows it.

    They ask for the extender, and kube-scheduler has neither chosen their node nor refused them.

    Args:
        pods: Other pods than the one asked about, without those whose holds are known.
    """
    on_their_way = sorted(
        f"{each.ref.namespace}/{each.ref.name}" for each in pods if _is_on_its_way(each)
    )
    if on_their_way:
        yield Note(
            "open_holds_unknown",
            f"room that the leader may hold for {first_of(on_their_way, _MOST_NAMES)} is not known "
            "here, since no node is chosen yet",
        )


def _is_on_its_way(pod: Pod) -> bool:
    wishes, status = pod.wishes or Wishes(), pod.status
    is_placed = status.node or status.nominated or status.running or status.ended
    has_asked = RESOURCE in wishes.resources and bool(pod.ref.claims)
    return has_asked and not is_placed and status.refusal is None


def volume_notes(claims: Sequence[ClaimReport], names: Mapping[VolumeName, str]) -> Iterator[Note]:
    """Say where strict-local volumes are."""
    for each in claims:
        nodes = [r.node for r in each.replicas if r.node and r.state != "being deleted"]
        if each.locality == Locality.STRICT_LOCAL and each.local and nodes:
            name = names[VolumeName(each.volume)]
            yield Note(
                "strict_local_placed",
                f"{name} is strict-local, and its replica is on {', '.join(nodes)}",
            )


def unjudged_notes(claims: Iterable[ClaimReport]) -> Iterator[Note]:
    """Say that disks decide nothing about a pod that no node is rejected for, if so."""
    longhorns = [each for each in claims if each.volume]
    if not longhorns:
        yield Note("no_longhorn_volume", "no claim of the pod leads to a Longhorn volume")
    elif all(each.never_local for each in longhorns):
        yield Note("never_local", "no volume of the pod can have its data on the pod's node")
    elif not any(each.local for each in longhorns):
        yield Note("nothing_local", "no volume of the pod needs a replica on its node")


def spread_notes(spreads: Iterable[Spread], names: Mapping[VolumeName, str]) -> Iterator[Note]:
    """Say of which volumes not all replicas find a place, and why."""
    for each in spreads:
        if each.missing and each.hindrance is not None:
            yield Note(each.hindrance, f"{names[each.volume]}: {_missing(each)}")


def _missing(spread: Spread) -> str:
    roomy = first_of(spread.roomy, _MOST_NAMES)
    placeless = f"{spread.missing} of {spread.wanted} replicas find no place"
    match spread.hindrance:
        case Hindrance.NODES:
            return f"{placeless}: each needs a node of its own, and only {roomy} have room"
        case Hindrance.ZONES:
            return f"{placeless}: each needs a zone of its own; the nodes with room are {roomy}"
        case Hindrance.DISKS:
            return f"{placeless}: no disk that takes replicas has the tags and the type"
        case Hindrance.USABLE_DISKS:
            return f"{placeless}: no disk of any node takes new replicas"
    where = f"the nodes with room for one are {roomy}" if roomy else "no disk has room for one"
    return f"{placeless}: {where}"
