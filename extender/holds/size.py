"""How much memory open holds take: clients decide how many there are, and on which nodes."""

from collections.abc import Collection, Iterable
from sys import getsizeof

from extender.holds.hold import Hold
from extender.holds.ledger import Ledger
from longhorn import NodeName

MOST_BYTES = 128 * 2**20
"""Holds on the same nodes take little. Of those on any 5,000 nodes, one client may have 126."""
_HOLD_BYTES, _VOLUME_BYTES = 2_000, 4_000


def node_set(nodes: Collection[NodeName], ledger: Ledger) -> frozenset[NodeName]:
    """Return the set of *nodes*: that of the newest open hold if it is equal.

    A set of 5,000 takes half a MB, and the pods of a burst mostly may go to the same nodes.
    """
    newest = ledger.newest_open()
    if newest and len(newest.nodes) == len(nodes) and newest.nodes.issuperset(nodes):
        return newest.nodes
    return frozenset(nodes)


def size_bytes(holds: Iterable[Hold]) -> int:
    """Estimate the memory that holds take; a set of nodes that they share counts once."""
    sets, rest_bytes = dict[int, int](), 0
    for hold in holds:
        if id(hold.nodes) not in sets:
            sets[id(hold.nodes)] = getsizeof(hold.nodes)
        volumes = len(hold.volumes) + len(hold.remote)
        rest_bytes += _HOLD_BYTES + _VOLUME_BYTES * volumes
    return sum(sets.values()) + rest_bytes


def has_room(hold: Hold, ledger: Ledger) -> bool:
    """Whether a hold may be made: its client has no more then than is left by all.

    So who comes next gets something, however much others have.
    """
    mine, others = [hold], list[Hold]()
    for each in ledger.open_holds(but=hold.pod.uid):
        (mine if each.client == hold.client else others).append(each)
    return 2 * size_bytes(mine) + size_bytes(others) <= MOST_BYTES
