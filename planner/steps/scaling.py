"""Give a workload of the cluster more pods or fewer.

Source: kubernetes pkg/controller/statefulset/stateful_set_control.go (the highest ordinals go, of
ordered pods only while all that stay run: processReplica),
stateful_set_utils.go (which claims go with them), pkg/controller/controller_utils.go
ActivePodsWithRanks (which pods of a ReplicaSet go).
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from extender.kubernetes import Claim, PersistentVolume
from planner.additions import Wanted
from planner.errors import PlanError, unknown
from planner.naming import first_of, natural
from planner.picture import Event, Kind
from planner.plan import Plan
from planner.records import Pod
from planner.steps.workloads import PlaceWorkloads
from planner.workloads import DEPLOYMENT, STATEFUL_SET, Workload, is_made_by

SCALED = (STATEFUL_SET, DEPLOYMENT)
_PHASES = ("Pending", "Unknown", "Running")
"""Those that go first come first."""


class WorkloadName(msgspec.Struct, frozen=True, kw_only=True):
    """Names a workload of the cluster."""

    namespace: str
    name: str
    kind: str | None = None
    """None for whichever it is."""

    def __str__(self) -> str:
        key = f"{self.namespace}/{self.name}"
        return f"{self.kind} {key}" if self.kind else key


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """Have a StatefulSet or Deployment of the cluster have so many pods."""

    workload: WorkloadName
    replicas: int

    @property
    def title(self) -> str:
        """What is done."""
        return f"scale {self.workload} to {self.replicas}"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        workload = _find(self.workload, plan)
        pods = [
            pod
            for pod in plan.cluster.pods.values()
            if is_made_by(pod, workload) and not pod.wishes.deleting
        ]
        if workload.kind == STATEFUL_SET:
            past = workload.first + self.replicas
            pods = [
                each for each in pods if _ordinal(each) >= 0
            ]  # the controller leaves others alone
            going = [each for each in pods if not workload.first <= _ordinal(each) < past]
            going.sort(key=_ordinal, reverse=True)
        else:
            going = _least_needed(pods)[: max(0, len(pods) - self.replicas)]
            if going and len(going) < len(pods):
                plan.notes.append(_how_chosen(workload))
        waiting = [each.key for each in pods if each.node is None and each not in going]
        if workload.ordered and waiting and going:
            text = f"removes no pod until {min(waiting, key=natural)} runs, as it orders its pods"
            return [Event(kind=Kind.REFUSED, object=workload.key, text=text)]
        gone = [_delete(each, workload, plan) for each in going]
        stays = [each for each in pods if each.key in plan.cluster.pods]
        return [*gone, *(plan.settle() if gone else ()), *self._grow(workload, stays, plan)]

    def _grow(self, workload: Workload, pods: Sequence[Pod], plan: Plan) -> list[Event]:
        """Have the pods made that are missing; none while one waits that is to be there before."""
        waiting = [each.key for each in pods if each.node is None]
        if workload.ordered and waiting and len(pods) < self.replicas:
            text = f"gets no more pods until {min(waiting, key=natural)} runs"
            return [Event(kind=Kind.REFUSED, object=workload.key, text=text)]
        wanted = Wanted(objects=(workload,))
        return PlaceWorkloads(wanted=wanted, replicas=self.replicas).take(plan)


def _find(wanted: WorkloadName, plan: Plan) -> Workload:
    known = [each for each in plan.cluster.workloads if each.kind in SCALED]
    of_kind = [each for each in known if wanted.kind in (None, each.kind)]
    named = [each for each in of_kind if each.name == wanted.name]
    found = [each for each in named if each.namespace == wanted.namespace]
    if len(found) > 1:
        raise PlanError(
            f"there are {first_of([each.key for each in found], len(found))}; name the kind as well"
        )
    if found:
        return found[0]
    kind = wanted.kind or "StatefulSet or Deployment"
    if not known:
        raise PlanError(
            f"there is no {kind} {wanted.namespace}/{wanted.name}: none is known at all; add what "
            f"`kubectl get statefulsets,deployments --all-namespaces -o yaml` prints"
        )
    if named:
        meant = first_of([f"{each.namespace}/{each.name}" for each in named], 3)
        raise PlanError(
            f"there is no {kind} {wanted.namespace}/{wanted.name}; did you mean {meant}?"
        )
    names = (f"{each.namespace}/{each.name}" for each in of_kind)
    raise unknown(kind, f"{wanted.namespace}/{wanted.name}", names)


def _ordinal(pod: Pod) -> int:
    """Return the number in the name of a pod of a StatefulSet, -1 if it has none."""
    number = pod.ref.name.rpartition("-")[2]
    return int(number) if number.isdecimal() else -1


def _least_needed(pods: Sequence[Pod]) -> list[Pod]:
    """Return pods of a Deployment in the order in which they go, as far as it is known.

    Those without a node go first, then by phase, then from the nodes with the most of them.
    """
    on_node = Counter(each.node for each in pods)

    def rank(pod: Pod) -> tuple[bool, int, int]:
        phase = pod.wishes.phase
        place = _PHASES.index(phase) if phase in _PHASES else len(_PHASES)
        return pod.node is not None, place, -on_node[pod.node]

    by_name = sorted(pods, key=lambda each: natural(each.key), reverse=True)
    return sorted(by_name, key=rank)


def _how_chosen(workload: Workload) -> str:
    return (
        f"which pods of {workload.key} go: those without a node first, then those that are not "
        f"Running, then from nodes with the most of them; pod-deletion-cost, readiness and age are "
        f"not known, and the last names go in their place"
    )


def _delete(pod: Pod, workload: Workload, plan: Plan) -> Event:
    """Delete a pod, and its own claims if the workload says so; say what becomes of these."""
    if pod.node is not None:
        plan.volumes.detach(pod)
    plan.forget(pod.key)
    # Claims of ephemeral volumes belong to their pod.
    of_pod = {f"{pod.key}-{each.name}" for each in workload.ephemeral_claims}
    of_set = {
        f"{workload.namespace}/{each.name}-{pod.ref.name}" for each in workload.claim_templates
    }
    deleted = of_pod | (of_set if workload.deletes_claims else set())
    told = []
    for key in pod.ref.claims:
        claim = plan.cluster.get(Claim, key)
        if claim is not None and key in of_pod | of_set:
            told.append(_told(claim, plan) if key in deleted else f"{key} stays")
    text = f"is deleted{f' from {pod.node}' if pod.node else ''}"
    return Event(
        kind=Kind.CHANGED, object=pod.key, text=f"{text}; {', '.join(told)}" if told else text
    )


def _told(claim: Claim, plan: Plan) -> str:
    """Delete a claim, and its volume unless that is retained; say so."""
    bound = plan.cluster.get(PersistentVolume, claim.persistent_volume or "")
    if bound is not None and bound.retained:
        plan.cluster.remove(claim)
        return f"{claim.key} is deleted, and its volume stays (reclaimPolicy Retain)"
    plan.volumes.delete(claim)
    return f"{claim.key} is deleted with its volume"
