"""The fields that `doctor` reads of objects beside those that decisions rest on, as in JSON."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from app.config import PREFIX
from app.kube import objects as kube
from app.kube.objects import KubeStruct, Metadata, PodCondition, StorageClass, Text
from cli.doctor.coming import is_watched
from cli.doctor.facts import (
    AutoscalerSeen,
    InstanceSeen,
    LeaseSeen,
    VolumeSeen,
)

_CHECKSUM = "checksum/config"


class Version(KubeStruct, frozen=True):
    git_version: str


class ListMetadata(KubeStruct, frozen=True):
    token: str | None = msgspec.field(default=None, name="continue")
    remaining: int | None = msgspec.field(default=None, name="remainingItemCount")


class Count(KubeStruct, frozen=True):
    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


class Bodies(KubeStruct, frozen=True):
    items: list[dict[str, Any]] | None = None


class Class(StorageClass, frozen=True, rename="camel"):
    volume_binding_mode: Text = None


class Classes(KubeStruct, frozen=True):
    items: list[Class] | None = None


class Volume(KubeStruct, frozen=True):
    metadata: Metadata
    spec: dict[str, Any] | None = None


class ClientConfig(KubeStruct, frozen=True):
    ca_bundle: Text = None


class Webhook(KubeStruct, frozen=True):
    client_config: ClientConfig = ClientConfig()


class WebhookConfiguration(KubeStruct, frozen=True):
    webhooks: list[Webhook] | None = None

    @property
    def is_trusted(self) -> bool:
        """Whether the API server can check all certificates."""
        webhooks = self.webhooks or ()
        return bool(webhooks) and all(each.client_config.ca_bundle for each in webhooks)


class Waiting(KubeStruct, frozen=True):
    reason: Text = None
    message: Text = None


class Running(KubeStruct, frozen=True):
    started_at: datetime | None = None


class ContainerState(KubeStruct, frozen=True):
    waiting: Waiting | None = None
    running: Running | None = None


class ContainerStatus(KubeStruct, frozen=True):
    state: ContainerState | None = None


class PodStatus(kube.PodStatus, frozen=True, rename="camel"):
    container_statuses: list[ContainerStatus] | None = None


class Variable(KubeStruct, frozen=True):
    name: str
    value: Text = None


class Container(KubeStruct, frozen=True):
    image: Text = None
    env: list[Variable] | None = None
    command: list[str] | None = None
    args: list[str] | None = None


class ConfigMapSource(KubeStruct, frozen=True):
    name: Text = None


class PodVolume(KubeStruct, frozen=True):
    config_map: ConfigMapSource | None = None


class PodSpec(KubeStruct, frozen=True):
    containers: list[Container] | None = None
    volumes: list[PodVolume] | None = None


class PodTemplate(KubeStruct, frozen=True):
    spec: PodSpec = PodSpec()


class DeploymentSpec(KubeStruct, frozen=True):
    template: PodTemplate = PodTemplate()


class Deployment(KubeStruct, frozen=True):
    metadata: Metadata
    spec: DeploymentSpec = DeploymentSpec()

    @property
    def image(self) -> str:
        """Of its first container."""
        containers = self.spec.template.spec.containers or ()
        return next((each.image or "" for each in containers), "")

    @property
    def config_map(self) -> str:
        """The first ConfigMap that is mounted."""
        volumes = self.spec.template.spec.volumes or ()
        named = (each.config_map.name for each in volumes if each.config_map is not None)
        return next(filter(None, named), "")


class Deployments(KubeStruct, frozen=True):
    items: list[Deployment] | None = None


class PodMetadata(Metadata, frozen=True, rename="camel"):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Pod(KubeStruct, frozen=True):
    metadata: PodMetadata
    spec: PodSpec | None = None
    status: PodStatus | None = None


class Pods(KubeStruct, frozen=True):
    items: list[Pod] | None = None


class LeaseMetadata(Metadata, frozen=True, rename="camel"):
    creation_timestamp: Text = None
    annotations: dict[str, str] | None = None


class LeaseSpec(KubeStruct, frozen=True):
    holder_identity: Text = None
    renew_time: Text = None
    lease_duration_seconds: int | None = None


class Lease(KubeStruct, frozen=True):
    metadata: LeaseMetadata
    spec: LeaseSpec = LeaseSpec()

    @property
    def holder(self) -> str | None:
        return self.spec.holder_identity or None

    @property
    def renewal(self) -> tuple[str | None, str | None]:
        """What every renewal changes."""
        return self.holder, self.spec.renew_time

    def seen(self, *, is_renewed: bool = True, watched_seconds: float = 0.0) -> LeaseSeen:
        return LeaseSeen(
            holder=self.holder,
            renewed=self._renewed(),
            created=self.metadata.creation_timestamp,
            annotations=self.metadata.annotations or {},
            is_renewed=is_renewed,
            watched_seconds=watched_seconds,
        )

    def _renewed(self) -> datetime | None:
        try:
            return datetime.fromisoformat(self.spec.renew_time or "")
        except ValueError:
            return None


class UserInfo(KubeStruct, frozen=True):
    username: str


class SelfReviewStatus(KubeStruct, frozen=True):
    user_info: UserInfo


class SelfReview(KubeStruct, frozen=True):
    status: SelfReviewStatus


class ReviewStatus(KubeStruct, frozen=True):
    allowed: bool | None = None


class Review(KubeStruct, frozen=True):
    status: ReviewStatus


def instance_seen(pod: Pod) -> InstanceSeen:
    """Say how an instance's pod is."""
    status = pod.status or PodStatus()
    conditions = {each.type: each for each in status.conditions or ()}
    ready = conditions.get("Ready")
    containers = (pod.spec or PodSpec()).containers or ()
    return InstanceSeen(
        name=pod.metadata.name,
        is_ready=ready is not None and ready.status == "True",
        trouble=_trouble(status, conditions),
        labels=pod.metadata.labels or {},
        config_checksum=(pod.metadata.annotations or {}).get(_CHECKSUM, ""),
        started=_started(status),
        variables={
            variable.name: variable.value
            for container in containers
            for variable in container.env or ()
            if variable.name.startswith(PREFIX) and variable.value is not None
        },
    )


def volume_seen(volume: Volume) -> VolumeSeen:
    """Keep of a Longhorn Volume what is watched for."""
    watched = {name: value for name, value in (volume.spec or {}).items() if is_watched(name)}
    return VolumeSeen(name=volume.metadata.name, watched=watched)


def autoscaler_seen(pod: Pod) -> AutoscalerSeen:
    """Say how a pod of cluster-autoscaler is started."""
    containers = (pod.spec or PodSpec()).containers or ()
    return AutoscalerSeen(
        name=f"{pod.metadata.namespace}/{pod.metadata.name}",
        arguments=[
            argument
            for each in containers
            for argument in (*(each.command or ()), *(each.args or ()))
        ],
    )


def _started(status: PodStatus) -> datetime | None:
    """Return when the first container that runs was started."""
    states = (each.state.running for each in status.container_statuses or () if each.state)
    return next((each.started_at for each in states if each is not None), None)


def _trouble(status: PodStatus, conditions: Mapping[str | None, PodCondition]) -> str:
    """Say why a pod is not ready: what its container waits for, else the condition that fails."""
    for container in status.container_statuses or ():
        if container.state is not None and container.state.waiting is not None:
            waiting = container.state.waiting
            return ": ".join(text for text in (waiting.reason, waiting.message) if text)
    for type_ in ("PodScheduled", "Ready"):
        condition = conditions.get(type_)
        if condition is not None and condition.status != "True":
            return condition.message or condition.reason or ""
    return ""


def is_over(pod: Pod) -> bool:
    """Whether a pod is going or gone, so that another one takes its place."""
    phase = pod.status.phase if pod.status else None
    return bool(pod.metadata.deletion_timestamp) or phase in ("Succeeded", "Failed")
