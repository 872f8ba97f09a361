"""The two timeouts change while holds stand."""

import asyncio

import pytest

from extender import End
from tests.fakes.installed import NAMESPACE
from tests.integration.instances import VIRTUAL_TIME, setting
from tests.integration.scheduling import ONE, THREE, TWO, serving

pytestmark = VIRTUAL_TIME

SCHEDULING = "scheduler-extender-pod-scheduling-timeout"


async def test_with_a_scheduling_timeout_of_zero_nothing_is_held() -> None:
    async with serving() as world:
        world.set_config(pod_scheduling_timeout="0")
        await world.add_pods("first", "second")
        await world.settled()

        await world.accept("first")
        await world.accept("second")

        assert await world.held() == []


@pytest.mark.parametrize("seconds", ["0", "1"])
async def test_a_shorter_scheduling_timeout_ends_what_stands_too_long(seconds: str) -> None:
    async with serving() as world:
        world.set_config(pod_scheduling_timeout="600")
        await world.add_pods("first")
        await world.settled()
        await world.accept("first")
        await asyncio.sleep(100)
        assert await world.held_nodes("first") == (ONE, TWO, THREE)

        world.set_config(pod_scheduling_timeout=seconds)

        await world.ends(End.NOT_CHOSEN)


async def test_a_longer_scheduling_timeout_keeps_what_stands() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        await asyncio.sleep(4.9)

        world.set_config(pod_scheduling_timeout="60")
        await asyncio.sleep(50)
        assert await world.held_nodes("first") == (ONE, TWO, THREE)

        await world.ends(End.NOT_CHOSEN, within=10)


async def test_a_longhorn_setting_ends_what_stands_too_long_and_its_end_is_heard_of() -> None:
    async with serving() as world:
        await world.add_pods("first", "second")
        world.server.put(setting(SCHEDULING, "100"))
        await world.settled()
        await world.accept("first")
        await asyncio.sleep(50)
        assert await world.held_nodes("first") == (ONE, TWO, THREE)

        world.server.delete("settings.longhorn.io", SCHEDULING, NAMESPACE)

        await world.ends(End.NOT_CHOSEN)


async def test_a_shorter_timeout_lets_who_waits_be_answered() -> None:
    async with serving(nodes=(ONE, TWO), wait_seconds=10.0) as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        asked = asyncio.create_task(world.ask("second"))
        await world.settled()

        world.set_config(pod_scheduling_timeout="0")
        await asyncio.sleep(0.1)

        assert asked.done()
        assert (await asked).accepted == [ONE, TWO]
