"""What is known of an object that cannot be read."""

import msgspec

from longhorn.records import NodeName, VolumeName


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """An object of a kind we use that could not be read."""

    kind: str
    name: str
    """As other objects refer to it: the key that its record would have."""
    why: str
    nodes: tuple[NodeName, ...] = ()
    """Nodes whose space it would have counted for."""
    volume: VolumeName | None = None
    """The volume that it is a Replica of, if it is one."""
