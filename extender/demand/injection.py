"""Whether a new pod gets what makes kube-scheduler ask the extender about it.

That is a resource, and, where a second kube-scheduler asks the extender, the name of that one. Only
pods with Longhorn volumes need it, but a pod may be created before it is known what its claims lead
to. When in doubt the answer is yes: the extender accepts every node for a pod without Longhorn
volumes, while a pod that it is not asked about may start where its volumes have no room.
"""

from enum import StrEnum

import msgspec

from extender.demand.requests import LONGHORN_DRIVERS, LONGHORN_PROVISIONERS
from extender.kubernetes import ClaimTemplate, NewPod
from extender.view import ClusterView

DEFAULT_SCHEDULERS = ("", "default-scheduler")
"""The API server fills in the second before anybody else sees a new pod."""


class InjectionOutcome(StrEnum):
    """What is found out about a new pod."""

    NEEDS_EXTENDER = "injected"
    NEEDS_SCHEDULER = "scheduler_named"
    """It has the resource already, and still names a scheduler that does not ask the extender."""
    ASKS_ALREADY = "asks_already"
    OTHER_STORAGE = "other_storage"
    NO_CLAIMS = "no_claims"
    OPTED_OUT = "opted_out"
    OF_DAEMON_SET = "daemon_set"
    IS_BOUND = "bound"


class Injection(msgspec.Struct, frozen=True, kw_only=True):
    """What a new pod gets, and why."""

    outcome: InjectionOutcome
    resource: bool = False
    """Whether its first container gets the resource."""
    scheduler: str | None = None
    """The schedulerName that it gets; None if it keeps its own."""


def judge_pod(pod: NewPod, scheduler: str) -> Injection | None:
    """Decide by the pod alone; return None if that depends on what its claims lead to.

    *scheduler* names the kube-scheduler that asks the extender: "" if the cluster's own does.
    """
    if pod.is_bound:
        return Injection(outcome=InjectionOutcome.IS_BOUND)
    if pod.of_daemon_set:
        return Injection(outcome=InjectionOutcome.OF_DAEMON_SET)
    if pod.opted_out:
        return Injection(outcome=InjectionOutcome.OPTED_OUT)
    if not (pod.claims or pod.templates):
        return Injection(outcome=InjectionOutcome.NO_CLAIMS)
    if not pod.asks_for_extender:
        return None
    # Any scheduler that does not ask the extender leaves it pending: no node has the resource.
    if name := _new_scheduler(pod, scheduler):
        return Injection(outcome=InjectionOutcome.NEEDS_SCHEDULER, scheduler=name)
    return Injection(outcome=InjectionOutcome.ASKS_ALREADY)


def judge_claims(pod: NewPod, scheduler: str, view: ClusterView) -> Injection:
    """Decide by what the claims of a pod lead to, for which `judge_pod` has returned None."""
    if not _may_use_longhorn(pod, view):
        return Injection(outcome=InjectionOutcome.OTHER_STORAGE)
    return Injection(
        outcome=InjectionOutcome.NEEDS_EXTENDER,
        resource=True,
        scheduler=_new_scheduler(pod, scheduler),
    )


def _new_scheduler(pod: NewPod, scheduler: str) -> str | None:
    return scheduler if scheduler and pod.scheduler in DEFAULT_SCHEDULERS else None


def _may_use_longhorn(pod: NewPod, view: ClusterView) -> bool:
    claims = [view.claims.get(key) for key in pod.claims]
    return any(
        claim is None or _may_be_longhorns(claim.persistent_volume, claim.storage_class, view)
        for claim in claims
    ) or any(_may_become_longhorns(template, view) for template in pod.templates)


def _may_become_longhorns(template: ClaimTemplate, view: ClusterView) -> bool:
    if template.persistent_volume is None and template.storage_class is None:
        # Of several Kubernetes takes the newest; to ask about all of them costs no more.
        defaults = [each for each in view.storage_classes.values() if each.is_default]
        return not defaults or any(each.provisioner in LONGHORN_PROVISIONERS for each in defaults)
    return _may_be_longhorns(template.persistent_volume, template.storage_class, view)


def _may_be_longhorns(
    persistent_volume: str | None, storage_class: str | None, view: ClusterView
) -> bool:
    """Whether a claim leads to Longhorn, or to what is not known (yet, or since it is unreadable).

    A claim that has neither a volume nor a class will be bound to a volume that somebody has made
    by hand, which may be one of Longhorn's.
    """
    if persistent_volume is not None:
        volume = view.persistent_volumes.get(persistent_volume)
        return volume is None or volume.driver in LONGHORN_DRIVERS
    if not storage_class:
        return True
    found = view.storage_classes.get(storage_class)
    return found is None or found.provisioner in LONGHORN_PROVISIONERS
