"""What `may-drain` reads of a cluster, as plain frozen records."""

import msgspec

from longhorn import NodeName, VolumeName
from planner.records import Selector

_ENDED = ("Succeeded", "Failed")


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """A Kubernetes Node."""

    name: NodeName
    cordoned: bool
    ready: bool
    """False only if its condition says so, or that it is not known."""


class Manager(msgspec.Struct, frozen=True, kw_only=True):
    """An InstanceManager."""

    namespace: str
    name: str
    node: NodeName
    type: str
    """aio since Longhorn v1.5; engine or replica before."""
    is_v2: bool
    image: str
    state: str
    deleting: bool
    engines: tuple[str, ...]
    """The names of the engines, engine frontends and instances of old versions that it runs."""
    replicas: tuple[str, ...]
    """The names of the replicas that it runs."""

    @property
    def key(self) -> str:
        """Namespace and name, joined by a slash; its PodDisruptionBudget and its pod have the same.

        Source: longhorn-manager types/types.go GetPDBName.
        """
        return f"{self.namespace}/{self.name}"

    @property
    def runs(self) -> bool:
        """Whether its state is `running`."""
        return self.state == "running"


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """A Replica."""

    name: str
    volume: VolumeName
    node: NodeName
    """By its spec; "" before it is placed."""
    listed_on: NodeName
    """By its label, by which Longhorn lists the replicas of a node."""
    is_v2: bool
    healthy_once: bool
    failed: bool
    stopped: bool
    """It shall not run, and does not."""
    manager: str
    """The InstanceManager that it runs in, or ran in; "" if it never did."""

    @property
    def has_data(self) -> bool:
        """Whether it is healthy by Longhorn's own test."""
        return self.healthy_once and not self.failed


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """A Volume: who uses it, and how many shards it can do without."""

    name: VolumeName
    claim: str
    """Namespace and name of its claim, joined by a slash; "" if there is none now."""
    shared: bool
    """Several nodes use it, by a share manager: its engine is with that."""
    shards: int
    """How many an erasure-coded volume has; 0 if it has replicas."""
    spare_shards: int
    """How many of them may be lost."""
    is_strict: bool = False
    """Strict-local: its replica goes to no other node."""


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """A PodDisruptionBudget, and what Kubernetes says of it now."""

    namespace: str
    name: str
    selector: Selector | None
    """None selects no pod."""
    allowed: int | None
    """How many of its pods may be disrupted; None if its status is missing."""
    is_met: bool
    """As many of its pods are healthy as it asks for, and it asks for some."""
    has_pods: bool
    """Whether Kubernetes counted pods of it when it last looked."""
    spares_unready: bool
    """Pods that are not ready may always be evicted."""

    @property
    def key(self) -> str:
        """Namespace and name, joined by a slash."""
        return f"{self.namespace}/{self.name}"


class Guest(msgspec.Struct, frozen=True, kw_only=True):
    """A pod, as `kubectl drain` looks at it."""

    namespace: str
    name: str
    node: NodeName
    labels: dict[str, str]
    owner: tuple[str, str] | None
    """Kind and name of its controller."""
    is_static: bool
    """A kubelet made it from a file of its own."""
    has_local_data: bool
    """It has an emptyDir."""
    phase: str
    ready: bool
    deleting: bool
    claims: tuple[str, ...]
    """Namespace and name of each, joined by a slash."""

    @property
    def key(self) -> str:
        """Namespace and name, joined by a slash."""
        return f"{self.namespace}/{self.name}"

    @property
    def ended(self) -> bool:
        """Whether all of its containers have."""
        return self.phase in _ENDED

    @property
    def stays(self) -> bool:
        """Whether `kubectl drain --ignore-daemonsets` passes it over.

        Source: kubectl pkg/drain/filters.go daemonSetFilter, mirrorPodFilter.
        """
        of_daemon_set = self.owner is not None and self.owner[0] == "DaemonSet"
        return self.is_static or (of_daemon_set and not self.ended)

    @property
    def is_unguarded(self) -> bool:
        """Whether it is evicted whatever budgets say.

        Source: kubernetes pkg/registry/core/pod/storage/eviction.go canIgnorePDB.
        """
        return self.ended or self.phase == "Pending" or self.deleting


Record = Copy | Guard | Guest | Host | Manager | Use
