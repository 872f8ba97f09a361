"""What kube-scheduler asks about a pod, and what it is told, in a form that can be compared."""

from collections.abc import Callable, Mapping, Sequence
from random import Random

import msgspec

from tests.comparing.objects import Object
from tests.comparing.tree import Service
from tests.comparing.world import World

CLIENTS = ["127.0.0.1"] * 12 + ["10.0.0.9"]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A question, and who asks it."""

    pod: str
    obj: Object
    nodes: Sequence[str]
    by_name: bool
    client: str
    scores: str
    """Of which nodes they are asked for, too: accepted, all or none."""

    def __str__(self) -> str:
        uid = self.obj["metadata"]["uid"][:8]
        return f"{self.client} asks for {self.pod} of uid {uid} on {' '.join(self.nodes)}"

    def body(self, nodes: Sequence[str]) -> Object:
        """Build what is sent."""
        names = [*nodes] if self.by_name else None
        items = [{"metadata": {"name": each}, "spec": {}} for each in nodes]
        whole = None if self.by_name else {"items": items}
        return {"Pod": self.obj, "Nodes": whole, "NodeNames": names}


class Scores(msgspec.Struct, kw_only=True):
    """What was answered to /prioritize.

    Attributes:
        parts: What the scores are made of, by node, as it is shown afterwards.
    """

    error: str = ""
    totals: Mapping[str, int] = {}
    order: Sequence[str] = ()
    parts: Mapping[str, Object] = {}


class Answer(msgspec.Struct, kw_only=True):
    """What was answered about one pod.

    Attributes:
        verdicts: "accepted" or why not, by node.
        order: The accepted nodes.
        other: Where the answer has another form than it should.
        waited: For how many seconds.
    """

    error: str
    verdicts: Mapping[str, str]
    order: Sequence[str]
    other: Sequence[object]
    waited: float
    scores: Scores | None = None


def draw_request(world: World, random: Random) -> Request:
    """Draw a request; pod and claims are made if they are not there, but for some pods."""
    name = random.choice([*world.plan.pods])
    obj = world.pod(name)
    if random.random() < 0.04:
        obj = world.new_pod(name)
        obj["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": "1"}
    elif random.random() < 0.05:
        obj = world.asked.get(name, obj)
    world.asked[name] = obj
    nodes = [*world.plan.nodes]
    random.shuffle(nodes)
    if random.random() < 0.25:
        nodes = nodes[: random.choice([1, 1, 2])]
    if random.random() < 0.05:
        nodes.append("node-unknown")
    return Request(
        pod=name,
        obj=obj,
        nodes=nodes,
        by_name=random.random() < 0.8,
        client=random.choice(CLIENTS),
        scores=random.choice([*["accepted"] * 7, "all", "none", "none"]),
    )


async def ask(
    service: Service, request: Request, now: Callable[[], float], scored: Sequence[str] | None
) -> Answer:
    """Ask, and then for scores, of *scored* if given in place of what is accepted."""
    began = now()
    sent = request.body(request.nodes)
    status, body = await service.post("/filter", sent, request.client)
    whole = (body.get("Nodes") or {}).get("items") or []
    accepted = [each["metadata"]["name"] for each in whole] or body.get("NodeNames") or []
    failed = body.get("FailedAndUnresolvableNodes") or {}
    changed = [each for each in whole if each not in sent["Nodes"]["items"]]
    answer = Answer(
        waited=round(now() - began, 3),
        error=body.get("Error", body.get("error", "")),
        verdicts={**failed, **dict.fromkeys(accepted, "accepted")},
        order=accepted,
        other=[
            each for each in (status, body.get("FailedNodes"), *changed) if each not in (200, {})
        ],
    )
    to_score = accepted if scored is None else scored
    nodes = {"accepted": to_score, "all": request.nodes, "none": []}[request.scores]
    if nodes:
        answer.scores = await _scores(service, request, nodes)
    return answer


async def _scores(service: Service, request: Request, nodes: Sequence[str]) -> Scores:
    status, body = await service.post("/prioritize", request.body(nodes), request.client)
    if status != 200:
        return Scores(error=f"{status} {body['error']}")
    order = [each["Host"] for each in body]
    return Scores(totals={e["Host"]: e["Score"] for e in body}, order=order)
