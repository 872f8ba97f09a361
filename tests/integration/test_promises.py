"""A promise counts from the answer until Longhorn's objects show what was promised."""

import asyncio
import json
from collections.abc import Callable

import pytest

from extender import End
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.promising import ONE, PROMISED, THREE, TWO, World, serving

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

        await world.offer("first", ONE, TWO)
        answer = await world.ask("second")

        assert answer.accepted == [THREE]
        assert answer.rejected == {ONE: PROMISED, TWO: PROMISED}


@CHOICES
async def test_once_chosen_it_counts_on_the_chosen_node_alone(choose: Choice) -> None:
    async with serving() as world:
        await world.add_pods("first", "second")
        await world.offer("first")

        choose(world, "first", TWO)
        await world.settled()

        assert await world.held() == [("first", "placed", (TWO,), (world.volume("first"),))]
        assert (await world.ask("second")).accepted == [ONE, THREE]


@CHOICES
async def test_a_choice_that_was_not_accepted_counts_all_the_same(choose: Choice) -> None:
    async with serving() as world:
        await world.add_pods("first", "second")
        await world.offer("first", ONE, TWO)

        choose(world, "first", THREE)
        await world.settled()

        assert (await world.ask("second")).accepted == [ONE, TWO]


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
        await world.offer("first")

        for step in steps:
            step()
            assert not (await world.ask("other")).accepted
            await asyncio.sleep(0.05)
            assert not (await world.ask("other")).accepted

        assert await world.ends(End.CONFIRMED) < 0.1


async def test_what_is_placed_of_a_promise_counts_once() -> None:
    async with serving(nodes=(ONE,)) as world:
        world.add_pod("first", "a", "b", gib=30)
        await world.add_pods("other", gib=40)
        await world.offer("first")
        world.bind("first", ONE)

        world.provision("a")
        world.place("a", ONE)
        await world.settled()

        assert await world.held_nodes("first") == (ONE,)
        assert (await world.ask("other")).accepted == [ONE]


async def test_a_replica_that_must_come_here_counts_once() -> None:
    async with serving(nodes=(ONE,)) as world:
        await world.add_pods("first")
        await world.add_pods("other", gib=40)
        await world.offer("first")
        world.bind("first", ONE)

        world.provision("first")
        world.place("first", hardNodeAffinity=ONE)
        await world.settled()

        assert await world.held_nodes("first") == (ONE,)
        assert (await world.ask("other")).accepted == [ONE]


@pytest.mark.parametrize("failed_at", ["", "2026-01-01T00:00:00Z"], ids=["well", "failed"])
async def test_a_placed_replica_ends_a_promise_and_takes_the_room_itself(failed_at: str) -> None:
    async with serving(nodes=(ONE,)) as world:
        await world.add_pods("first", "other")
        await world.offer("first")
        world.bind("first", ONE)
        world.provision("first")

        world.place("first", ONE, failedAt=failed_at)

        await world.ends(End.CONFIRMED)
        assert not (await world.ask("other")).accepted


async def test_a_replica_that_fails_after_it_was_placed_takes_the_room_on() -> None:
    async with serving(nodes=(ONE,)) as world:
        await world.add_pods("first", "other")
        await world.offer("first")
        world.run("first", ONE)
        await world.ends(End.CONFIRMED)

        world.place("first", ONE, failedAt="2026-01-01T00:00:00Z")
        await world.settled()

        assert not (await world.ask("other")).accepted


async def test_a_replica_that_went_elsewhere_ends_a_promise() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.offer("first")
        world.bind("first", ONE)
        world.provision("first")

        world.place("first", TWO)

        await world.ends(End.CONFIRMED)
        assert (await world.ask("other")).accepted == [ONE, THREE]


async def test_a_volume_that_went_elsewhere_ends_its_part_of_a_promise() -> None:
    async with serving(nodes=(ONE, TWO)) as world:
        world.add_pod("first", "a", "b", gib=30)
        await world.add_pods("other", gib=70)
        await world.offer("first", ONE, TWO)
        world.bind("first", ONE)

        world.provision("a")
        world.place("a", TWO)
        await world.settled()

        assert await world.held_nodes("first") == (ONE,)
        assert (await world.ask("other")).accepted == [ONE, TWO]


async def test_the_same_pod_asked_twice_at_once_is_promised_once() -> None:
    async with serving() as world:
        await world.add_pods("first")

        answers = await asyncio.gather(world.ask("first"), world.ask("first", ONE, TWO))

        assert [each.accepted for each in answers] == [[ONE, TWO, THREE], [ONE, TWO]]
        assert await world.held_nodes("first") == (ONE, TWO)
        assert world.ended(End.REPLACED) == 1


async def test_a_pod_is_not_in_its_own_way() -> None:
    async with serving() as world:
        await world.add_pods("first")
        for _ in range(5):
            await world.offer("first")

        assert len(await world.held()) == 1


async def test_an_answer_that_rejects_ends_what_was_promised_before() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.offer("first", ONE)
        world.nominate("first", ONE)
        await world.offer("other", TWO)

        answer = await world.ask("first", TWO)

        assert not answer.accepted
        assert [each.pod for each in await world.held()] == ["other"]


async def test_the_only_candidate_is_chosen_at_once() -> None:
    async with serving() as world:
        await world.add_pods("first")

        await world.offer("first", ONE)

        assert await world.held() == [("first", "placed", (ONE,), (world.volume("first"),))]


async def test_a_pod_without_longhorn_volumes_is_promised_nothing() -> None:
    async with serving() as world:
        world.server.put({**world_claim("plain"), "spec": {"volumeName": "local-pv"}})
        world.server.put(
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "local-pv"}}
        )
        world.add_pod("first", "plain")
        await world.settled()

        await world.offer("first")

        assert await world.held() == []


def world_claim(name: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
    }


async def test_a_pod_that_restarts_where_its_replicas_are_is_promised_nothing() -> None:
    async with serving() as world:
        await world.add_pods("first")
        world.provision("first")
        world.place("first", TWO, healthyAt="2026-01-01T00:00:00Z")
        await world.settled()

        assert (await world.ask("first")).accepted == [TWO]
        assert await world.held() == []


async def test_a_pod_that_moves_away_from_its_replica_is_promised_room() -> None:
    async with serving(nodes=(ONE, TWO)) as world:
        await world.add_pods("first", "other")
        world.provision("first")
        world.place("first", TWO, healthyAt="2026-01-01T00:00:00Z")
        await world.settled()
        await world.offer("first", ONE)

        assert not (await world.ask("other")).accepted

        world.bind("first", ONE)
        world.place("first", ONE, number=2)
        await world.ends(End.CONFIRMED)


async def test_a_question_about_no_real_pod_promises_nothing() -> None:
    async with serving() as world:
        await world.add_pods("first")
        request = json.loads(world.request("first"))
        del request["Pod"]["metadata"]["uid"]

        answer = await world.ask("first", request=json.dumps(request).encode())

        assert answer.accepted == [ONE, TWO, THREE]
        assert await world.held() == []
