"""The scheduler: filter the nodes, prioritize those that are left, select the best."""

from collections.abc import Mapping, Sequence
from random import Random

import msgspec

from extender import Answer
from longhorn import NodeName
from planner.cluster import Cluster
from planner.policy import (
    ChosenPredicate,
    ChosenPriority,
    LabelPreference,
    LabelsPresence,
    Policy,
    ServiceAffinity,
    ServiceAntiAffinity,
)
from planner.predicates import (
    LONGHORN_FIT,
    PREDICATES,
    Predicate,
    Refusal,
    labels_presence,
    longhorn_fit,
    service_affinity,
)
from planner.priorities import PRIORITIES, Priority, label_preference, service_anti_affinity
from planner.records import Pod

_DIGITS = 9
"""Sums are rounded to so many digits: those of the same tenths are then equal in any order."""
_EQUAL = ChosenPriority("EqualPriority")


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pod is to go, and why."""

    node: NodeName | None
    """None if no node passes."""
    refusals: Mapping[NodeName, Refusal] = {}
    """Of the nodes that do not pass, by the first predicate that refused them."""
    scores: Mapping[NodeName, float] = {}
    """Of the nodes that pass."""
    answer: Answer | None = None
    """What the extender answered, for the hold. None if it was not asked, or could not answer."""


class Scheduler:
    """Chooses nodes for pods by a policy; it changes nothing in the cluster.

    Args:
        policy: The policy.
        random: Chooses among nodes that are equally good. For the same numbers from it and the same
            cluster, the choice is the same.
    """

    def __init__(self, policy: Policy, random: Random) -> None:
        self._predicates = [
            _predicate(each) for each in policy.predicates if each.name != LONGHORN_FIT
        ]
        self._asks_extender = len(self._predicates) < len(policy.predicates)
        self._priorities = [
            (_priority(each), each.weight) for each in policy.priorities or (_EQUAL,)
        ]
        self._random = random

    def schedule(self, pod: Pod, cluster: Cluster) -> Decision:
        """Choose a node for a pod that is not placed.

        The extender is asked last, wherever LonghornFit stands in the policy: kube-scheduler asks
        it about the nodes that it would take itself.
        """
        refusals, left = dict[NodeName, Refusal](), list(cluster.nodes)
        for predicate in self._predicates:
            left = _without(predicate(pod, left, cluster), left, refusals)
        answer = None
        if self._asks_extender and left:
            answer, rejected = longhorn_fit(pod, left, cluster)
            left = _without(rejected, left, refusals)
        scores = self._scores(pod, left, cluster)
        return Decision(node=self._best(scores), refusals=refusals, scores=scores, answer=answer)

    def _scores(
        self, pod: Pod, nodes: Sequence[NodeName], cluster: Cluster
    ) -> dict[NodeName, float]:
        totals = [0.0] * len(nodes)
        for priority, weight in self._priorities:
            scores = priority(pod, nodes, cluster)
            if not scores:
                continue
            of_nodes = map(scores.__getitem__, nodes)
            totals = [total + weight * score for total, score in zip(totals, of_nodes, strict=True)]
        rounded = {total: round(total, _DIGITS) for total in {*totals}}  # of few different ones
        return dict(zip(nodes, map(rounded.__getitem__, totals), strict=True))

    def _best(self, scores: Mapping[NodeName, float]) -> NodeName | None:
        if not scores:
            return None
        highest = max(scores.values())
        # In the order of their names, so that the choice does not hang on that of the objects.
        return self._random.choice(sorted(name for name, each in scores.items() if each == highest))


def _predicate(chosen: ChosenPredicate) -> Predicate:
    match chosen.argument:
        case ServiceAffinity(labels):
            return service_affinity(labels)
        case LabelsPresence(labels, presence):
            return labels_presence(labels, presence=presence)
        case None:
            return PREDICATES[chosen.name]


def _priority(chosen: ChosenPriority) -> Priority:
    match chosen.argument:
        case ServiceAntiAffinity(label):
            return service_anti_affinity(label)
        case LabelPreference(label, presence):
            return label_preference(label, presence=presence)
        case None:
            return PRIORITIES[chosen.name]


def _without(
    refused: Mapping[NodeName, Refusal],
    nodes: list[NodeName],
    refusals: dict[NodeName, Refusal],
) -> list[NodeName]:
    """Add *refused* to *refusals*, and return the other nodes."""
    refusals |= refused
    return [name for name in nodes if name not in refused] if refused else nodes
