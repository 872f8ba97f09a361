"""Kubernetes' objects as kube-scheduler's own rules read them: plain frozen records.

Amounts of resources are whole numbers: CPU in thousandths of a core, everything else in its own
unit, such as bytes of memory.
"""

from collections.abc import Mapping

import msgspec

from extender import PodRef
from extender.kubernetes import NodeTerm, Requirement
from longhorn import NodeName

CPU, MEMORY, PODS = "cpu", "memory", "pods"


class Taint(msgspec.Struct, frozen=True):
    """A taint of a node."""

    key: str
    value: str
    effect: str


class Toleration(msgspec.Struct, frozen=True):
    """A toleration of a pod; what is empty matches anything."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class Selector(msgspec.Struct, frozen=True):
    """A label selector: all of it must be met. One that asks for nothing selects everything."""

    labels: Mapping[str, str] = {}
    requirements: tuple[Requirement, ...] = ()


class PodTerm(msgspec.Struct, frozen=True):
    """A rule about other pods: those that it selects, in one domain of nodes."""

    selector: Selector
    topology_key: str
    """The label of nodes that have the same value in one domain."""
    namespaces: tuple[str, ...]
    """Those of the pods; () stands for all of them."""


class PreferredNodes(msgspec.Struct, frozen=True):
    """Nodes that a pod would rather have, by preferred node affinity."""

    weight: int
    term: NodeTerm


class PreferredPods(msgspec.Struct, frozen=True):
    """Pods that a pod would rather be near, or rather not if the weight is negative."""

    weight: int
    term: PodTerm


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """A topology spread constraint of a pod."""

    topology_key: str
    """The label of nodes that have the same value in one domain."""
    max_skew: int
    selector: Selector | None = None
    """Which pods are counted, those of matchLabelKeys alone; None selects none."""
    is_required: bool = True
    """DoNotSchedule; else it only makes nodes better or worse."""
    least_domains: int = 1
    """minDomains."""
    only_allowed: bool = True
    """nodeAffinityPolicy: only nodes count that nodeSelector and node affinity allow."""
    only_tolerated: bool = False
    """nodeTaintsPolicy: only nodes count whose taints the pod tolerates."""


class HostPort(msgspec.Struct, frozen=True):
    """A port of its node that a pod takes."""

    port: int
    protocol: str = "TCP"
    address: str = ""
    """"" stands for all addresses of the node."""


class CloudDisk(msgspec.Struct, frozen=True):
    """A disk of GCE or Amazon EBS that a pod mounts by itself, without a claim."""

    kind: str
    """gcePersistentDisk or awsElasticBlockStore."""
    name: str
    read_only: bool = False


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod asks of kube-scheduler, and how far it has come."""

    scheduler: str = ""
    resources: frozenset[str] = frozenset()
    """The names of all resources that its containers ask for."""
    requests: Mapping[str, int] = {}
    """How much of each resource. Read for plans alone, as are the fields up to *labels*."""
    ports: tuple[HostPort, ...] = ()
    cloud_disks: tuple[CloudDisk, ...] = ()
    affinity: tuple[PodTerm, ...] = ()
    """Pods that must be near, by required pod affinity."""
    anti_affinity: tuple[PodTerm, ...] = ()
    """Pods that must not be near."""
    preferred_nodes: tuple[PreferredNodes, ...] = ()
    preferred_pods: tuple[PreferredPods, ...] = ()
    spreads: tuple[Spread, ...] = ()
    unplanned: tuple[str, ...] = ()
    """What it asks for and no plan goes by: each a field of its spec, and what that means."""
    priority: str = ""
    """Its PriorityClass or its priority, "" for the priority of pods that ask for none."""
    has_local_data: bool = False
    """It has an emptyDir, which is lost when it moves."""
    owner: tuple[str, str] | None = None
    """Kind and name of its controller."""
    is_static: bool = False
    """A kubelet made it from a file of its own."""
    labels: Mapping[str, str] = {}
    node_selector: Mapping[str, str] = {}
    node_name: NodeName | None = None
    """spec.nodeName of a pod that nobody schedules. None for pods of a cluster: it says where they
    are, not what they ask for."""
    terms: tuple[NodeTerm, ...] | None = None
    """Of the node affinity that it requires: one of them must be met. None if it requires none."""
    tolerations: tuple[Toleration, ...] = ()
    has_pod_rules: bool = False
    """It requires affinity to other pods, or a topology spread."""
    gates: tuple[str, ...] = ()
    """spec.schedulingGates: it is not scheduled while there is one. Plans pass over them."""
    of_daemon_set: bool = False
    phase: str = ""
    deleting: bool = False


class KubernetesNode(msgspec.Struct, frozen=True, kw_only=True):
    """A Kubernetes Node: a candidate, and what may keep kube-scheduler from it."""

    name: NodeName
    labels: Mapping[str, str] = {}
    cordoned: bool = False
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] = {}
    """How much of each resource pods may ask for; if it is empty, there is no limit. Read for plans
    alone, as is the next field."""
    kubelet: str = ""
    """Its version, like v1.37.2."""


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod of a plan."""

    ref: PodRef
    wishes: Wishes = Wishes()
    node: NodeName | None = None
    """Where it is; None if it is not placed."""

    @property
    def key(self) -> str:
        """Namespace and name, joined by a slash."""
        return f"{self.ref.namespace}/{self.ref.name}"


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """A Service, as far as it says which pods belong together."""

    namespace: str
    name: str
    selector: Mapping[str, str] = {}
    """Labels of its pods; a Service without any selects none."""

    @property
    def key(self) -> str:
        """Namespace and name, joined by a slash."""
        return f"{self.namespace}/{self.name}"


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """A PodDisruptionBudget: of each as much as is set, a number or a share of 100."""

    namespace: str
    name: str
    selector: Selector | None = None
    """None selects no pod."""
    least_available: str = ""
    """minAvailable, "" if it is not set."""
    most_unavailable: str = ""
    """maxUnavailable, "" if it is not set."""

    @property
    def key(self) -> str:
        """Namespace and name, joined by a slash."""
        return f"{self.namespace}/{self.name}"
