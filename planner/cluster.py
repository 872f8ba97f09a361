"""A cluster in memory, which a plan changes step by step."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from extender import Answer, Balance, ClusterView, Extender, StepLimits, ViewBuilder
from extender.holds import Asked, Sighting, Timeouts
from extender.kubernetes import (
    Claim,
    CsiNode,
    EngineOptOut,
    PersistentVolume,
    StorageClass,
    opt_out,
)
from extender.scoring import Score
from extender.view import ChangeLog, VersionedCache
from longhorn import (
    BackingImage,
    EngineImage,
    InstanceManager,
    Moment,
    Node,
    NodeName,
    Replica,
    Setting,
    Shard,
    Unreadable,
    Volume,
)
from planner.records import (
    CPU,
    MEMORY,
    PODS,
    Budget,
    KubernetesNode,
    Pod,
    PodTerm,
    PreferredPods,
    Service,
)
from planner.tallies import Question, Tallies
from planner.workloads import Workload

Record = (
    BackingImage
    | Claim
    | CsiNode
    | EngineImage
    | EngineOptOut
    | InstanceManager
    | Node
    | PersistentVolume
    | Replica
    | Setting
    | Shard
    | StorageClass
    | Unreadable
    | Volume
)
"""What decisions rest on; what cannot be read keeps them from nodes, as in the service."""
Kept = TypeVar("Kept", bound=Record)
Value = TypeVar("Value")

ASSUMED: Mapping[str, int] = {CPU: 100, MEMORY: 200 * 2**20}
"""What kube-scheduler takes for the request of a container that has none, when it scores nodes.
Source: kubernetes pkg/scheduler/util/pod_resources.go
"""

_MOST_QUESTIONS = 64
"""So many are remembered that were asked of nodes; pods of a few templates in turn ask fewer."""
_TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)
_ROUND_SECONDS = 10.0
"""How far the clock of the holds goes on when Longhorn has done what it can: beyond any of them."""


class Cluster:
    """Pods and nodes with what they take and have, the storage as decisions see it, and holds.

    Args:
        limits: Bounds on the packing's work.
        balance: Whether full or empty nodes are preferred.
        utc: The date and time that counts for Longhorn's waits, None if it is not known.
        ignored: Resources that nodes need not have: kube-scheduler leaves them to an extender.

    Attributes:
        nodes: The Kubernetes nodes.
        pods: All pods by namespace and name, those without a node too.
        services: All Services.
        budgets: All PodDisruptionBudgets.
        workloads: What makes pods, as far as it is known.
        extender: Decides as in the service, holds included.
        scores_capacity: Whether kube-scheduler gives points for free storage.
    """

    def __init__(
        self,
        limits: StepLimits,
        balance: Balance = Balance.SPREAD,
        utc: Moment | None = None,
        ignored: frozenset[str] = frozenset(),
    ) -> None:
        self.nodes: dict[NodeName, KubernetesNode] = {}
        self.pods: dict[str, Pod] = {}
        self.services: list[Service] = []
        self.budgets: list[Budget] = []
        self.workloads: list[Workload] = []
        self.extender = Extender(limits, balance=balance)
        self.scores_capacity = False
        self.utc = utc
        self.ignored = ignored
        self._on: dict[NodeName, dict[str, Pod]] = {}
        self._requested: dict[NodeName, dict[str, int]] = {}
        self._assumed: dict[NodeName, dict[str, int]] = {}
        self._tallies = Tallies()
        self._changes = ChangeLog[NodeName]()
        """The nodes that came, went or changed, or a pod on them."""
        self._by_node = VersionedCache[Hashable, dict[NodeName, Any]](_MOST_QUESTIONS)
        self._builder = ViewBuilder()
        self._now = 0.0
        self._answered: tuple[str, Answer] | None = None
        """What the extender found out for which pod, while nothing has changed since."""

    @property
    def view(self) -> ClusterView:
        """The storage, up to date with every change."""
        self._builder.settle()
        return self._builder.view

    def put(self, record: Record) -> None:
        """Add a record, or put it in place of the one of its type and name."""
        self._builder.apply(self._builder.stored(record), record)
        self._answered = None

    def remove(self, record: Record) -> None:
        """Remove a record."""
        stored = self._builder.stored(record)
        assert stored is not None
        self._builder.apply(stored, None)
        self._answered = None

    def get(self, type_: type[Kept], key: str) -> Kept | None:
        """Return the record of a type and name; of a claim, by namespace and name."""
        return self.all(type_).get(key)

    def all(self, type_: type[Kept]) -> Mapping[str, Kept]:
        """Return the records of a type by name."""
        return self._builder.of(type_)

    def put_node(self, node: KubernetesNode) -> None:
        """Add a Kubernetes node, or replace the one of its name."""
        self.nodes[node.name] = node
        self._put_opt_out(node.name, opt_out(node.name, node.labels))
        self._changes.add(node.name)

    def remove_node(self, name: NodeName) -> None:
        """Remove a Kubernetes node; its pods are to be removed before."""
        del self.nodes[name]
        self._put_opt_out(name, None)
        self._changes.add(name)

    def _put_opt_out(self, name: NodeName, record: EngineOptOut | None) -> None:
        self._builder.apply(self._builder.of(EngineOptOut).get(name), record)
        self._answered = None

    def put_pod(self, pod: Pod) -> None:
        """Add a pod, or put it in place of the one of its name."""
        if pod.key in self.pods:
            self.remove_pod(pod.key)
        self.pods[pod.key] = pod
        if pod.node is not None:
            self._on.setdefault(pod.node, {})[pod.key] = pod
            self._count(pod.node, pod, +1)

    def remove_pod(self, key: str) -> None:
        """Remove a pod by namespace and name."""
        pod = self.pods.pop(key)
        if pod.node is not None:
            del self._on[pod.node][key]
            self._count(pod.node, pod, -1)

    def pods_on(self, node: NodeName) -> Mapping[str, Pod]:
        """Return the pods of a node, by namespace and name."""
        return self._on.get(node, {})

    def requested(self, node: NodeName) -> Mapping[str, int]:
        """Return what the pods of a node ask for together; "pods" is their number."""
        return self._requested.get(node, {})

    def assumed(self, node: NodeName) -> Mapping[str, int]:
        """Return what is to be added for the pods of a node that ask for no CPU or memory."""
        return self._assumed.get(node, {})

    def by_node(
        self, key: Hashable, work_out: Callable[[KubernetesNode], Value]
    ) -> Mapping[NodeName, Value]:
        """Return for every node what *work_out* says of it.

        With the same key, only nodes that have changed are asked about again: pods of one template
        ask the same of each node, and between two of them one node has changed. Only the node and
        the pods on it may decide what is said.
        """
        found, changed = self._by_node.get(
            key, self._changes, lambda: {name: work_out(node) for name, node in self.nodes.items()}
        )
        for name in dict.fromkeys(changed):
            if name in self.nodes:
                found[name] = work_out(self.nodes[name])
            else:
                found.pop(name, None)
        return found

    def tally(self, key: Hashable, question: Question) -> Mapping[NodeName, int]:
        """Return how many of the pods for which *question* is true are on each node.

        Nodes without any are left out. *key* stands for the question; with the same key it is not
        asked again.
        """
        return self._tallies.of(key, question, self.pods.values())

    def repelling(self) -> Iterable[tuple[PodTerm, Mapping[NodeName, int]]]:
        """Return each rule by which placed pods keep others away, with the numbers of these."""
        return self._tallies.repelling()

    def attracting(self) -> Iterable[tuple[PreferredPods, Mapping[NodeName, int]]]:
        """Return each rule by which placed pods would rather have others near, or rather not."""
        return self._tallies.attracting()

    def answer(self, pod: Pod, nodes: Sequence[NodeName]) -> Answer:
        """Return what the extender answers to `/filter`.

        Raises:
            UnresolvableClaimError: A claim of the pod does not lead to a volume.
        """
        answer = self.extender.filter(pod.ref, nodes, self.view, now=self._now, utc=self.utc)
        self._answered = pod.key, answer
        return answer

    def scores(self, pod: Pod, nodes: Sequence[NodeName]) -> Mapping[NodeName, Score]:
        """Return what the extender answers to `/prioritize`, at least for *nodes*.

        Raises:
            UnresolvableClaimError: A claim of the pod does not lead to a volume.
        """
        key, answer = self._answered or ("", None)
        # It was mostly asked about them just now.
        if answer is None or key != pod.key or not {*nodes} <= {*answer.candidates}:
            answer = self.extender.filter(pod.ref, nodes, self.view, now=self._now, utc=self.utc)
        return self.extender.score(answer).by_node

    def hold(self, answer: Answer) -> None:
        """Hold what *answer*, given just now, says of its pod, until Longhorn has placed it all.

        The room counts on each node that was accepted, until `see` says which one was chosen.
        """
        self.extender.hold(answer, Asked(), timeouts=_TIMEOUTS, now=self._now)
        self._answered = None

    def see(self, pod: Pod) -> None:
        """Tell the extender which node a pod has; what is held for it counts there alone."""
        self.extender.ledger.see(pod.ref.uid, Sighting(node=pod.node), self._now)
        self._answered = None

    def release_holds(self) -> None:
        """Let time go on until no hold is left: Longhorn has done what it can."""
        self._now += _ROUND_SECONDS
        self._answered = None
        self.extender.ledger.settle(self.view, _TIMEOUTS, self._now)

    def _count(self, node: NodeName, pod: Pod, sign: int) -> None:
        sums = self._requested.setdefault(node, {})
        sums[PODS] = sums.get(PODS, 0) + sign
        for resource, amount in pod.wishes.requests.items():
            sums[resource] = sums.get(resource, 0) + sign * amount
        assumed = self._assumed.setdefault(node, {})
        for resource, amount in ASSUMED.items():
            if not pod.wishes.requests.get(resource):
                assumed[resource] = assumed.get(resource, 0) + sign * amount
        self._tallies.change(pod, node, sign)
        self._changes.add(node)


def fill(
    cluster: Cluster,
    *,
    nodes: Iterable[KubernetesNode] = (),
    pods: Iterable[Pod] = (),
    services: Iterable[Service] = (),
    budgets: Iterable[Budget] = (),
    workloads: Iterable[Workload] = (),
    records: Iterable[Record] = (),
) -> Cluster:
    """Add everything to *cluster*, and return it."""
    for node in nodes:
        cluster.put_node(node)
    for pod in pods:
        cluster.put_pod(pod)
    for record in records:
        cluster.put(record)
    cluster.services += services
    cluster.budgets += budgets
    cluster.workloads += workloads
    return cluster
