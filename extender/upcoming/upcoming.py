"""One record for all room that will be taken and is not yet."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum

import msgspec
from msgspec import structs

from longhorn import (
    Need,
    NodeName,
    Replica,
    Settings,
    Volume,
    VolumeName,
    may_share_node,
    may_share_zone,
)
from packing import Item


class Certainty(IntEnum):
    """How sure it is that room will be taken, the surest first."""

    SHOWN = 0
    """Longhorn's objects show it."""
    CHOSEN = 1
    """A hold says so whose pod has its node."""
    OPEN = 2
    """A hold says so whose pod may yet go to several nodes."""


class Upcoming(msgspec.Struct, frozen=True, kw_only=True):
    """Replicas of one volume that Longhorn is about to place."""

    volume: Volume
    need: Need
    item: Item
    """One of them, ready for packing."""
    count: int = 1
    certainty: Certainty
    replicas: Sequence[Replica] = ()
    """Those that there are: where they are, others of the volume do not go."""
    local: NodeName | None = None
    """A node where room is kept for one more of the volume."""
    prefers: NodeName | None = None
    """Where the first one goes if it fits: the node that the volume is to be attached to."""

    @property
    def is_sure(self) -> bool:
        """Whether it comes wherever pods go that may yet go to several nodes."""
        return self.certainty is not Certainty.OPEN


def by_certainty(upcoming: Upcoming) -> tuple[bool, VolumeName]:
    """Return what sorts them: the sure ones first, of one certainty by name."""
    return not upcoming.is_sure, upcoming.volume.name


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """What comes anywhere, in sum."""

    sure: int = 0
    """Replicas that come in any case."""
    open: int = 0
    """Those of pods that may yet go to several nodes."""
    most_bytes: int = 0
    """The most that may go to one node."""
    physical_bytes: int = 0

    def plus(self, upcoming: Upcoming, settings: Settings, times: int = 1) -> "Sums":
        """Return the sums with these replicas as well, or without them if *times* is -1."""
        count, need = times * upcoming.count, upcoming.need
        most = times * most_on_a_node(upcoming, settings)
        return Sums(
            sure=self.sure + (count if upcoming.is_sure else 0),
            open=self.open + (0 if upcoming.is_sure else count),
            most_bytes=self.most_bytes + most * need.size_bytes,
            physical_bytes=self.physical_bytes + count * need.actual_bytes,
        )


class Crowd(msgspec.Struct, frozen=True, kw_only=True):
    """All that comes anywhere, volume by volume and in sum."""

    each: tuple[Upcoming, ...] = ()
    sums: Sums = Sums()

    def plus(self, more: Collection[Upcoming], settings: Settings) -> "Crowd":
        """Return the crowd with these as well."""
        sums = self.sums
        for upcoming in more:
            sums = sums.plus(upcoming, settings)
        return Crowd(each=(*self.each, *more), sums=sums) if more else self

    def without(
        self, names: Iterable[VolumeName], of: Mapping[VolumeName, Upcoming], settings: Settings
    ) -> "Crowd":
        """Return the crowd without these volumes, as *of* has them."""
        gone = {name: of[name] for name in names if name in of}
        if not gone:
            return self
        sums = self.sums
        for upcoming in gone.values():
            sums = sums.plus(upcoming, settings, times=-1)
        rest = tuple(each for each in self.each if each.volume.name not in gone)
        return structs.replace(self, each=rest, sums=sums)


def most_on_a_node(upcoming: Upcoming, settings: Settings) -> int:
    """Return how many of a volume's replicas may go to one node."""
    return upcoming.count if may_share(upcoming.volume, settings) else min(1, upcoming.count)


def may_share(volume: Volume, settings: Settings) -> bool:
    """Whether several replicas of a volume may be on one node."""
    return may_share_node(volume, settings) and may_share_zone(volume, settings)


Load = tuple[Upcoming, ...]
"""All that comes to one node for itself, the surest first."""
