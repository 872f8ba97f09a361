"""The verdicts on all candidates of one request: remembered, seen at a glance, or judged singly."""

from collections.abc import Sequence

import msgspec

from extender.holds.hold import Mode
from extender.holds.ledger import Ledger
from extender.verdicts.case import Case
from extender.verdicts.competitors import OpenHolds, open_holds
from extender.verdicts.judging import glance, judge
from extender.verdicts.rejections import (
    NodeReserved,
    PackingUndecided,
    Rejection,
    UnknownNode,
    UnreadableNode,
)
from extender.verdicts.remembered import RememberedVerdicts, Verdicts
from longhorn import Need, NodeName
from packing import Item


class StepLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many steps the packing may take, so that no request blocks the others for long."""

    per_node: int
    per_request: int


class Groups(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes by what makes a difference between them, besides their own space."""

    needs: tuple[Need, ...]
    """What the pod needs on nodes without a replica of its volumes."""
    alone: Sequence[NodeName]
    """Nothing else comes there."""
    beside: Sequence[NodeName]
    """All that *open* says comes there, and nothing else."""
    open: OpenHolds
    singly: Sequence[NodeName]
    """Each has something of its own: replicas of the pod's volumes, or others on their way."""


def grouped(case: Case, nodes: Sequence[NodeName], ledger: Ledger) -> Groups:
    """Part *nodes*: of those in the first two groups the same is true that was true before.

    A burst of pods to thousands of nodes would look at each node for each pod otherwise.
    """
    uid = case.request.pod.uid
    open_ = open_holds(ledger.open_holds(but=uid), case)
    apart = (
        case.holders
        | ledger.chosen_nodes(but=uid)
        | open_.partly
        | case.forecast.on.keys()
        | case.loads.nodes_due
    )
    alone, beside, singly = nodes, list[NodeName](), list[NodeName]()
    if case.strict_nodes:
        alone, singly = [], [*nodes]
    elif apart or open_.nodes:
        alone = []
        for name in nodes:
            group = singly if name in apart else beside if name in open_.nodes else alone
            group.append(name)
    needs = tuple(volume.need for volume in case.request.volumes)
    return Groups(needs=needs, alone=alone, beside=beside, open=open_, singly=singly)


class Judging:
    """Judges the candidates of one request, within its limit of steps.

    Attributes:
        steps: How many were taken.
    """

    def __init__(self, case: Case, limits: StepLimits, ledger: Ledger) -> None:
        self.steps = 0
        self._case = case
        self._limits = limits
        self._ledger = ledger

    def rejections(
        self, candidates: Sequence[NodeName], remembered: RememberedVerdicts
    ) -> dict[NodeName, Rejection]:
        """Return why candidates are rejected.

        Where the pod's own replicas and the holds on chosen nodes play no part, a verdict follows
        from what is needed and from the node's space, and is remembered: beside no hold, or beside
        the same open holds.
        """
        groups, changes = grouped(self._case, candidates, self._ledger), self._case.view.changes
        rejected: dict[NodeName, Rejection] = {}
        for names, held in ((groups.alone, OpenHolds()), (groups.beside, groups.open)):
            if names:
                known = remembered.for_needs((groups.needs, held.needs), changes)
                rejected |= self._alike(names, held.items, known)
        for name in groups.singly:
            rejection, _ = self._judge(name)
            if rejection is not None:
                rejected[name] = rejection
        return rejected

    def _alike(
        self, nodes: Sequence[NodeName], beside: Sequence[Item], known: Verdicts
    ) -> dict[NodeName, Rejection]:
        """Return why nodes are rejected on which the same is held for other pods, if anything."""
        singly: dict[NodeName, Rejection] = {}
        missing = known.missing(nodes)
        if missing:
            seen = glance(self._case, missing, beside=beside)
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
        return {name: why[name] for name in filter(why.__contains__, nodes)} | singly

    def _judge(self, name: NodeName) -> tuple[Rejection | None, bool]:
        """Return why a node is rejected, if it is, and whether that stands until it changes."""
        view = self._case.view
        space = view.spaces.get(name)
        if space is None:
            is_unreadable = name in view.unreadable_nodes
            return UnreadableNode() if is_unreadable else UnknownNode(), False
        by_node, uid = self._ledger.mode is Mode.NODE, self._case.request.pod.uid
        if by_node and any(hold.volumes for hold in self._ledger.on_node(name, but=uid)):
            return NodeReserved(), False
        limit = max(0, min(self._limits.per_node, self._limits.per_request - self.steps))
        verdict = judge(self._case, space, step_limit=limit)
        self.steps += verdict.steps
        is_undecided = isinstance(verdict.rejection, PackingUndecided)
        was_cut_short = is_undecided and limit < self._limits.per_node
        # What pending replicas need depends on their volumes, too.
        return verdict.rejection, not (space.pending or was_cut_short)
