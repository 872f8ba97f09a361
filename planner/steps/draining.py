"""Drain nodes as `kubectl drain` does, with Longhorn's node-drain-policy.

Sources: kubectl pkg/drain (which pods it refuses, evicts, and passes over); for budgets kubernetes
pkg/controller/disruption; for Longhorn `longhorn.needs_eviction` and `longhorn.drain_may_end`.
"""

import math
from collections.abc import Iterable

import msgspec

from longhorn import Node, NodeName, Settings, drain_may_end, needs_eviction
from planner.cluster import Cluster
from planner.naming import natural
from planner.outcome import Event, Kind
from planner.plan import Plan
from planner.records import Budget, Pod
from planner.selectors import selects
from planner.steps.finding import come_back, cordon, keeps_to_node, kubernetes_node, pods_on


class Drain(msgspec.Struct, frozen=True, kw_only=True):
    """Cordon nodes, one after another, and move their pods away."""

    nodes: tuple[str, ...]
    force: bool = False
    """Also delete pods that no controller makes again."""
    delete_local_data: bool = False
    """Also evict pods with an emptyDir, which is lost."""

    @property
    def title(self) -> str:
        """What is done."""
        return f"drain {', '.join(self.nodes)}"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        for name in self.nodes:
            kubernetes_node(plan, name)
        return [event for name in self.nodes for event in self._drain(plan, NodeName(name))]

    def _drain(self, plan: Plan, name: NodeName) -> list[Event]:
        cordon(plan, kubernetes_node(plan, name), is_cordoned=True)
        pods = [pod for pod in pods_on(plan, name) if not keeps_to_node(pod)]
        refused = [event for pod in pods for event in self._refusals(pod)]
        if refused:
            return refused
        events = self._move_replicas(plan, name)
        return [*events, *self._evict(plan, pods), *self._end(plan, name)]

    def _refusals(self, pod: Pod) -> Iterable[Event]:
        """Say why kubectl drain would not begin."""
        finished = pod.wishes.phase in ("Succeeded", "Failed")
        if pod.wishes.owner is None and not self.force and not finished:
            text = "has no controller: the drain does not begin without --force, which deletes it"
            yield Event(kind=Kind.REFUSED, object=pod.key, node=pod.node, text=text)
        if pod.wishes.has_local_data and not self.delete_local_data and not finished:
            text = "has an emptyDir: the drain does not begin without --delete-emptydir-data"
            yield Event(kind=Kind.REFUSED, object=pod.key, node=pod.node, text=text)

    def _move_replicas(self, plan: Plan, name: NodeName) -> list[Event]:
        """Have Longhorn move the replicas away that its policy wants moved."""
        node, settings = plan.cluster.get(Node, name), plan.cluster.view.settings
        if node is None or not isinstance(settings, Settings):
            return []
        replicas = [each for of in plan.cluster.view.replicas.values() for each in of]
        guarded = guarded_nodes(plan.cluster)
        moved = [
            each
            for each in replicas
            if each.node == name
            and not each.failed
            and needs_eviction(each, replicas, node, settings, cordoned=True, guarded=guarded)
        ]
        if not moved:
            return []
        plan.volumes.evict(moved)
        return plan.settle()

    def _evict(self, plan: Plan, pods: Iterable[Pod]) -> list[Event]:
        """Evict pods as far as budgets allow, each of them placed anew before the next one."""
        events = []
        for pod in pods:
            budget = hindering_budget(pod, plan.cluster)
            if budget is not None:
                text = f"is not evicted: PodDisruptionBudget {budget.name} allows no disruption"
                events.append(Event(kind=Kind.REFUSED, object=pod.key, node=pod.node, text=text))
                continue
            plan.volumes.detach(pod)
            plan.forget(pod.key)
            if pod.wishes.phase in ("Succeeded", "Failed"):
                continue
            if pod.wishes.owner is None:
                text = "is deleted, and no controller makes it again"
                events.append(Event(kind=Kind.LOST, object=pod.key, node=pod.node, text=text))
            else:
                events += come_back(plan, [pod])
        return events

    def _end(self, plan: Plan, name: NodeName) -> list[Event]:
        """Say whether Longhorn lets the drain end."""
        settings = plan.cluster.view.settings
        if plan.cluster.get(Node, name) is None or not isinstance(settings, Settings):
            return []
        replicas = [each for of in plan.cluster.view.replicas.values() for each in of]
        guarded = guarded_nodes(plan.cluster)
        if drain_may_end(name, replicas, settings, guarded=guarded):
            return []
        names = plan.names()
        last = {
            str(names.get(each.volume, each.volume))
            for each in replicas
            if each.node == name
            and not drain_may_end(
                name,
                [peer for peer in replicas if peer.volume == each.volume],
                settings,
                guarded=guarded,
            )
        }
        text = (
            f"is not drained to the end: by node-drain-policy {settings.drain_policy} Longhorn "
            f"keeps its instance manager for {', '.join(sorted(last, key=natural))}"
        )
        return [Event(kind=Kind.REFUSED, object=f"Node {name}", node=name, text=text)]


def guarded_nodes(cluster: Cluster) -> frozenset[NodeName]:
    """Return the nodes whose replicas no drain takes now: neither cordoned nor down."""
    return frozenset(
        name
        for name, node in cluster.nodes.items()
        if not node.cordoned
        and (known := cluster.get(Node, name)) is not None
        and known.ready.is_true
    )


def hindering_budget(pod: Pod, cluster: Cluster) -> Budget | None:
    """Return the PodDisruptionBudget that keeps a pod from being evicted, if there is one."""
    for budget in cluster.budgets:
        if budget.namespace != pod.ref.namespace or not _covers(budget, pod):
            continue
        covered = [
            each
            for each in cluster.pods.values()
            if each.ref.namespace == budget.namespace and _covers(budget, each)
        ]
        healthy = sum(each.node is not None for each in covered)
        if budget.most_unavailable:
            least = len(covered) - _number(budget.most_unavailable, len(covered))
        else:
            least = _number(budget.least_available, len(covered))
        if pod.node is not None and healthy - 1 < least:
            return budget
    return None


def _covers(budget: Budget, pod: Pod) -> bool:
    return budget.selector is not None and selects(budget.selector, pod.wishes.labels)


def _number(text: str, of: int) -> int:
    """Read a number or a share of 100, which is rounded up."""
    if text.endswith("%"):
        return math.ceil(int(text[:-1]) * of / 100)
    return int(text or 0)
