"""All holds, and what each observation changes in them.

A pod has one hold at most: an answer replaces the earlier one, and a pod's own hold never counts
against it. Whatever is observed of pods, claims or replicas is one call, which returns what ended
and what moved on.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import structs

from extender.holds.deadlines import Deadlines, Timeouts, still_asked
from extender.holds.evidence import (
    is_attaching,
    is_confirmed,
    is_placed_since,
    is_ungranted,
    sighting_of,
    without_stale,
)
from extender.holds.hold import (
    NO_CHANGE,
    Advanced,
    End,
    Ended,
    Hold,
    Mode,
    Outcome,
    Sighting,
    State,
    advance,
    chosen_of,
    merge_outcomes,
    volumes_of,
)
from extender.kubernetes import Claim, ClaimKey, PodStatus
from extender.records import Index
from extender.view import ChangeLog, ClusterView, Cursor
from longhorn import NodeName, VolumeName


class Ledger:
    """All holds, by pod, by node and by claim.

    Attributes:
        is_complete: Whether it has all that must be held. Only a leader that has taken over knows.
        changes: The uids of the pods whose hold was made, changed or ended.
    """

    def __init__(self, mode: Mode = Mode.CAPACITY) -> None:
        self.mode = mode
        self.is_complete = False
        self.changes = ChangeLog[str]()
        self._holds: dict[str, Hold] = {}
        """By the pod's uid, the oldest answer first."""
        self._open: dict[str, Hold] = {}
        self._chosen = Index[NodeName, Hold](chosen_of)
        self._by_claim = Index[ClaimKey, Hold](lambda hold: {*hold.pod.claims})
        self._by_volume = Index[VolumeName, Hold](volumes_of)
        self._seen: dict[str, PodStatus | None] = {}
        """By uid, the pods as last heard of since they have a hold; None: gone."""
        self._deadlines = Deadlines(self._holds, self.changes)
        self._cursors: tuple[Cursor | None, Cursor | None] = (None, None)
        """Up to where the changes of holds and of volumes are compared with each other."""
        self._ungranted: set[str] = set()
        """The holds for which a disk has yet to grant a replica that is placed there."""

    def __len__(self) -> int:
        return len(self._holds)

    def __iter__(self) -> Iterator[Hold]:
        return iter([*self._holds.values()])

    def get(self, uid: str) -> Hold | None:
        """Return the hold of the pod with this uid, None if it has none."""
        return self._holds.get(uid)

    def on_node(self, node: NodeName, *, but: str | None = None) -> list[Hold]:
        """Return the holds that count on *node*, except that of the pod with uid *but*."""
        here = [*self._chosen.of(node)]
        here += [hold for hold in self._open.values() if node in hold.nodes]
        return [hold for hold in here if hold.pod.uid != but]

    def holds_of(self, name: VolumeName, *, but: str = "") -> list[Hold]:
        """Return the holds that name a volume but that of one pod, the chosen ones first."""
        holds = [hold for hold in self._by_volume.of(name) if hold.pod.uid != but]
        if len(holds) > 1:
            holds.sort(key=lambda each: (each.state is State.OPEN, each.pod.uid))
        return holds

    def chosen_on(self, node: NodeName, *, but: str = "") -> list[Hold]:
        """Return the holds of pods whose node this is but that of one, by uid."""
        holds = [hold for hold in self._chosen.of(node) if hold.pod.uid != but]
        return sorted(holds, key=lambda each: each.pod.uid)

    def count(self, state: State) -> int:
        """Return how many holds are in *state*."""
        count = len(self._open)
        return count if state is State.OPEN else len(self._holds) - count

    def is_choosing(self, *, but: str | None = None) -> bool:
        """Whether some hold with local volumes is open, except that of the pod with uid *but*."""
        return any(hold.volumes for uid, hold in self._open.items() if uid != but)

    def open_holds(self, *, but: str | None = None) -> list[Hold]:
        """Return the open holds, except that of the pod with uid *but*."""
        return [hold for uid, hold in self._open.items() if uid != but]

    def newest_open(self) -> Hold | None:
        """Return the open hold that was made or changed last, None if none is open."""
        return next(reversed(self._open.values()), None)

    def chosen_nodes(self, *, but: str | None = None) -> set[NodeName]:
        """Return the nodes that were chosen, not counting the hold of the pod with uid *but*."""
        own = self._holds.get(but or "")
        here = None if own is None or own.state is State.OPEN else own.node
        if here is None or len(self._chosen.of(here)) > 1:
            return {*self._chosen.keys()}
        return {*self._chosen.keys()} - {here}

    def put(self, hold: Hold) -> Outcome:
        """Add a hold. It replaces the earlier one of the same uid.

        What was seen of the pod before belongs to earlier attempts, though kube-scheduler asks with
        an older copy: after an outage of the API server it may not have heard of what it wrote.
        """
        replaced = self._remove(hold.pod.uid)
        last = self._seen.get(hold.pod.uid)
        if last is not None and last.version > hold.asked.version:
            hold = structs.replace(hold, asked=last)
        self._add(hold)
        if replaced is None:
            return NO_CHANGE
        return Outcome(ended=(Ended(hold=replaced, why=End.REPLACED, at=hold.answered_at),))

    def drop(self, uid: str, why: End, now: float) -> Outcome:
        """End the hold of the pod with this uid, if it has one."""
        hold = self._remove(uid)
        self._seen.pop(uid, None)
        if hold is None:
            return NO_CHANGE
        return Outcome(ended=(Ended(hold=hold, why=why, at=now),))

    def drop_all(self, why: End, now: float) -> Outcome:
        """End all holds; from now on the ledger is not complete."""
        self.is_complete = False
        return merge_outcomes(self.drop(uid, why, now) for uid in [*self._holds])

    def see_pod(
        self,
        uid: str,
        status: PodStatus | None,
        claims: Mapping[ClaimKey, Claim],
        now: float,
    ) -> Outcome:
        """Note how far a pod has come.

        Args:
            status: The pod as last heard of; None if it does not exist. One that is older than what
                was heard before says nothing.
        """
        hold, last = self._holds.get(uid), self._seen.get(uid)
        if hold is None or (status and last and 0 < status.version < last.version):
            return NO_CHANGE
        self._seen[uid] = status
        return self._look(uid, claims, now)

    def see_claims(
        self, keys: Iterable[ClaimKey], claims: Mapping[ClaimKey, Claim], now: float
    ) -> Outcome:
        """Note that the claims named by *keys* may have changed; *claims* are all of them now."""
        uids = {hold.pod.uid for key in keys for hold in self._by_claim.of(key)}
        return merge_outcomes(self._look(uid, claims, now) for uid in sorted(uids))

    def see(self, uid: str, sighting: Sighting, now: float) -> Outcome:
        """Note what is seen of a pod and its claims taken together."""
        before = self._holds.get(uid)
        if before is None:
            return NO_CHANGE
        after = advance(before, sighting, now)
        if isinstance(after, End):
            return self.drop(uid, after, now)
        if after == before:
            return NO_CHANGE
        self._amend(after)
        return Outcome(advanced=(Advanced(before=before, after=after),))

    def settle(self, view: ClusterView, timeouts: Timeouts, now: float) -> Outcome:
        """End the holds that the objects of *view* confirm or whose time is over."""
        changed = self._changed(view)
        confirmed = [uid for uid in changed if is_confirmed(self._holds[uid], view)]
        self._ungranted = {uid for uid in changed if is_ungranted(self._holds[uid], view)}
        for hold in map(self._holds.__getitem__, changed):
            if hold.bound_at is not None and hold.attaching_at is None and is_attaching(hold, view):
                self._amend(structs.replace(hold, attaching_at=now))
        over = self._deadlines.over(timeouts, now)
        for hold in still_asked(over, self._holds):
            del over[hold.pod.uid]
            self._amend(hold)
        ends = {**over, **dict.fromkeys(confirmed, End.CONFIRMED)}
        open_ = (self._holds[uid] for uid in changed if uid not in ends)
        placed = tuple(
            hold
            for hold in open_
            if hold.state is State.OPEN and is_placed_since(hold, view.replicas)
        )
        outcome = merge_outcomes(self.drop(uid, why, now) for uid, why in ends.items())
        return structs.replace(outcome, placed=placed)

    def next_deadline(self, timeouts: Timeouts) -> float | None:
        """Return when the time of the next hold is over, None if there are no holds."""
        return self._deadlines.next(timeouts)

    def _changed(self, view: ClusterView) -> list[str]:
        """Return the holds that may be confirmed by what has changed since the last time."""
        uids, holds_seen = self.changes.since(self._cursors[0])
        volumes, volumes_seen = view.volume_changes.since(self._cursors[1])
        self._cursors = holds_seen, volumes_seen
        if uids is None or volumes is None:
            return [*self._holds]
        waiting = (hold.pod.uid for name in volumes for hold in self._by_volume.of(name))
        changed = {*uids, *waiting, *self._ungranted}
        return sorted(uid for uid in changed if uid in self._holds)

    def _look(self, uid: str, claims: Mapping[ClaimKey, Claim], now: float) -> Outcome:
        """Compare a hold with what is seen of its pod and its claims.

        Until the pod is looked up, it counts as it was at the answer. Its claims count even so: if
        no pod can be looked up for some time, a chosen node is known by them alone.
        """
        hold = without_stale(self._holds[uid], claims)
        if hold is not self._holds[uid]:
            self._amend(hold)
        seen = self._seen.get(uid, hold.asked)
        return self.see(uid, sighting_of(hold, seen, claims, self.mode), now)

    def _amend(self, hold: Hold) -> None:
        """Replace the pod's hold, which keeps its place in the order."""
        self._unlist(self._holds[hold.pod.uid])
        self._add(hold)

    def _add(self, hold: Hold) -> None:
        uid = hold.pod.uid
        self.changes.add(uid)
        self._holds[uid] = hold
        for index in (self._chosen, self._by_claim, self._by_volume):
            index.add(uid, hold)
        if hold.state is State.OPEN:
            self._open[uid] = hold

    def _remove(self, uid: str) -> Hold | None:
        hold = self._holds.pop(uid, None)
        if hold is not None:
            self._unlist(hold)
        return hold

    def _unlist(self, hold: Hold) -> None:
        uid = hold.pod.uid
        self.changes.add(uid)
        for index in (self._chosen, self._by_claim, self._by_volume):
            index.remove(uid, hold)
        if hold.state is State.OPEN:
            del self._open[uid]
