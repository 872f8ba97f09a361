"""A scheduler on a stage: an API server, an extender that says what the test wants, and hands."""

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
from tests.actors.scheduler import Configuration, Event, Forgotten, Reply, Scheduler, Verb
from tests.fakes import FakeApiServer

NODES = ("node-1", "node-2", "node-3")


class Extender:
    """Our service for the scheduler.

    Attributes:
        accepts: What the next answers accept; the last one stands.
        seconds: How long an answer takes.
        error: What answers fail with.
        asked: The pods and candidates that were asked about, with the time.
        scores: By node, what it is worth; without any that is not answered.
        scored: The candidates whose scores were asked for.
    """

    def __init__(self, accepts: list[Sequence[str]]) -> None:
        self.accepts = accepts
        self.seconds = 0.0
        self.error = ""
        self.asked: list[tuple[float, str, list[str]]] = []
        self.scores: dict[str, int] = {}
        self.scored: list[list[str]] = []

    async def post(self, verb: Verb, body: bytes) -> Reply:
        asked = json.loads(body)
        candidates = asked["NodeNames"]
        if verb is Verb.PRIORITIZE:
            self.scored.append(sorted(candidates))
            scores = [{"Host": n, "Score": self.scores[n]} for n in candidates if n in self.scores]
            return Reply(200 if scores else 503, json.dumps(scores).encode())
        now = asyncio.get_running_loop().time()
        self.asked.append((now, asked["Pod"]["metadata"]["name"], sorted(candidates)))
        accepts = self.accepts.pop(0) if len(self.accepts) > 1 else self.accepts[0]
        await asyncio.sleep(self.seconds)
        answer = {
            "NodeNames": [name for name in candidates if name in accepts],
            "FailedNodes": {name: "full" for name in candidates if name not in accepts},
            "Error": self.error,
        }
        return Reply(200, json.dumps(answer).encode())

    @property
    def pods_asked(self) -> list[str]:
        return [pod for _, pod, _ in self.asked]

    @property
    def candidates_asked(self) -> list[list[str]]:
        return [candidates for _, _, candidates in self.asked]


class Stage:
    """Short words for what tests do.

    Attributes:
        events: What the scheduler told.
    """

    def __init__(
        self, *claims: str, accepts: list[Sequence[str]] | None = None, **configuration: Any
    ) -> None:
        """Have claims that are not bound, and an extender that accepts these nodes, or all."""
        self.server = FakeApiServer(Random(0))
        self.extender = Extender(accepts or [NODES])
        self.events: list[Event] = []
        self._configuration = Configuration(**configuration)
        for name in NODES:
            self.put_node(name)
        self._put(kinds.STORAGE_CLASSES, storage_class("local"))
        for claim in claims:
            metadata = {"name": claim, "namespace": "default"}
            self._put(kinds.CLAIMS, {"metadata": metadata, "spec": {"storageClassName": "local"}})

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Stage"]:
        """Let a scheduler work for as long as the block goes on."""
        api = kinds.Api(self.server.client("scheduler"))
        scheduler = Scheduler(
            api,
            self.extender.post,
            random=Random(0),
            timestamp=lambda: "2026-01-01T00:00:00Z",
            configuration=self._configuration,
            tell=self.events.append,
        )

        async def run() -> None:
            await scheduler.run()

        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(run())
            await settle()
            yield self
            running.cancel()
        await api.close()

    def put_node(self, name: str, **spec: Any) -> None:
        self._put(kinds.KUBERNETES_NODES, {"metadata": {"name": name}, "spec": spec})

    def put_pod(self, name: str, *claims: str, **status: Any) -> None:
        volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
        self._put(
            kinds.PODS,
            {
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"containers": [{"name": "main"}], "volumes": volumes},
                "status": {"phase": "Pending", **status},
            },
        )

    async def run_pod(self, name: str, *claims: str) -> None:
        """Put a pod, and wait until nothing is left to do for it but what waits for time."""
        self.put_pod(name, *claims)
        await settle()

    def bind_claim(self, name: str, *, pinned: str = "") -> None:
        """Do what the PersistentVolume controller does once a claim is provisioned."""
        terms = [{"matchExpressions": [{"key": "host", "operator": "In", "values": [pinned]}]}]
        affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if pinned else {}
        self._put(kinds.PERSISTENT_VOLUMES, {"metadata": {"name": f"pv-{name}"}, "spec": affinity})
        claim = self._claim(name)
        self.server.put({**claim, "spec": {**claim["spec"], "volumeName": f"pv-{name}"}})

    def annotate_pod(self, name: str) -> None:
        pod = self._pod(name)
        self.server.put({**pod, "metadata": {**pod["metadata"], "annotations": {"any": "text"}}})

    def annotate_claim(self, name: str, **annotations: str) -> None:
        """Replace the annotations of a claim, the selected node among them."""
        claim = self._claim(name)
        self.server.put({**claim, "metadata": {**claim["metadata"], "annotations": annotations}})

    def node_of(self, name: str) -> str:
        return str(self._pod(name)["spec"].get("nodeName", ""))

    def selected(self, name: str) -> str:
        return str(self._claim(name)["metadata"].get("annotations", {}).get(SELECTED_NODE, ""))

    def condition(self, name: str) -> tuple[str, str]:
        """Return status and reason of a pod's condition PodScheduled; empty if there is none."""
        conditions = self._pod(name)["status"].get("conditions", ())
        found = [each for each in conditions if each["type"] == "PodScheduled"]
        return (found[0]["status"], found[0].get("reason", "")) if found else ("", "")

    def writes(self) -> list[str]:
        """Name what was written: verb, resource and name."""
        reads = ("get", "list", "watch")
        calls = [call for call in self.server.calls if call.verb not in reads]
        return [f"{call.verb} {call.resource} {call.name}" for call in calls]

    def failures(self) -> list[str]:
        """Say why attempts failed after a node was chosen."""
        return [event.why for event in self.events if isinstance(event, Forgotten)]

    def _pod(self, name: str) -> Object:
        found = self.server.get("pods", name, "default")
        assert found is not None
        return found

    def _claim(self, name: str) -> Object:
        found = self.server.get("persistentvolumeclaims", name, "default")
        assert found is not None
        return found

    def _put(self, kind: kinds.Kind, obj: Object) -> None:
        self.server.put({"apiVersion": kind.api_version, "kind": kind.kind, **obj})


async def settle() -> None:
    """Wait until nothing is left to do but what waits for time to pass."""
    await asyncio.sleep(0.01)
