"""A hold counts from the answer until Longhorn counts its volumes, or the pod is given up.

What is seen of a pod, and what ends its hold, is told in rows below tests/unit/extender/holds.
"""

import asyncio
from collections.abc import Callable

from extender.holds import End
from tests.fakes import Answer, Fault
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.scheduling import ONE, THREE, TWO, follows, serving

pytestmark = VIRTUAL_TIME


async def test_each_step_of_a_pod_with_two_claims_keeps_its_room():
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


async def test_the_same_pod_asked_twice_at_once_has_one_hold():
    async with serving() as world:
        await world.add_pods("first")

        answered: list[tuple[str, ...]] = []

        async def ask(*nodes: str) -> None:
            answered.append(tuple((await world.ask("first", *nodes)).accepted))

        await asyncio.gather(ask(), ask(ONE, TWO))

        assert sorted(answered) == [(ONE, TWO), (ONE, TWO, THREE)]
        assert await world.held_nodes("first") == answered[-1]
        assert world.ended(End.REPLACED) == 1


async def test_a_pod_that_restarts_where_its_replicas_are_has_no_hold():
    async with serving() as world:
        await world.add_pods("first")
        world.provision("first")
        world.place("first", TWO, healthyAt="2026-01-01T00:00:00Z")
        await world.settled()

        assert (await world.ask("first")).accepted == [TWO]
        assert await world.held() == []


async def test_a_selection_that_is_no_more_ends_a_hold():
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        world.select("first", ONE)
        await world.settled()

        world.delete_claim("first")

        await world.ends(End.UNSCHEDULED, within=4)


async def test_a_longer_timeout_lets_a_hold_stand_and_its_end_ends_it():
    async with serving() as world:
        await world.add_pods("first")
        world.set_config(pod_scheduling_timeout="100")
        await world.settled()
        await world.accept("first")
        await asyncio.sleep(50)
        assert await world.held_nodes("first") == (ONE, TWO, THREE)

        world.set_config(pod_scheduling_timeout="5")

        await world.ends(End.NOT_CHOSEN)


async def test_a_shorter_timeout_lets_who_waits_be_answered():
    async with serving(nodes=(ONE, TWO), wait_seconds=10.0) as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        asked = asyncio.create_task(world.ask("second"))
        await world.settled()

        world.set_config(pod_scheduling_timeout="0")
        await asyncio.sleep(0.1)

        assert asked.done()
        assert (await asked).accepted == [ONE, TWO]


async def test_a_claim_tells_of_the_node_while_the_watch_of_the_pod_is_broken():
    async with serving() as world:
        await world.add_pods("first")
        world.server.faults.append(Fault(Answer(500), follows, times=None))
        await world.accept("first")

        world.select("first", TWO)
        await world.settled()

        assert await world.held_nodes("first") == (TWO,)
