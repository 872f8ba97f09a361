"""What `kubectl drain` itself refuses, and which pods Kubernetes does not let it evict.

Sources: kubectl pkg/drain/filters.go for the former; kubernetes
pkg/registry/core/pod/storage/eviction.go for the latter.
"""

from collections import Counter
from collections.abc import Iterator

from cli.draining.cluster import Situation
from cli.draining.obstacles import Caution, Code, Hint, Obstacle
from cli.kube.draining.records import Guard, Guest, Manager
from longhorn import NodeName
from planner.selectors import selects


def leaving(node: NodeName, situation: Situation) -> list[Guest]:
    """Return the pods that a drain of a node evicts or deletes."""
    return [each for each in situation.cluster.guests.get(node, ()) if not each.stays]


def refusing(node: NodeName, situation: Situation) -> Iterator[Obstacle]:
    """Say why `kubectl drain --ignore-daemonsets` would not begin, or not come to an end."""
    pods = leaving(node, situation)
    if pods and not situation.cluster.hosts[node].ready:
        yield Obstacle(
            code=Code.NODE_NOT_READY,
            object=f"Kubernetes Node {node}",
            text="is not ready, so that its pods do not end",
        )
    managers = {each.key: each for each in situation.cluster.managers.get(node, ())}
    for pod in pods:
        if pod.ended:
            continue
        name = f"Pod {pod.key}"
        if pod.owner is None and not situation.means.force:
            yield Obstacle(code=Code.POD_WITHOUT_CONTROLLER, object=name, text="has no controller")
        if pod.has_local_data and not situation.means.delete_local_data:
            of_manager = pod.key in managers
            code = Code.MANAGER_WITH_LOCAL_DATA if of_manager else Code.POD_WITH_LOCAL_DATA
            yield Obstacle(code=code, object=name, text="has an emptyDir")


def guarding(node: NodeName, situation: Situation) -> Iterator[Obstacle | Caution]:
    """Say which pods of a node PodDisruptionBudgets keep; those of Longhorn's own rule are left."""
    own = {each.key: each for each in situation.cluster.managers.get(node, ())}
    covered, names = Counter[str](), dict[str, Guard]()
    for pod in leaving(node, situation):
        if pod.is_unguarded:
            continue
        budgets = _budgets(pod, own.get(pod.key), situation)
        if len(budgets) > 1:
            listed = ", ".join(each.name for each in budgets)
            text = f"is selected by several PodDisruptionBudgets: {listed}"
            yield Obstacle(code=Code.SEVERAL_BUDGETS, object=f"Pod {pod.key}", text=text)
            continue
        for budget in budgets:
            if _lets_unready(budget, pod):
                continue
            covered[budget.key] += 1
            names[budget.key] = budget
            if budget.allowed is not None and budget.allowed <= 0:
                text = f"is kept by PodDisruptionBudget {budget.name}, which allows no disruption"
                yield Obstacle(code=Code.BUDGET, object=f"Pod {pod.key}", text=text)
    for key, budget in names.items():
        if 0 < (budget.allowed or 0) < covered[key]:
            text = (
                f"allows {budget.allowed} of {covered[key]} pods on {node} to go: the drain waits "
                f"for others to become ready elsewhere"
            )
            yield Caution(code=Hint.ONE_BY_ONE, object=f"PodDisruptionBudget {key}", text=text)


def unknown_budgets(node: NodeName, situation: Situation) -> Iterator[str]:
    """Name the budgets of pods of a node that do not say what they allow."""
    own = {each.key: each for each in situation.cluster.managers.get(node, ())}
    found = {
        budget.key
        for pod in leaving(node, situation)
        if not pod.is_unguarded
        for budget in _budgets(pod, own.get(pod.key), situation)
        if budget.allowed is None and not (budget.spares_unready and not pod.ready)
    }
    for key in sorted(found):
        yield f"PodDisruptionBudget {key} has no status, so what it allows is not known"


def _budgets(pod: Guest, manager: Manager | None, situation: Situation) -> list[Guard]:
    """Return the budgets of a pod, but for the one that Longhorn makes for an instance manager."""
    own = "" if manager is None else manager.key
    return [
        each
        for each in situation.cluster.guards.values()
        if each.namespace == pod.namespace
        and each.selector is not None
        and each.key != own
        and selects(each.selector, pod.labels)
    ]


def _lets_unready(budget: Guard, pod: Guest) -> bool:
    """Whether a pod that is not ready may go whatever the budget allows."""
    return not pod.ready and (budget.spares_unready or budget.is_met)
