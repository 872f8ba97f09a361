"""What is packed (items), into what (bins), and the three possible outcomes.

A bin has two headrooms, of logical and of physical bytes, and an item takes some of both. An item
lists the kinds of bins it may go into, and each bin has one kind: a small integer that the caller
chooses. So a caller with many sets of bins (one set per node) builds its items only once.
"""

import msgspec

ItemId = str
BinId = str
Kind = int


class Item(msgspec.Struct, frozen=True):
    """One thing to put, undivided, into exactly one bin. Sizes are in bytes, zero or more."""

    id: ItemId
    logical_bytes: int
    physical_bytes: int
    kinds: frozenset[Kind]


class Bin(msgspec.Struct, frozen=True, gc=False):
    """One place for items. A bin with a negative headroom takes no item, not even of zero bytes."""

    id: BinId
    kind: Kind
    logical_bytes: int
    physical_bytes: int


class Packed(msgspec.Struct, frozen=True):
    """Proof that all items fit: the bin of every item. *steps* counts those of the search."""

    assignment: dict[ItemId, BinId]
    steps: int = 0


class Infeasible(msgspec.Struct, frozen=True):
    """Proof that no assignment fits all items."""

    steps: int = 0


class Undecided(msgspec.Struct, frozen=True):
    """The step limit was reached before either proof was found."""

    steps: int


Outcome = Packed | Infeasible | Undecided
