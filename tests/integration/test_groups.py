"""Members of a PodGroup, asked about one after another while none of them is bound."""

import asyncio
from collections.abc import Sequence

import pytest

from extender import End
from tests.builders import node_document, runner_documents
from tests.integration.instances import VIRTUAL_TIME, Answer
from tests.integration.scheduling import (
    HELD,
    ONE,
    SCHEDULING_SECONDS,
    THREE,
    TWO,
    World,
    serving,
)

pytestmark = VIRTUAL_TIME

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


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_each_gets_one_node_and_all_find_one() -> None:
    async with serving() as world:
        await add_members(world, MEMBERS)

        answers = await ask_all(world, MEMBERS)

        assert [len(each.accepted) for each in answers] == [1, 1, 1]
        assert {node for each in answers for node in each.accepted} == NODES
        assert [*answers[0].rejected.values()] == [ELSEWHERE, ELSEWHERE]
        assert [each.state for each in await world.held()] == ["chosen"] * 3


async def test_one_too_many_is_told_so_at_once() -> None:
    async with serving(wait_seconds=1.0) as world:
        await add_members(world, (*MEMBERS, "m4"))
        await ask_all(world, MEMBERS)
        before = now()

        last = await world.ask("m4")

        assert (last.accepted, {*last.rejected.values()}) == ([], {HELD})
        assert now() - before < 0.5


async def test_they_are_held_for_until_the_last_one_had_time_to_be_bound() -> None:
    async with serving() as world:
        await add_members(world, MEMBERS)
        for name in MEMBERS:
            await world.ask(name)
            await asyncio.sleep(3.0)

        assert len(await world.held()) == 3
        await asyncio.sleep(SCHEDULING_SECONDS - 2.5)
        assert await world.held() == []
        assert world.ended(End.NOT_BOUND) == 3


async def test_a_leader_that_ends_waits_until_their_nodes_show() -> None:
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


async def test_a_group_that_came_to_nothing_leaves_the_room_to_others_after_two_seconds() -> None:
    async with serving() as world:
        await add_members(world, (*MEMBERS, "m4"))
        await world.add_pods("other")
        await ask_all(world, (*MEMBERS, "m4"))
        for name in MEMBERS:
            world.refuse(name)

        await asyncio.sleep(1.5)
        assert (await world.ask("other")).accepted == []
        await asyncio.sleep(1.5)
        assert {*(await world.ask("other")).accepted} == NODES


@pytest.mark.parametrize("pause", [0.1, 1.0, 4.0])
async def test_another_attempt_finds_the_same_room(pause: float) -> None:
    async with serving() as world:
        await add_members(world, (*MEMBERS, "m4"))
        for _ in range(4):
            answers = await ask_all(world, (*MEMBERS, "m4"))
            assert {node for each in answers for node in each.accepted} == NODES
            await asyncio.sleep(pause)


async def test_a_group_that_does_not_fit_is_not_woken_by_what_was_held_for_itself() -> None:
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
