"""Pods, their volumes, and the steps of kube-scheduler and Longhorn, as they show in API objects.

Each node has one disk of 100 GiB, and a claim is of 60 GiB: two do not go together.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from extender.holds import End
from tests.builders import node_document, runner_documents
from tests.fakes import Call, Object
from tests.fakes.installed import LONGHORN, NAMESPACE
from tests.integration.instances import Answer, Process, Processes
from tests.integration.pod_objects import (
    claim_object,
    pod_object,
    replica_object,
    storage_class_object,
    volume_name,
    volume_objects,
)
from tests.integration.processes import CLIENT

ONE, TWO, THREE = "room-1", "room-2", "room-3"
CLAIM_GIB = 60
SCHEDULING_SECONDS, PLACING_SECONDS = 5.0, 60.0
"""The timeouts, as they are unless set."""
SOON_SECONDS = 0.5
"""Until something that shows in the cluster counts here, requests and watches included."""
HELD = "Longhorn node's room is held for other pods that are being scheduled"
PREFIX = "longhorn_scheduler_extender_"


class Held(NamedTuple):
    """A hold, as it shows."""

    pod: str
    state: str
    nodes: tuple[str, ...]
    volumes: tuple[str, ...]


class World:
    """Instances of the service, and a cluster in which pods come and go.

    Attributes:
        processes: All instances.
        server: The API server.
    """

    def __init__(self, processes: Processes, nodes: tuple[str, ...]) -> None:
        self.processes = processes
        self.server = processes.server
        self.nodes = nodes
        for name in nodes:
            self.server.put(node_document(name))
        for each in runner_documents(*nodes):
            self.server.put(each)
        self.server.put(storage_class_object())

    @property
    def leader(self) -> Process:
        return self.processes.leader

    async def answers(self, *, within: float = 12.0) -> Process:
        """Wait until an instance answers; return it."""
        await self.processes.until(self._answering, within=within, glance=0.01)
        return self.leader

    async def replace_leader(self, end: Callable[[Process], None] = Process.terminate) -> None:
        """End the leader, and wait until the next one answers."""
        leader = self.leader
        end(leader)
        await self.processes.until(lambda: not leader.is_leading, within=7)
        await self.answers()

    async def ask(
        self,
        pod: str,
        *nodes: str,
        of: Process | None = None,
        request: bytes | None = None,
        client: str = CLIENT,
    ) -> Answer:
        """Ask the leader where a pod may go, as kube-scheduler does, all nodes unless given."""
        body = self.request(pod, *nodes) if request is None else request
        answer = await (of or self.leader).filter(body=body, client=client)
        assert answer is not None
        return answer

    async def accept(self, pod: str, *nodes: str) -> None:
        """Have a pod accepted on nodes, all of them unless given."""
        answer = await self.ask(pod, *nodes)
        assert answer.accepted == list(nodes or self.nodes), answer

    async def reject(self, pod: str) -> None:
        """Have a pod rejected everywhere."""
        assert not (await self.ask(pod)).accepted

    def request(self, pod: str, *nodes: str) -> bytes:
        """Return kube-scheduler's request for a pod as it is now."""
        names = list(nodes or self.nodes)
        return json.dumps({"Pod": self.of("pods", pod), "Nodes": None, "NodeNames": names}).encode()

    async def held(self, by: Process | None = None) -> list[Held]:
        """Return what is held."""
        state = (await (by or self.leader).get("/debug/state")).json()
        return sorted(
            Held(
                each["pod"].removeprefix("default/"),
                each["state"],
                tuple(each["nodes"]),
                tuple(sorted(each["volume_bytes"])),
            )
            for each in state["holds"]
        )

    async def held_nodes(self, pod: str) -> tuple[str, ...]:
        """Return where the hold for *pod* counts; nowhere if there is none."""
        return next((each.nodes for each in await self.held() if each.pod == pod), ())

    async def settled(self) -> None:
        """Let what shows in the cluster come to count."""
        await asyncio.sleep(SOON_SECONDS)

    async def waiting(self) -> list[str]:
        """Return the pods that wait to be woken."""
        state = (await self.leader.get("/debug/state")).json()
        return [each["pod"].removeprefix("default/") for each in state["waiting"]]

    def count(self, name: str, process: Process | None = None, **labels: str) -> float:
        """Return the value of a metric."""
        registry = (process or self.leader).registry
        value = registry.get_sample_value(PREFIX + name, labels)
        assert value is not None, (name, labels)
        return value

    def ended(self, why: End, process: Process | None = None) -> float:
        """Return how many holds ended for a cause."""
        return self.count("holds_ended_total", process, cause=why)

    async def ends(self, why: End, *, within: float = SOON_SECONDS) -> float:
        """Wait until the only hold ends for a cause; return how long it took."""
        leader = self.leader
        took = await self.processes.until(
            lambda: self.ended(why, leader) == 1, within=within, glance=max(0.01, within / 100)
        )
        assert await self.held(leader) == []
        assert sum(self.ended(each, leader) for each in End) == 1
        return took

    # What users do.

    def add_pod(self, name: str, *claims: str, gib: int = CLAIM_GIB) -> None:
        """Create a pod and its claims, one of its own name unless given."""
        used = claims or (name,)
        for claim in used:
            if self.server.get("persistentvolumeclaims", claim, "default") is None:
                self.server.put(claim_object(claim, gib))
        self.server.put(pod_object(name, *used))

    async def add_pods(self, *names: str, gib: int = CLAIM_GIB) -> None:
        """Create pods with a claim each, and wait until the instances know of them."""
        for name in names:
            self.add_pod(name, gib=gib)
        await asyncio.sleep(0.01)

    def delete_pod(self, name: str) -> None:
        self.server.delete("pods", name, "default")

    def delete_claim(self, name: str) -> None:
        self.server.delete("persistentvolumeclaims", name, "default")

    # What kube-scheduler does.

    def nominate(self, pod: str, node: str) -> None:
        """Say where a pod is going to be bound."""
        self._set_status(pod, nominatedNodeName=node)

    def refuse(self, pod: str) -> None:
        """Say that an attempt came to nothing."""
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        self._set_status(pod, conditions=[condition], nominatedNodeName="")

    def select(self, claim: str, node: str) -> None:
        """Say where a claim is to be provisioned."""
        found = self.of("persistentvolumeclaims", claim)
        annotations = {"volume.kubernetes.io/selected-node": node}
        self.server.put({**found, "metadata": {**found["metadata"], "annotations": annotations}})

    def bind(self, pod: str, node: str) -> None:
        """Put a pod on a node."""
        found = self.of("pods", pod)
        status = {k: v for k, v in found["status"].items() if k != "nominatedNodeName"}
        status["conditions"] = [{"type": "PodScheduled", "status": "True"}]
        spec = {**found["spec"], "nodeName": node}
        self.server.put({**found, "spec": spec, "status": status})

    # What the provisioner and Longhorn do.

    def provision(self, claim: str) -> None:
        """Create the volume of a claim, and bind the claim to it."""
        found = self.of("persistentvolumeclaims", claim)
        for each in volume_objects(found):
            self.server.put(each)
        self.server.put({**found, "spec": {**found["spec"], "volumeName": volume_name(found)}})

    def attach(self, claim: str, node: str) -> None:
        """Have Longhorn attach the volume of a claim to a node."""
        name = volume_name(self.of("persistentvolumeclaims", claim))
        found = self.server.get("volumes.longhorn.io", name, LONGHORN)
        assert found is not None, name
        self.server.put({**found, "spec": {**found["spec"], "nodeID": node}})

    def place(self, claim: str, node: str = "", **spec: Any) -> None:
        """Write a replica of a claim's volume, on a disk if a node is given."""
        found = self.of("persistentvolumeclaims", claim)
        self.server.put(replica_object(found, node, **spec))

    def run(self, pod: str, node: str) -> None:
        """Bind a pod and place the volume of its claim there, all at once."""
        self.bind(pod, node)
        self.provision(pod)
        self.place(pod, node)

    def volume(self, claim: str) -> str:
        """Return the name of a claim's volume, made or to be made."""
        return f"pvc-{self.of('persistentvolumeclaims', claim)['metadata']['uid']}"

    def of(self, resource: str, name: str) -> Object:
        """Return an object of the namespace of the pods."""
        found = self.server.get(resource, name, "default")
        assert found is not None, name
        return found

    @property
    def woken(self) -> list[str]:
        """The pods for which a patch was sent that wakes them, in order."""
        return [call.name for call in self.server.calls if wakes(call)]

    def woken_at(self, pod: str) -> str:
        """Return when a pod was woken, "" if it never was."""
        annotations = self.of("pods", pod)["metadata"].get("annotations") or {}
        return str(annotations.get("longhorn-scheduler-extender/woken-at", ""))

    def set_config(self, **data: str) -> None:
        """Write our ConfigMap; names are those of settings without their prefix."""
        found = self.server.get("configmaps", "longhorn-scheduler-extender", NAMESPACE)
        assert found is not None
        values = {f"scheduler-extender-{k.replace('_', '-')}": v for k, v in data.items()}
        self.server.put({**found, "data": values})

    def _set_status(self, pod: str, **fields: Any) -> None:
        found = self.of("pods", pod)
        status = {k: v for k, v in {**found["status"], **fields}.items() if v}
        self.server.put({**found, "status": status})

    def _answering(self) -> bool:
        leaders = self.processes.leaders
        return len(leaders) == 1 and not leaders[0].instance.standing.unavailable()


@asynccontextmanager
async def serving(
    count: int = 1,
    *,
    nodes: tuple[str, ...] = (ONE, TWO, THREE),
    wait_seconds: float = 0.0,
    **settings: Any,
) -> AsyncIterator[World]:
    """Run instances until the end of the block; the first question can be asked at once.

    Args:
        count: How many instances run.
        nodes: The nodes of the cluster that are asked about.
        wait_seconds: Longest that an answer waits for the nodes of other pods.
        settings: The other settings of the instances.
    """
    async with Processes(
        latency_seconds=0.01,
        debug=True,
        filter_wait_seconds=wait_seconds,
        **settings,
    ) as processes:
        world = World(processes, nodes)
        for number in range(count):
            processes.start(number)
        await world.answers()
        yield world


def wakes(call: Call) -> bool:
    """Whether a call is the patch that wakes a pod."""
    return (call.verb, call.resource) == ("patch", "pods")


def follows(call: Call) -> bool:
    """Whether a call is the watch of one of our pods."""
    return (call.verb, call.resource, call.namespace) == ("watch", "pods", "default")
