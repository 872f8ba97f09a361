"""All that is coming, taken together."""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import structs

from extender.forecast.coming import Coming
from longhorn import Settings, VolumeName, may_share_node, may_share_zone


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """What it is in sum."""

    sure: int = 0
    """Replicas that come in any case."""
    open: int = 0
    """Those of pods that may yet go to several nodes."""
    bytes: int = 0
    physical_bytes: int = 0
    most_bytes: int = 0
    """The most that may go to one node."""

    def plus(self, coming: Coming, settings: Settings, times: int = 1) -> "Sums":
        """Return the sums with these replicas as well, or without them if *times* is -1."""
        count = times * coming.count
        most = times * most_on_a_node(coming, settings)
        return Sums(
            sure=self.sure + (count if coming.is_sure else 0),
            open=self.open + (0 if coming.is_sure else count),
            bytes=self.bytes + count * coming.need.size_bytes,
            physical_bytes=self.physical_bytes + count * coming.need.actual_bytes,
            most_bytes=self.most_bytes + most * coming.need.size_bytes,
        )


class Crowd(msgspec.Struct, frozen=True, kw_only=True):
    """What is coming, volume by volume and in sum."""

    coming: tuple[Coming, ...] = ()
    sums: Sums = Sums()

    def without(
        self, names: Iterable[VolumeName], of: Mapping[VolumeName, Coming], settings: Settings
    ) -> "Crowd":
        """Return the crowd without these volumes, as *of* has them."""
        gone = {name: of[name] for name in names if name in of}
        if not gone:
            return self
        sums = self.sums
        for each in gone.values():
            sums = sums.plus(each, settings, times=-1)
        rest = tuple(each for each in self.coming if each.volume.name not in gone)
        return structs.replace(self, coming=rest, sums=sums)


def crowd_of(coming: Iterable[Coming], settings: Settings) -> Crowd:
    """Take together what is coming."""
    coming, sums = tuple(coming), Sums()
    for each in coming:
        sums = sums.plus(each, settings)
    return Crowd(coming=coming, sums=sums)


def most_on_a_node(coming: Coming, settings: Settings) -> int:
    """Return how many of a volume's replicas may go to one node."""
    volume = coming.volume
    may_share = may_share_node(volume, settings) and may_share_zone(volume, settings)
    return coming.count if may_share else min(1, coming.count)
