"""What is known already of nodes, for pods that need the same."""

from collections.abc import Sequence

from extender.rejections import Rejection
from extender.requests import Need
from extender.types import NodeName

_REMEMBERED_NEEDS = 16
"""Pods of one workload ask for the same, one after another and again after each rejection."""


class Verdicts:
    """Verdicts on nodes for one set of needs.

    A verdict follows from the needs and the node's space alone, for nodes that hold no replica of
    the pod's volumes, so it stands until the space is replaced. It changes no answer but one: where
    the limit of a request left nodes undecided, asking again decides more of them.
    """

    def __init__(self) -> None:
        self.judged: set[NodeName] = set()
        self.rejections: dict[NodeName, Rejection] = {}
        """Why, for those judged that are rejected."""
        self._changes: Sequence[NodeName] = ()
        self._changes_seen = 0

    def catch_up(self, changes: Sequence[NodeName]) -> None:
        """Forget the nodes whose space was replaced; all of them if *changes* began anew."""
        if changes is not self._changes:
            self.judged.clear()
            self.rejections.clear()
            self._changes, self._changes_seen = changes, len(changes)
        for name in changes[self._changes_seen :]:
            self.judged.discard(name)
            self.rejections.pop(name, None)
        self._changes_seen = len(changes)

    def remember(self, name: NodeName, rejection: Rejection | None) -> None:
        """Keep a verdict; None is acceptance."""
        self.judged.add(name)
        if rejection is not None:
            self.rejections[name] = rejection


class RememberedVerdicts:
    """The verdicts for the needs asked for last."""

    def __init__(self) -> None:
        self._by_needs: dict[tuple[Need, ...], Verdicts] = {}

    def for_needs(self, needs: tuple[Need, ...], changes: Sequence[NodeName]) -> Verdicts:
        """Return what is known for *needs*, up to date with *changes* of a view."""
        verdicts = self._by_needs.pop(needs, None) or Verdicts()
        self._by_needs[needs] = verdicts
        if len(self._by_needs) > _REMEMBERED_NEEDS:
            del self._by_needs[next(iter(self._by_needs))]
        verdicts.catch_up(changes)
        return verdicts
