"""News of a pod may be old or late; only what happened after the answer counts."""

import asyncio
from typing import Any

import pytest

from tests.fakes import Answer, Fault, WatchCut, WatchGarbage
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.scheduling import ONE, THREE, TWO, World, event, follows, serving

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

        await world.accept("first")
        await world.settled()

        assert await world.held_nodes("first") == (ONE, TWO, THREE)
        await asyncio.sleep(3)
        assert await world.held_nodes("first") == (ONE, TWO, THREE)


async def test_news_that_comes_late_comes_to_the_same() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        delay_watches(world, 2.0)
        await world.accept("first")
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
        await world.accept("first")

        world.select("first", TWO)
        await world.settled()

        assert await world.held_nodes("first") == (TWO,)


@pytest.mark.parametrize("kind", [WatchCut(), Answer(410), Answer(403)])
async def test_a_watch_that_is_begun_anew_tells_what_was_missed(kind: Any) -> None:
    async with serving() as world:
        await world.add_pods("first")
        world.server.faults.append(Fault(kind, follows))
        await world.accept("first")
        await asyncio.sleep(0.1)

        world.nominate("first", TWO)
        await asyncio.sleep(1.5)

        assert await world.held_nodes("first") == (TWO,)
