"""Why the pods that wait got no node, for people to read."""

from collections.abc import Mapping

from extender import Rejection
from longhorn import NodeName
from planner.outcome import Reason

_MOST_PODS = 1_000
_MOST_NODES = 250_000
"""Of all pods together. An entry takes some 100 B, as most rejections are shared."""


class LastRefusals:
    """The last rejections by the uid of the pod, within a bound on their sum; the oldest go first.

    They are kept as they were answered: to count them is for those who read them.
    """

    def __init__(self) -> None:
        self._told: dict[str, Mapping[NodeName, Rejection]] = {}
        self._count = 0

    def remember(self, uid: str, rejected: Mapping[NodeName, Rejection]) -> None:
        """Remember why a pod got no node; a pod without uid is none of kube-scheduler's."""
        if not uid:
            return
        self.forget(uid)
        self._told[uid] = rejected
        self._count += len(rejected)
        while len(self._told) > _MOST_PODS or self._count > _MOST_NODES:
            self.forget(next(iter(self._told)))

    def forget(self, uid: str) -> None:
        """Forget a pod that no longer waits."""
        self._count -= len(self._told.pop(uid, ()))

    def forget_all(self) -> None:
        """Forget all pods: this instance leads no longer."""
        self._told.clear()
        self._count = 0

    def reasons(self, uid: str) -> tuple[Reason, ...]:
        """Return why a pod got no node, the commonest reason first; nothing if it is not known."""
        by_text: dict[tuple[str, str], list[NodeName]] = {}
        for node, rejection in self._told.get(uid, {}).items():
            by_text.setdefault((rejection.reason, str(rejection)), []).append(node)
        found = [
            Reason(code=code, text=text, nodes=tuple(nodes))
            for (code, text), nodes in by_text.items()
        ]
        return tuple(sorted(found, key=lambda each: -len(each.nodes)))
