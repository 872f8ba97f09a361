"""Which verdicts are known already, for pods that need the same."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from extender.verdicts.rejections import Rejection
from extender.view import ChangeLog, VersionedCache
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
