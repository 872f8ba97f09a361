"""A hold counts from the answer until Longhorn's objects count its volumes."""

import asyncio
import json
from collections.abc import Callable

import pytest

from extender import End
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.scheduling import HELD, ONE, THREE, TWO, World, serving

pytestmark = VIRTUAL_TIME

Choice = Callable[[World, str, str], None]
CHOICES = pytest.mark.parametrize(
    "choose",
    [
        pytest.param(World.nominate, id="nominated"),
        pytest.param(World.select, id="selected"),
        pytest.param(World.bind, id="bound"),
    ],
)


async def test_an_answer_counts_on_every_node_that_it_accepts() -> None:
    async with serving() as world:
        await world.add_pods("first", "second")

        await world.accept("first", ONE, TWO)
        answer = await world.ask("second")

        assert answer.accepted == [THREE]
        assert answer.rejected == {ONE: HELD, TWO: HELD}


@CHOICES
async def test_once_chosen_it_counts_on_the_chosen_node_alone(choose: Choice) -> None:
    async with serving() as world:
        await world.add_pods("first", "second")
        await world.accept("first")

        choose(world, "first", TWO)
        await world.settled()

        assert await world.held() == [("first", "chosen", (TWO,), (world.volume("first"),))]
        assert (await world.ask("second")).accepted == [ONE, THREE]


async def test_each_step_of_a_pod_with_two_claims_keeps_its_room() -> None:
    """In the order of kube-scheduler 1.36; a pod of 41 GiB fits nowhere beside it."""
    async with serving(nodes=(ONE,)) as world:
        world.add_pod("first", "a", "b", gib=30)
        await world.add_pods("other", gib=41)
        steps: list[Callable[[], None]] = [
            lambda: world.nominate("first", ONE),
            lambda: world.select("a", ONE),
            lambda: world.select("b", ONE),
            lambda: world.provision("a"),
            lambda: world.provision("b"),
            lambda: world.bind("first", ONE),
            lambda: world.place("a"),
            lambda: world.place("a", ONE),
            lambda: world.place("b"),
            lambda: world.place("b", ONE),
        ]
        await world.accept("first")

        for step in steps:
            step()
            assert not (await world.ask("other")).accepted
            await asyncio.sleep(0.05)
            assert not (await world.ask("other")).accepted

        assert await world.ends(End.CONFIRMED) < 0.1


@pytest.mark.parametrize("failed_at", ["", "2026-01-01T00:00:00Z"], ids=["well", "failed"])
async def test_a_placed_replica_ends_a_hold_and_takes_the_room_itself(failed_at: str) -> None:
    async with serving(nodes=(ONE,)) as world:
        await world.add_pods("first", "other")
        await world.accept("first")
        world.bind("first", ONE)
        world.provision("first")

        world.place("first", ONE, failedAt=failed_at)

        await world.ends(End.CONFIRMED)
        assert not (await world.ask("other")).accepted


async def test_the_same_pod_asked_twice_at_once_has_one_hold() -> None:
    async with serving() as world:
        await world.add_pods("first")

        answered: list[tuple[str, ...]] = []

        async def ask(*nodes: str) -> None:
            answered.append(tuple((await world.ask("first", *nodes)).accepted))

        await asyncio.gather(ask(), ask(ONE, TWO))

        assert sorted(answered) == [(ONE, TWO), (ONE, TWO, THREE)]
        assert await world.held_nodes("first") == answered[-1]
        assert world.ended(End.REPLACED) == 1


async def test_an_answer_that_rejects_ends_what_was_held_before() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.accept("first", ONE)
        world.nominate("first", ONE)
        await world.accept("other", TWO)

        answer = await world.ask("first", TWO)

        assert not answer.accepted
        assert [each.pod for each in await world.held()] == ["other"]


async def test_the_only_candidate_is_chosen_at_once() -> None:
    async with serving() as world:
        await world.add_pods("first")

        await world.accept("first", ONE)

        assert await world.held() == [("first", "chosen", (ONE,), (world.volume("first"),))]


async def test_a_pod_that_restarts_where_its_replicas_are_has_no_hold() -> None:
    async with serving() as world:
        await world.add_pods("first")
        world.provision("first")
        world.place("first", TWO, healthyAt="2026-01-01T00:00:00Z")
        await world.settled()

        assert (await world.ask("first")).accepted == [TWO]
        assert await world.held() == []


async def test_a_question_about_no_real_pod_holds_nothing() -> None:
    async with serving() as world:
        await world.add_pods("first")
        request = json.loads(world.request("first"))
        del request["Pod"]["metadata"]["uid"]

        answer = await world.ask("first", request=json.dumps(request).encode())

        assert answer.accepted == [ONE, TWO, THREE]
        assert await world.held() == []
