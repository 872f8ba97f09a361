"""The pods that got no node: what they ask for, and whom to wake when there is room for them."""

from collections.abc import Hashable, Iterator, Mapping
from functools import reduce
from operator import le, or_

import msgspec
from msgspec import structs

from extender.demand.requests import PodRequest, WantedVolume, resolve
from extender.errors import UnresolvableClaimError
from extender.kubernetes import PodRef, PodStatus
from extender.verdicts.rejections import ClusterChange
from extender.view import ClusterView
from extender.waiting.node_sets import NodeSet, NodeSets, Rejected, either
from longhorn import VolumeName

MOST_BYTES = 64 * 2**20
"""As it is estimated, 10,000 pods of three volumes on 5,000 nodes take 58 MB."""
FORGET_SECONDS = 900.0
"""kube-scheduler asks about a waiting pod again after 5 minutes at the latest. A pod that it has
not asked about for three times as long is gone, or waits for something else."""
_POD_BYTES, _CLAIM_BYTES, _VOLUME_BYTES, _SET_BYTES = 1_700, 100, 1_000, 200
"""What a pod takes that shares nothing with others, beside texts and sets of nodes. A test compares
this with what `tracemalloc` finds."""


class Kind(msgspec.Struct, frozen=True, cache_hash=True):
    """What a pod asks for but the sizes: of nodes and disks, and which replicas of it are where."""

    parts: Hashable


class Wants(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod asks for. Where one fits, another of its kind fits that wants no more."""

    kind: Kind
    sizes: tuple[int, ...]
    """Of each volume in turn: the bytes to schedule, and those that it holds."""
    volumes: frozenset[VolumeName]
    """The volumes, and those that linked clones share data with. If one of them changes, so may
    this."""

    def covers(self, other: "Wants") -> bool:
        """Whether *other*, of the same kind, asks for as much of everything, or more."""
        return all(map(le, self.sizes, other.sizes))


class WaitingPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that was rejected everywhere."""

    pod: PodRef
    wants: Wants
    rejected: Rejected
    """What it was told, of the nodes as `WaitingPods.nodes` has them."""
    found: Mapping[ClusterChange, NodeSet] = {}
    """What may end its rejection besides, as was found since."""
    since: float
    """When it was first rejected."""
    asked_at: float
    """When it was last rejected."""
    woken: bool = False
    """Whether it was woken since it was last rejected."""

    @property
    def candidates(self) -> NodeSet:
        """Where it could go if nothing were in the way."""
        return reduce(or_, (nodes for _, nodes in self.waits_for()), 0)

    @property
    def held(self) -> NodeSet:
        """Where it was told that what is held for others is in the way."""
        holds = ClusterChange.HOLDS
        return reduce(or_, (of for why, of in self.rejected.items() if holds in why.ended_by), 0)

    def waits_for(self) -> Iterator[tuple[ClusterChange, NodeSet]]:
        """Yield which kinds of change may end its rejection, and where."""
        for why, nodes in self.rejected.items():
            yield why.ended_by, nodes
        yield from self.found.items()


class WaitingPods:
    """The rejected pods by uid. They come in the order of their first rejection.

    Attributes:
        size_bytes: The memory that they take, as it is estimated.
    """

    def __init__(self) -> None:
        self.nodes = NodeSets()
        self.size_bytes = 0
        self._pods: dict[str, WaitingPod] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter([*self._pods.values()])

    def longest_wait_seconds(self, now: float) -> float:
        """Return how long ago the first waiting pod was rejected; 0 if none waits."""
        first = next(iter(self._pods.values()), None)
        return 0.0 if first is None else now - first.since

    def get(self, uid: str) -> WaitingPod | None:
        """Return the waiting pod with this uid, None if there is none."""
        return self._pods.get(uid)

    def is_asleep(self, uid: str) -> bool:
        """Whether a pod waits and was not woken since its last rejection."""
        pod = self._pods.get(uid)
        return pod is not None and not pod.woken

    def note_found(self, uid: str, rejected: Rejected, nodes: NodeSet) -> None:
        """Note what else may end a rejection on some nodes: what was told may be newer."""
        waiting = self._pods.get(uid)
        if waiting is not None:
            found = waiting.found
            for why, of in rejected.items():
                found = either(found, {why.ended_by: of & nodes})
            self._put(structs.replace(waiting, found=found))

    def mark_woken(self, uid: str) -> None:
        """Note that a pod was woken: it is not woken again until it is rejected again."""
        if uid in self._pods:
            self._pods[uid] = structs.replace(self._pods[uid], woken=True)

    def mark_asleep(self, waiting: WaitingPod) -> None:
        """Note that waking a pod failed, whatever was asked about it meanwhile."""
        uid = waiting.pod.uid
        if uid in self._pods:
            self._pods[uid] = structs.replace(self._pods[uid], woken=False)

    def see(self, pod: PodRef, status: PodStatus | None) -> None:
        """Note how far a pod has come; None: there is none of this name, uid and claims."""
        waiting = self._pods.get(pod.uid)
        is_this = waiting is not None and waiting.pod == pod
        if is_this and (status is None or not status.waits):
            self.forget(pod.uid)

    def add(self, waiting: WaitingPod) -> bool:
        """Remember a pod that was just rejected; return whether there was room for it.

        If those that wait take too much memory, new ones are left to kube-scheduler.

        Args:
            waiting: The pod; not rejected before any pod added so far.
        """
        before = self._pods.get(waiting.pod.uid)
        if before is not None:
            waiting = structs.replace(waiting, since=before.since)
        elif self.size_bytes + _size_bytes(waiting) > MOST_BYTES:
            return False
        self._put(waiting)
        return True

    def set_wants(self, uid: str, wants: Wants | None) -> None:
        """Note what a pod asks for now; None if that is not known: then it is like no other."""
        found = self._pods.get(uid)
        if found is not None:
            apart = structs.replace(found.wants, kind=Kind(uid))
            self._put(structs.replace(found, wants=wants or apart))

    def forget(self, uid: str) -> None:
        """Drop a pod that no longer waits."""
        found = self._pods.pop(uid, None)
        if found is not None:
            self.size_bytes -= _size_bytes(found)

    def forget_all(self) -> None:
        """Drop all pods; then no set of nodes means anything any more."""
        self._pods.clear()
        self.size_bytes = 0
        self.nodes.clear()

    def forget_old(self, now: float) -> None:
        """Drop the pods that kube-scheduler has not asked about for long."""
        for each in [*self._pods.values()]:
            if now - each.asked_at >= FORGET_SECONDS:
                self.forget(each.pod.uid)

    def _put(self, waiting: WaitingPod) -> None:
        before = self._pods.get(waiting.pod.uid)
        self._pods[waiting.pod.uid] = waiting
        self.size_bytes += _size_bytes(waiting) - (_size_bytes(before) if before else 0)


def _size_bytes(waiting: WaitingPod) -> int:
    """Estimate the memory that a pod takes if it shares nothing with others."""
    pod = waiting.pod
    texts = (pod.uid, pod.namespace, pod.name, *pod.claims)
    sets = [nodes for _, nodes in waiting.waits_for()]
    return (
        _POD_BYTES
        + _CLAIM_BYTES * len(pod.claims)
        + _VOLUME_BYTES * len(waiting.wants.volumes)
        + _SET_BYTES * len(sets)
        + sum(map(len, texts))
        + sum(nodes.bit_length() // 8 for nodes in sets)
    )


def wants_of(request: PodRequest, view: ClusterView) -> Wants:
    """Say what a pod asks for."""
    volumes = (*request.volumes, *request.remote)
    return Wants(
        kind=Kind((len(request.volumes), *(_parts(each, view) for each in volumes))),
        sizes=tuple(n for each in volumes for n in (each.need.size_bytes, each.need.actual_bytes)),
        volumes=frozenset(
            name
            for each in volumes
            for name in (each.name, each.volume.linked_to)
            if name is not None
        ),
    )


def current_wants(pod: PodRef, view: ClusterView) -> Wants | None:
    """Say what a pod asks for now; None if its claims do not lead to volumes."""
    try:
        return wants_of(resolve(pod, view), view)
    except UnresolvableClaimError:
        return None


def _parts(wanted: WantedVolume, view: ClusterView) -> Hashable:
    # Where its data are, and what is left of them.
    replicas = (
        (r.node or r.hard_node_affinity, r.disk, r.healthy_once, r.failed, r.active, r.deleting)
        for r in view.replicas.get(wanted.name, ())
        if r.node or r.hard_node_affinity or r.healthy_once
    )
    return (
        structs.replace(wanted.volume, name=VolumeName(""), size_bytes=0, actual_bytes=0),
        structs.replace(wanted.need, size_bytes=0, actual_bytes=0),
        frozenset(replicas),
    )
