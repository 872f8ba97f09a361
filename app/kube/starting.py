"""Pods that have a node and have not begun to run, and whether they ask for the extender."""

from typing import Any

import msgspec
from msgspec import structs

from app.config import RESOURCE
from app.kube.objects import KubeStruct, Metadata, Text
from app.kube.resources import PODS


class Resources(KubeStruct, frozen=True):
    limits: dict[str, Any] | None = None
    requests: dict[str, Any] | None = None


class Container(KubeStruct, frozen=True):
    resources: Resources | None = None


class PodSpec(KubeStruct, frozen=True):
    node_name: Text = None
    scheduler_name: Text = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None


class PodObject(KubeStruct, frozen=True):
    metadata: Metadata
    spec: PodSpec | None = None


class StartingPod(msgspec.Struct, frozen=True, kw_only=True):
    """Such a pod."""

    key: str
    uid: str
    node: str
    asks: bool
    """Whether kube-scheduler must have asked about it: a container names the resource."""


def asks(spec: PodSpec) -> bool:
    """Whether a container names the resource."""
    resources = (
        each.resources or Resources()
        for each in (*(spec.containers or ()), *(spec.init_containers or ()))
    )
    return any(RESOURCE in (*(each.limits or ()), *(each.requests or ())) for each in resources)


def starting_record(pod: PodObject) -> StartingPod:
    """Translate a Pod."""
    spec = pod.spec or PodSpec()
    return StartingPod(
        key=f"{pod.metadata.namespace}/{pod.metadata.name}",
        uid=pod.metadata.uid or "",
        node=spec.node_name or "",
        asks=asks(spec),
    )


STARTING_PODS = structs.replace(
    PODS, structure=PodObject, record=StartingPod, record_of=starting_record
)
