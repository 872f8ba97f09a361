"""Pods that wait for a node and ask for the extender: nobody else finds them one."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from app.config import RESOURCE
from app.kube import objects
from app.kube.feed import Source
from app.kube.resource import Resource
from cli.kube.placement import Container
from cli.kube.planned_pods import Owner, owner_of

SCHEDULER = "longhorn-scheduler"
"""Of the second kube-scheduler: its Deployment, its Lease, and by default its schedulerName."""
_MOST_NAMED = 20


class AskingMetadata(objects.Metadata, frozen=True, rename="camel"):
    owner_references: list[Owner] | None = None


class AskingSpec(objects.KubeStruct, frozen=True):
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    scheduler_name: objects.Text = None


class AskingPod(objects.KubeStruct, frozen=True):
    metadata: AskingMetadata
    spec: AskingSpec = AskingSpec()


class WaitingPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that has no node yet."""

    namespace: str
    name: str
    has_resource: bool
    scheduler: str
    controller: str = ""
    """As KIND NAME, empty if no controller makes it again."""

    @property
    def key(self) -> str:
        """Namespace and name, joined by a slash."""
        return f"{self.namespace}/{self.name}"


def waiting_pod(pod: AskingPod) -> WaitingPod:
    """Translate a Pod."""
    containers = chain(pod.spec.containers or (), pod.spec.init_containers or ())
    return WaitingPod(
        namespace=pod.metadata.namespace or "",
        name=pod.metadata.name,
        has_resource=any(
            RESOURCE in (amounts or {})
            for each in containers
            if each.resources is not None
            for amounts in (each.resources.limits, each.resources.requests)
        ),
        scheduler=pod.spec.scheduler_name or "",
        controller=" ".join(owner_of(pod.metadata.owner_references) or ()),
    )


WAITING_PODS = Source(
    resource=Resource(
        plural="pods",
        kind="Pod",
        structure=AskingPod,
        record=WaitingPod,
        record_of=waiting_pod,
        has_namespaces=True,
    ),
    fields="spec.nodeName=,status.phase=Pending",
)


def asking(pods: Iterable[WaitingPod], scheduler: str) -> list[WaitingPod]:
    """Return those that ask for the extender or name the second scheduler, sorted."""
    found = [pod for pod in pods if pod.has_resource or pod.scheduler == scheduler]
    return sorted(found, key=lambda pod: pod.key)


def how_to_mend(pods: Sequence[WaitingPod], scheduler: str) -> Iterator[str]:
    """Name pods that nobody places once the extender is gone, and the commands that help.

    Without a controller a pod must be made again by whoever made it: neither its resources nor its
    schedulerName can be changed.
    """
    yield f"{len(pods)} waiting for a node that nobody gives them once the extender is gone:"
    for pod in pods[:_MOST_NAMED]:
        yield f"  {pod.key}" + (f" (of {pod.controller})" if pod.controller else "")
    if len(pods) > _MOST_NAMED:
        yield f"  and {len(pods) - _MOST_NAMED} more"
    if any(pod.controller for pod in pods):
        yield "Delete those of a controller, which makes them anew, without the extender:"
        for namespace in sorted({pod.namespace for pod in pods if pod.controller}):
            names = [pod.name for pod in pods if pod.controller and pod.namespace == namespace]
            named = " ".join(names[:_MOST_NAMED])
            yield f"  kubectl delete pods --namespace {namespace} {named}"
    yield (
        f"Create all others anew, by manifests without {RESOURCE} and without schedulerName "
        f"{scheduler}: neither can be taken out of a pod."
    )
