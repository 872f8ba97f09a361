"""Which verdicts are known already, for pods that need the same."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from extender.verdicts.rejections import Rejection
from extender.view import ChangeLog, Cursor
from longhorn import Need, NodeName

_REMEMBERED_NEEDS = 32
"""Pods of one workload ask for the same, one after another and again after each rejection, each
beside none, one or two others of it that are on their way."""
Needs = tuple[tuple[Need, ...], tuple[Need, ...]]
"""What a pod needs, and what is held for others on the same nodes."""


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
        self._cursor: Cursor | None = None

    def catch_up(self, changes: ChangeLog[NodeName]) -> None:
        """Forget the nodes that have changed since the last time."""
        changed, self._cursor = changes.since(self._cursor)
        if changed is None:
            self._judged.clear()
            self.rejections.clear()
        else:
            for name in changed:
                self._judged.discard(name)
                self.rejections.pop(name, None)

    def __len__(self) -> int:
        return len(self._judged)

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
    """What is kept for one set of needs."""

    def __len__(self) -> int:
        """Return of how many nodes something is known."""

    def catch_up(self, changes: ChangeLog[NodeName]) -> None:
        """Forget what has changed since the last time."""


Kept = TypeVar("Kept", bound=_Kept)


class Remembered(Generic[Kept]):
    """What is kept for the needs asked for last."""

    def __init__(self, new: Callable[[], Kept]) -> None:
        self._new = new
        self._by_needs: dict[Needs, Kept] = {}

    def known(self, needs: tuple[Need, ...], changes: ChangeLog[NodeName]) -> int:
        """Return of how many nodes something is kept for *needs*, beside whatever is held."""
        found = [key for key in self._by_needs if key[0] == needs]
        return max((len(self.for_needs(key, changes)) for key in found), default=0)

    def for_needs(self, needs: Needs, changes: ChangeLog[NodeName]) -> Kept:
        """Return what is kept for *needs*, up to date with the *changes* of a view."""
        kept = self._by_needs.pop(needs, None) or self._new()
        self._by_needs[needs] = kept
        if len(self._by_needs) > _REMEMBERED_NEEDS:
            del self._by_needs[next(iter(self._by_needs))]
        kept.catch_up(changes)
        return kept


RememberedVerdicts = Remembered[Verdicts]
