"""What is left on a node after a pod's new replicas, and how sure it is that they find room."""

from collections.abc import Iterable, Sequence

import msgspec

from extender.demand.items import Demand
from extender.holds.ledger import Ledger
from extender.scoring.robustness import Robustness, robustness
from extender.scoring.scores import Score, score_of
from extender.verdicts.candidates import grouped
from extender.verdicts.case import Case
from extender.verdicts.remembered import Needs
from extender.view import ChangeLog, Cursor
from longhorn import NodeName
from packing import Item, Kind

_REMEMBERED_NEEDS = 32
"""As many as verdicts are remembered for."""


class Placing(msgspec.Struct, frozen=True):
    """What becomes of one node."""

    robustness: Robustness | None
    """Seen at a glance: the surest, or only some order. None if nothing is placed."""
    free: float
    """The share of what may be scheduled that stays free, on the disks that the volumes may use."""
    largest_bytes: int
    """What is free before on that of these disks with most of it."""
    spread_score: Score
    """The score by this alone: without data, for an even spread."""


class Remembered:
    """What becomes of nodes by what is needed and held there, for the needs asked for last.

    It follows from the needs and the node's space alone, and stands until the space is replaced.
    """

    def __init__(self) -> None:
        self._by_needs: dict[Needs, tuple[dict[NodeName, Placing], Cursor]] = {}

    def for_needs(self, needs: Needs, changes: ChangeLog) -> dict[NodeName, Placing]:
        """Return what is known for *needs*, up to date with *changes*; may be added to."""
        placings, last = self._by_needs.pop(needs, ({}, None))
        changed, cursor = changes.since(last)
        if changed is None:
            placings = {}
        else:
            for name in changed:
                placings.pop(name, None)
        self._by_needs[needs] = placings, cursor
        if len(self._by_needs) > _REMEMBERED_NEEDS:
            del self._by_needs[next(iter(self._by_needs))]
        return placings


class Placings:
    """What becomes of the accepted nodes of one pod.

    Args:
        case: The pod.
        accepted: The nodes; each has room for what is new there.
        ledger: What is held for other pods.
        remembered: What is known already; added to.
    """

    def __init__(
        self, case: Case, accepted: Sequence[NodeName], ledger: Ledger, remembered: Remembered
    ) -> None:
        self._case = case
        groups, changes = grouped(case, accepted, ledger), case.view.changes
        self._open = groups.open.items
        self._beside = frozenset(groups.beside)
        self._singly = frozenset(groups.singly)
        known: dict[NodeName, Placing] = {}
        for names, held, items in (
            (groups.alone, (), ()),
            (groups.beside, groups.open.needs, groups.open.items),
        ):
            if names:
                found = remembered.for_needs((groups.needs, held), changes)
                missing = [name for name in names if name not in found]
                if missing:
                    found |= _glance(case, case.demand, items, missing)
                known = found if not known else known | found
        self.known = known
        """May hold more nodes than those asked for."""
        if groups.singly:
            self.known = {**known, **{name: self._single(name) for name in groups.singly}}

    def closely(self, name: NodeName, step_limit: int) -> Robustness:
        """Say how sure it is that all that comes to a node finds room there."""
        items = (*self._case.demand_on(name).items, *self._others(name))
        view = self._case.view
        return robustness(items, view.spaces[name], view.disk_kinds, step_limit=step_limit)

    def _others(self, name: NodeName) -> Sequence[Item]:
        """Return what else comes to a node."""
        if name in self._beside:
            return self._open
        if name not in self._singly:
            return ()
        remote = self._case.forecast.on.get(name, ())
        load = self._case.loads.on(self._case.view.spaces[name])
        return (*load.items, *(each.item for each in remote))

    def _single(self, name: NodeName) -> Placing:
        return _glance(self._case, self._case.demand_on(name), self._others(name), [name])[name]


def _glance(
    case: Case, demand: Demand, others: Sequence[Item], nodes: Iterable[NodeName]
) -> dict[NodeName, Placing]:
    """Look at nodes that all get the same, each of them with room for it.

    One replica alone finds room whatever Longhorn chooses. Several do if each disk takes them all.

    Args:
        case: The pod.
        demand: What these nodes must take anew.
        others: What else comes there.
        nodes: The nodes.
    """
    items = (*demand.items, *others)
    own_kinds = frozenset[Kind]().union(*(item.kinds for item in case.demand.items))
    kinds = own_kinds.union(*(item.kinds for item in others))
    logical = sum(item.logical_bytes for item in items)
    physical = sum(item.physical_bytes for item in items)
    is_new, is_one, spaces = bool(demand.items), len(items) == 1, case.view.spaces
    found = {}
    for name in nodes:
        space = spaces[name]
        is_sure = space.all_usable
        free = limit = largest = 0
        for kind, room in space.rooms.items():
            if kind in own_kinds:
                free += room.free_bytes
                limit += room.limit_bytes
                if room.largest_bytes > largest:
                    largest = room.largest_bytes
            if (
                not is_one
                and kind in kinds
                and (logical > room.least_logical_bytes or physical > room.least_physical_bytes)
            ):
                is_sure = False
        sure = Robustness.EVERY_ORDER_AND_STALE if is_sure else Robustness.SOME_ORDER
        seen, share = sure if is_new else None, max(0, free - logical) / limit if limit > 0 else 0.0
        found[name] = Placing(seen, share, largest, score_of(0.0, seen, share))
    return found
