"""What is heard of a pod may be old, late or odd; a promise stands by what came after it."""

import asyncio
from typing import Any

import pytest

from tests.fakes import Answer, Fault, WatchCut, WatchGarbage
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.promising import ONE, THREE, TWO, World, event, follows, serving

pytestmark = VIRTUAL_TIME


def delay_watches(world: World, seconds: float) -> None:
    """Have news of pods come late."""
    world.server.watch_delay = lambda call: seconds if follows(call) else 0.0


async def test_what_was_before_kube_schedulers_copy_counts_for_nothing() -> None:
    """A watch tells of an earlier attempt: nominated, and given up again."""
    async with serving() as world:
        await world.add_pods("first")
        world.nominate("first", TWO)
        nominated = world.of("pods", "first")
        world.refuse("first")
        refused = world.of("pods", "first")
        world.server.faults.append(
            Fault(WatchGarbage(event("MODIFIED", nominated) + event("MODIFIED", refused)), follows)
        )

        await world.offer("first")
        await world.settled()

        assert await world.held_nodes("first") == (ONE, TWO, THREE)
        await asyncio.sleep(3)
        assert await world.held_nodes("first") == (ONE, TWO, THREE)


async def test_an_old_nomination_told_of_late_is_no_choice() -> None:
    async with serving() as world:
        await world.add_pods("first")
        world.nominate("first", TWO)
        nominated = world.of("pods", "first")
        world.nominate("first", "")
        world.server.faults.append(Fault(WatchGarbage(event("MODIFIED", nominated)), follows))

        await world.offer("first")
        await world.settled()

        assert await world.held_nodes("first") == (ONE, TWO, THREE)


async def test_a_nomination_that_was_there_at_the_answer_is_no_choice() -> None:
    async with serving() as world:
        await world.add_pods("first")
        world.nominate("first", TWO)

        await world.offer("first")
        await world.settled()

        assert await world.held_nodes("first") == (ONE, TWO, THREE)


async def test_a_refusal_that_was_there_at_the_answer_ends_nothing() -> None:
    async with serving() as world:
        await world.add_pods("first")
        world.refuse("first")

        await world.offer("first")
        await asyncio.sleep(4)

        assert await world.held_nodes("first") == (ONE, TWO, THREE)


@pytest.mark.parametrize("seconds", [0.0, 0.03, 1.5])
async def test_a_refusal_of_an_earlier_attempt_ends_nothing_if_a_node_is_named_then(
    seconds: float,
) -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.offer("first")
        world.refuse("first")
        await asyncio.sleep(seconds)

        world.select("first", TWO)
        world.nominate("first", TWO)
        await asyncio.sleep(4)

        assert await world.held_nodes("first") == (TWO,)
        assert (await world.ask("other")).accepted == [ONE, THREE]


async def test_a_refusal_of_an_earlier_attempt_may_come_after_the_nomination() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        world.nominate("first", TWO)
        await world.settled()
        pod = world.of("pods", "first")
        condition = {"type": "PodScheduled", "status": "False", "message": "earlier"}

        world.server.put({**pod, "status": {**pod["status"], "conditions": [condition]}})
        await world.settled()

        assert await world.held_nodes("first") == (TWO,)


async def test_a_refusal_ends_the_promise_of_the_next_attempt_only_if_it_is_new() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        world.refuse("first", at="1")
        await world.settled()
        await world.offer("first")
        await asyncio.sleep(3)
        assert await world.held_nodes("first") == (ONE, TWO, THREE)

        world.refuse("first", at="2")
        await asyncio.sleep(2.5)

        assert await world.held() == []


async def test_news_that_comes_late_comes_to_the_same() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        delay_watches(world, 2.0)
        await world.offer("first")
        await world.settled()
        world.nominate("first", ONE)
        await asyncio.sleep(1)
        assert await world.held_nodes("first") == (ONE, TWO, THREE)

        await asyncio.sleep(3)

        assert await world.held_nodes("first") == (ONE,)


async def test_a_claim_tells_of_the_node_while_the_watch_of_the_pod_is_broken() -> None:
    async with serving() as world:
        await world.add_pods("first")
        world.server.faults.append(Fault(Answer(500), follows, times=None))
        await world.offer("first")

        world.select("first", TWO)
        await world.settled()

        assert await world.held_nodes("first") == (TWO,)


@pytest.mark.parametrize("kind", [WatchCut(), Answer(410), Answer(403)])
async def test_a_watch_that_is_begun_anew_tells_what_was_missed(kind: Any) -> None:
    async with serving() as world:
        await world.add_pods("first")
        world.server.faults.append(Fault(kind, follows))
        await world.offer("first")
        await asyncio.sleep(0.1)

        world.nominate("first", TWO)
        await asyncio.sleep(1.5)

        assert await world.held_nodes("first") == (TWO,)


async def test_a_selection_that_is_taken_back_and_made_again_counts() -> None:
    """kube-scheduler knew that it was taken back before we did."""
    async with serving() as world:
        await world.add_pods("first", "other")
        world.select("first", ONE)
        await world.settled()
        await world.offer("first")
        assert await world.held_nodes("first") == (ONE, TWO, THREE)
        world.select("first", "")
        await world.settled()

        world.select("first", ONE)
        await asyncio.sleep(20)

        assert await world.held_nodes("first") == (ONE,)
        assert (await world.ask("other")).accepted == [TWO, THREE]
