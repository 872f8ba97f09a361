"""A pod as commands know it."""

import msgspec

from app.kube import objects
from app.kube.translate import pod_ref, pod_status
from extender import PodRef
from extender.kubernetes import ClaimKey, PodStatus
from planner.records import Wishes


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod: its claims, how far it has come, and what it asks of kube-scheduler."""

    ref: PodRef
    status: PodStatus
    wishes: Wishes | None = None
    """None if that is not known."""
    ephemeral: tuple[ClaimKey, ...] = ()
    """Those of its claims that are made for it alone."""

    @property
    def key(self) -> str:
        """Namespace and name, joined by a slash."""
        return f"{self.ref.namespace}/{self.ref.name}"


def pod_record(pod: objects.Pod, wishes: Wishes) -> Pod:
    """Translate a Pod that asks for *wishes*."""
    ref, volumes = pod_ref(pod), (pod.spec.volumes if pod.spec else None) or ()
    own = {f"{ref.namespace}/{ref.name}-{each.name}" for each in volumes if each.ephemeral}
    ephemeral = tuple(key for key in ref.claims if key in own)
    return Pod(ref=ref, status=pod_status(pod), wishes=wishes, ephemeral=ephemeral)
