"""What we keep for one pod until Longhorn's own objects show it.

A hold is open until the pod's node is known: it counts on each node that was accepted. Then it is
chosen: it counts on that node alone, until Longhorn has placed the replicas. This module does not
wait and asks nobody: what is seen of the pod and its claims arrives as a `Sighting`, the replicas
as they are now, and the time as a number.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum

import msgspec

from extender.demand.requests import WantedVolume
from extender.kubernetes import ClaimKey, GroupKey, PodRef, PodStatus
from longhorn import DiskId, NodeName, ReplicaName, VolumeName


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


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What was told of a pod when it was asked about."""

    status: PodStatus = PodStatus()
    """The pod, as it was told."""
    group: GroupKey | None = None
    """The PodGroup that the pod is a member of."""


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
    ungranted_before: frozenset[tuple[ReplicaName, NodeName | None, DiskId | None]] = frozenset()
    """Those on a disk that had not granted them at the answer, turned away or not. There they are
    not newer either, but the disk may refuse them yet."""
    existing: frozenset[tuple[VolumeName, NodeName]]
    """Where a usable replica of a volume was at the answer, so that no room is held for it."""
    state: State
    nodes: frozenset[NodeName]
    """Where it counts: the accepted nodes, or the chosen one, even if we had not accepted it."""
    answered_at: float
    named_by: Signal | None = None
    """What last named the node; None if nothing did, as for a pod that was given one node alone."""
    bound_at: float | None = None
    attaching_at: float | None = None
    """Since when the pod is bound and all volumes are to be attached there, so that Longhorn places
    their replicas."""
    given_up_at: float | None = None
    """Since when kube-scheduler seems to have given the attempt up."""
    asked: PodStatus = PodStatus()
    """The pod at the answer."""
    group: GroupKey | None = None
    """The PodGroup that the pod is a member of."""
    unbound: frozenset[tuple[ClaimKey, NodeName | None]] = frozenset()
    """Its claims that were not bound at the answer, each with the selected-node that it had then.
    That old node does not count."""

    @property
    def node(self) -> NodeName:
        """The chosen node."""
        assert self.state is State.CHOSEN
        [node] = self.nodes
        return node

    @property
    def waits_for_group(self) -> bool:
        """Whether the pod is a member of a group whose node does not show yet."""
        return self.group is not None and self.named_by is None


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A hold that is over, for the log and the metrics."""

    hold: Hold
    why: End
    at: float

    @property
    def seconds(self) -> float:
        """How long it stood."""
        return self.at - self.hold.answered_at


class Advanced(msgspec.Struct, frozen=True, kw_only=True):
    """A hold that goes on in another form."""

    before: Hold
    after: Hold

    @property
    def has_moved(self) -> bool:
        """Whether it counts in another way or on other nodes."""
        before, after = self.before, self.after
        return (before.state, before.nodes) != (after.state, after.nodes)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one observation changed."""

    ended: tuple[Ended, ...] = ()
    advanced: tuple[Advanced, ...] = ()
    placed: tuple[Hold, ...] = ()
    """Open holds of which a replica was placed: they keep less where it did not go."""

    @property
    def freed(self) -> frozenset[NodeName]:
        """The nodes on which less is held than before."""
        ended = (each.hold.nodes for each in self.ended)
        moved = (each.before.nodes - each.after.nodes for each in self.advanced)
        placed = (each.nodes for each in self.placed)
        return frozenset[NodeName]().union(*ended, *moved, *placed)

    @property
    def concerns_others(self) -> bool:
        """Whether other pods may get another answer now."""
        return bool(self.ended or self.placed) or any(each.has_moved for each in self.advanced)


NO_CHANGE = Outcome()


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


def chosen_of(hold: Hold) -> Collection[NodeName]:
    """Return the node of a chosen hold, nothing for an open one."""
    return hold.nodes if hold.state is State.CHOSEN else ()


def volumes_of(hold: Hold) -> set[VolumeName]:
    """Return the volumes that a hold names."""
    return {each.name for each in (*hold.volumes, *hold.remote)}


def merge_outcomes(outcomes: Iterable[Outcome]) -> Outcome:
    """Return what all of them changed."""
    found = [*outcomes]
    return Outcome(
        ended=tuple(each for outcome in found for each in outcome.ended),
        advanced=tuple(each for outcome in found for each in outcome.advanced),
    )
