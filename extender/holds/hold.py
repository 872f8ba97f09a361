"""What we keep for one pod until Longhorn's own objects show it.

A hold is open until the pod's node is known: it counts on each node that was accepted. Then it is
chosen: it counts on that node alone, until Longhorn has placed the replicas. This module does not
wait and asks nobody: what is seen of the pod and its claims arrives as a `Sighting`, the replicas
as they are now, and the time as a number.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from extender.demand.requests import WantedVolume
from extender.kubernetes import ClaimKey, PodRef, PodStatus
from extender.view import ClusterView
from longhorn import (
    NOTHING_DUE,
    DiskId,
    NodeName,
    Replica,
    ReplicaName,
    VolumeName,
    due_replicas,
    is_granted,
    is_usable,
)

ReplicasByVolume = Mapping[VolumeName, Sequence[Replica]]


class Mode(StrEnum):
    """How holds count against other pods."""

    CAPACITY = "capacity"
    """By their bytes: on each node that the pod may go to, later on its own node."""
    NODE = "node"
    """As in Longhorn's scheduler extender proposal: while a hold is open, no other pod gets a node.
    Then the chosen node is closed to other pods until the replicas are placed. All this is about
    pods with local volumes; what goes anywhere counts by its bytes here, too."""


class State(StrEnum):
    """Where a hold counts."""

    OPEN = "open"
    """On every node that was accepted: the pod may go to any of them."""
    CHOSEN = "chosen"
    """On the chosen node."""


class End(StrEnum):
    """Why a hold ended."""

    CONFIRMED = "confirmed"
    """Longhorn has placed a replica of each volume, so that its own objects count it."""
    POD_GONE = "pod_gone"
    UNSCHEDULED = "unscheduled"
    """kube-scheduler gave the attempt up."""
    REPLACED = "replaced"
    """kube-scheduler asked about the pod again."""
    HANDED_OVER = "handed_over"
    """This instance leads no more. The next leader finds out for itself what to hold."""
    NOT_CHOSEN = "not_chosen"
    """No node was chosen in time."""
    NOT_BOUND = "not_bound"
    """A node was chosen, but the pod was not bound in time."""
    NOT_PLACED = "not_placed"
    """The pod was bound, but its replicas were not placed in time."""


class Signal(StrEnum):
    """What a sighting says about the choice of a node. The first in this order counts."""

    GONE = "gone"
    """The pod does not exist, or has another uid, or has ended."""
    BOUND = "bound"
    """spec.nodeName is set."""
    SELECTED = "selected"
    """A claim that was unbound at the answer has the annotation selected-node."""
    NOMINATED = "nominated"
    """status.nominatedNodeName was set or changed after the answer."""
    REFUSED = "refused"
    """The condition PodScheduled is False and was written after the answer. It may belong to an
    earlier attempt: since 1.34 kube-scheduler does not wait for its own writes."""
    NOTHING = "nothing"


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """What is seen of a pod and its claims. Only what happened after the answer counts."""

    exists: bool = True
    node: NodeName | None = None
    selected: NodeName | None = None
    nominated: NodeName | None = None
    refused: bool = False

    @property
    def signal(self) -> tuple[Signal, NodeName | None]:
        """Return what it says, and the node that it names, None if it names none."""
        if not self.exists:
            return Signal.GONE, None
        if self.node is not None:
            return Signal.BOUND, self.node
        if self.selected is not None:
            return Signal.SELECTED, self.selected
        if self.nominated is not None:
            return Signal.NOMINATED, self.nominated
        return (Signal.REFUSED if self.refused else Signal.NOTHING), None


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """What we keep for one pod."""

    pod: PodRef
    volumes: tuple[WantedVolume, ...]
    """What needs a replica on the pod's node."""
    remote: tuple[WantedVolume, ...] = ()
    """The pod's other volumes, whose replicas may all be elsewhere."""
    placed_before: frozenset[ReplicaName]
    """Replicas of the volumes that had a disk for good at the answer. Newer ones show where
    Longhorn put the volumes since."""
    asking_before: frozenset[tuple[ReplicaName, NodeName | None, DiskId | None]] = frozenset()
    """Those on a disk that had not granted them at the answer, turned away or not. There they are
    not newer either, but the disk may refuse them yet."""
    existing: frozenset[tuple[VolumeName, NodeName]]
    """Where a usable replica of a volume was at the answer, so that no room is held for it."""
    state: State
    nodes: frozenset[NodeName]
    """Where it counts: the accepted nodes, or the chosen one, even if we had not accepted it."""
    answered_at: float
    named_by: Signal | None = None
    """What last named the node; None if nothing did, as for a pod with one candidate."""
    bound_at: float | None = None
    given_up_at: float | None = None
    """Since when kube-scheduler seems to have given the attempt up."""
    asked: PodStatus = PodStatus()
    """The pod at the answer."""
    client: str | None = None
    """Who was the first to ask; None if a leader before was asked."""
    is_contested: bool = False
    """Whether several clients have asked about the pod. One may have lied of how far it had come,
    so it is not known what is new of that: a node that is nominated does not count."""
    unbound: frozenset[tuple[ClaimKey, NodeName | None]] = frozenset()
    """Its claims that were not bound at the answer, each with the selected-node that it had then.
    That old node does not count."""

    @property
    def node(self) -> NodeName:
        """The chosen node."""
        assert self.state is State.CHOSEN
        [node] = self.nodes
        return node


def advance(hold: Hold, sighting: Sighting, now: float) -> Hold | End:
    """Return the hold after a sighting, or why it ends.

    A refusal gives the hold a deadline until a node is named again: it may belong to an earlier
    attempt. So does a node that is no longer named: the mark on the first claim may be taken back
    while kube-scheduler still marks the others.
    """
    signal, node = sighting.signal
    if signal is Signal.GONE:
        return End.POD_GONE
    if node is not None:
        return msgspec.structs.replace(
            hold,
            state=State.CHOSEN,
            nodes=frozenset([node]),
            named_by=signal,
            bound_at=now if signal is Signal.BOUND and hold.bound_at is None else hold.bound_at,
            given_up_at=None,
        )
    if hold.given_up_at is None and (signal is Signal.REFUSED or hold.named_by is not None):
        return msgspec.structs.replace(hold, given_up_at=now)
    return hold


def widened(hold: Hold, other: Hold) -> Hold:
    """Return the hold as it counts also where *other* does, which somebody else asked for.

    It counts anew from then on, for what is needed then. Of a pod that is bound it stays.
    """
    if hold.bound_at is not None:
        return hold
    nodes = hold.nodes if other.nodes <= hold.nodes else hold.nodes | other.nodes
    return msgspec.structs.replace(
        hold,
        volumes=other.volumes,
        remote=other.remote,
        existing=hold.existing & other.existing,
        state=hold.state if nodes == hold.nodes else State.OPEN,
        nodes=nodes,
        answered_at=other.answered_at,
        named_by=hold.named_by if hold.named_by is Signal.SELECTED else None,
        given_up_at=None,
        is_contested=True,
    )


def charged(hold: Hold, node: NodeName, replicas: ReplicasByVolume) -> Iterator[WantedVolume]:
    """Yield the volumes for which a hold still takes room on *node*.

    Left out are the volumes that Longhorn has placed, and those with a replica that Longhorn must
    place on this node: such a replica is demand on the node by itself.
    """
    for volume in hold.volumes:
        pending = any(
            replica.hard_node_affinity == node
            and not (replica.disk or replica.deleting or replica.failed)
            for replica in replicas.get(volume.name, ())
        )
        if not (pending or _is_counted_by_longhorn(volume, hold, node, replicas)):
            yield volume


def is_confirmed(hold: Hold, view: ClusterView) -> bool:
    """Whether Longhorn's objects show all that a chosen hold was made for.

    Each volume that needs a replica on the node has one, no replica that was placed since the
    answer can be refused by its disk any more, and what else is due of the volumes is due by
    Longhorn's objects, too.
    """
    return (
        hold.state is State.CHOSEN
        and all(
            _is_counted_by_longhorn(volume, hold, hold.node, view.replicas)
            for volume in hold.volumes
        )
        and all(is_shown(volume, view) for volume in (*hold.volumes, *hold.remote))
        and not is_asking(hold, view)
    )


def is_asking(hold: Hold, view: ClusterView) -> bool:
    """Whether some replica that was placed since the answer may be refused by its disk yet."""
    return any(
        is_tentative(replica, view)
        for volume in (*hold.volumes, *hold.remote)
        for replica in view.replicas.get(volume.name, ())
        if replica.name not in hold.placed_before
    )


def rooms_taken(hold: Hold, replicas: ReplicasByVolume) -> int:
    """Count the volumes of a chosen hold that were placed, but not where room was held for them."""
    return sum(
        (volume.name, hold.node) not in hold.existing
        and not any(replica.node == hold.node for replica in replicas.get(volume.name, ()))
        for volume in hold.volumes
    )


def is_shown(wanted: WantedVolume, view: ClusterView) -> bool:
    """Whether Longhorn's objects show all replicas that will be placed once a pod attaches it.

    While a setting is unreadable Longhorn places nothing, and nothing is due by its objects. It
    goes on once the setting is corrected, so what is missing until then is not shown.
    """
    volume = view.volumes.get(wanted.name)
    replicas = view.replicas.get(wanted.name, ())
    coming = due_replicas(volume or wanted.volume, replicas, view.settings, attaching=True)
    if volume is None:  # what is due of a volume that is not known does not count
        return coming == NOTHING_DUE
    return coming == view.due.get(wanted.name, NOTHING_DUE)


def may_be_refused(wanted: WantedVolume, view: ClusterView) -> bool:
    """Whether some replica of a volume is placed, and may have to be placed again."""
    return any(is_tentative(each, view) for each in view.replicas.get(wanted.name, ()))


def is_tentative(replica: Replica, view: ClusterView) -> bool:
    """Whether a replica without data is placed on a disk that has not granted all of it.

    It counts there by its own name, so nothing is held for it. But the disk may refuse it yet, and
    then the room of its volume is to be held again.
    """
    if replica.node is None or replica.healthy_once:
        return False
    space = view.spaces.get(replica.node)
    return space is not None and any(
        each.disk.id == replica.disk and not is_granted(each, replica) for each in space.disks
    )


def _is_counted_by_longhorn(
    volume: WantedVolume, hold: Hold, node: NodeName, replicas: ReplicasByVolume
) -> bool:
    """Whether no room is held for *volume* on *node*, because Longhorn's objects count it.

    That is so if a usable replica was there at the answer, or a new one came to the node, even if
    it has failed since: its disk counts it until it is gone. It is also so if all that the volume
    wants are placed and none came here: with best-effort locality Longhorn does this when the node
    is full, and a replica that follows here is an object of its own.
    """
    placed = [replica for replica in replicas.get(volume.name, ()) if replica.disk]
    here = [replica for replica in placed if replica.node == node]
    since = [replica for replica in placed if _is_newer(replica, hold)]
    if hold.state is State.CHOSEN and since:
        usable = sum(is_usable(replica) for replica in placed)
        wanted = volume.volume.wanted_replicas
        if wanted == 1 or usable >= wanted:
            return True
    if (volume.name, node) in hold.existing:
        return bool(here)
    return any(replica.name not in hold.placed_before for replica in here)


def _is_newer(replica: Replica, hold: Hold) -> bool:
    """Whether Longhorn put a replica where it is since the answer."""
    is_known = replica.name in hold.placed_before
    return not is_known and (replica.name, replica.node, replica.disk) not in hold.asking_before
