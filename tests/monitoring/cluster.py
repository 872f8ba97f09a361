"""What kube-scheduler, Longhorn and users do, as it shows at the API server."""

import asyncio
from typing import Any

import httpx
import yaml

from app.config import NAME
from tests.admission import new_pod, of_claim, review
from tests.builders import node_document, runner_documents
from tests.fakes import FakeApiServer, Object
from tests.fakes.installed import LONGHORN, NAMESPACE, config_map, instance_pod, service
from tests.integration.pod_objects import (
    claim_object,
    pod_object,
    replica_object,
    storage_class_object,
    volume_name,
    volume_objects,
)
from tests.pod_process import ROOT

ROOMS = ("room-1", "room-2", "room-3")
"""Nodes of one disk of 100 GiB each, beside those of the example."""
PATIENCE_SECONDS = 20.0
KNOWN_SECONDS = 0.1
"""Until the instances have heard of something new, and more."""


class Cluster:
    """An API server with examples/goal2 and more nodes, and clients of the leader."""

    def __init__(
        self, server: FakeApiServer, leader: httpx.AsyncClient, webhook: httpx.AsyncClient
    ) -> None:
        self._server = server
        self._leader = leader
        self._webhook = webhook

    def install(self, instances: int) -> None:
        """Put what is there before anything happens."""
        example = (ROOT / "examples" / "goal2" / "cluster.yaml").read_text()
        others = ("slow-1", "slow-2", "late-1", "late-2", "left-1", "left-2", "sleep-1")
        for obj in (
            *yaml.safe_load_all(example),
            *(node_document(name) for name in (*ROOMS, *others)),
            *runner_documents(*ROOMS, *others),
            storage_class_object(),
            service(),
            config_map(),
            *(instance_pod(number) for number in range(instances)),
        ):
            self._server.put(obj)

    def set_config(self, **data: str) -> None:
        """Write our ConfigMap; underscores stand for hyphens."""
        self._server.put(config_map(**data))

    async def create(self, pod: str, *gib: int) -> None:
        """Create a pod with a claim for each size, and wait until that is known.

        The webhook is asked about it before, but what it answers is left out: here every pod is
        one that kube-scheduler asks about.
        """
        claims = [f"{pod}-{number}" for number, _ in enumerate(gib)]
        for claim, size in zip(claims, gib, strict=True):
            self._server.put(claim_object(claim, size))
        reviewed = review(new_pod(*map(of_claim, claims), name=pod))
        answer = await self._webhook.post("/mutate", json=reviewed, timeout=PATIENCE_SECONDS)
        assert answer.status_code == 200, answer.text
        self._server.put(pod_object(pod, *claims))
        await asyncio.sleep(KNOWN_SECONDS)

    async def ask(
        self, pod: str, *nodes: str, patience_seconds: float = PATIENCE_SECONDS
    ) -> Object:
        """Ask the leader, as kube-scheduler does.

        Raises:
            httpx.ReadTimeout: There was no answer within *patience_seconds*.
        """
        request = {"Pod": self.of("pods", pod), "Nodes": None, "NodeNames": nodes}
        timeout = httpx.Timeout(PATIENCE_SECONDS, read=patience_seconds)
        answer = await self._leader.post("/filter", json=request, timeout=timeout)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def score(self, pod: str, *nodes: str) -> int:
        """Ask the leader which node is best, as kube-scheduler does next; return the status."""
        request = {"Pod": self.of("pods", pod), "Nodes": None, "NodeNames": nodes}
        answer = await self._leader.post("/prioritize", json=request, timeout=PATIENCE_SECONDS)
        return answer.status_code

    async def send(self, body: bytes) -> int:
        """Send the leader something else; return the status."""
        answer = await self._leader.post("/filter", content=body, timeout=PATIENCE_SECONDS)
        return answer.status_code

    def nominate(self, pod: str, node: str) -> None:
        """Say where a pod is going to be bound."""
        found = self.of("pods", pod)
        self._server.put({**found, "status": {**found["status"], "nominatedNodeName": node}})

    def bind(self, pod: str, node: str) -> None:
        """Put a pod on a node."""
        found = self.of("pods", pod)
        status = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
        self._server.put({**found, "spec": {**found["spec"], "nodeName": node}, "status": status})

    def place(self, claim: str, node: str) -> None:
        """Provision a claim, and place its replica."""
        found = self.of("persistentvolumeclaims", claim)
        replica = replica_object(found, node, healthyAt="2026-01-01T00:00:00Z")
        for obj in (*volume_objects(found), replica):
            self._server.put(obj)
        bound = {**found["spec"], "volumeName": volume_name(found)}
        self._server.put({**found, "spec": bound})

    def attach(self, claim: str, node: str) -> None:
        """Attach the volume of a claim that was placed."""
        name = volume_name(self.of("persistentvolumeclaims", claim))
        volume = self._server.get("volumes.longhorn.io", name, LONGHORN)
        assert volume is not None, name
        self._server.put({**volume, "status": {"state": "attached", "currentNodeID": node}})

    def remove(self, pod: str, *claims: str) -> None:
        """Delete a pod and its claims, with all that came of them."""
        self._server.delete("pods", pod, "default")
        for claim in claims:
            volume = volume_name(self.of("persistentvolumeclaims", claim))
            for resource, name, namespace in (
                ("replicas.longhorn.io", f"{volume}-r-1", LONGHORN),
                ("volumes.longhorn.io", volume, LONGHORN),
                ("persistentvolumes", volume, ""),
                ("persistentvolumeclaims", claim, "default"),
            ):
                if self._server.get(resource, name, namespace) is not None:
                    self._server.delete(resource, name, namespace)

    def put(self, obj: dict[str, Any]) -> None:
        """Write any object."""
        self._server.put(obj)

    def of(self, resource: str, name: str) -> Object:
        """Return an object of the namespace of the pods."""
        found = self._server.get(resource, name, "default")
        assert found is not None, name
        return found

    @property
    def lease_holder(self) -> str:
        """The pod whose instance leads."""
        lease = self._server.get("leases.coordination.k8s.io", NAME, NAMESPACE)
        return str(lease["spec"]["holderIdentity"]).split("_")[0] if lease else ""
