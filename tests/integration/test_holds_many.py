"""Six hundred holds stand at once, more pods than can be followed one by one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from extender.holds import End
from tests.integration.instances import VIRTUAL_TIME, Process
from tests.integration.scheduling import World, serving

pytestmark = VIRTUAL_TIME

MANY, MANY_PLACED = 600, 60


PODS = [f"pod-{number:04}" for number in range(MANY)]
NODES = tuple(f"room-{number:02}" for number in range(30))
ON_EACH = MANY // len(NODES)


@asynccontextmanager
async def holding_many(count: int = 1) -> AsyncIterator[World]:
    """Serve, with holds that fill all nodes but the last, where one more claim has room."""
    async with serving(count, nodes=NODES, latency_seconds=0.0) as world:
        await world.add_pods(*PODS, "one", "two", gib=100 // ON_EACH)
        await world.settled()
        for number, pod in enumerate(PODS[:-1]):
            await world.accept(pod, NODES[number // ON_EACH])
        yield world


def node_of(pod: str) -> str:
    return NODES[PODS.index(pod) // ON_EACH]


async def test_many_stand_and_are_taken_over_and_end():
    """Only some of the pods can be followed, but all claims are."""
    async with holding_many(2) as world:
        assert world.count("holds", state="chosen") == MANY - 1
        assert (await world.ask("one")).accepted == [NODES[-1]]
        assert not (await world.ask("two")).accepted

        for pod in PODS[:MANY_PLACED]:
            world.run(pod, node_of(pod))
        for pod in PODS[:-1]:
            world.select(pod, node_of(pod))
        await asyncio.sleep(6)
        before = await world.held()
        assert [each.pod for each in before] == PODS[MANY_PLACED:-1]
        assert world.ended(End.CONFIRMED) == MANY_PLACED

        await world.replace_leader(Process.kill)
        assert await world.held() == before
        assert not (await world.ask("one", *NODES[:-1])).accepted

        world.set_config(pod_scheduling_timeout="0")
        await world.settled()
        assert world.ended(End.NOT_BOUND) == len(before)
        assert await world.held() == []
