"""What PodDisruptionBudgets let be evicted.

Sources: kubernetes pkg/registry/core/pod/storage/eviction.go and pkg/controller/disruption.
"""

import math

from planner.plan import Plan
from planner.records import Budget, Pod
from planner.selectors import selects

_UNGUARDED = ("Pending", "Succeeded", "Failed")


def hindrance(pod: Pod, plan: Plan) -> str | None:
    """Say why a pod may not be evicted now, None if it may.

    A pod that does not run, or is being deleted, is evicted whatever budgets say.
    """
    if not _is_healthy(pod, plan):
        return None
    budgets = [each for each in plan.cluster.budgets if _covers(each, pod)]
    if len(budgets) > 1:
        names = ", ".join(sorted(each.name for each in budgets))
        return f"of several PodDisruptionBudgets ({names}) Kubernetes evicts no pod; leave it one"
    for budget in budgets:
        if _allowed(budget, plan) <= 0:
            return f"PodDisruptionBudget {budget.name} allows no disruption"
    return None


def _allowed(budget: Budget, plan: Plan) -> int:
    """Return how many pods of a budget may be disrupted.

    Those that its controllers want are those that there are, whether they have nodes or not.
    """
    covered = [each for each in plan.cluster.pods.values() if _covers(budget, each)]
    expected, healthy = len(covered), sum(_is_healthy(each, plan) for each in covered)
    if budget.most_unavailable:
        least = expected - _number(budget.most_unavailable, expected)
    else:
        least = _number(budget.least_available, expected)
    return healthy - max(0, least)


def _is_healthy(pod: Pod, plan: Plan) -> bool:
    """Whether a pod counts as ready: it has a node, and nothing says that it does not run."""
    wishes = pod.wishes
    return (
        pod.node is not None
        and not wishes.deleting
        and wishes.phase not in _UNGUARDED
        and not plan.stuck(pod)
    )


def _covers(budget: Budget, pod: Pod) -> bool:
    return (
        budget.namespace == pod.ref.namespace
        and budget.selector is not None
        and selects(budget.selector, pod.wishes.labels)
    )


def _number(text: str, of: int) -> int:
    """Read a number or a share of 100, which is rounded up."""
    if text.endswith("%"):
        return math.ceil(int(text[:-1]) * of / 100)
    return int(text or 0)
