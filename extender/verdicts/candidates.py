"""The verdicts on all candidates of one request: remembered, seen at a glance, or judged singly."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import filterfalse
from typing import Generic, Protocol, TypeVar

import msgspec

from extender.holds.hold import Mode
from extender.upcoming.pinned import OpenHolds
from extender.verdicts.node_verdict import glance, judge
from extender.verdicts.rejections import NodeReserved, Rejection, UnknownNode, UnreadableNode
from extender.verdicts.shortages import PackingUndecided
from extender.verdicts.situation import Situation
from extender.view import ChangeLog, VersionedCache
from longhorn import Need, NodeName
from packing import Item

_REMEMBERED_NEEDS = 32
"""Pods of one workload ask for the same, one after another and again after each rejection, each
beside none, one or two others of it that are on their way."""
Needs = tuple[tuple[Need, ...], tuple[Need, ...]]
"""What a pod needs, and what is held for others on the same nodes."""
_UNKNOWN, _UNREADABLE = UnknownNode(), UnreadableNode()
_GLANCES_PER_STEP, _PAIRS_PER_STEP = 20, 250
"""So many nodes are seen at a glance, and so many pairs of replica and disk are packed in the
quick ways, in the time of a step."""


class Verdicts:
    """Verdicts on nodes for one set of needs.

    A verdict follows from the needs and the node's space alone, for nodes that hold no replica of
    the pod's volumes, so it stands until the space is replaced. It changes no answer but one: where
    the limit of a request left nodes undecided, asking again decides more of them.

    Attributes:
        rejections: Why, for the nodes that are known to be rejected.
    """

    def __init__(self) -> None:
        self.rejections: dict[NodeName, Rejection] = {}
        self._judged: set[NodeName] = set()

    def __len__(self) -> int:
        return len(self._judged)

    def forget(self, names: Sequence[NodeName]) -> None:
        """Forget nodes that have changed."""
        self._judged.difference_update(names)
        for name in names:
            self.rejections.pop(name, None)

    def missing(self, nodes: Sequence[NodeName]) -> Sequence[NodeName]:
        """Return those of *nodes* of which nothing is known."""
        if self._judged.issuperset(nodes):
            return ()
        return [name for name in nodes if name not in self._judged]

    def remember(self, nodes: Iterable[NodeName], rejected: Mapping[NodeName, Rejection]) -> None:
        """Keep the verdicts on *nodes*: why some are rejected; the others are accepted."""
        self._judged.update(nodes)
        self.rejections.update(rejected)


class _Kept(Protocol):
    """What is kept for one set of needs, of so many nodes."""

    def __len__(self) -> int: ...

    def forget(self, names: Sequence[NodeName]) -> None: ...


Kept = TypeVar("Kept", bound=_Kept)


class Remembered(Generic[Kept]):
    """What is kept for the needs asked for last; *changes* has nodes, or what comes there."""

    def __init__(self, new: Callable[[], Kept], changes: ChangeLog[NodeName]) -> None:
        self._new = new
        self._changes = changes
        self._by_needs = VersionedCache[Needs, Kept](_REMEMBERED_NEEDS)

    def known(self, needs: tuple[Need, ...]) -> int:
        """Return of how many nodes something is kept for *needs*, beside whatever is held."""
        found = [key for key in self._by_needs if key[0] == needs]
        return max((len(self.for_needs(key)) for key in found), default=0)

    def for_needs(self, needs: Needs) -> Kept:
        """Return what is kept for *needs*, up to date with all changes."""
        kept, changed = self._by_needs.get(needs, self._changes, self._new)
        kept.forget(changed)
        return kept


RememberedVerdicts = Remembered[Verdicts]


class Groups(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes by what makes a difference between them for this pod alone."""

    needs: tuple[Need, ...]
    """What the pod needs on nodes without a replica of its volumes."""
    alone: Sequence[NodeName]
    """No open hold counts there."""
    beside: Sequence[NodeName]
    """All that *open* says comes there."""
    open: OpenHolds
    singly: Sequence[NodeName]
    """Each has something of the pod's own: replicas of its volumes, or what is held for it."""
    busy: AbstractSet[NodeName]
    """The nodes to which anything else comes."""


def grouped(situation: Situation, nodes: Sequence[NodeName]) -> Groups:
    """Part *nodes*: of those in the first two groups the same is true as for any pod of such needs.

    A burst of pods to thousands of nodes would look at each node for each pod otherwise.
    """
    ledger, uid = situation.ledger, situation.request.pod.uid
    book = situation.book
    open_ = book.open
    apart = situation.holders | open_.partly | book.apart | book.forecast_for_open
    if ledger.mode is Mode.NODE:
        apart |= ledger.chosen_nodes(but=uid)
    alone, beside, singly = nodes, list[NodeName](), list[NodeName]()
    if situation.strict_nodes:
        alone, singly = [], [*nodes]
    elif apart or open_.nodes:
        alone = []
        for name in nodes:
            group = singly if name in apart else beside if name in open_.nodes else alone
            group.append(name)
    return Groups(
        needs=tuple(volume.need for volume in situation.request.volumes),
        alone=alone,
        beside=beside,
        open=open_,
        singly=singly,
        busy=book.busy,
    )


class Judging:
    """Judges the candidates of one request, within its limit of steps."""

    def __init__(self, situation: Situation) -> None:
        self.steps = 0
        self._situation = situation

    def rejections(
        self, candidates: Sequence[NodeName], remembered: RememberedVerdicts
    ) -> dict[NodeName, Rejection]:
        """Return why candidates are rejected; what is found out is *remembered*."""
        groups = grouped(self._situation, candidates)
        rejected: dict[NodeName, Rejection] = {}
        for names, held in ((groups.alone, OpenHolds()), (groups.beside, groups.open)):
            if names:
                known = remembered.for_needs((groups.needs, held.needs))
                rejected |= self._alike(
                    names, [each.item for each in held.held], groups.busy, known
                )
        for name in groups.singly:
            rejection, _ = self._judge(name)
            if rejection is not None:
                rejected[name] = rejection
        return rejected

    def _alike(
        self,
        nodes: Sequence[NodeName],
        beside: Sequence[Item],
        busy: AbstractSet[NodeName],
        known: Verdicts,
    ) -> dict[NodeName, Rejection]:
        """Return why nodes are rejected to which the same open holds keep room, if any does."""
        singly: dict[NodeName, Rejection] = {}
        missing = known.missing(nodes)
        if missing:
            spaces = self._situation.view.spaces
            singly = self._absent(filterfalse(spaces.__contains__, missing))
            missing = [*filter(spaces.__contains__, missing)] if singly else missing
            self._situation.work.spend(len(missing) // _GLANCES_PER_STEP)
            seen = glance(self._situation, missing, beside=beside, busy=busy)
            known.remember(seen.accepted, {})
            known.remember(seen.rejected, seen.rejected)
            for name in seen.rest:
                rejection, is_lasting = self._judge(name)
                rejected = {} if rejection is None else {name: rejection}
                if is_lasting:
                    known.remember([name], rejected)
                else:
                    singly |= rejected
        why = known.rejections
        if not why:  # as for most pods: nobody looks at thousands of nodes
            return singly
        return {name: why[name] for name in filter(why.__contains__, nodes)} | singly

    def _absent(self, names: Iterable[NodeName]) -> dict[NodeName, Rejection]:
        """Return why nodes are rejected that are not in the view. Nothing of them is remembered."""
        unreadable = self._situation.view.unreadable_nodes
        return {name: _UNREADABLE if name in unreadable else _UNKNOWN for name in names}

    def _judge(self, name: NodeName) -> tuple[Rejection | None, bool]:
        """Return why a node is rejected, if it is, and whether that stands until it changes."""
        situation = self._situation
        ledger, work, space = situation.ledger, situation.work, situation.view.spaces.get(name)
        if space is None:
            return self._absent([name])[name], False
        by_node, uid = ledger.mode is Mode.NODE, situation.request.pod.uid
        if by_node and any(hold.volumes for hold in ledger.on_node(name, but=uid)):
            return NodeReserved(), False
        if work.is_over:
            return PackingUndecided(), False
        work.spend(1 + len(situation.demand.items) * len(space.bins) // _PAIRS_PER_STEP)
        limit = max(0, min(situation.limits.per_node, work.left))
        verdict = judge(situation, space, step_limit=limit)
        work.spend(verdict.steps)
        self.steps += verdict.steps
        is_undecided = isinstance(verdict.rejection, PackingUndecided)
        was_cut_short = is_undecided and limit < situation.limits.per_node
        return verdict.rejection, not was_cut_short
