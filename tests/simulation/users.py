"""What users and administrators want of the cluster; controllers of workloads are played along.

They act on the API server at once, as if by kubectl beside it.
"""

import asyncio
from collections.abc import Sequence
from random import Random

import msgspec

from tests.actors.api import Object
from tests.fakes import Change, FakeApiServer, Resource
from tests.simulation.plan import GIB, Plan
from tests.simulation.trace import Trace
from tests.simulation.truth import CLAIMS, HOSTS, PODS, WORKLOADS, Truth

RECREATE_SECONDS = (0.05, 0.5)
"""From the end of a pod to the next one."""
DELETED = "2026-01-01T00:00:00Z"


class Workload(msgspec.Struct):
    """A StatefulSet, whose pods have claims of their own and keep their names, or a Deployment of
    one pod, whose next pods have other names.
    """

    name: str
    is_stateful: bool
    claims: Sequence[tuple[str, int]]
    """Class and gibibytes of each claim of a pod."""
    pods: int
    source: str = ""
    """The claim that all of these are copies of; "" for none."""
    made: int = 0

    def pod_name(self, ordinal: int) -> str:
        if self.is_stateful:
            return f"{self.name}-{ordinal}"
        self.made += 1
        return f"{self.name}-{self.made:03}"

    def claim_names(self, ordinal: int) -> list[str]:
        suffix = f"{self.name}-{ordinal}" if self.is_stateful else self.name
        return [f"data-{number}-{suffix}" for number in range(len(self.claims))]


class Users:
    """Wants workloads, and changes its mind.

    Attributes:
        wanted_gib: What the workloads of now want, all replicas together.
    """

    def __init__(
        self, server: FakeApiServer, truth: Truth, plan: Plan, random: Random, trace: Trace
    ) -> None:
        self._server = server
        self._truth = truth
        self._plan = plan
        self._random = random
        self._trace = trace
        self._workloads: dict[str, Workload] = {}
        self._ordinals: dict[str, tuple[str, int]] = {}
        """By pod: its workload and ordinal."""
        self._count = 0
        server.observers.append(self._changed)

    @property
    def wanted_gib(self) -> int:
        classes = {**self._plan.classes, **self._plan.clones}
        return sum(
            each.pods * size * int(classes[storage_class]["numberOfReplicas"])
            for each in self._workloads.values()
            for storage_class, size in each.claims
        )

    def act(self) -> None:
        """Do something."""
        room = self._plan.demand * self._plan.total_gib - self.wanted_gib
        acts = [self._restart_pod, self._drain, self._delete_workload, self._restart_pod]
        if room > 0:
            acts += [self._create_workload] * 6
        if room > 0 and self._plan.clones:
            acts += [self._clone] * 8
        self._random.choice(acts)()

    def start(self, workload: Workload) -> None:
        """Create the pods of a workload, and those claims of theirs that are not there yet."""
        self._workloads[workload.name] = workload
        self._trace.note(f"users: {workload.name} of {workload.pods} pods with {workload.claims}")
        for ordinal in range(workload.pods):
            self._create_pod(workload, ordinal)

    def finish(self) -> None:
        """Take back what would keep pods off nodes for ever."""
        for host in self._truth.all(HOSTS):
            self._cordon(host["metadata"]["name"], on=False)

    def _create_workload(self) -> None:
        self._count += 1
        is_stateful = self._random.random() < 0.7
        most, classes = self._plan.largest_gib, [*self._plan.classes]
        claims = [
            (
                self._random.choice(classes),
                max(1, int(most * self._random.uniform(*span))),
            )
            for _ in range(self._random.choice([1, 1, 2, 3, 4]))
            for span in (self._random.choice([(0.05, 0.2), (0.1, 0.4), (0.3, 0.6)]),)
        ]
        workload = Workload(
            name=f"{'set' if is_stateful else 'app'}{self._count}",
            is_stateful=is_stateful,
            claims=claims,
            pods=self._random.choice([1, 2, 3, 4, 6]) if is_stateful else 1,
        )
        self.start(workload)

    def _clone(self) -> None:
        """Want linked clones of the volume of some claim, for pods of their own."""
        found = sorted(
            (name, storage_class, gib)
            for each in self._workloads.values()
            for ordinal in range(each.pods)
            for name, (storage_class, gib) in zip(
                each.claim_names(ordinal), each.claims, strict=True
            )
            if self._plan.classes.get(storage_class, {}).get("dataEngine") == "v2"
            and self._is_bound(name)
        )
        if not found:
            return
        source, storage_class, gib = self._random.choice(found)
        most = int(self._plan.classes[storage_class]["numberOfReplicas"])
        classes = [
            name
            for name, parameters in self._plan.clones.items()
            if int(parameters["numberOfReplicas"]) <= most
        ]
        if not classes:
            return
        self._count += 1
        self.start(
            Workload(
                name=f"clone{self._count}",
                is_stateful=self._random.random() < 0.5,
                claims=[(self._random.choice(classes), gib)],
                pods=1,
                source=source,
            )
        )

    def _is_bound(self, name: str) -> bool:
        claim = self._truth.get(CLAIMS, name, WORKLOADS)
        return claim is not None and bool(claim["spec"].get("volumeName"))

    def _restart_pod(self) -> None:
        pods = [pod for pod in self._truth.pods() if not _is_ending(pod)]
        if pods:
            pod = self._random.choice(pods)
            self._trace.note(f"users: delete pod {pod['metadata']['name']}")
            self._delete_pod(pod)

    def _delete_workload(self) -> None:
        if not self._workloads or self._random.random() < 0.5:
            return
        name = self._random.choice(sorted(self._workloads))
        sources = {each.source for each in self._workloads.values()}
        if not sources.intersection(_claims(self._workloads[name])):
            self.delete(name)

    def delete(self, name: str) -> None:
        """Delete a workload and its claims."""
        self._trace.note(f"users: delete {name} and its claims")
        workload = self._workloads.pop(name)
        for pod in self._truth.pods():
            if self._ordinals[pod["metadata"]["name"]][0] == name:
                self._delete_pod(pod)
        for ordinal in range(workload.pods):
            for claim in workload.claim_names(ordinal):
                found = self._truth.get(CLAIMS, claim, WORKLOADS)
                if found is not None:
                    self._mark("PersistentVolumeClaim", found)

    def _drain(self) -> None:
        """Cordon a node, evict its pods, and uncordon it after a while."""
        nodes = [host["metadata"]["name"] for host in self._truth.all(HOSTS)]
        node = self._random.choice(nodes)
        seconds = self._random.uniform(2, 25)
        self._trace.note(f"users: drain {node} for {seconds:.1f} s")
        self._cordon(node, on=True)
        for pod in self._truth.pods():
            if pod["spec"].get("nodeName") == node and not _is_ending(pod):
                self._delete_pod(pod)
        asyncio.get_running_loop().call_later(seconds, lambda: self._cordon(node, on=False))

    def _cordon(self, node: str, *, on: bool) -> None:
        host = self._truth.get(HOSTS, node)
        if host is None:
            return
        spec = {"unschedulable": True} if on else {}
        self._server.put({**host, "kind": "Node", "apiVersion": "v1", "spec": spec})

    def _delete_pod(self, pod: Object) -> None:
        """Delete a pod: one that has a node is ended by its kubelet first."""
        if pod["spec"].get("nodeName"):
            self._mark("Pod", pod)
        else:
            self._server.delete(PODS, pod["metadata"]["name"], WORKLOADS)

    def _mark(self, kind: str, obj: Object) -> None:
        """Write that an object is to be deleted; claims go when no pod uses them."""
        self._server.put({**marked_deleted(obj), "kind": kind, "apiVersion": "v1"})

    def _changed(self, resource: Resource, change: Change) -> None:
        metadata = change.last["metadata"]
        if resource.key != PODS or change.new is not None or metadata["namespace"] != WORKLOADS:
            return
        name, ordinal = self._ordinals.pop(metadata["name"])
        workload = self._workloads.get(name)
        if workload is not None:
            seconds = self._random.uniform(*RECREATE_SECONDS)
            asyncio.get_running_loop().call_later(seconds, self._recreate, name, ordinal)

    def _recreate(self, name: str, ordinal: int) -> None:
        workload = self._workloads.get(name)
        if workload is not None:
            self._create_pod(workload, ordinal)

    def _create_pod(self, workload: Workload, ordinal: int) -> None:
        names = workload.claim_names(ordinal)
        for name, (storage_class, gib) in zip(names, workload.claims, strict=True):
            found = self._truth.get(CLAIMS, name, WORKLOADS)
            if found is None:
                self._server.put(_claim(name, storage_class, gib, workload.source))
        pod = workload.pod_name(ordinal)
        self._ordinals[pod] = (workload.name, ordinal)
        self._server.put(_pod(pod, names))


def marked_deleted(obj: Object) -> Object:
    """Return an object as it is once somebody wants it deleted."""
    return {**obj, "metadata": {**obj["metadata"], "deletionTimestamp": DELETED}}


def _is_ending(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def _claims(workload: Workload) -> set[str]:
    return {name for ordinal in range(workload.pods) for name in workload.claim_names(ordinal)}


def _claim(name: str, storage_class: str, gib: int, source: str) -> Object:
    copied = {"dataSource": {"kind": "PersistentVolumeClaim", "name": source}} if source else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": WORKLOADS},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            **copied,
            "resources": {"requests": {"storage": f"{gib * GIB}"}},
        },
        "status": {"phase": "Pending"},
    }


def _pod(name: str, claims: Sequence[str]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": WORKLOADS},
        "spec": {
            "containers": [{"name": "main", "image": "any"}],
            "volumes": [
                {"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims
            ],
        },
        "status": {"phase": "Pending"},
    }
