"""An answer waits if, and only if, the choice of another pod's node may change it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from extender import Mode
from tests.builders import node_document, runner_documents
from tests.integration.instances import VIRTUAL_TIME, Answer
from tests.integration.scheduling import HELD, ONE, THREE, TWO, World, serving

pytestmark = VIRTUAL_TIME

WAIT_SECONDS = 1.0
PROMPTLY_SECONDS = 0.1


@asynccontextmanager
async def with_open_hold(count: int = 1) -> AsyncIterator[World]:
    """Serve, with a first pod that may go to either of two nodes and leaves no room there."""
    async with serving(count, nodes=(ONE, TWO), wait_seconds=WAIT_SECONDS) as world:
        await world.add_pods("first", "second", "third")
        await world.accept("first")
        yield world


async def waits(world: World) -> asyncio.Task[Answer]:
    """Ask about the second pod, and see that there is no answer at once."""
    task = asyncio.create_task(world.ask("second"))
    await asyncio.sleep(0.2)
    assert not task.done()
    return task


async def answer_to(asked: asyncio.Task[Answer]) -> Answer:
    """Return the answer, which comes at once."""
    async with asyncio.timeout(PROMPTLY_SECONDS):
        return await asked


async def test_a_choice_that_leaves_room_is_answered_at_once():
    async with with_open_hold() as world:
        asked = await waits(world)

        world.nominate("first", ONE)

        answer = await answer_to(asked)
        assert (answer.accepted, answer.rejected) == ([TWO], {ONE: HELD})
        assert await world.held_nodes("second") == (TWO,)


async def test_a_leader_that_ends_lets_nobody_wait():
    async with with_open_hold(count=2) as world:
        asked = await waits(world)

        world.leader.terminate()

        answer = await answer_to(asked)
        assert answer.error == "this instance of the extender is shutting down"
        assert answer.closes


async def test_who_loses_the_lease_lets_nobody_wait():
    async with with_open_hold() as world:
        asked = await waits(world)
        lease = world.processes.lease()
        assert lease is not None
        lease["spec"]["holderIdentity"] = "stranger"

        world.server.put(lease)

        answer = await asked
        assert answer.error == "this instance of the extender is not the leader"
        assert answer.closes


LOCKED = "another pod that was given this node may still be bound to it"
RESERVED = "the node is reserved until the replicas of another pod are placed"


@asynccontextmanager
async def locking() -> AsyncIterator[World]:
    """Serve in mode `node`; three small pods would fit on one node together."""
    async with serving(reservation_mode=Mode.NODE) as world:
        await world.add_pods("first", "second", "third", gib=10)
        yield world


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

        answer = await answer_to(asked)
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


MEMBERS = ("m1", "m2", "m3")


async def add_members(world: World, names: Sequence[str]) -> None:
    """Create pods of a group with a claim each; a node has room for one of them."""
    await world.add_pods(*names)
    for name in names:
        found = world.of("pods", name)
        spec = {**found["spec"], "schedulingGroup": {"podGroupName": "gang"}}
        world.server.put({**found, "spec": spec})


async def ask_all(world: World, names: Sequence[str]) -> list[Answer]:
    return [await world.ask(name) for name in names]


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
