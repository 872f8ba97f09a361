"""A request waits only while its answer may still change, and one for each pod."""

import asyncio
from datetime import UTC, datetime, timedelta

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
from tests.builders import GENEROUS, GIB, bound, node, pod, replica, view_of, volume

pytestmark = pytest.mark.looptime(resolution=2**-20, noop_cycles=0)

PREFIX = "longhorn_scheduler_extender_"
NODES = [NodeName("node-1"), NodeName("node-2")]
WAIT_SECONDS = 1.0
UNSEEN_SECONDS = 0.25
TIMEOUTS = Timeouts(choosing_seconds=60.0, placing_seconds=60.0)
PODS = ("first", "second", "third")
ASKED_AGAIN = "kube-scheduler has asked about this pod again"


class Bench:
    """Decisions on two nodes, each with room for one of three pods.

    Attributes:
        answered: The pods whose answers were held, in order.
        scored: The scores that were given, in order.
        requested: What was asked, in order.
    """

    def __init__(self, *, wait_seconds: float = WAIT_SECONDS) -> None:
        volumes = [volume(name, size_bytes=60 * GIB) for name in PODS]
        self.extender = Extender(GENEROUS)
        self.view: ClusterView = view_of(*(node(name) for name in NODES), *bound(*volumes))
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

    async def prioritize(self, name: str) -> Scores:
        return await self.decisions.prioritize(self.asking(pod(name, name=name)).request)

    async def ask(self, name: str) -> Answer:
        return await self.decisions.filter(self.asking(pod(name, name=name)))

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

    def choose(self, name: str, chosen: str) -> None:
        """Have the node of a pod become known, and tell whoever waits."""
        self.extender.ledger.see(f"uid-{name}", Sighting(nominated=NodeName(chosen)), now())
        self.decisions.wake()

    def _answer(self, request: ExtenderRequest, result: Answer, now: float) -> None:
        self.answered.append(request.pod.name)
        asked = Asked(status=request.status, group=request.group)
        self.extender.hold(result, asked, timeouts=TIMEOUTS, now=now)

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


async def test_an_answer_that_cannot_change_is_given_and_held_at_once():
    bench = Bench()

    result = await bench.ask("first")

    assert (result.accepted, now()) == (NODES, 0.0)
    assert bench.answered == ["first"]
    assert bench.outcomes == {}


async def test_a_member_of_a_group_gets_one_node_and_so_the_next_one_another():
    bench = Bench()

    first, second = [await bench.decisions.filter(bench.member(name)) for name in PODS[:2]]

    assert (first.accepted, second.accepted, now()) == (NODES[:1], NODES[1:], 0.0)


async def test_a_member_that_no_node_takes_does_not_wait_for_the_others():
    bench = Bench()
    for name in PODS[:2]:
        await bench.decisions.filter(bench.member(name))

    third = await bench.decisions.filter(bench.member("third"))

    assert (third.accepted, third.is_open, now()) == ([], False, 0.0)


async def test_before_eviction_all_nodes_with_room_for_a_member_are_named():
    bench = Bench()

    answer = await bench.decisions.preempt(bench.member("first").request)

    assert answer.accepted == NODES


async def test_a_decision_knows_the_date():
    """What failed on a lost node is made anew when Longhorn has waited for ten minutes."""
    bench = Bench()
    failed_at = datetime(2026, 8, 20, 12, 0, tzinfo=UTC)
    lost = replica("shop-r-1", of="shop", on="node-1", failed=True)
    there = replica("shop-r-2", of="shop", on="node-3")
    shop = volume("shop", locality=Locality.DISABLED, replicas=2, attached_to="node-3")
    shop = replace(shop, degraded=True, degraded_at=failed_at)
    nodes = [node("node-1", ready=False), node("node-2"), node("node-3")]
    bench.view = view_of(*nodes, shop, lost, there, *bound(volume("first")))

    coming = []
    for seconds in (599, 600):
        bench.date = failed_at + timedelta(seconds=seconds)
        coming.append((await bench.ask("first")).forecast["sure"])

    assert coming == [0, 1]


async def test_an_open_answer_waits_until_it_is_woken_and_has_changed():
    bench = Bench()
    await bench.ask("first")
    waiting = await bench.waits("second")
    assert bench.metric("filter_waiting") == 1
    assert bench.answered == ["first"]

    bench.choose("first", "node-1")
    result = await waiting

    assert result.accepted == ["node-2"]
    assert now() == pytest.approx(0.1, abs=0.001)
    assert bench.answered == ["first", "second"]
    assert bench.outcomes == {"resolved": 1}
    assert bench.metric("filter_waiting") == 0


async def test_an_open_answer_that_is_woken_in_vain_waits_on():
    bench = Bench()
    await bench.ask("first")
    waiting = await bench.waits("second")

    for _ in range(8):
        bench.decisions.wake()
        await asyncio.sleep(0.1)
        assert not waiting.done()

    assert not (await waiting).accepted
    assert now() == pytest.approx(WAIT_SECONDS)


async def test_an_open_answer_is_given_when_its_time_is_over():
    bench = Bench()
    await bench.ask("first")

    result = await bench.ask("second")

    assert (result.accepted, result.is_open) == ([], True)
    assert now() == pytest.approx(WAIT_SECONDS)
    assert bench.outcomes == {"timeout": 1}
    assert bench.answered == ["first", "second"]


async def test_with_no_time_to_wait_the_answer_is_given_at_once():
    bench = Bench(wait_seconds=0.0)
    await bench.ask("first")

    assert (await bench.ask("second")).is_open
    assert now() == 0.0


async def test_the_newest_of_several_calls_for_a_pod_is_answered():
    bench = Bench()
    await bench.ask("first")
    older = [await bench.waits("second") for _ in range(3)]
    newest = await bench.waits("second")

    bench.choose("first", "node-1")

    assert (await newest).accepted == ["node-2"]
    errors = await asyncio.gather(*older, return_exceptions=True)
    assert [(type(each), str(each)) for each in errors] == [(UnavailableError, ASKED_AGAIN)] * 3
    assert bench.outcomes == {"superseded": 3, "resolved": 1}
    assert bench.answered == ["first", "second"]


async def test_a_call_is_replaced_by_one_that_does_not_wait():
    bench = Bench()
    await bench.ask("first")
    older = await bench.waits("second")
    bench.extender.ledger.drop("uid-first", End.POD_GONE, now())

    newer = await bench.ask("second")

    assert newer.accepted == NODES
    with pytest.raises(UnavailableError, match="asked about this pod again"):
        await older
    assert bench.answered == ["first", "second"]


async def test_calls_for_different_pods_wait_beside_each_other():
    bench = Bench()
    await bench.ask("first")
    second, third = await bench.waits("second"), await bench.waits("third")
    assert bench.metric("filter_waiting") == 2

    bench.choose("first", "node-1")

    assert [(await each).accepted for each in (second, third)] == [["node-2"], []]
    assert bench.answered == ["first", "second", "third"]


async def test_who_cannot_answer_says_so_at_once():
    bench = Bench()
    bench.unavailable = "not the leader"

    with pytest.raises(UnavailableError, match="not the leader"):
        await bench.ask("first")

    assert bench.answered == []
    assert bench.outcomes == {}


async def test_who_cannot_answer_any_more_lets_nobody_wait():
    bench = Bench()
    await bench.ask("first")
    waiting = [await bench.waits(name) for name in ("second", "third")]

    bench.unavailable = "not the leader"
    bench.decisions.wake()

    for each in waiting:
        with pytest.raises(UnavailableError, match="not the leader"):
            await each
    assert bench.outcomes == {"unavailable": 2}
    assert bench.answered == ["first"]
    assert bench.metric("filter_waiting") == 0


async def test_who_cannot_answer_when_the_time_is_over_holds_nothing():
    bench = Bench()
    await bench.ask("first")
    waiting = await bench.waits("second")

    bench.unavailable = "frozen for too long"

    with pytest.raises(UnavailableError, match="frozen for too long"):
        await waiting
    assert bench.answered == ["first"]


async def test_a_call_that_is_cancelled_leaves_nothing_behind():
    bench = Bench()
    await bench.ask("first")
    waiting = await bench.waits("second")

    waiting.cancel()
    await asyncio.wait([waiting])

    assert waiting.cancelled()
    assert bench.metric("filter_waiting") == 0
    bench.choose("first", "node-1")
    assert (await bench.ask("second")).accepted == ["node-2"]


async def test_an_answer_nobody_waits_for_holds_nothing():
    """kube-scheduler has given it up, and asks again before long."""
    bench = Bench()
    await bench.ask("first")
    second = await bench.waits("second")

    bench.client_is_gone = True
    bench.choose("first", "node-1")

    with pytest.raises(UnavailableError, match="nobody waits"):
        await second
    assert bench.extender.ledger.get("uid-second") is None


async def test_pods_without_uid_are_told_apart_by_name():
    bench = Bench()
    await bench.ask("first")

    def ask(name: str) -> "asyncio.Task[Answer]":
        nameless = PodRef(namespace="default", name=name, uid="", claims=pod(name).claims)
        return asyncio.create_task(bench.decisions.filter(bench.asking(nameless)))

    second, third = ask("second"), ask("third")
    await asyncio.sleep(0.1)
    bench.choose("first", "node-1")

    assert [(await each).accepted for each in (second, third)] == [["node-2"], ["node-2"]]


async def test_an_object_that_is_not_heard_of_yet_is_waited_for():
    bench = Bench()
    complete = bench.view
    bench.view = view_of(*(node(name) for name in NODES))
    waiting = await bench.waits("first")

    bench.view = complete
    bench.decisions.wake()

    assert (await waiting).accepted == NODES
    assert now() == pytest.approx(0.1, abs=0.001)
    assert bench.outcomes == {"resolved": 1}


async def test_before_pods_are_evicted_an_object_is_waited_for_as_well():
    bench = Bench()
    complete = bench.view
    bench.view = view_of(*(node(name) for name in NODES))
    request = bench.asking(pod("first")).request
    waiting = asyncio.create_task(bench.decisions.preempt(request))
    await asyncio.sleep(0.1)

    bench.view = complete

    assert (await waiting).accepted == NODES
    assert now() == pytest.approx(UNSEEN_SECONDS)

    with pytest.raises(UnresolvableClaimError, match="default/gone"):
        await bench.decisions.preempt(bench.asking(pod("gone")).request)
    assert now() == pytest.approx(2 * UNSEEN_SECONDS)


async def test_an_object_that_does_not_come_is_an_error_after_a_moment():
    bench = Bench()
    bench.view = view_of(*(node(name) for name in NODES))

    with pytest.raises(UnresolvableClaimError, match="default/first"):
        await bench.ask("first")

    assert now() == pytest.approx(UNSEEN_SECONDS)
    assert bench.answered == []


async def test_an_object_that_goes_while_others_are_waited_for_is_an_error():
    bench = Bench()
    await bench.ask("first")
    waiting = await bench.waits("second")
    await asyncio.sleep(0.3)

    bench.view = view_of(*(node(name) for name in NODES))
    bench.decisions.wake()

    with pytest.raises(UnresolvableClaimError, match="default/second"):
        await waiting
    assert now() == pytest.approx(0.4, abs=0.001)


async def test_scores_are_told_at_once_and_nothing_is_held():
    bench = Bench()

    scores = await bench.prioritize("first")

    assert [*scores.by_node] == NODES
    assert bench.scored == [scores]
    assert bench.requested == [Verb.PRIORITIZE]
    assert (bench.answered, [*bench.extender.ledger]) == ([], [])


async def test_scores_are_told_while_an_answer_for_the_same_pod_waits():
    bench = Bench()
    await bench.ask("first")
    waiting = await bench.waits("second")

    scores = await bench.prioritize("second")

    assert {score.total for score in scores.by_node.values()} == {0}
    assert not waiting.done()
    bench.choose("first", "node-1")
    assert (await waiting).accepted == ["node-2"]


async def test_an_object_that_is_not_heard_of_yet_leaves_no_scores():
    bench = Bench()
    bench.view = view_of(*(node(name) for name in NODES))

    with pytest.raises(UnresolvableClaimError, match="default/first"):
        await bench.prioritize("first")

    assert bench.scored == []


async def test_who_cannot_answer_has_no_scores_either():
    bench = Bench()
    bench.unavailable = "not the leader"

    with pytest.raises(UnavailableError, match="not the leader"):
        await bench.prioritize("first")

    assert bench.scored == []
