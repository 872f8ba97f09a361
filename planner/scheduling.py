"""Pods get nodes one after another, and Longhorn works meanwhile.

kube-scheduler is faster than Longhorn: some pods have their nodes before the replicas of the first
of them are placed. So pods come in groups, whose sizes are left to chance: nobody knows how fast
Longhorn will be. Within one the extender's holds stand for what is not placed yet, as in the
service; after it Longhorn does all that it can, in an order of chance.

Pods are asked about in the order in which they are created. Who creates objects does so one after
another; meanwhile the controllers of those that are there create pods, each at a pace of chance.

kube-scheduler is also faster than the watches of the service, which learns the nodes of the last
pods after it was asked about the next one. Until then their room counts wherever they may be, and
other nodes are taken. How many it has not heard of at a moment is left to chance. Pods that got no
node are tried again in an order of chance, as kube-scheduler wakes them one by one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

import msgspec
from msgspec import structs

from extender import UnresolvableClaimError
from extender.kubernetes import Claim, StorageClass, class_of
from longhorn import NodeName
from planner.cluster import Cluster
from planner.engine import Decision, Scheduler
from planner.provisioning import provision
from planner.records import Pod
from planner.volumes import Settled, Volumes

_FASTEST, _SLOWEST = 0.1, 3.0
"""A controller takes so many times as long for an object as who creates the workloads: longer, as
it has other work, and the API server lets it ask less often; or less, as it creates pods side by
side where they have no order (kubernetes pkg/controller/statefulset/stateful_set_control.go
slowStartBatch), and who creates the workloads may be slow. Both are as likely, by order of
magnitude: on a real control plane all pods of one workload came before those of the next one, and
also the other way round."""
_SMALL_NODES = 100
"""With more nodes the extender hears of each pod at once: there the next best node is as good, and
room that counts on all nodes has each of them judged anew for each pod."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that are created together."""

    pods: tuple[Pod, ...]
    is_ordered: bool = False
    """Each is created only once the one before it runs."""
    claims: Mapping[str, Sequence[Claim]] = {}
    """Those that are created with a pod, by its namespace and name."""
    created_after: int = 0
    """Who creates it creates so many other objects before."""
    objects_per_pod: int = 0
    """A controller creates so many for each pod, itself included; 0 if the pods make themselves."""


class Scheduled(msgspec.Struct, frozen=True, kw_only=True):
    """What became of pods."""

    decisions: Mapping[str, Decision]
    """The last one about each pod that was asked about, by namespace and name; of the scores that
    of its node, and no answer of the extender's."""
    not_created: Mapping[str, str]
    """Pods that wait for another one, and which."""
    settled: Settled
    """All that Longhorn did."""


class Scheduling:
    """Schedules pods on a cluster, which it changes.

    Args:
        cluster: The cluster.
        scheduler: Decides about one pod.
        volumes: The cluster's Longhorn.
        random: For the order in which pods start.
        in_flight: At most so many pods get nodes before Longhorn places their replicas.
        asked: Is told of how many more pods the scheduler was asked.

    Attributes:
        failures: Why claims get no volume, by namespace and name.
    """

    def __init__(
        self,
        cluster: Cluster,
        scheduler: Scheduler,
        volumes: Volumes,
        random: Random,
        *,
        in_flight: int,
        asked: Callable[[int], None] = lambda _pods: None,
    ) -> None:
        self._cluster = cluster
        self._scheduler = scheduler
        self._volumes = volumes
        self._random = random
        self._in_flight = in_flight
        self._asked = asked
        self.failures: dict[str, str] = {}
        self._unseen: list[str] = []
        """Pods whose nodes the extender has not heard of, in the order in which they got them."""

    def create(self, pods: Iterable[Pod], claims: Iterable[Claim]) -> None:
        """Add pods and the claims that the cluster lacks; classes that do not wait make volumes."""
        self._create_claims(claims)
        for pod in pods:
            self._cluster.put_pod(pod)

    def schedule(self, batches: Sequence[Batch]) -> Scheduled:
        """Find nodes for pods that are in the cluster, until nobody gets one any more."""
        waiting = [[pod.key for pod in batch.pods] for batch in batches]
        claims = {key: made for batch in batches for key, made in batch.claims.items()}
        decisions: dict[str, Decision] = {}
        settled = [self._volumes.settle()]
        created = self._created(batches)
        while True:
            before = sum(map(len, waiting))
            for keys in self._groups(batches, waiting, created):
                if self._create_claims(claim for key in keys for claim in claims.get(key, ())):
                    settled.append(self._volumes.settle())
                placed = [key for key in keys if self._decide(key, decisions)]
                self._hear_of(len(self._unseen))
                self._start(placed)
                settled.append(self._volumes.settle())
                self._cluster.release_holds()
                self._asked(len(keys))
            waiting = [
                self._left(batch, keys) for batch, keys in zip(batches, waiting, strict=True)
            ]
            created = {}  # All are there; who waits is tried again in whatever order.
            if sum(map(len, waiting)) == before or not before:
                break
        return Scheduled(
            decisions=decisions,
            not_created={
                key: keys[0]
                for batch, keys in zip(batches, waiting, strict=True)
                for key in keys[1:]
                if batch.is_ordered
            },
            settled=together(settled),
        )

    def _created(self, batches: Sequence[Batch]) -> dict[str, float]:
        """Return when each pod is created, as how many objects could be before it.

        Nothing is said of a batch alone: its pods keep their order.
        """
        created = dict[str, float]()
        for batch in batches if len(batches) > 1 else ():
            times = _FASTEST * (_SLOWEST / _FASTEST) ** self._random.random()
            pace = times * batch.objects_per_pod
            for number, pod in enumerate(batch.pods, start=1):
                created[pod.key] = batch.created_after + pace * number
        return created

    def _groups(
        self,
        batches: Sequence[Batch],
        waiting: Sequence[Sequence[str]],
        created: Mapping[str, float],
    ) -> Iterable[Sequence[str]]:
        """Yield the pods to be asked about next, group by group.

        They come in the order in which they are created. Those of one moment are mixed by chance,
        each batch in its order. Of ordered batches that is the first pod; the others follow one by
        one.
        """
        there = self._mixed(
            [
                keys[:1] if batch.is_ordered else keys
                for batch, keys in zip(batches, waiting, strict=True)
            ]
        )
        there.sort(key=lambda key: created.get(key, 0))
        while there:
            count = self._random.randint(1, self._in_flight) if len(there) > 1 else 1
            yield there[:count]
            del there[:count]
        ordered = [
            keys for batch, keys in zip(batches, waiting, strict=True) if batch.is_ordered and keys
        ]
        while ordered := [keys[1:] for keys in ordered if keys[1:] and self._runs(keys[0])]:
            yield self._mixed([keys[:1] for keys in ordered])

    def _mixed(self, batches: Sequence[Sequence[str]]) -> list[str]:
        turns = [number for number, keys in enumerate(batches) for _ in keys]
        self._random.shuffle(turns)
        left = [iter(keys) for keys in batches]
        return [next(left[number]) for number in turns]

    def _left(self, batch: Batch, keys: Sequence[str]) -> list[str]:
        """Return the pods of a batch that wait, in the order in which they are tried again."""
        left = [key for key in keys if self.waits(self._cluster.pods[key], batch)]
        if not batch.is_ordered:
            self._random.shuffle(left)
        return left

    def waits(self, pod: Pod, batch: Batch) -> bool:
        """Whether a pod has no node; of ordered ones also whether it cannot start there."""
        return not self._runs(pod.key) if batch.is_ordered else pod.node is None

    def _create_claims(self, claims: Iterable[Claim]) -> bool:
        """Add the claims that the cluster lacks, and say whether volumes were made for them."""
        has_made = False
        for claim in claims:
            if self._cluster.get(Claim, claim.key) is None:
                self._cluster.put(claim)
                class_ = class_of(claim, self._cluster.all(StorageClass))
                if class_ is not None and class_.is_immediate and not claim.persistent_volume:
                    self._provision(claim, None)
                    has_made = True
        return has_made

    def _runs(self, key: str) -> bool:
        pod = self._cluster.pods[key]
        return pod.node is not None and not self.stuck(pod)

    def stuck(self, pod: Pod) -> list[str]:
        """Return the volumes and claims for want of which a pod with a node cannot start."""
        claims = [key for key in pod.ref.claims if key in self.failures]
        volumes = self._volumes.of_pod(pod)
        return claims + [each.name for each in volumes if self._volumes.is_stuck(each, pod)]

    def _decide(self, key: str, decisions: dict[str, Decision]) -> bool:
        """Give a pod a node if there is one for it."""
        cluster, pod = self._cluster, self._cluster.pods[key]
        if pod.node is not None:
            return False
        unseen = len(self._unseen)
        self._hear_of(self._random.randint(0, unseen) if self._is_small() else unseen)
        decision = self._scheduler.schedule(pod, cluster)
        if decision.answer is not None and decision.answer.is_open:
            # The service lets such a request wait.
            self._hear_of(len(self._unseen))
            decision = self._scheduler.schedule(pod, cluster)
        node = decision.node
        # Of a thousand nodes the scores alone would fill the memory of a long plan.
        score = {} if node is None else {node: decision.scores[node]}
        decisions[key] = structs.replace(decision, scores=score, answer=None)
        if node is None:
            return False
        if decision.answer is not None:
            cluster.hold(decision.answer)
            self._unseen.append(key)
        self._select(pod, node)
        cluster.put_pod(structs.replace(pod, node=node))
        return True

    def _is_small(self) -> bool:
        return len(self._cluster.nodes) <= _SMALL_NODES

    def _hear_of(self, count: int) -> None:
        """Have the extender learn the nodes of the first pods of those that it has not seen."""
        for key in self._unseen[:count]:
            self._cluster.see(self._cluster.pods[key])
        del self._unseen[:count]

    def _select(self, pod: Pod, node: NodeName) -> None:
        """Note on a pod's unbound claims where they are to be made, as kube-scheduler does."""
        for key in pod.ref.claims:
            claim = self._cluster.get(Claim, key)
            if claim is not None and not claim.persistent_volume:
                self._cluster.put(structs.replace(claim, selected_node=node))

    def _start(self, keys: Sequence[str]) -> None:
        """Make the volumes of pods that have nodes, and have them attached."""
        order = [*keys]
        self._random.shuffle(order)
        for key in order:
            pod = self._cluster.pods[key]
            for name in pod.ref.claims:
                claim = self._cluster.get(Claim, name)
                if claim is not None and not claim.persistent_volume:
                    self._provision(claim, pod.node)
            self._volumes.attach(pod)

    def _provision(self, claim: Claim, node: NodeName | None) -> None:
        try:
            provision(claim, node, self._cluster)
        except UnresolvableClaimError as error:
            self.failures[claim.key] = str(error)
        else:
            self.failures.pop(claim.key, None)


def together(settled: Sequence[Settled]) -> Settled:
    """Return what Longhorn did in several turns; of what it could not do the last word counts."""
    return Settled(
        placed=tuple(each for turn in settled for each in turn.placed),
        removed=tuple(each for turn in settled for each in turn.removed),
        unplaced=settled[-1].unplaced if settled else {},
    )
