"""Which replicas to move, one after another, so that the disks are more evenly full.

The share of a disk is what is scheduled on it, of the most that Longhorn schedules there. A move
takes a replica off the fullest disk that has one which may leave, and is chosen so that the fuller
of the two disks comes out as low as it can. So each move lowers a disk, and none comes to where
that was: sorted from the fullest on, the shares only ever get lower, and moves come to an end.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, count, groupby, islice

import msgspec
from msgspec import structs

from extender import ClusterView
from longhorn import (
    Candidate,
    NodeDisks,
    NodeName,
    Replica,
    Volume,
    VolumeName,
)
from planner.movable import hindrances, suiting
from planner.moving import Move, Storage, make, place_of, simplest, way

LEAST_GAIN = 0.005
"""A move that lowers a disk by less of its limit is not worth a copy."""
_TAG = "rebalance"
_MOST_FIRST = 30
"""Moves that are looked at together with the one after them."""
_MOST_OF_EACH = 3
"""Of these for one replica."""
_MOST_DISKS_AHEAD = 20
"""With more disks each move is the best one at once: there are enough of them."""
_MOST_TRIED = 20
"""Disks that are tried for one replica: the emptiest that suit it."""


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be reached."""

    most_moves: int
    below: float | None = None
    """The share that no disk is to exceed; None for as even as it can be."""


def rebalanced(view: ClusterView, goal: Goal) -> Iterator[Move]:
    """Yield the moves, each to be made once the one before is done.

    Ties go by name. With a setting that Longhorn cannot read, or that forbids rebuilding, there are
    none.

    Complexity: for each move, the replicas of a disk times the disks of the cluster, at worst.
    """
    settings = view.settings
    if settings.unreadable is not None or not settings.rebuild_limit:
        return
    kept = hindrances(view)
    volumes = {name: each for name, each in view.volumes.items() if name not in kept}
    storage = Storage(
        settings=settings,
        backing_images=view.backing_images,
        spaces=dict(view.spaces),
        replicas={name: tuple(each) for name, each in view.replicas.items()},
        tag=_free_tag(view),
        moved=set(),
    )
    full = shares(storage.spaces).values()
    widest = max(full, default=0.0) - min(full, default=0.0)
    looks_ahead = len(full) <= _MOST_DISKS_AHEAD
    for left in range(goal.most_moves, 0, -1):
        search = _Search(volumes, storage, goal, widest)
        found = search.ahead() if looks_ahead and left > 1 else search.at_once()
        if found is None:
            return
        move = simplest(found, storage)
        make(move, storage)
        yield move


def shares(spaces: Mapping[NodeName, NodeDisks]) -> dict[Candidate, float]:
    """Return the share of each disk that is ready, and that Longhorn does not empty already."""
    return {
        Candidate(name, each.disk.id): each.scheduled_bytes / each.limit_bytes
        for name, space in sorted(spaces.items())
        if space.node.ready.is_true and not (space.node.deleting or space.node.evicting)
        for each in space.disks
        if each.disk.id is not None
        and each.disk.ready.is_true
        and not each.disk.evicting
        and each.limit_bytes > 0
    }


def _free_tag(view: ClusterView) -> str:
    """Return a tag that no disk has; one may have been left behind."""
    disks = (each for space in view.spaces.values() for each in space.node.disks)
    used = {tag for each in disks for tag in each.tags}
    names = chain([_TAG], (f"{_TAG}-{number}" for number in count(2)))
    return next(name for name in names if name not in used)


_Option = tuple[tuple[float, int, float], Move]
"""How good a move is, the least being best, and the move."""


class _Search:
    """Looks for moves among disks and replicas as they are now.

    Args:
        volumes: Those whose replicas may move.
        storage: Disks and replicas.
        goal: What is to be reached.
        widest: How far the fullest and the emptiest disk may be apart.
    """

    def __init__(
        self,
        volumes: Mapping[VolumeName, Volume],
        storage: Storage,
        goal: Goal,
        widest: float,
    ) -> None:
        self._volumes, self._storage, self._goal, self._widest = volumes, storage, goal, widest
        self._full = shares(storage.spaces)
        self._emptiest = sorted(self._full, key=lambda at: (self._full[at], at))
        self._fullest = sorted(self._full, key=lambda at: (-self._full[at], at))
        self._leaving: dict[Candidate, list[Replica]] = {}
        for name in volumes:
            for each in storage.replicas[name]:
                if each.name not in storage.moved:
                    self._leaving.setdefault(place_of(each), []).append(each)

    def excess(self) -> float:
        """Return what is to be made less: the highest share, or what exceeds the level."""
        if self._goal.below is None:
            return self._full[self._fullest[0]]
        return sum(max(0.0, share - self._goal.below) for share in self._full.values())

    def at_once(self) -> Move | None:
        """Return the best move off the fullest disk that has one."""
        for _, options in groupby(self._options(), key=lambda option: place_of(option[1].replica)):
            return min(options, key=lambda option: option[0])[1]
        return None

    def ahead(self) -> Move | None:
        """Return the first of the two moves that are best together: mostly the best one at once.

        Another one is the first where it makes room on a disk for the second.
        """
        found, worth = self.at_once(), self.excess() - LEAST_GAIN
        if found is not None:
            worth = self._after_two(found)
        for move in islice(self._firsts(), _MOST_FIRST):
            if (then := self._after_two(move)) < worth:
                found, worth = move, then
        return found

    def after(self, move: Move) -> "_Search":
        """Return the search once a move is made."""
        storage = structs.replace(
            self._storage,
            spaces=dict(self._storage.spaces),
            replicas=dict(self._storage.replicas),
            moved=set(self._storage.moved),
        )
        make(move, storage)
        return _Search(self._volumes, storage, self._goal, self._widest)

    def _after_two(self, move: Move) -> float:
        after = self.after(move)
        second = after.at_once()
        return (after if second is None else after.after(second)).excess()

    def _options(self) -> Iterator[_Option]:
        """Yield the best move of each replica, those on the fullest disks first."""
        for source in self._fullest:
            if self._goal.below is not None and self._full[source] <= self._goal.below:
                return
            for each in self._on(source):
                yield from islice(self._of(each, self._full[source]), 1)

    def _firsts(self) -> Iterator[Move]:
        """Yield some moves of each replica that leave all disks below the fullest of now."""
        highest = self._full[self._fullest[0]]
        for source in self._fullest:
            for each in self._on(source):
                yield from (move for _, move in islice(self._of(each, highest), _MOST_OF_EACH))

    def _on(self, source: Candidate) -> list[Replica]:
        return sorted(self._leaving.get(source, ()), key=lambda replica: replica.name)

    def _of(self, replica: Replica, highest: float) -> Iterator[_Option]:
        """Yield moves of one replica: to the disk that is the emptiest with it, and so on.

        None comes to the share *highest*.
        """
        full, storage, below = self._full, self._storage, self._goal.below
        source, volume = place_of(replica), self._volumes[replica.volume]
        left = full[source] - replica.size_bytes / storage.disk(source).limit_bytes
        most = min(1.0, highest - LEAST_GAIN, *([] if below is None else [below]))
        disks = suiting(replica, volume, self._emptiest, storage)
        options = islice(((_share_with(volume, at, storage), at) for at in disks), _MOST_TRIED)
        for share, target in sorted(each for each in options if each[0] <= most):
            is_even = self._spread({source: left, target: share}) <= self._widest
            move = way(replica, target, volume, storage) if is_even else None
            if move is not None:
                worst = max(left, share) if below is None else max(0.0, left - below)
                yield (worst, move.copied_bytes, share), move

    def _spread(self, changed: Mapping[Candidate, float]) -> float:
        """Return how far the fullest and the emptiest disk are apart, with some changed."""
        ends = (
            next((self._full[at] for at in disks if at not in changed), None)
            for disks in (self._emptiest, self._fullest)
        )
        found = [*changed.values(), *(each for each in ends if each is not None)]
        return max(found) - min(found)


def _share_with(volume: Volume, target: Candidate, storage: Storage) -> float:
    space, more_bytes = storage.disk(target), storage.image_bytes(volume, target)
    return (space.scheduled_bytes + volume.size_bytes + more_bytes) / space.limit_bytes
