"""Sets of nodes that take little memory: thousands of pods wait, each with thousands of candidates.

A set is a whole number with a bit for each node. Such numbers are cut and joined with & and |, and
`ALL` contains every node.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping
from itertools import compress, filterfalse
from typing import TypeVar

from extender.verdicts.rejections import Rejection
from longhorn import NodeName

NodeSet = int
ALL: NodeSet = -1
Rejected = Mapping[Rejection, NodeSet]
"""The nodes of each reason."""
Key = TypeVar("Key", bound=Hashable)


class NodeSets:
    """Which bit is whose."""

    def __init__(self) -> None:
        self._bits: dict[NodeName, int] = {}

    @property
    def later(self) -> NodeSet:
        """All nodes that come to be known from now on."""
        return ALL << len(self._bits)

    def of(self, names: Collection[NodeName], known: Collection[NodeName] = ()) -> NodeSet:
        """Return the set of some nodes.

        At first, and once one has no bit, all get one that are *known*. Others are in no set:
        anybody can invent names.
        """
        bits = self._bits
        if not bits or any(name in known for name in filterfalse(bits.__contains__, names)):
            for name in filterfalse(bits.__contains__, known):
                bits[name] = len(bits)
        flags = bytearray(b"0") * (len(bits) + 1)
        for name in filter(bits.__contains__, names):
            flags[-1 - bits[name]] = ord("1")
        return int(flags, 2)

    def by_reason(
        self, rejected: Mapping[NodeName, Rejection], known: Collection[NodeName] = ()
    ) -> Rejected:
        """Return the set of each reason."""
        alike = defaultdict[Rejection, list[NodeName]](list)
        for name, why in rejected.items():
            alike[why].append(name)
        return {why: self.of(names, known) for why, names in alike.items()}

    def names(self, nodes: NodeSet) -> list[NodeName]:
        """Return the nodes of a set that are known, in the order in which they came to be."""
        found = nodes & ~self.later
        return [*compress(self._bits, map(int, reversed(f"{found:b}")))]

    def clear(self) -> None:
        """Forget all nodes; no set of before means anything any more."""
        self._bits.clear()


def either(one: Mapping[Key, NodeSet], other: Mapping[Key, NodeSet]) -> dict[Key, NodeSet]:
    """Return the nodes that one of two has under each key."""
    return {key: one.get(key, 0) | other.get(key, 0) for key in (*one, *other)}
