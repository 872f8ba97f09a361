"""What was promised to one pod and does not show in Longhorn's objects yet.

Until the pod's node is known, a hold counts on each node that was accepted (offered), then on the
chosen one alone (placed), until Longhorn's replicas take over. Nothing here waits or asks: what is
seen of the pod and its claims comes in as a `Sighting`, replicas as they are now, time as a number.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from extender.demand.requests import LocalVolume
from extender.kubernetes import ClaimKey, PodRef, PodStatus
from longhorn import NodeName, Replica, ReplicaName, VolumeName

ReplicasByVolume = Mapping[VolumeName, Sequence[Replica]]


class State(StrEnum):
    """Where a promise counts."""

    OFFERED = "offered"
    """On every node that was accepted: the pod may go to any of them."""
    PLACED = "placed"
    """On the node that was chosen."""


class End(StrEnum):
    """Why a hold ended."""

    CONFIRMED = "confirmed"
    """Longhorn has placed a replica of each volume: from then on its objects count it."""
    POD_GONE = "pod_gone"
    UNSCHEDULED = "unscheduled"
    """kube-scheduler gave the attempt up."""
    REPLACED = "replaced"
    """The pod was asked about again."""
    HANDED_OVER = "handed_over"
    """This replica leads no more: the next leader sees for itself what was promised."""
    NOT_CHOSEN = "not_chosen"
    """No node was chosen in time."""
    NOT_BOUND = "not_bound"
    """A node was chosen, and the pod not bound in time."""
    NOT_PLACED = "not_placed"
    """The pod was bound, and its replicas not placed in time."""


class Signal(StrEnum):
    """What a sighting tells of the choice of a node. The first in this order counts."""

    GONE = "gone"
    """The pod does not exist, or not under this uid, or has ended."""
    BOUND = "bound"
    """spec.nodeName is set."""
    SELECTED = "selected"
    """A claim that was unbound at the answer carries selected-node."""
    NOMINATED = "nominated"
    """status.nominatedNodeName was set or changed after the answer."""
    REFUSED = "refused"
    """The condition PodScheduled is False and was written after the answer. It may be that of an
    earlier attempt: since 1.34 kube-scheduler does not wait for its own writes."""
    NOTHING = "nothing"


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """What is seen of a pod and its claims; only what happened after the answer counts."""

    exists: bool = True
    node: NodeName = NodeName("")
    selected: NodeName = NodeName("")
    nominated: NodeName = NodeName("")
    refused: bool = False

    @property
    def signal(self) -> tuple[Signal, NodeName]:
        """Return what it tells, and of which node."""
        if not self.exists:
            return Signal.GONE, NodeName("")
        if self.node:
            return Signal.BOUND, self.node
        if self.selected:
            return Signal.SELECTED, self.selected
        if self.nominated:
            return Signal.NOMINATED, self.nominated
        return (Signal.REFUSED if self.refused else Signal.NOTHING), NodeName("")


TRANSITIONS: Mapping[tuple[State, Signal], State | End] = {
    (State.OFFERED, Signal.GONE): End.POD_GONE,
    (State.OFFERED, Signal.BOUND): State.PLACED,
    (State.OFFERED, Signal.SELECTED): State.PLACED,
    (State.OFFERED, Signal.NOMINATED): State.PLACED,
    (State.OFFERED, Signal.REFUSED): State.OFFERED,
    (State.OFFERED, Signal.NOTHING): State.OFFERED,
    (State.PLACED, Signal.GONE): End.POD_GONE,
    (State.PLACED, Signal.BOUND): State.PLACED,
    (State.PLACED, Signal.SELECTED): State.PLACED,
    (State.PLACED, Signal.NOMINATED): State.PLACED,
    (State.PLACED, Signal.REFUSED): State.PLACED,
    (State.PLACED, Signal.NOTHING): State.PLACED,
}
"""What a signal makes of a hold. A refusal, and nothing where something had named the node, give it
a deadline until a node is named again: a refusal may be an earlier attempt's, and the first claim's
mark may be taken back while kube-scheduler still marks the others."""


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """A promise to one pod."""

    pod: PodRef
    volumes: tuple[LocalVolume, ...]
    """What needs a replica on the pod's node."""
    placed_before: frozenset[ReplicaName]
    """The volumes' replicas that had a disk at the answer; later ones say where Longhorn went."""
    existing: frozenset[tuple[VolumeName, NodeName]]
    """Where a replica of a volume was worth something at the answer, so that no room was promised
    for another one."""
    state: State
    nodes: frozenset[NodeName]
    """Where it counts: those accepted, or the chosen one, whether we accepted it or not."""
    answered_at: float
    named_by: Signal | None = None
    """What last named the node; None if there was no choice."""
    bound_at: float | None = None
    given_up_at: float | None = None
    """Since when it looks as if the attempt was given up."""
    asked: PodStatus = PodStatus()
    """The pod at the answer."""
    unbound: frozenset[tuple[ClaimKey, NodeName]] = frozenset()
    """Its claims that were not bound at the answer, each with the selected-node that it had, which
    does not count."""

    @property
    def node(self) -> NodeName:
        """The chosen node."""
        assert self.state is State.PLACED
        [node] = self.nodes
        return node


def offer(
    pod: PodRef,
    volumes: Sequence[LocalVolume],
    nodes: Iterable[NodeName],
    *,
    replicas: Iterable[Replica],
    existing: Iterable[tuple[VolumeName, NodeName]],
    only_candidate: bool,
    now: float,
    asked: PodStatus,
    unbound: Iterable[tuple[ClaimKey, NodeName]],
) -> Hold:
    """Make the hold for an answer that accepts *nodes*.

    Args:
        pod: The pod that was asked about.
        volumes: What needs a replica on its node.
        nodes: The accepted ones.
        replicas: All replicas of the volumes now.
        existing: The volumes and nodes for which the answer promises no room, as there is a replica
            that is worth something.
        only_candidate: Whether kube-scheduler offered one node alone: then there is no choice.
        now: The time of the answer.
        asked: What kube-scheduler told of the pod.
        unbound: Its claims that are not bound yet, each with what it says of a node that
            kube-scheduler does not hold to any more.
    """
    return Hold(
        pod=pod,
        volumes=tuple(volumes),
        placed_before=frozenset(replica.name for replica in replicas if replica.disk),
        existing=frozenset(existing),
        state=State.PLACED if only_candidate else State.OFFERED,
        nodes=frozenset(nodes),
        answered_at=now,
        asked=asked,
        unbound=frozenset(unbound),
    )


def advance(hold: Hold, sighting: Sighting, now: float) -> Hold | End:
    """Say what a sighting makes of a hold."""
    signal, node = sighting.signal
    if signal is Signal.NOTHING and hold.named_by is None:
        return hold
    if signal in (Signal.REFUSED, Signal.NOTHING):
        since = now if hold.given_up_at is None else hold.given_up_at
        return msgspec.structs.replace(hold, given_up_at=since)
    after = TRANSITIONS[hold.state, signal]
    if isinstance(after, End):
        return after
    bound_at = hold.bound_at
    if signal is Signal.BOUND and bound_at is None:
        bound_at = now
    return msgspec.structs.replace(
        hold,
        state=after,
        nodes=frozenset([node]),
        named_by=signal,
        bound_at=bound_at,
        given_up_at=None,
    )


def charged(hold: Hold, node: NodeName, replicas: ReplicasByVolume) -> Iterator[LocalVolume]:
    """Yield the volumes for which a hold still takes room on *node*.

    Not those that are taken care of, nor those for which Longhorn has made a replica that must go
    to this node: until it is placed it is pending demand on the node by itself.
    """
    for volume in hold.volumes:
        pending = any(
            replica.hard_node_affinity == node
            and not (replica.disk or replica.deleting or replica.failed)
            for replica in replicas.get(volume.name, ())
        )
        if not (pending or _is_taken_care_of(volume, hold, node, replicas)):
            yield volume


def is_confirmed(hold: Hold, replicas: ReplicasByVolume) -> bool:
    """Whether Longhorn has taken care of all volumes of a placed hold."""
    return hold.state is State.PLACED and all(
        _is_taken_care_of(volume, hold, hold.node, replicas) for volume in hold.volumes
    )


def _is_taken_care_of(
    volume: LocalVolume, hold: Hold, node: NodeName, replicas: ReplicasByVolume
) -> bool:
    """Whether a replica is there, or has come to *node* since, or went elsewhere.

    One that has come is counted by its disk, whatever becomes of it, until it is gone. One that was
    there and worth nothing takes care of nothing. With best-effort locality Longhorn places the
    first replica elsewhere if nothing is left on the node; should one follow here, it is an object
    of its own.
    """
    placed = [replica for replica in replicas.get(volume.name, ()) if replica.disk]
    since = [replica for replica in placed if replica.name not in hold.placed_before]
    if hold.state is State.PLACED and since:
        return True
    counted = placed if (volume.name, node) in hold.existing else since
    return any(replica.node == node for replica in counted)
