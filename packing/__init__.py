"""Exact two-dimensional vector packing with incompatibilities: do these items fit these bins?"""

from packing.blocking import Pieces, may_be_blocked
from packing.bounds import is_stranded
from packing.pack import DEFAULT_STEP_LIMIT, PreparedItems, pack, prepare
from packing.types import Bin, BinId, Infeasible, Item, ItemId, Kind, Outcome, Packed, Undecided

__all__ = [
    "DEFAULT_STEP_LIMIT",
    "Bin",
    "BinId",
    "Infeasible",
    "Item",
    "ItemId",
    "Kind",
    "Outcome",
    "Packed",
    "Pieces",
    "PreparedItems",
    "Undecided",
    "is_stranded",
    "may_be_blocked",
    "pack",
    "prepare",
]
