"""Until when holds stand at most.

There may be thousands, and they are looked at many times in a second: only of those that have
changed the time is found out again.
"""

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush

import msgspec
from msgspec import structs

from extender.holds.hold import End, Hold, Signal, State
from extender.view import ChangeLog, Cursor

PROVISIONING_SECONDS = 600.0
"""How long kube-scheduler waits for claims to be bound (bindTimeoutSeconds of VolumeBinding)."""
ATTACHING_SECONDS = 600.0
"""How long the room of a bound pod is held while its volumes are not to be attached there yet.
Until then Longhorn does not look for a place. kube-controller-manager takes a volume off a node
that is gone after 6 minutes (maxWaitForUnmountDuration of its attach-detach controller), and where
hundreds of pods start at once, each waits for its turn."""
GIVEN_UP_SECONDS = 2.0
"""How long a hold stands while the attempt seems to be given up. A node is named within some 30 ms
of an answer, and the pod is bound within a second of its last claim."""
_LASTING = (Signal.SELECTED, Signal.NOMINATED)
"""What is taken back when an attempt is given up."""
_SPARE = 100
"""Beside as many times that count no longer as there are holds, so many more are kept."""


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """How long a hold stands, in seconds; 0: nothing is held."""

    choosing_seconds: float
    """From the answer until a node is chosen."""
    placing_seconds: float
    """From binding until the replicas are placed, once the volumes are to be attached."""
    attaching_seconds: float = 0.0
    """From binding until they are; without *placing_seconds* nothing is waited for."""


def deadline(hold: Hold, timeouts: Timeouts) -> tuple[float, End]:
    """Return until when a hold stands at most, and how it ends then.

    While a claim has selected-node, kube-scheduler waits until the claim is bound, and so do we. We
    also wait while the pod is nominated: its claims are marked after it, and it may be bound long
    after they are, if kube-scheduler does not hear of that.
    """
    until, why = _deadline(hold, timeouts)
    if hold.given_up_at is not None and hold.given_up_at + GIVEN_UP_SECONDS < until:
        return hold.given_up_at + GIVEN_UP_SECONDS, End.UNSCHEDULED
    return until, why


class Deadlines:
    """When the time of each hold is over.

    Args:
        changes: The uids whose hold was made, changed or ended.
    """

    def __init__(self, holds: Mapping[str, Hold], changes: ChangeLog[str]) -> None:
        self._holds = holds
        self._changes = changes
        self._cursor: Cursor | None = None
        self._timeouts: Timeouts | None = None
        self._ends: dict[str, tuple[float, End]] = {}
        self._heap: list[tuple[float, str]] = []
        """Also of holds that stand until another time now, or no longer."""

    def __len__(self) -> int:
        """Return how many times are kept, those of holds that have changed included."""
        return len(self._heap)

    def next(self, timeouts: Timeouts) -> float | None:
        """Return when the time of the next hold is over, None if there are no holds."""
        self._catch_up(timeouts)
        return self._heap[0][0] if self._heap else None

    def over(self, timeouts: Timeouts, now: float) -> dict[str, End]:
        """Return the uids whose time is over, and how their holds end."""
        found = {}
        while (until := self.next(timeouts)) is not None and until <= now:
            _, uid = heappop(self._heap)
            _, found[uid] = self._ends.pop(uid)
        return found

    def _catch_up(self, timeouts: Timeouts) -> None:
        uids, self._cursor = self._changes.since(self._cursor)
        if uids is None or timeouts != self._timeouts:
            self._timeouts = timeouts
            self._ends = {uid: deadline(hold, timeouts) for uid, hold in self._holds.items()}
            self._begin_heap()
        else:
            for uid in dict.fromkeys(uids):
                self._note(uid, timeouts)
            if len(self._heap) > 2 * len(self._ends) + _SPARE:
                self._begin_heap()
        while self._heap and not self._stands(*self._heap[0]):
            heappop(self._heap)

    def _note(self, uid: str, timeouts: Timeouts) -> None:
        self._ends.pop(uid, None)
        hold = self._holds.get(uid)
        if hold is not None:
            self._ends[uid] = until, _ = deadline(hold, timeouts)
            heappush(self._heap, (until, uid))

    def _stands(self, until: float, uid: str) -> bool:
        return uid in self._ends and self._ends[uid][0] == until

    def _begin_heap(self) -> None:
        self._heap = [(until, uid) for uid, (until, _) in self._ends.items()]
        heapify(self._heap)


def still_asked(over: Iterable[str], holds: Mapping[str, Hold]) -> list[Hold]:
    """Return, as they go on, the holds that wait for the last member of their group.

    kube-scheduler takes a member for placed as soon as it is answered, but writes no node of any
    member until the last one was asked about (pkg/scheduler/schedule_one_podgroup.go of Kubernetes
    1.36). So the time of all members without a node runs from the last answer to any of them.
    """
    waiting = [each for each in map(holds.__getitem__, over) if each.waits_for_group]
    last = {each.group: each.answered_at for each in waiting}
    for each in holds.values() if waiting else ():
        if each.group in last:
            last[each.group] = max(last[each.group], each.answered_at)
    return [
        _from(last[each.group], each)
        for each in waiting
        if last[each.group] > (each.answered_at if each.given_up_at is None else each.given_up_at)
    ]


def _deadline(hold: Hold, timeouts: Timeouts) -> tuple[float, End]:
    placing_seconds = timeouts.placing_seconds
    if hold.attaching_at is not None:
        return hold.attaching_at + placing_seconds, End.NOT_PLACED
    if hold.bound_at is not None:
        waits = max(placing_seconds, timeouts.attaching_seconds if placing_seconds else 0.0)
        return hold.bound_at + waits, End.NOT_PLACED
    if hold.named_by in _LASTING and timeouts.choosing_seconds:
        return hold.answered_at + PROVISIONING_SECONDS, End.NOT_BOUND
    why = End.NOT_CHOSEN if hold.state is State.OPEN else End.NOT_BOUND
    return hold.answered_at + timeouts.choosing_seconds, why


def _from(at: float, hold: Hold) -> Hold:
    """Return the hold as if it had been answered, and seemed to be given up if it did, at *at*."""
    given_up_at = None if hold.given_up_at is None else at
    return structs.replace(hold, answered_at=at, given_up_at=given_up_at)
