"""What a new replica asks of a node and its disk."""

import msgspec

from longhorn.records import BackingImage, TopologyTerm, Volume
from longhorn.tags import Selector


class Need(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """What one new replica asks of a node and its disk. Equal needs are interchangeable."""

    size_bytes: int
    actual_bytes: int
    disk_type: str
    node_selectors: tuple[Selector, ...]
    """The volume's own and that of its backing image; each must be met."""
    disk_selectors: tuple[Selector, ...]
    topology: tuple[TopologyTerm, ...]


def need_of(volume: Volume, image: BackingImage | None) -> Need:
    """Say what a new replica of *volume*, made from *image* if any, asks for."""
    images = (image,) if image else ()
    return Need(
        size_bytes=volume.size_bytes,
        actual_bytes=volume.actual_bytes,
        disk_type=volume.disk_type,
        node_selectors=(volume.node_selector, *(i.node_selector for i in images)),
        disk_selectors=(volume.disk_selector, *(i.disk_selector for i in images)),
        topology=volume.topology,
    )
