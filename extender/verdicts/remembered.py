"""What is known already of nodes, for pods that need the same."""

from collections.abc import Mapping, Sequence, Set

from extender.demand.requests import Need
from extender.verdicts.competitors import Offers
from extender.verdicts.judging import Case
from extender.verdicts.placement import Placement
from extender.verdicts.rejections import Rejection, RoomPromised
from extender.view import ChangeLog, Cursor
from longhorn import NodeName
from packing import Item

_REMEMBERED_NEEDS = 32
"""Pods of one workload ask for the same, one after another and again after each rejection, each
beside none, one or two others of it that are on their way."""
Needs = tuple[tuple[Need, ...], tuple[Need, ...]]
"""What a pod needs, and what is promised to others on the same nodes."""


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
        self._cursor: Cursor | None = None

    def catch_up(self, changes: ChangeLog) -> None:
        """Forget the nodes that have changed since the last time."""
        changed, self._cursor = changes.since(self._cursor)
        if changed is None:
            self.judged.clear()
            self.rejections.clear()
        else:
            for name in changed:
                self.judged.discard(name)
                self.rejections.pop(name, None)

    def remember(self, name: NodeName, rejection: Rejection | None) -> None:
        """Keep a verdict; None is acceptance."""
        self.judged.add(name)
        if rejection is not None:
            self.rejections[name] = rejection


class RememberedVerdicts:
    """The verdicts for the needs asked for last."""

    def __init__(self) -> None:
        self._by_needs: dict[Needs, Verdicts] = {}

    def for_needs(self, needs: Needs, changes: ChangeLog) -> Verdicts:
        """Return what is known for *needs*, up to date with the *changes* of a view."""
        verdicts = self._by_needs.pop(needs, None) or Verdicts()
        self._by_needs[needs] = verdicts
        if len(self._by_needs) > _REMEMBERED_NEEDS:
            del self._by_needs[next(iter(self._by_needs))]
        verdicts.catch_up(changes)
        return verdicts


class Known:
    """What is known of the candidates of one request.

    Where promises to pods that may go to several nodes take the same of each, what is known for
    these needs beside those serves as well as if there were none; a burst of pods to thousands of
    nodes would pack each node for each pod otherwise.
    """

    def __init__(self, case: Case, offers: Offers, remembered: RememberedVerdicts) -> None:
        needs = tuple(volume.need for volume in case.request.volumes)
        changes = case.view.changes
        self._offers = offers
        self._alone = remembered.for_needs((needs, ()), changes)
        self._beside = self._alone
        if offers.nodes:
            self._beside = remembered.for_needs((needs, offers.needs), changes)

    def missing(self, candidates: Sequence[NodeName], passing: Set[NodeName]) -> list[NodeName]:
        """Return the candidates that must be judged."""
        nodes, alone, beside = self._offers.nodes, self._alone.judged, self._beside.judged
        if not nodes and not passing and alone.issuperset(candidates):
            return []
        return [
            name
            for name in candidates
            if name in passing or name not in (beside if name in nodes else alone)
        ]

    def beside(self, name: NodeName) -> tuple[Item, ...]:
        """Return what is promised to others on a node that is not in *passing*."""
        return self._offers.items if name in self._offers.nodes else ()

    def remember(self, name: NodeName, rejection: Rejection | None) -> None:
        """Keep a verdict; None is acceptance."""
        table = self._beside if name in self._offers.nodes else self._alone
        table.remember(name, rejection)

    def rejections(
        self, candidates: Sequence[NodeName], own: Mapping[NodeName, Placement]
    ) -> tuple[dict[NodeName, Rejection], bool]:
        """Return why candidates are rejected, and whether some may be accepted before long.

        Args:
            candidates: All of them were judged.
            own: Verdicts that go before those known.
        """
        known, nodes = self._alone.rejections, self._offers.nodes
        if nodes:
            beside = self._beside.rejections
            known = {name: why for name, why in known.items() if name not in nodes}
            known |= {name: why for name, why in beside.items() if name in nodes}
        every: dict[NodeName, Rejection | None] = {**known}
        every |= {name: placement.rejection for name, placement in own.items()}
        # A built-in filter, since this is all that thousands of known nodes cost.
        found = {
            name: why
            for name in filter(every.__contains__, candidates)
            if (why := every[name]) is not None
        }
        is_open = any(each.is_open for each in own.values()) or any(
            isinstance(why, RoomPromised) for name, why in found.items() if name not in own
        )
        return found, is_open
