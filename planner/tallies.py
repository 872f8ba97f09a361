"""How many pods of a kind are on each node, kept up to date while pods come and go.

Rules about other pods ask the same few questions for thousands of pods: how many of a service are
where, or whom a pod keeps away. Each question is answered by a look at all pods once; after that,
only the pods that change are looked at.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping

from longhorn import NodeName
from planner.records import Pod, PodTerm, PreferredPods, Selector

Question = Callable[[Pod], bool]

_REQUIRED_WEIGHT = 1


class Tallies:
    """Numbers of placed pods by node: of those that a question is about, and with rules on others.

    A node that has none is in no tally.
    """

    def __init__(self) -> None:
        self._asked: dict[Hashable, tuple[Question, dict[NodeName, int]]] = {}
        self._repelling: dict[Hashable, tuple[PodTerm, dict[NodeName, int]]] = {}
        self._attracting: dict[Hashable, tuple[PreferredPods, dict[NodeName, int]]] = {}

    def of(self, key: Hashable, question: Question, pods: Iterable[Pod]) -> Mapping[NodeName, int]:
        """Return the tally of the pods for which *question* is true.

        Args:
            key: Stands for the question: with the same key it is never asked again.
            question: Whether a pod counts. Only the pod may decide that.
            pods: All pods, in case that nobody has asked yet.
        """
        known = self._asked.get(key)
        if known is None:
            known = self._asked[key] = question, {}
            for pod in pods:
                if pod.node is not None and question(pod):
                    _count(known[1], pod.node, +1)
        return known[1]

    def repelling(self) -> Iterable[tuple[PodTerm, Mapping[NodeName, int]]]:
        """Return each rule by which placed pods keep others away, with the tally of these pods."""
        return [entry for entry in self._repelling.values() if entry[1]]

    def attracting(self) -> Iterable[tuple[PreferredPods, Mapping[NodeName, int]]]:
        """Return each rule by which placed pods would rather have others near, or rather not.

        Pods that must be near others would rather have them near, too, with weight 1. Source:
        kubernetes pkg/scheduler/framework/plugins/interpodaffinity/scoring.go, and
        pkg/scheduler/apis/config/v1/defaults.go for the weight (HardPodAffinityWeight).
        """
        return [entry for entry in self._attracting.values() if entry[1]]

    def change(self, pod: Pod, node: NodeName, number: int) -> None:
        """Count a pod that came to *node* (+1) or left it (-1)."""
        for question, tally in self._asked.values():
            if question(pod):
                _count(tally, node, number)
        for term in pod.wishes.anti_affinity:
            entry = self._repelling.setdefault(key_of(term), (term, {}))
            _count(entry[1], node, number)
        near = (PreferredPods(_REQUIRED_WEIGHT, term) for term in pod.wishes.affinity)
        for rule in (*pod.wishes.preferred_pods, *near):
            key = rule.weight, key_of(rule.term)
            _count(self._attracting.setdefault(key, (rule, {}))[1], node, number)


def key_of(rule: PodTerm | Selector) -> Hashable:
    """Return what stands for a rule: it is equal for equal rules."""
    if isinstance(rule, PodTerm):
        return key_of(rule.selector), rule.topology_key, rule.namespaces
    return tuple(sorted(rule.labels.items())), rule.requirements


def _count(tally: dict[NodeName, int], node: NodeName, number: int) -> None:
    now = tally.get(node, 0) + number
    if now:
        tally[node] = now
    else:
        del tally[node]
