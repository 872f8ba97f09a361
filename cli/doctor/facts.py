"""What was read of a cluster to judge how the service is wired. All of it is frozen."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from app.kube.mirror import Known
from app.settings import Settings
from cli.doctor.policies import NetworkPolicy
from cli.doctor.releases import Release
from cli.doctor.rights import Right
from cli.kube.asking import WaitingPod
from extender.kubernetes import StorageClass
from leader import Body


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be read."""

    what: str
    """As a right: "list pods in longhorn-scheduler"."""
    why: str
    is_forbidden: bool = False


class LeaseSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The Lease, and whether it is renewed."""

    holder: str | None = None
    """The identity that holds it, if anybody does."""
    created: str | None = None
    annotations: Mapping[str, str] = {}
    renewed: datetime | None = None
    is_renewed: bool = True
    """Whether it was written again while it was watched."""
    watched_seconds: float = 0.0

    @property
    def pod(self) -> str | None:
        """The pod of the holder."""
        return self.holder and (self.holder.rpartition("_")[0] or self.holder)


class InstanceSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A pod of the service."""

    name: str
    is_ready: bool = True
    trouble: str = ""
    """Why it is not ready, as its status says."""
    labels: Mapping[str, str] = {}
    config_checksum: str = ""
    """Of its configuration, as Helm notes it; of a kube-scheduler."""
    started: datetime | None = None
    """When its container began to run, if it runs."""
    variables: Mapping[str, str] = {}
    """The settings in its environment, but for those that are references."""


class ConfigMapSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A ConfigMap."""

    name: str
    data: Mapping[str, str] = {}
    release: Release | None = None
    """Whose it is, if it is Helm's."""
    changed: datetime | None = None
    """When anything was last written into it."""
    by_people: frozenset[str] = frozenset()
    """The keys that were written with kubectl last: Helm owns them no longer."""


class SchedulerSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The second kube-scheduler."""

    image: str = ""
    config_name: str = ""
    """The ConfigMap that its Deployment mounts."""
    config: ConfigMapSeen | Unread | None = None
    pods: Sequence[InstanceSeen] | Unread = ()


class LeftOver(msgspec.Struct, frozen=True, kw_only=True):
    """What there is where nothing of the service is installed."""

    leases: Sequence[str] = ()
    asking: Sequence[WaitingPod] | Unread = ()
    elsewhere: Sequence[str] = ()
    """Namespaces with a Deployment of its name, as far as it may be looked for."""


class InjectionSeen(msgspec.Struct, frozen=True, kw_only=True):
    """What gives new pods with claims the resource."""

    has_policy: bool = False
    has_binding: bool = False
    """Whether the policy is in force."""
    has_webhook: bool = False
    is_trusted: bool = False
    """Whether the API server has a CA for the webhook's certificate."""


class ClassSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A StorageClass."""

    record: StorageClass
    binding_mode: str = "Immediate"


class VolumeSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A Longhorn Volume."""

    name: str
    watched: Mapping[str, Any] = {}
    """The fields of its spec that may ask for something that is not judged."""


class AutoscalerSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A pod of cluster-autoscaler."""

    name: str
    """With its namespace."""
    arguments: Sequence[str] = ()
    """Of its containers, their commands included."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is judged. None is an object that does not exist."""

    settings: Settings
    """Of this process; the namespaces are looked into."""
    now: datetime
    """UTC; said in texts only."""
    version: str | Unread
    """Of Kubernetes."""
    account: str
    """The user that the service is to the API server."""
    kinds: Mapping[str, bool | Unread]
    """Longhorn's kinds that it needs, and whether they are served."""
    longhorn_nodes: Sequence[Known] | Unread
    longhorn_settings: Sequence[Known] | Unread
    volumes: Sequence[Known] | Unread
    """As `VolumeSeen`."""
    disk_schedules: Sequence[Known] | Unread | None
    """None if the API server does not serve the kind, which Longhorn may do without."""
    rights: Mapping[Right, bool] | Unread
    """What the account may do."""
    config_map: ConfigMapSeen | Unread | None
    """With the live settings."""
    instances: Sequence[InstanceSeen] | Unread
    lease: LeaseSeen | Unread | None
    holder: Body | Unread | None
    """The pod of the lease's holder; None also if there is no holder."""
    service: Body | Unread | None
    slices: Sequence[Body] | Unread
    """All EndpointSlices of the Service."""
    injection: InjectionSeen | Unread
    second_scheduler: SchedulerSeen | Unread | None
    network_policies: Sequence[NetworkPolicy] | Unread
    """Those of the service's namespace."""
    classes: Sequence[ClassSeen] | Unread
    autoscalers: Sequence[AutoscalerSeen] | Unread
    kubernetes_nodes: int | Unread
    """How many there are."""
    left_over: LeftOver | None = None
    """None if something of the service is there, or that cannot be seen."""
