"""What else will take room on a node that a pod's volumes need.

Longhorn retries a replica with hardNodeAffinity at least every 30 s, so it takes room on that node
as soon as there is any. docs/decisions/0001 says which of them count. What is held for other pods,
and what Longhorn is about to place, takes room until Longhorn's objects show it.
"""

from collections.abc import Iterable

from extender.demand.items import Demand
from extender.space import NodeSpace
from extender.upcoming.upcoming import Upcoming
from packing import Kind


def competitors_of(
    demand: Demand, space: NodeSpace, upcoming: Iterable[Upcoming]
) -> list[Upcoming]:
    """Return what of all that comes to a node competes with *demand*, the surest first.

    That is what may use the same disks, or disks that the rest may use.
    """
    upcoming = sorted(upcoming, key=lambda each: each.certainty)
    if not upcoming:
        return []
    here = frozenset(bin_.kind for bin_ in space.bins)
    kinds = here.intersection(frozenset().union(*(item.kinds for item in demand.items)))
    reached = _reached(upcoming, kinds, here)
    return [each for each in upcoming if each.item.kinds & reached]


def _reached(
    upcoming: Iterable[Upcoming], kinds: frozenset[Kind], here: frozenset[Kind]
) -> frozenset[Kind]:
    """Return *kinds* of disks, and those that whoever may use any of these may use as well.

    Only kinds of disks that are *here* lead on: two items do not compete on a node because a disk
    of another node would suit both.
    """
    more = kinds.union(*(each.item.kinds & here for each in upcoming if each.item.kinds & kinds))
    return kinds if more == kinds else _reached(upcoming, more, here)
