"""Pods that wait for a node and ask for the extender: nobody else finds them one."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from app.kube import objects
from app.kube.feed import Source
from app.kube.resource import Resource
from app.kube.starting import PodSpec, asks
from cli.kube.placement import Owner, owner_of
from planner.naming import first_of

SCHEDULER = "longhorn-scheduler"
"""Of the second kube-scheduler: its Deployment, its Lease, and by default its schedulerName."""
_MOST_NAMED = 20


class AskingMetadata(objects.Metadata, frozen=True, rename="camel"):
    owner_references: list[Owner] | None = None


class AskingPod(objects.KubeStruct, frozen=True):
    metadata: AskingMetadata
    spec: PodSpec | None = None


class WaitingPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that has no node yet."""

    namespace: str
    name: str
    has_resource: bool = False
    scheduler: str = ""
    controller: str = ""
    """As KIND NAME, empty if no controller makes it again."""
    is_ending: bool = False

    @property
    def key(self) -> str:
        """Namespace and name, joined by a slash."""
        return f"{self.namespace}/{self.name}"


def waiting_pod(pod: AskingPod) -> WaitingPod:
    """Translate a Pod."""
    spec = pod.spec or PodSpec()
    return WaitingPod(
        namespace=pod.metadata.namespace or "",
        name=pod.metadata.name,
        has_resource=asks(spec),
        scheduler=spec.scheduler_name or "",
        controller=" ".join(owner_of(pod.metadata.owner_references) or ()),
        is_ending=pod.metadata.deletion_timestamp is not None,
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
    found = [
        pod
        for pod in pods
        if not pod.is_ending and (pod.has_resource or pod.scheduler == scheduler)
    ]
    return sorted(found, key=lambda pod: pod.key)


def mending(pods: Sequence[WaitingPod]) -> Iterator[str]:
    """Say how pods get a node that nobody gives them one: commands, or what is to be done.

    Neither a pod's resources nor its schedulerName can be changed. What a controller makes again
    is without what injection had added.
    """
    made_again = defaultdict[str, list[str]](list)
    for pod in pods[:_MOST_NAMED]:
        if pod.controller:
            made_again[pod.namespace].append(pod.name)
    for namespace, names in made_again.items():
        yield f"kubectl --namespace {namespace} delete pod {' '.join(names)} (made again at once)"
    if bare := [pod.key for pod in pods if not pod.controller]:
        named = first_of(bare, _MOST_NAMED)
        yield f"make {named} again from a manifest that does not ask"


def how_to_mend(pods: Sequence[WaitingPod]) -> Iterator[str]:
    """Name pods that nobody gives a node once the extender is gone, and what helps."""
    yield f"{len(pods)} waiting for a node that nobody gives them once the extender is gone:"
    for pod in pods[:_MOST_NAMED]:
        yield f"  {pod.key}" + (f" (of {pod.controller})" if pod.controller else "")
    if len(pods) > _MOST_NAMED:
        yield f"  and {len(pods) - _MOST_NAMED} more"
    for line in mending(pods):
        yield f"-> {line}"
