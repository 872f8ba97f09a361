"""All promises to pods, and how long each stands.

A pod has one at most: an answer replaces the earlier one, and a pod's own promise never counts
against it.
"""

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from extender.holds.hold import (
    End,
    Hold,
    ReplicasByVolume,
    Sighting,
    Signal,
    State,
    advance,
    is_confirmed,
)
from longhorn import NodeName

PROVISIONING_SECONDS = 600.0
"""How long kube-scheduler waits for claims to be bound (bindTimeoutSeconds of VolumeBinding)."""
GIVEN_UP_SECONDS = 2.0
"""How long a promise stands while it looks as if the attempt was given up. What names the node
follows an answer within some 30 ms, and binding the pod that of its last claim within a second."""


class Mode(StrEnum):
    """How promises count against other pods."""

    CAPACITY = "capacity"
    """By what they need: on each node that a pod may go to, later on its own."""
    NODE = "node"
    """As Longhorn's scheduler extender proposal has it: while a pod is not bound nobody else gets a
    node, and then its node is nobody else's until its replicas are placed."""


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """How long a promise stands, in seconds; 0 keeps none."""

    choosing_seconds: float
    """From the answer until a node is chosen."""
    placing_seconds: float
    """From binding until the replicas are placed."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """A hold that is over, for the log and the metrics."""

    hold: Hold
    why: End
    at: float

    @property
    def seconds(self) -> float:
        """How long it stood."""
        return self.at - self.hold.answered_at


def deadline(hold: Hold, timeouts: Timeouts) -> tuple[float, End]:
    """Return until when a hold stands at most, and how it ends then.

    While a claim carries selected-node, kube-scheduler waits for it to be bound, and so do we; also
    while it names a node for a pod with unbound claims, which are marked after the pod.
    """
    until, why = _deadline(hold, timeouts)
    if hold.given_up_at is not None and hold.given_up_at + GIVEN_UP_SECONDS < until:
        return hold.given_up_at + GIVEN_UP_SECONDS, End.UNSCHEDULED
    return until, why


def _deadline(hold: Hold, timeouts: Timeouts) -> tuple[float, End]:
    if hold.bound_at is not None:
        return hold.bound_at + timeouts.placing_seconds, End.NOT_PLACED
    is_provisioning = hold.named_by is Signal.SELECTED or (
        hold.named_by is Signal.NOMINATED and hold.unbound
    )
    if is_provisioning and timeouts.choosing_seconds:
        return hold.answered_at + PROVISIONING_SECONDS, End.NOT_BOUND
    why = End.NOT_CHOSEN if hold.state is State.OFFERED else End.NOT_BOUND
    return hold.answered_at + timeouts.choosing_seconds, why


class Ledger:
    """All holds, by pod and by node.

    Attributes:
        mode: How they count.
    """

    def __init__(self, mode: Mode = Mode.CAPACITY) -> None:
        self.mode = mode
        self._holds: dict[str, Hold] = {}
        """By the pod's uid, the oldest answer first."""
        self._offered: dict[str, Hold] = {}
        self._placed: dict[NodeName, dict[str, Hold]] = {}

    def __len__(self) -> int:
        return len(self._holds)

    def __iter__(self) -> Iterator[Hold]:
        return iter([*self._holds.values()])

    def get(self, uid: str) -> Hold | None:
        return self._holds.get(uid)

    def on_node(self, node: NodeName, *, but: str = "") -> list[Hold]:
        """Return the holds that count on *node*, but for that of the pod with uid *but*."""
        here = [*self._placed.get(node, {}).values()]
        here += [hold for hold in self._offered.values() if node in hold.nodes]
        return [hold for hold in here if hold.pod.uid != but]

    def count(self, state: State) -> int:
        """Return how many holds are in *state*."""
        offered = len(self._offered)
        return offered if state is State.OFFERED else len(self._holds) - offered

    def is_choosing(self, *, but: str = "") -> bool:
        """Whether the node of some pod is open, but for that of the pod with uid *but*."""
        return len(self._offered) > (but in self._offered)

    def offered(self, *, but: str = "") -> list[Hold]:
        """Return the holds without a node, but for that of the pod with uid *but*."""
        return [hold for uid, hold in self._offered.items() if uid != but]

    def placed_nodes(self, *, but: str = "") -> set[NodeName]:
        """Return the nodes that were chosen, but for that of the pod with uid *but*."""
        return {node for node, here in self._placed.items() if len(here) > (but in here)}

    def put(self, hold: Hold) -> Ended | None:
        """Take a hold in; return the one of the same pod that it replaces."""
        ended = self.drop(hold.pod.uid, End.REPLACED, hold.answered_at)
        self._add(hold)
        return ended

    def amend(self, hold: Hold) -> None:
        """Keep a hold in the place of the same pod's, as the same promise."""
        self._unlist(self._holds[hold.pod.uid])
        self._add(hold)

    def drop(self, uid: str, why: End, now: float) -> Ended | None:
        """End a hold, if there is one."""
        hold = self._take(uid)
        return None if hold is None else Ended(hold=hold, why=why, at=now)

    def drop_all(self, why: End, now: float) -> list[Ended]:
        """End all holds."""
        return [ended for uid in [*self._holds] if (ended := self.drop(uid, why, now))]

    def see(self, uid: str, sighting: Sighting, now: float) -> Ended | None:
        """Take in what is seen of a pod; return its hold if that ends it."""
        hold = self._holds.get(uid)
        if hold is None:
            return None
        after = advance(hold, sighting, now)
        if isinstance(after, End):
            return self.drop(uid, after, now)
        if after != hold:
            self._unlist(hold)
            self._add(after)
        return None

    def settle(self, replicas: ReplicasByVolume, timeouts: Timeouts, now: float) -> list[Ended]:
        """End what is confirmed by *replicas* or has run out of time."""
        ended = []
        for uid, hold in [*self._holds.items()]:
            why = _settled(hold, replicas, timeouts, now)
            if why is not None:
                self._take(uid)
                ended.append(Ended(hold=hold, why=why, at=now))
        return ended

    def next_deadline(self, timeouts: Timeouts) -> float | None:
        """Return when the next hold runs out of time, None if there are none."""
        return min((deadline(hold, timeouts)[0] for hold in self._holds.values()), default=None)

    def _add(self, hold: Hold) -> None:
        uid = hold.pod.uid
        self._holds[uid] = hold
        if hold.state is State.OFFERED:
            self._offered[uid] = hold
        else:
            self._placed.setdefault(hold.node, {})[uid] = hold

    def _take(self, uid: str) -> Hold | None:
        hold = self._holds.pop(uid, None)
        if hold is not None:
            self._unlist(hold)
        return hold

    def _unlist(self, hold: Hold) -> None:
        if hold.state is State.OFFERED:
            del self._offered[hold.pod.uid]
        else:
            here = self._placed[hold.node]
            del here[hold.pod.uid]
            if not here:
                del self._placed[hold.node]


def _settled(
    hold: Hold,
    replicas: ReplicasByVolume,
    timeouts: Timeouts,
    now: float,
) -> End | None:
    if is_confirmed(hold, replicas):
        return End.CONFIRMED
    until, why = deadline(hold, timeouts)
    return why if now >= until else None
