"""Room that will be taken and is not yet: one record for all of it, and what of it competes."""

from collections.abc import Sequence
from enum import IntEnum

import msgspec

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
        """Whether it does not depend on an open hold."""
        return self.certainty is not Certainty.OPEN


def by_certainty(upcoming: Upcoming) -> tuple[bool, VolumeName]:
    """Return what sorts them: the sure ones first, of one certainty by name."""
    return not upcoming.is_sure, upcoming.volume.name


def may_share(volume: Volume, settings: Settings) -> bool:
    """Whether several replicas of a volume may be on one node."""
    return may_share_node(volume, settings) and may_share_zone(volume, settings)
