"""Tries remedies on a cluster: what is different once they are done."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import structs

from cli.remedies.remedy import Edit, Remedy, cost, in_order
from extender import ClusterView, ViewBuilder
from longhorn import (
    Condition,
    Node,
    NodeName,
    Replica,
    Setting,
    Volume,
    is_schedulable,
    node_change_refusal,
    replica_deletion_refusal,
    setting_refusal,
    volume_change_refusal,
)

Question = Callable[[ClusterView, Sequence[NodeName]], bool]
"""Whether all is well, as far as some nodes are concerned, and those that are new."""
_PRESSURE = "DiskPressure"


class Trials:
    """Tries remedies one after another; the cluster is as before after each.

    Args:
        builder: Has the cluster.
        question: What is to be so.
        nodes: Those of concern. The others may stay as they are, whatever a setting makes of them:
            with thousands of nodes that is what takes long.
        most: Most trials; once they are used up, nothing works any more.
    """

    def __init__(
        self, builder: ViewBuilder, question: Question, nodes: Sequence[NodeName], most: int
    ) -> None:
        self._builder, self._question, self._nodes, self._left = builder, question, nodes, most
        self._known = {*builder.view.spaces}
        self._tried: dict[str, bool] = {}

    def works(self, remedies: Iterable[Remedy]) -> bool:
        """Whether Longhorn takes all changes as they are told, and all is well then."""
        asked = in_order(remedies)
        key = repr([(each.code, each.figures) for each in asked])
        if key not in self._tried:
            if not self._left:
                return False
            self._left -= 1
            self._tried[key] = self._works([e for each in asked for e in each.edits])
        return self._tried[key]

    def _works(self, edits: Iterable[Edit]) -> bool:
        with changed(self._builder, edits, self._nodes) as view:
            if view is None:
                return False
            new = [name for name in view.spaces if name not in self._known]
            return self._question(view, [*self._nodes, *new])

    def sufficient(self, remedies: Sequence[Remedy]) -> list[tuple[Remedy, ...]]:
        """Return each of *remedies* that works alone; if none does, the least costly that do all
        together, if they do."""
        alone: list[tuple[Remedy, ...]] = [(one,) for one in remedies if self.works([one])]
        if alone or not remedies or not self.works(remedies):
            return alone
        kept = list(remedies)
        costly_first = sorted(remedies, key=lambda one: cost([one]), reverse=True)
        for each in 2 * costly_first:  # some are of use only beside another one that is left out
            others = [one for one in kept if one is not each]
            if len(others) < len(kept) and self.works(others):
                kept = others
        return [tuple(kept)]


@contextmanager
def changed(
    builder: ViewBuilder, edits: Iterable[Edit], nodes: Sequence[NodeName]
) -> Iterator[ClusterView | None]:
    """Make changes, give the cluster as it is then, and take them back.

    It is None if Longhorn refuses one of them. Only *nodes* and what is changed itself are up to
    date, also afterwards.
    """
    done: list[tuple[Any, Any]] = []

    def apply(old: Any, new: Any) -> None:
        builder.apply(old, new)
        done.append((old, new))

    try:
        is_taken = True
        for edit in edits:
            old = builder.of(edit.type).get(edit.key)
            new = edit.change(old)
            is_taken = is_taken and refusal(builder, old, new) is None
            if is_taken and new != old:
                apply(old, new)
        builder.settle_for(nodes)
        known = builder.of(Node)
        for old in [known[name] for name in nodes if name in known]:
            new = _relieved(old, builder.view)
            if new is not old:
                apply(old, new)
        builder.settle_for(nodes)
        yield builder.view if is_taken else None
    finally:
        for old, new in reversed(done):
            builder.apply(new, old)
        builder.settle_for(nodes)


def refusal(builder: ViewBuilder, old: Any, new: Any) -> str | None:
    """Say why Longhorn's webhooks refuse a change, None if they take it."""
    match old, new:
        case Node(), Node():
            return node_change_refusal(old, new)
        case Volume(), Volume():
            return volume_change_refusal(old, new, builder.of(Volume).values())
        case _, Setting():
            return setting_refusal(new)
        case Replica(), None:
            replicas = builder.of(Replica)
            siblings = [each for each in replicas.values() if each.volume == old.volume]
            return replica_deletion_refusal(old, siblings, builder.of(Volume), replicas.values())
    return None


def _relieved(node: Node, view: ClusterView) -> Node:
    """Return a node as Longhorn has it once disks that were too full are not.

    Source: longhorn-manager controller/node_controller.go updateDiskStatusSchedulableCondition.
    """
    if all(each.schedulable.reason != _PRESSURE for each in node.disks):
        return node
    space = view.spaces[node.name]
    disks = [
        structs.replace(each.disk, schedulable=Condition(status="True"))
        if each.disk.schedulable.reason == _PRESSURE
        and each.disk.ready.is_true
        and is_schedulable(each)
        else each.disk
        for each in space.disks
    ]
    if all(new is old.disk for new, old in zip(disks, space.disks, strict=True)):
        return node
    by_name = {each.name: each for each in disks}
    return structs.replace(
        node,
        disks=tuple(
            structs.replace(each, schedulable=by_name[each.name].schedulable) for each in node.disks
        ),
    )
