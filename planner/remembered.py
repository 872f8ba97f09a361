"""What was worked out for a node, kept until the node or its pods change.

Pods of one template ask the same of each node, and between two of them one node has changed. So
most of what 1,000 nodes cost is looked up.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from longhorn import NodeName
from planner.records import KubernetesNode

Value = TypeVar("Value")

_MOST_KEYS = 64
"""So many questions are remembered; pods of a few templates in turn ask fewer."""


class Remembered:
    """Answers by node to the questions that were asked last."""

    def __init__(self) -> None:
        self._changes: list[NodeName] = []
        self._known: dict[Hashable, tuple[int, dict[NodeName, Any]]] = {}

    def change(self, node: NodeName) -> None:
        """Note that a node came, went or changed, or a pod on it."""
        self._changes.append(node)

    def of(
        self,
        key: Hashable,
        work_out: Callable[[KubernetesNode], Value],
        nodes: Mapping[NodeName, KubernetesNode],
    ) -> Mapping[NodeName, Value]:
        """Return for each of *nodes* what *work_out* says.

        Args:
            key: Stands for the question. With the same key, only nodes that have changed are asked
                about again.
            work_out: Answers for one node. Only the node and the pods on it may decide that.
            nodes: All nodes.
        """
        if key in self._known:
            seen, values = self._known.pop(key)
            stale = {*self._changes[seen:]}
        else:
            values, stale = {}, {*nodes}
            if len(self._known) >= _MOST_KEYS:
                del self._known[next(iter(self._known))]
        for name in stale:
            if name in nodes:
                values[name] = work_out(nodes[name])
            else:
                values.pop(name, None)
        self._known[key] = len(self._changes), values
        return values
