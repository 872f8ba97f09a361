"""A request waits only while its answer may still change, and one for each pod."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from app.serving.decisions import Asking, Decisions, UnavailableError
from app.serving.metrics import WAIT_OUTCOMES, Metrics
from app.serving.wire import ExtenderRequest, Verb
from extender import Answer, ClusterView, Extender, PodRef, Scores, UnresolvableClaimError
from extender.holds import Asked, End, Timeouts
from extender.holds.hold import Sighting
from extender.kubernetes import GroupKey, PodStatus
from longhorn import Locality, NodeName
from tests.builders import (
    GENEROUS,
    bound,
    node,
    nodes_of,
    pod,
    replicas_of,
    view_of,
    volume,
    volumes_of,
)

pytestmark = pytest.mark.looptime(resolution=2**-20, noop_cycles=0)

PREFIX = "longhorn_scheduler_extender_"
NODES = [NodeName("node-1"), NodeName("node-2")]
WAIT_SECONDS = 1.0
UNSEEN_SECONDS = 0.25
PODS = ("first", "second", "third")
ASKED_AGAIN = "kube-scheduler has asked about this pod again"
WITHOUT_CLAIMS = view_of(*nodes_of("1 2"))


class Bench:
    """Decisions on two nodes, each with room for one of three pods.

    Attributes:
        answered: The pods whose answers were held, in order.
        scored: The scores that were given, in order.
        requested: What was asked, in order.
    """

    def __init__(self, *, wait_seconds: float = WAIT_SECONDS) -> None:
        volumes = volumes_of("first:60 second:60 third:60")
        self.extender = Extender(GENEROUS)
        self.view: ClusterView = view_of(*nodes_of("1 2"), *bound(*volumes))
        self.unavailable: str | None = None
        self.date: datetime | None = None
        self.client_is_gone = False
        self.answered: list[str] = []
        self.scored: list[Scores] = []
        self.requested: list[Verb] = []
        self.registry = CollectorRegistry()
        self.decisions = Decisions(
            self.extender,
            current_view=lambda: self.view,
            unavailable=lambda: self.unavailable,
            on_answer=self._answer,
            on_scores=lambda scores, _: self.scored.append(scores),
            wait_seconds=lambda: wait_seconds,
            on_request=lambda verb, _: self.requested.append(verb),
            clock=asyncio.get_running_loop().time,
            wall_clock=lambda: self.date,
            metrics=Metrics(self.registry, version="1"),
        )

    async def ask(self, name: str) -> Answer:
        return await self.decisions.filter(self.asking(pod(name, name=name)))

    async def prioritize(self, name: str) -> Scores:
        return await self.decisions.prioritize(self.asking(pod(name, name=name)).request)

    async def preempt(self, name: str) -> Answer:
        return await self.decisions.preempt(self.asking(pod(name, name=name)).request)

    def asking(self, asked: PodRef) -> Asking:
        request = ExtenderRequest(pod=asked, status=PodStatus(), candidates=NODES, nodes=None)
        return Asking(request=request, client="scheduler", is_gone=self.is_gone)

    def member(self, name: str) -> Asking:
        """Ask about a pod of a group."""
        asking = self.asking(pod(name, name=name))
        return replace(asking, request=replace(asking.request, group=GroupKey("default/gang")))

    async def is_gone(self) -> bool:
        return self.client_is_gone

    async def waits(self, name: str) -> "asyncio.Task[Answer]":
        """Ask, and see that the answer waits."""
        task = asyncio.create_task(self.ask(name))
        await asyncio.sleep(0.1)
        assert not task.done()
        return task

    def choose(self) -> None:
        """Have node-1 become known as that of the first pod, and tell whoever waits."""
        self.extender.ledger.see("uid-first", Sighting(nominated=NODES[0]), now())
        self.decisions.wake()

    def close(self) -> None:
        """Answer no more, and tell nobody."""
        self.unavailable = "not the leader"

    def leave(self) -> None:
        """Have the client go away, and the answer be another one."""
        self.client_is_gone = True
        self.choose()

    def _answer(self, request: ExtenderRequest, result: Answer, now: float) -> None:
        self.answered.append(request.pod.name)
        asked = Asked(status=request.status, group=request.group)
        timeouts = Timeouts(choosing_seconds=60.0, placing_seconds=60.0)
        self.extender.hold(result, asked, timeouts=timeouts, now=now)

    def metric(self, name: str, **labels: str) -> float:
        value = self.registry.get_sample_value(PREFIX + name, labels)
        assert value is not None
        return value

    @property
    def outcomes(self) -> dict[str, float]:
        """How waits have ended so far."""
        name = "filter_wait_duration_seconds_count"
        counts = {each: self.metric(name, outcome=each) for each in WAIT_OUTCOMES}
        return {each: count for each, count in counts.items() if count}


def now() -> float:
    return asyncio.get_running_loop().time()


async def second_waits() -> "tuple[Bench, asyncio.Task[Answer]]":
    """Hold a node for the first pod, so that the answer for the second one waits."""
    bench = Bench()
    await bench.ask("first")
    return bench, await bench.waits("second")


async def test_answer_that_cannot_change_is_given_and_held_at_once():
    bench = Bench()

    result = await bench.ask("first")

    assert (result.accepted, now()) == (NODES, 0.0)
    assert (bench.answered, bench.outcomes) == (["first"], {})


async def test_members_of_a_group_get_one_node_each_and_do_not_wait_for_others():
    bench = Bench()

    first, second, third = [await bench.decisions.filter(bench.member(name)) for name in PODS]

    assert (first.accepted, second.accepted, now()) == (NODES[:1], NODES[1:], 0.0)
    assert (third.accepted, third.is_open) == ([], False)


async def test_before_eviction_all_nodes_with_room_for_a_member_are_named():
    bench = Bench()

    answer = await bench.decisions.preempt(bench.member("first").request)

    assert answer.accepted == NODES


async def test_decision_knows_the_date():
    """What failed on a lost node is made anew when Longhorn has waited for ten minutes."""
    bench = Bench()
    failed_at = datetime(2026, 8, 20, 12, 0, tzinfo=UTC)
    shop = volume("shop", locality=Locality.DISABLED, replicas=2, attached_to="node-3")
    shop = replace(shop, degraded=True, degraded_at=failed_at)
    nodes = [node("node-1", ready=False), *nodes_of("2 3")]
    bench.view = view_of(
        *nodes, shop, *replicas_of("shop@1/failed shop@3"), *bound(volume("first"))
    )

    coming = []
    for seconds in (599, 600):
        bench.date = failed_at + timedelta(seconds=seconds)
        coming.append((await bench.ask("first")).forecast["sure"])

    assert coming == [0, 1]


ENDS: dict[str, tuple[Callable[[Bench], None], list[str] | str, float, str]] = {
    "node-of-the-first-is-chosen": (Bench.choose, ["node-2"], 0.1, "resolved"),
    "time-is-over": (lambda _: None, [], WAIT_SECONDS, "timeout"),
    "woken-in-vain": (lambda bench: bench.decisions.wake(), [], WAIT_SECONDS, "timeout"),
    "instance-closed-when-time-is-over": (
        Bench.close, "not the leader", WAIT_SECONDS, "unavailable"),
    # kube-scheduler has given it up, and asks again before long.
    "client-gone": (Bench.leave, "nobody waits", 0.1, "abandoned"),
}  # fmt: skip


@pytest.mark.parametrize(("happen", "expected", "at", "outcome"), ENDS.values(), ids=ENDS)
async def test_open_answer_waits_until_it_changes_or_its_time_is_over(
    happen, expected, at, outcome
):
    bench, waiting = await second_waits()
    assert (bench.metric("filter_waiting"), bench.answered) == (1, ["first"])

    happen(bench)

    if isinstance(expected, str):
        with pytest.raises(UnavailableError, match=expected):
            await waiting
    else:
        assert (await waiting).accepted == expected
    assert now() == pytest.approx(at, abs=0.001)
    # Nothing is held for a pod without an answer.
    assert bench.answered == (["first"] if isinstance(expected, str) else ["first", "second"])
    assert (bench.outcomes, bench.metric("filter_waiting")) == ({outcome: 1}, 0)


async def test_with_no_time_to_wait_the_answer_is_given_at_once():
    bench = Bench(wait_seconds=0.0)
    await bench.ask("first")

    assert (await bench.ask("second")).is_open
    assert now() == 0.0


async def test_newest_of_several_calls_for_a_pod_is_answered():
    bench, first = await second_waits()
    older = [first, *[await bench.waits("second") for _ in range(2)]]
    newest = await bench.waits("second")

    bench.choose()

    assert (await newest).accepted == ["node-2"]
    errors = await asyncio.gather(*older, return_exceptions=True)
    assert [(type(each), str(each)) for each in errors] == [(UnavailableError, ASKED_AGAIN)] * 3
    assert bench.outcomes == {"superseded": 3, "resolved": 1}
    assert bench.answered == ["first", "second"]


async def test_call_is_replaced_by_one_that_does_not_wait():
    bench, older = await second_waits()
    bench.extender.ledger.drop("uid-first", End.POD_GONE, now())

    newer = await bench.ask("second")

    assert newer.accepted == NODES
    with pytest.raises(UnavailableError, match=ASKED_AGAIN):
        await older
    assert bench.answered == ["first", "second"]


async def test_calls_for_different_pods_wait_beside_each_other():
    bench, second = await second_waits()
    third = await bench.waits("third")
    assert bench.metric("filter_waiting") == 2

    bench.choose()

    assert [(await each).accepted for each in (second, third)] == [["node-2"], []]
    assert bench.answered == ["first", "second", "third"]


async def test_instance_that_cannot_answer_any_more_lets_no_pod_wait():
    bench, second = await second_waits()
    third = await bench.waits("third")

    bench.close()
    bench.decisions.wake()

    for each in (second, third):
        with pytest.raises(UnavailableError, match="not the leader"):
            await each
    assert now() == pytest.approx(0.2, abs=0.001)
    assert (bench.outcomes, bench.answered) == ({"unavailable": 2}, ["first"])
    assert bench.metric("filter_waiting") == 0


async def test_call_that_is_cancelled_leaves_nothing_behind():
    bench, waiting = await second_waits()

    waiting.cancel()
    await asyncio.wait([waiting])

    assert (waiting.cancelled(), bench.metric("filter_waiting")) == (True, 0)
    bench.choose()
    assert (await bench.ask("second")).accepted == ["node-2"]


async def test_pods_without_uid_are_told_apart_by_name():
    bench = Bench()
    await bench.ask("first")
    nameless = [replace(pod(name, name=name), uid="") for name in ("second", "third")]
    asked = [asyncio.create_task(bench.decisions.filter(bench.asking(each))) for each in nameless]
    await asyncio.sleep(0.1)

    bench.choose()

    assert [(await each).accepted for each in asked] == [["node-2"], ["node-2"]]


ASKS: dict[str, Callable[[Bench, str], Coroutine[Any, Any, Any]]] = {
    "filter": Bench.ask,
    "prioritize": Bench.prioritize,
    "preempt": Bench.preempt,
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
async def test_instance_that_cannot_answer_says_so_at_once(ask):
    bench = Bench()
    bench.close()

    with pytest.raises(UnavailableError, match="not the leader"):
        await ask(bench, "first")

    assert (bench.answered, bench.scored, bench.outcomes, now()) == ([], [], {}, 0.0)


@pytest.mark.parametrize(("verb", "at"), [("filter", 0.1), ("preempt", UNSEEN_SECONDS)])
async def test_claim_that_is_not_heard_of_yet_is_waited_for(verb, at):
    bench = Bench()
    complete, bench.view = bench.view, WITHOUT_CLAIMS
    waiting = asyncio.create_task(ASKS[verb](bench, "first"))
    await asyncio.sleep(0.1)
    assert not waiting.done()

    bench.view = complete
    bench.decisions.wake()

    assert (await waiting).accepted == NODES
    assert now() == pytest.approx(at, abs=0.001)
    assert bench.outcomes == ({"resolved": 1} if verb == "filter" else {})


@pytest.mark.parametrize(
    ("verb", "at"), [("filter", UNSEEN_SECONDS), ("prioritize", 0.0), ("preempt", UNSEEN_SECONDS)]
)
async def test_claim_that_does_not_come_is_an_error_after_a_moment_and_leaves_nothing(verb, at):
    bench = Bench()
    bench.view = WITHOUT_CLAIMS

    with pytest.raises(UnresolvableClaimError, match="default/first"):
        await ASKS[verb](bench, "first")

    assert now() == pytest.approx(at)
    assert (bench.answered, bench.scored) == ([], [])


async def test_claim_that_goes_while_others_are_waited_for_is_an_error():
    bench, waiting = await second_waits()
    await asyncio.sleep(0.3)

    bench.view = WITHOUT_CLAIMS
    bench.decisions.wake()

    with pytest.raises(UnresolvableClaimError, match="default/second"):
        await waiting
    assert now() == pytest.approx(0.4, abs=0.001)


async def test_scores_are_told_at_once_and_nothing_is_held():
    bench = Bench()

    scores = await bench.prioritize("first")

    assert [*scores.by_node] == NODES
    assert (bench.scored, bench.requested) == ([scores], [Verb.PRIORITIZE])
    assert (bench.answered, [*bench.extender.ledger]) == ([], [])


async def test_scores_are_told_while_an_answer_for_the_same_pod_waits():
    bench, waiting = await second_waits()

    scores = await bench.prioritize("second")

    assert {score.total for score in scores.by_node.values()} == {0}
    assert not waiting.done()
    bench.choose()
    assert (await waiting).accepted == ["node-2"]
