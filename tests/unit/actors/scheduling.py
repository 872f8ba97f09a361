"""A scheduler on a bench: an extender that says what the test wants, and hands on the objects."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.actors.longhorn import storage_class
from tests.actors.provisioner import SELECTED_NODE
from tests.actors.scheduler import Configuration, Event, Reply, Scheduler
from tests.fakes import Call, FakeApiServer
from tests.fakes.resources import RESOURCES
from tests.unit.actors.world import MORE_RESOURCES

NOW = "2026-01-01T00:00:00Z"
NODES = ("node-1", "node-2", "node-3")


class Extender:
    """Our service for the scheduler.

    Attributes:
        accepts: What the next answers accept; the last one stands.
        seconds: How long an answer takes.
        error: What answers fail with.
        asked: The pods and candidates that were asked about, with the time.
    """

    def __init__(self) -> None:
        self.accepts: list[Sequence[str]] = [NODES]
        self.seconds = 0.0
        self.error = ""
        self.is_away = False
        self.asked: list[tuple[float, str, list[str]]] = []
        self.answers = 0

    async def post(self, body: bytes) -> Reply | None:
        if self.is_away:
            return None
        asked = json.loads(body)
        offered = asked["NodeNames"] or [
            each["metadata"]["name"] for each in asked["Nodes"]["items"]
        ]
        self.asked.append((now(), asked["Pod"]["metadata"]["name"], sorted(offered)))
        accepts = self.accepts.pop(0) if len(self.accepts) > 1 else self.accepts[0]
        await asyncio.sleep(self.seconds)
        self.answers += 1
        accepted = [name for name in offered if name in accepts]
        failed = {name: "full" for name in offered if name not in accepts}
        nodes = {"items": [{"metadata": {"name": name}} for name in accepted]}
        return Reply(
            200,
            json.dumps(
                {
                    "NodeNames": accepted if asked["NodeNames"] else None,
                    "Nodes": None if asked["NodeNames"] else nodes,
                    "FailedAndUnresolvableNodes": failed,
                    "Error": self.error,
                }
            ).encode(),
        )

    def pods_asked(self) -> list[str]:
        return [pod for _, pod, _ in self.asked]


class Stage:
    """An API server, the extender, and short words for what tests do.

    Attributes:
        events: What the scheduler told.
    """

    def __init__(self, **configuration: Any) -> None:
        self.server = FakeApiServer(Random(0), resources=(*RESOURCES, *MORE_RESOURCES))
        self.extender = Extender()
        self.events: list[Event] = []
        self._configuration = Configuration(**configuration)
        for name in NODES:
            self.put_node(name)
        self._put(kinds.STORAGE_CLASSES, storage_class("local"))
        self._put(kinds.STORAGE_CLASSES, storage_class("immediate", binding="Immediate"))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let a scheduler work for as long as the block goes on."""
        api = kinds.Api(self.server.client("scheduler"))
        scheduler = Scheduler(
            api,
            self.extender.post,
            random=Random(0),
            timestamp=lambda: NOW,
            configuration=self._configuration,
            tell=self.events.append,
        )
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(_run(scheduler))
            await asyncio.sleep(0.01)
            yield
            running.cancel()
        await api.close()

    def put_node(self, name: str, **spec: Any) -> None:
        self._put(kinds.KUBERNETES_NODES, {"metadata": {"name": name}, "spec": spec})

    def put_pod(self, name: str, *claims: str, **status: Any) -> None:
        volumes = [
            {"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims
        ]
        self._put(
            kinds.PODS,
            {
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"containers": [{"name": "main"}], "volumes": volumes},
                "status": {"phase": "Pending", **status},
            },
        )

    def put_claim(self, name: str, *, storage_class: str = "local", selected: str = "") -> None:
        annotations = {SELECTED_NODE: selected} if selected else {}
        metadata = {"name": name, "namespace": "default", "annotations": annotations}
        self._put(kinds.CLAIMS, {"metadata": metadata, "spec": {"storageClassName": storage_class}})

    def bind_claim(self, name: str, *, pinned: str = "") -> None:
        """Do what the PersistentVolume controller does once a claim is provisioned."""
        found = self.server.get("persistentvolumeclaims", name, "default")
        assert found is not None
        terms = [{"matchExpressions": [{"key": "host", "operator": "In", "values": [pinned]}]}]
        affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if pinned else {}
        self._put(kinds.PERSISTENT_VOLUMES, {"metadata": {"name": f"pv-{name}"}, "spec": affinity})
        self.server.put({**found, "spec": {**found["spec"], "volumeName": f"pv-{name}"}})

    def touch(self, name: str, **metadata: Any) -> None:
        """Change an annotation of a pod."""
        found = self.pod(name)
        annotations = {"touched": f"{now()}"}
        changed = {**found["metadata"], "annotations": annotations, **metadata}
        self.server.put({**found, "metadata": changed})

    def annotate_claim(self, name: str, **annotations: str) -> None:
        found = self.claim(name)
        self.server.put({**found, "metadata": {**found["metadata"], "annotations": annotations}})

    def pod(self, name: str) -> Object:
        found = self.server.get("pods", name, "default")
        assert found is not None
        return found

    def claim(self, name: str) -> Object:
        found = self.server.get("persistentvolumeclaims", name, "default")
        assert found is not None
        return found

    def node_of(self, name: str) -> str:
        return str(self.pod(name)["spec"].get("nodeName", ""))

    def nominated(self, name: str) -> str:
        return str(self.pod(name)["status"].get("nominatedNodeName", ""))

    def selected(self, name: str) -> str:
        return str(self.claim(name)["metadata"].get("annotations", {}).get(SELECTED_NODE, ""))

    def condition(self, name: str) -> tuple[str, str]:
        """Return status and reason of a pod's condition PodScheduled."""
        [found] = [
            each
            for each in self.pod(name)["status"].get("conditions", ())
            if each["type"] == "PodScheduled"
        ]
        return found["status"], found.get("reason", "")

    def writes(self) -> list[str]:
        """Name what was written: verb, resource and name."""
        return [
            f"{call.verb} {call.resource} {call.name}"
            for call in self.server.calls
            if call.verb not in ("get", "list", "watch")
        ]

    def calls(self, resource: str) -> list[Call]:
        reads = ("get", "list", "watch")
        return [c for c in self.server.calls if c.resource == resource and c.verb not in reads]

    def _put(self, kind: kinds.Kind, obj: Object) -> None:
        self.server.put({"apiVersion": kind.api_version, "kind": kind.kind, **obj})


def now() -> float:
    return asyncio.get_running_loop().time()


async def _run(scheduler: Scheduler) -> None:
    await scheduler.run()
