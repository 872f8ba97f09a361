"""A pod as commands know it."""

import msgspec

from app.kube import objects
from app.kube.translate import pod_ref, pod_status
from extender import PodRef
from extender.kubernetes import PodStatus
from planner.records import Wishes


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod: its claims, how far it has come, and what it asks of kube-scheduler."""

    ref: PodRef
    status: PodStatus
    wishes: Wishes | None = None
    """None if that is not known."""

    @property
    def key(self) -> str:
        """Namespace and name, joined by a slash."""
        return f"{self.ref.namespace}/{self.ref.name}"


def pod_record(pod: objects.Pod, wishes: Wishes) -> Pod:
    """Translate a Pod that asks for *wishes*."""
    return Pod(ref=pod_ref(pod), status=pod_status(pod), wishes=wishes)
