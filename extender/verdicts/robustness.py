"""Whether Longhorn's own choice of disks leads to a packing: in some order, in every one, unseen.

A packing proves that room exists. Longhorn places one replica at a time on the disk that it likes
best, in an order that nobody chooses. And as its figures are half a second old, it may place
several before it sees the first.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from longhorn import (
    Candidate,
    Candidates,
    DiskId,
    DiskSpace,
    Need,
    NodeName,
    Settings,
    choices,
    has_room,
    mismatch,
    takes_replicas,
)

MOST_STEPS = 2_000
"""Placements that are tried at most; beyond, the weaker word is said."""


class Robustness(StrEnum):
    """How sure it is that Longhorn finds room for all volumes, the surest last."""

    SOME_ORDER = "some order"
    EVERY_ORDER = "every order"
    EVERY_ORDER_AND_STALE = "every order, even on old figures"


class _CutShortError(Exception):
    """More steps than allowed."""


class Disks:
    """The disks of one node as Longhorn chooses among them.

    Args:
        name: The node.
        spaces: Its disks.
        settings: Longhorn's.
    """

    def __init__(self, name: NodeName, spaces: Sequence[DiskSpace], settings: Settings) -> None:
        self._name = name
        self._settings = settings
        self._spaces: Mapping[DiskId, DiskSpace] = {
            space.disk.id: space
            for space in spaces
            if space.disk.id is not None and takes_replicas(space.disk)
        }
        self._steps = 0

    def robustness(self, needs: Sequence[Need]) -> Robustness:
        """Say how sure it is that new replicas of *needs* all find room on the node.

        They fit there in some order. Complexity: bounded by `MOST_STEPS`.
        """
        self._steps = 0
        try:
            if not self._fits_in_every_order(tuple(sorted(needs, key=_size)), {}, set()):
                return Robustness.SOME_ORDER
        except _CutShortError:
            return Robustness.SOME_ORDER
        return (
            Robustness.EVERY_ORDER_AND_STALE if self._fits_stale(needs) else Robustness.EVERY_ORDER
        )

    def _fits_in_every_order(
        self,
        needs: tuple[Need, ...],
        taken: Mapping[DiskId, int],
        known: set[object],
    ) -> bool:
        """Whether all orders and all arbitrary choices place *needs* beside what is *taken*."""
        key = needs, tuple(sorted(taken.items()))
        if not needs or key in known:
            return True
        for index, need in enumerate(needs):
            if index and needs[index - 1] == need:
                continue
            chosen = self._choices(need, taken)
            rest = needs[:index] + needs[index + 1 :]
            for disk in chosen:
                self._steps += 1
                if self._steps > MOST_STEPS:
                    raise _CutShortError
                more = {**taken, disk: taken.get(disk, 0) + need.size_bytes}
                if not self._fits_in_every_order(rest, more, known):
                    return False
            if not chosen:
                return False
        known.add(key)
        return True

    def _fits_stale(self, needs: Sequence[Need]) -> bool:
        """Whether no disk is overfull even if each replica is placed as if it were the first."""
        most: dict[DiskId, int] = {}
        for need in needs:
            for disk in self._choices(need, {}):
                most[disk] = most.get(disk, 0) + need.size_bytes
        return all(size <= self._spaces[disk].logical_headroom_bytes for disk, size in most.items())

    def _choices(self, need: Need, taken: Mapping[DiskId, int]) -> tuple[DiskId, ...]:
        """Return the disks that Longhorn may take for one replica."""
        unused = {
            Candidate(self._name, disk): space.unused_bytes(taken.get(disk, 0))
            for disk, space in self._spaces.items()
            if mismatch(space.kind, need, self._settings) is None
            and has_room(space, need, space.scheduled_bytes + taken.get(disk, 0))
        }
        found = tuple(sorted(unused))
        candidates = Candidates(disks=found, preferred=found, unused_bytes=unused)
        return tuple(each.disk for each in choices(candidates, need.size_bytes))


def _size(need: Need) -> tuple[int, str]:
    return need.size_bytes, repr(need)
