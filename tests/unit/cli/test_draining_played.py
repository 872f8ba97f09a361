"""Random states, drained in memory: the drain ends exactly where `may-drain` says yes.

Longhorn's part is played by `tests.actors.longhorn.guards`, kubectl and the eviction API here. The
same states are drained for real in `tests/e2e/test_may_drain.py`.
"""

from copy import deepcopy
from random import Random
from typing import Any

import pytest

from cli.draining.cluster import Means, situation
from cli.draining.judging import Verdict, judge
from longhorn import NodeName
from tests.actors import api as kinds
from tests.actors.api import Informer, Key, Kind, Object, key_of
from tests.actors.longhorn.guards import Guards
from tests.e2e.drain_states import NODE, DrainState, random_state
from tests.unit.cli.drained import cluster

STATES = 400
BATCHES = 4


class Memory:
    """An API server without any rules, for the actor alone."""

    def __init__(self) -> None:
        self.caches: dict[Kind, Informer] = {}

    async def patch(self, kind: Kind, key: Key, changes: Object) -> None:
        merged = deepcopy(self.caches[kind].objects[key])
        merge(merged, changes)
        self.caches[kind].objects[key] = merged

    async def delete(self, kind: Kind, key: Key) -> None:
        del self.caches[kind].objects[key]

    async def ensure(self, obj: Object, kind: Kind) -> None:
        self.caches[kind].objects.setdefault(key_of(obj), obj)


def merge(target: Object, changes: Object) -> None:
    for name, value in changes.items():
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict) and isinstance(target.get(name), dict):
            merge(target[name], value)
        else:
            target[name] = value


class Played:
    """A cluster with its controllers, in memory."""

    def __init__(self, state: DrainState) -> None:
        memory: Any = Memory()
        self.guards = Guards(memory)
        self._memory = memory
        memory.caches = {
            kinds.KUBERNETES_NODES: self.guards.hosts,
            kinds.PODS: self.guards.pods,
            kinds.BUDGETS: self.guards.budgets,
            kinds.INSTANCE_MANAGERS: self.guards.managers,
            kinds.REPLICAS: self.guards.replicas,
            kinds.VOLUMES: self.guards.volumes,
            kinds.LONGHORN_ATTACHMENTS: self.guards.attachments,
            kinds.SETTINGS: self.guards.settings,
        }
        for obj, kind in state.objects:
            if kind is not kinds.DAEMON_SETS:
                memory.caches[kind].objects[key_of(obj)] = {"spec": {}, **obj}
        daemons = [daemon_pod(obj) for obj, kind in state.objects if kind is kinds.DAEMON_SETS]
        for pod in [*map(as_it_runs, state.pods), *daemons]:
            memory.caches[kinds.PODS].objects[key_of(pod)] = pod

    async def settle(self) -> None:
        for _ in range(50):
            if not await self.guards.look():
                return
        raise AssertionError("the controllers do not come to rest")

    def documents(self) -> list[Object]:
        """Return all objects as the API server would list them."""
        self.count()
        return [
            {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
            for kind, cache in self._memory.caches.items()
            for obj in cache.objects.values()
        ]

    def count(self) -> None:
        """Do what the controller of budgets does."""
        for budget in self.guards.budgets.objects.values():
            healthy = sum(is_ready(each) for each in self._pods_of(budget))
            least = budget["spec"]["minAvailable"]
            budget["status"] = {
                "disruptionsAllowed": max(0, healthy - least),
                "currentHealthy": healthy,
                "desiredHealthy": least,
            }

    async def drain(self, flags: list[str]) -> bool:
        """Do what `kubectl drain` does; return whether it comes to an end."""
        self.guards.hosts.objects[Key("", NODE)]["spec"]["unschedulable"] = True
        pods = [
            key
            for key, pod in self.guards.pods.objects.items()
            if pod["spec"]["nodeName"] == NODE and owner_kind(pod) != "DaemonSet"
        ]
        objects = [self.guards.pods.objects[key] for key in pods]
        if "--force" not in flags and not all(map(owner_kind, objects)):
            return False
        if "--delete-emptydir-data" not in flags and any(map(has_empty_dir, objects)):
            return False
        while pods:
            await self.settle()
            gone = [key for key in pods if self._evict(key)]
            if not gone:
                return False
            pods = [key for key in pods if key not in gone]
        return True

    def _evict(self, key: Key) -> bool:
        self.count()
        pod = self.guards.pods.objects[key]
        budgets = [each for each in self.guards.budgets.objects.values() if covers(each, pod)]
        [status] = [each["status"] for each in budgets] or [{"disruptionsAllowed": 1}]
        is_met = status.get("currentHealthy", 0) >= status.get("desiredHealthy", 1)
        if not (status["disruptionsAllowed"] > 0 or (not is_ready(pod) and is_met)):
            return False
        del self.guards.pods.objects[key]
        return True

    def _pods_of(self, budget: Object) -> list[Object]:
        return [each for each in self.guards.pods.objects.values() if covers(budget, each)]


def covers(budget: Object, pod: Object) -> bool:
    labels = budget["spec"]["selector"]["matchLabels"]
    of_namespace = budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return bool(of_namespace and labels.items() <= (pod["metadata"].get("labels") or {}).items())


def is_ready(pod: Object) -> bool:
    return bool(pod["status"]["conditions"][0]["status"] == "True")


def owner_kind(pod: Object) -> str:
    return str((pod["metadata"]["ownerReferences"] or [{"kind": ""}])[0]["kind"])


def has_empty_dir(pod: Object) -> bool:
    return any("emptyDir" in each for each in pod["spec"]["volumes"])


def as_it_runs(pod: Object) -> Object:
    """Finish a pod of a state: its owner, and that it runs."""
    owner, references = pod["owner"], list[Object]()
    if owner is not None:
        references = [{"kind": owner[0].kind, "name": owner[1], "controller": True}]
    condition = {"type": "Ready", "status": "True" if pod["ready"] else "False"}
    return {
        "metadata": {**pod["metadata"], "ownerReferences": references},
        "spec": pod["spec"],
        "status": {"phase": "Running", "conditions": [condition]},
    }


def daemon_pod(daemon_set: Object) -> Object:
    template = deepcopy(daemon_set["spec"]["template"])
    template["spec"]["nodeName"] = template["spec"]["nodeSelector"]["pool"]
    template["metadata"] |= {key: daemon_set["metadata"][key] for key in ("name", "namespace")}
    template["metadata"]["ownerReferences"] = [
        {"kind": "DaemonSet", "name": daemon_set["metadata"]["name"], "controller": True}
    ]
    template["status"] = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return dict(template)


def say(played: Played, flags: list[str]) -> Verdict:
    means = Means(force="--force" in flags, delete_local_data="--delete-emptydir-data" in flags)
    case = situation(cluster(*played.documents()), [NodeName(NODE)], means)
    return judge(NodeName(NODE), case, ())


@pytest.mark.parametrize("batch", range(BATCHES))
async def test_a_drain_ends_exactly_where_it_says_yes(batch):
    yes = 0
    for number in range(STATES // BATCHES):
        state = random_state(Random(f"{batch} {number}"))
        played = Played(state)
        await played.settle()

        said = say(played, state.flags)
        ended = await played.drain(state.flags)

        told = (number, state.troubles, state.flags, said)
        assert (said.may == "yes") is ended, told
        yes += ended
    assert 0.15 < yes / (STATES // BATCHES) < 0.8
