"""What a new replica asks of a node and its disk."""

from typing import NamedTuple

import msgspec

from longhorn.records import BackingImage, TopologyTerm, Volume
from longhorn.tags import Selector


class Engine(NamedTuple):
    """What runs a replica."""

    is_v2: bool
    image: str
    """Of data engine v1; empty for v2, and if it is not known."""


class Need(msgspec.Struct, frozen=True, kw_only=True, cache_hash=True):
    """What one new replica asks of a node and its disk. Equal needs are interchangeable."""

    size_bytes: int
    actual_bytes: int
    disk_type: str
    node_selectors: tuple[Selector, ...]
    """The volume's own and that of its backing image; each must be met."""
    disk_selectors: tuple[Selector, ...]
    topology: tuple[TopologyTerm, ...]
    engine_image: str = ""
    """What it runs; empty for data engine v2, and if that is not known."""

    @property
    def engine(self) -> Engine:
        """What a replica runs."""
        return Engine(self.disk_type == "block", self.engine_image)


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
        engine_image="" if volume.is_v2 else volume.current_image or volume.engine_image,
    )
