"""An answer waits if, and only if, the choice of another pod's node may change it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from extender import Mode
from tests.builders import node_document, runner_documents
from tests.integration.instances import VIRTUAL_TIME, Answer, Process
from tests.integration.scheduling import HELD, ONE, THREE, TWO, World, serving

pytestmark = VIRTUAL_TIME

WAIT_SECONDS = 1.0
PROMPTLY_SECONDS = 0.1


@asynccontextmanager
async def with_open_hold(**settings: Any) -> AsyncIterator[World]:
    """Serve, with a first pod that may go to either of two nodes and leaves no room there."""
    async with serving(nodes=(ONE, TWO), wait_seconds=WAIT_SECONDS, **settings) as world:
        await world.add_pods("first", "second", "third")
        await world.accept("first")
        yield world


class Asked:
    """A question on its way."""

    def __init__(self, world: World, pod: str, *nodes: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._task = asyncio.create_task(world.ask(pod, *nodes))

    @property
    def is_waiting(self) -> bool:
        return not self._task.done()

    async def answer(self) -> tuple[Answer, float]:
        """Return the answer, and after how long it came if nobody asked for it before."""
        answer = await self._task
        return answer, self._loop.time() - self._began

    @classmethod
    async def and_waits(cls, world: World, pod: str, *nodes: str) -> "Asked":
        """Ask, and see that there is no answer at once."""
        asked = cls(world, pod, *nodes)
        await asyncio.sleep(0.2)
        assert asked.is_waiting
        return asked


async def test_a_choice_that_leaves_room_is_answered_at_once():
    async with with_open_hold() as world:
        asked = await Asked.and_waits(world, "second")

        world.nominate("first", ONE)

        answer, seconds = await asked.answer()
        assert (answer.accepted, answer.rejected) == ([TWO], {ONE: HELD})
        assert seconds < 0.2 + PROMPTLY_SECONDS
        assert await world.held_nodes("second") == (TWO,)


async def test_a_leader_that_ends_lets_nobody_wait():
    async with with_open_hold(count=2) as world:
        asked = await Asked.and_waits(world, "second")

        world.leader.terminate()

        answer, seconds = await asked.answer()
        assert answer.error == "this instance of the extender is shutting down"
        assert answer.closes
        assert seconds < 0.2 + PROMPTLY_SECONDS


async def test_who_loses_the_lease_lets_nobody_wait():
    async with with_open_hold() as world:
        asked = await Asked.and_waits(world, "second")
        lease = world.processes.lease()
        assert lease is not None
        lease["spec"]["holderIdentity"] = "stranger"

        world.server.put(lease)

        answer, _ = await asked.answer()
        assert answer.error == "this instance of the extender is not the leader"
        assert answer.closes


LOCKED = "another pod that was given this node may still be bound to it"
RESERVED = "the node is reserved until the replicas of another pod are placed"


@asynccontextmanager
async def locking(count: int = 1, **settings: Any) -> AsyncIterator[World]:
    """Serve in mode `node`; three small pods would fit on one node together."""
    async with serving(count, reservation_mode=Mode.NODE, **settings) as world:
        await world.add_pods("first", "second", "third", gib=10)
        yield world


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_the_next_pod_waits_until_the_first_is_bound():
    async with locking() as world:
        await world.accept("first")
        asked = asyncio.create_task(world.ask("second"))
        await asyncio.sleep(2)
        world.nominate("first", TWO)
        world.select("first", TWO)
        await asyncio.sleep(1)
        assert not asked.done()

        world.bind("first", TWO)
        began = now()
        answer = await asked

        assert now() - began < 0.1
        assert (answer.accepted, answer.rejected) == ([ONE, THREE], {TWO: RESERVED})


async def test_who_waited_in_vain_is_woken_when_the_lock_is_gone():
    """Only kube-schedulers that ask about two pods at once come to this."""
    async with locking() as world:
        await world.accept("first")
        second = asyncio.create_task(world.ask("second", ONE, TWO))
        await asyncio.sleep(0.1)
        third = asyncio.create_task(world.ask("third", THREE))
        assert (await second).accepted == [ONE, TWO]
        assert (await third).rejected == {THREE: LOCKED}

        world.bind("second", ONE)
        await world.settled()

        assert world.woken_at("third")


@pytest.mark.parametrize("end", [Process.terminate, Process.kill])
async def test_the_next_leader_locks_for_a_pod_that_is_not_bound_yet(end):
    async with locking(2) as world:
        await world.accept("first")
        world.nominate("first", ONE)
        world.select("first", ONE)
        await world.settled()
        await world.replace_leader(end)
        asked = asyncio.create_task(world.ask("second"))
        await asyncio.sleep(1)
        assert not asked.done()

        world.bind("first", ONE)

        assert (await asked).accepted == [TWO, THREE]


NODES = {ONE, TWO, THREE}
MEMBERS = ("m1", "m2", "m3")
ELSEWHERE = "another node was chosen for this member of a pod group"


async def add_members(world: World, names: Sequence[str]) -> None:
    """Create pods of a group with a claim each; a node has room for one of them."""
    await world.add_pods(*names)
    for name in names:
        found = world.of("pods", name)
        spec = {**found["spec"], "schedulingGroup": {"podGroupName": "gang"}}
        world.server.put({**found, "spec": spec})


async def ask_all(world: World, names: Sequence[str]) -> list[Answer]:
    return [await world.ask(name) for name in names]


async def test_each_gets_one_node_and_all_find_one():
    async with serving() as world:
        await add_members(world, MEMBERS)

        answers = await ask_all(world, MEMBERS)

        assert [len(each.accepted) for each in answers] == [1, 1, 1]
        assert {node for each in answers for node in each.accepted} == NODES
        assert [*answers[0].rejected.values()] == [ELSEWHERE, ELSEWHERE]
        assert [each.state for each in await world.held()] == ["chosen"] * 3


async def test_a_leader_that_ends_waits_until_their_nodes_show():
    async with serving(2) as world:
        await add_members(world, MEMBERS)
        answers = await ask_all(world, MEMBERS)
        leader = world.leader

        leader.terminate()
        await asyncio.sleep(0.6)
        assert leader.is_leading
        for name, answer in zip(MEMBERS, answers, strict=True):
            world.nominate(name, *answer.accepted)
        took = await world.processes.until(lambda: not leader.is_leading, within=1, glance=0.001)
        await world.answers()

        assert took < 0.1
        assert {*[each.nodes for each in await world.held()]} == {(ONE,), (TWO,), (THREE,)}


async def test_a_group_that_does_not_fit_is_not_woken_by_what_was_held_for_itself():
    """Another pod is, and the group once there is one more node."""
    async with serving() as world:
        await add_members(world, (*MEMBERS, "m4"))
        await world.add_pods("other")
        await ask_all(world, (*MEMBERS, "m4"))
        await world.reject("other")

        await asyncio.sleep(60.0)
        assert await world.held() == []
        assert world.woken == ["other"]
        assert await world.waiting() == ["m4", "other"]

        world.server.put(node_document("room-4"))
        for each in runner_documents("room-4"):
            world.server.put(each)
        await world.settled()
        assert world.woken == ["other", "m4"]
