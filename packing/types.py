"""What is packed (items), into what (bins), and what can come of it.

A bin offers two headrooms, logical and physical bytes, and an item takes some of both. Which
bins an item may go into is said by kind: bins that the same items may use share a kind, a small
integer the caller chooses, and an item lists the kinds it may use. So a caller with many sets of
bins (one set per node) builds its items once.
"""

import msgspec

ItemId = str
BinId = str
Kind = int


class Item(msgspec.Struct, frozen=True):
    """One thing to place, whole, into exactly one bin. Sizes are bytes, zero or more."""

    id: ItemId
    logical_bytes: int
    physical_bytes: int
    kinds: frozenset[Kind]


class Bin(msgspec.Struct, frozen=True):
    """One place to put items. A bin with a negative headroom takes nothing, not even zero bytes."""

    id: BinId
    kind: Kind
    logical_bytes: int
    physical_bytes: int


class Packed(msgspec.Struct, frozen=True):
    """Proof that all items fit: the bin of every item. *steps* counts the placements searched."""

    assignment: dict[ItemId, BinId]
    steps: int = 0


class Infeasible(msgspec.Struct, frozen=True):
    """Proof that no assignment fits all items."""

    steps: int = 0


class Undecided(msgspec.Struct, frozen=True):
    """The step limit was reached before either proof was found."""

    steps: int


Outcome = Packed | Infeasible | Undecided
