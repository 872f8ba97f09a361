"""Drain nodes as `kubectl drain` does, with Longhorn's node-drain-policy.

Sources: kubectl pkg/cmd/drain and pkg/drain (the order, and which pods it refuses, evicts and
passes over); for Longhorn `longhorn.needs_eviction` and `longhorn.drain_may_end`.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import structs

from longhorn import Node, NodeName, Replica, Volume, VolumeName, drain_may_end
from planner.following import guarding_nodes
from planner.naming import natural
from planner.picture import Event, Kind
from planner.plan import Plan
from planner.records import Pod
from planner.steps.budgets import hindrance
from planner.steps.finding import (
    come_back,
    keeps_to_node,
    kubernetes_node,
    note_unknown_pods,
    pods_on,
    put_cordon,
)

_ENDED = ("Succeeded", "Failed")


class Drain(msgspec.Struct, frozen=True, kw_only=True):
    """Cordon nodes, then move the pods of one after another away.

    Pods of DaemonSets and of the node itself stay, as with --ignore-daemonsets.
    """

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
        nodes = [kubernetes_node(plan, name) for name in self.nodes]
        note_unknown_pods(plan)
        for node in nodes:
            put_cordon(plan, node, is_cordoned=True)
        events = plan.settle()
        waits_for: NodeName | None = None
        for node in nodes:
            if waits_for is not None:
                text = f"is cordoned only: kubectl drains it once {waits_for} is drained"
                refused = Event(
                    kind=Kind.REFUSED, object=f"Node {node.name}", node=node.name, text=text
                )
                events.append(refused)
                continue
            pods = _evictable(plan, node.name)
            asked_about = pods_on(plan, node.name)
            refusals = [event for pod in asked_about for event in self._refusals(pod)]
            if refusals:
                events += refusals
                continue
            evicted, left = self._evict(plan, pods)
            at_last = left or _end(plan, node.name)
            events += [*evicted, *at_last]
            if any(event.kind is Kind.REFUSED for event in at_last):
                waits_for = node.name
        return events

    def _refusals(self, pod: Pod) -> Iterable[Event]:
        """Say why kubectl drain would not begin.

        It passes over pods of DaemonSets and of the node itself, and not over Longhorn's managers:
        those of data engine v2 have an emptyDir.
        """
        if pod.wishes.of_daemon_set or pod.wishes.is_static:
            return
        finished = pod.wishes.phase in _ENDED
        if pod.wishes.owner is None and not self.force and not finished:
            text = "has no controller: the drain does not begin without --force, which deletes it"
            yield Event(kind=Kind.REFUSED, object=pod.key, node=pod.node, text=text)
        if pod.wishes.has_local_data and not self.delete_local_data and not finished:
            text = "has an emptyDir: the drain does not begin without --delete-emptydir-data"
            yield Event(kind=Kind.REFUSED, object=pod.key, node=pod.node, text=text)

    def _evict(self, plan: Plan, pods: Sequence[Pod]) -> tuple[list[Event], list[Event]]:
        """Evict pods as far as budgets allow, each of them placed anew before the next one.

        kubectl tries the others again for as long as it takes.

        Returns:
            What happened, and which pods stay and why.
        """
        events = list[Event]()
        waiting = [*pods]
        while True:
            left, kept = list[Pod](), list[Event]()
            for pod in waiting:
                why = hindrance(pod, plan)
                if why is None:
                    events += self._move(plan, pod)
                else:
                    left.append(pod)
                    text = f"is not evicted: {why}"
                    kept.append(Event(kind=Kind.REFUSED, object=pod.key, node=pod.node, text=text))
            if len(left) in (0, len(waiting)):
                return events, kept
            waiting = left

    def _move(self, plan: Plan, pod: Pod) -> list[Event]:
        plan.volumes.detach(pod)
        plan.forget(pod.key)
        if pod.wishes.phase in _ENDED:
            return []
        if pod.wishes.owner is None:
            text = "is deleted, and no controller makes it again"
            return [Event(kind=Kind.LOST, object=pod.key, node=pod.node, text=text)]
        return come_back(plan, [pod])


def _evictable(plan: Plan, name: NodeName) -> list[Pod]:
    return [pod for pod in pods_on(plan, name) if not keeps_to_node(pod)]


def _end(plan: Plan, name: NodeName) -> list[Event]:
    """Say whether Longhorn lets the drain end, once all pods are gone that were to go."""
    view, settings = plan.cluster.view, plan.cluster.view.settings
    if plan.cluster.get(Node, name) is None or settings.unreadable is not None:
        return []
    # The pod that serves a shared volume is evicted too, and another node serves it then.
    plan.volumes.leave(
        each for each in [*view.volumes.values()] if each.node == name and each.shared
    )
    events = plan.settle()
    attached = [each for each in view.volumes.values() if each.attached_to == name]
    unknown = [each for each in attached if _is_user_unknown(each, plan)]
    if len(attached) > len(unknown):
        known = (each.name for each in attached if each not in unknown)
        text = f"is not drained to the end: still attached there are {_shown(known, plan)}"
        return [*events, Event(kind=Kind.REFUSED, object=f"Node {name}", node=name, text=text)]
    guarding = guarding_nodes(plan.cluster)
    last = [
        volume
        for volume, replicas in view.replicas.items()
        if not drain_may_end(
            name, _as_they_run(volume, replicas, plan), settings, guarded=guarding(volume)
        )
    ]
    if not last:
        if unknown:
            shown = _shown((each.name for each in unknown), plan)
            plan.not_known.append(
                f"not known: which pods use {shown}, attached to node {name}. If they are evicted "
                f"like the others, the drain ends; if no pod uses them, or it stays, it does not"
            )
        return events
    text = (
        f"is not drained to the end: by node-drain-policy {settings.drain_policy} Longhorn keeps "
        f"its instance manager for {_shown(last, plan)}"
    )
    return [*events, Event(kind=Kind.REFUSED, object=f"Node {name}", node=name, text=text)]


def _is_user_unknown(volume: Volume, plan: Plan) -> bool:
    """Whether a pod may use a volume that is in no file: not even its claim's namespace is known.

    Support bundles have the pods and claims of some namespaces only.
    """
    claim = plan.names().get(volume.name)
    if claim is None:
        return True
    namespace = claim.partition("/")[0]
    return all(pod.ref.namespace != namespace for pod in plan.cluster.pods.values())


def _as_they_run(volume: VolumeName, replicas: Iterable[Replica], plan: Plan) -> list[Replica]:
    """Return the replicas of a volume, those of a detached one as stopped."""
    known = plan.cluster.view.volumes.get(volume)
    is_stopped = known is None or (known.node is None and known.attached_to is None)
    return [structs.replace(each, stopped=is_stopped) for each in replicas]


def _shown(volumes: Iterable[VolumeName], plan: Plan) -> str:
    names = plan.names()
    return ", ".join(sorted((str(names.get(each, each)) for each in volumes), key=natural))
