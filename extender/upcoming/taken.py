"""What comes to one node, in sum, and what it was found not to take besides."""

from collections.abc import Sequence
from typing import NamedTuple

from longhorn import NodeName
from packing import Item


class Taken(NamedTuple):
    """All that comes to one node."""

    items: tuple[Item, ...]
    logical_bytes: int
    physical_bytes: int


NOTHING = Taken((), 0, 0)


def taken_of(items: Sequence[Item]) -> Taken:
    """Take together what comes to a node."""
    if not items:
        return NOTHING
    return Taken(
        tuple(items),
        sum(item.logical_bytes for item in items),
        sum(item.physical_bytes for item in items),
    )


class Refused:
    """The smallest replicas that nodes did not take."""

    def __init__(self) -> None:
        self._items: dict[NodeName, list[Item]] = {}

    def has(self, name: NodeName, item: Item) -> bool:
        """Whether a node did not take one that is no larger, so that it does not take this one."""
        return any(_is_as_large(item, each) for each in self._items.get(name, ()))

    def add(self, name: NodeName, item: Item) -> None:
        """Note that a node does not take a replica."""
        known = self._items.get(name, ())
        self._items[name] = [*(each for each in known if not _is_as_large(each, item)), item]

    def forget(self, name: NodeName) -> None:
        """Note that a node may take more than it did."""
        self._items.pop(name, None)


def _is_as_large(item: Item, other: Item) -> bool:
    return (
        item.logical_bytes >= other.logical_bytes
        and item.physical_bytes >= other.physical_bytes
        and item.kinds <= other.kinds
    )
