"""Sets of nodes that take little memory: thousands of pods wait, each with thousands of candidates.

A set is a whole number with a bit for each node. Such numbers are cut and joined with & and |, and
`ALL` contains every node.
"""

from collections.abc import Iterable
from itertools import compress

from longhorn import NodeName

NodeSet = int
ALL: NodeSet = -1
MOST_NODES = 20_000
"""Nodes beyond so many are in no set. Pods are not woken for them; kube-scheduler asks about each
pod again within five minutes."""


class NodeSets:
    """Which bit is whose."""

    def __init__(self) -> None:
        self._bits: dict[NodeName, int] = {}

    def of(self, names: Iterable[NodeName]) -> NodeSet:
        """Return the set of some nodes. One that was never named before gets a bit."""
        bits = self._bits
        numbers = []
        for name in names:
            number = bits.get(name)
            if number is None:
                if len(bits) == MOST_NODES:
                    continue
                number = bits[name] = len(bits)
            numbers.append(number)
        flags = bytearray(b"0") * (len(bits) + 1)
        for number in numbers:
            flags[-1 - number] = _ONE
        return int(flags, 2)

    def names(self, nodes: NodeSet) -> list[NodeName]:
        """Return the nodes of a set but `ALL`, in the order in which they were first named."""
        return [*compress(self._bits, map(int, reversed(f"{nodes:b}")))]

    def clear(self) -> None:
        """Forget all nodes; no set of before means anything any more."""
        self._bits.clear()


_ONE = ord("1")
