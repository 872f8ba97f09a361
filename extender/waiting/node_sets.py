"""Sets of nodes that take little memory: thousands of pods wait, each with thousands of candidates.

A set is a whole number with a bit for each node. Such numbers are cut and joined with & and |, and
`ALL` contains every node.
"""

from collections.abc import Collection, Iterable
from itertools import compress, filterfalse

from longhorn import NodeName

NodeSet = int
ALL: NodeSet = -1


class NodeSets:
    """Which bit is whose."""

    def __init__(self) -> None:
        self._bits: dict[NodeName, int] = {}

    @property
    def later(self) -> NodeSet:
        """All nodes that come to be known from now on."""
        return ALL << len(self._bits)

    def of(self, names: Iterable[NodeName], known: Collection[NodeName] = ()) -> NodeSet:
        """Return the set of some nodes.

        At first, and once one has no bit, all get one that are *known*. Others are in no set:
        anybody can invent names.
        """
        bits = self._bits
        if not bits:
            self._learn(known)
        numbers = []
        for name in names:
            number = bits.get(name)
            if number is None:
                if name not in known:
                    continue
                self._learn(known)
                number = bits[name]
            numbers.append(number)
        flags = bytearray(b"0") * (len(bits) + 1)
        for number in numbers:
            flags[-1 - number] = _ONE
        return int(flags, 2)

    def names(self, nodes: NodeSet) -> list[NodeName]:
        """Return the nodes of a set that are known, in the order in which they came to be."""
        found = nodes & ~self.later
        return [*compress(self._bits, map(int, reversed(f"{found:b}")))]

    def clear(self) -> None:
        """Forget all nodes; no set of before means anything any more."""
        self._bits.clear()

    def _learn(self, known: Iterable[NodeName]) -> None:
        for name in filterfalse(self._bits.__contains__, known):
            self._bits[name] = len(self._bits)


_ONE = ord("1")
