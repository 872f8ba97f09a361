"""Only the leader wakes pods, also those that the one before rejected."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.instances import VIRTUAL_TIME, Process
from tests.integration.scheduling import ONE, THREE, TWO, serving, wakes

pytestmark = VIRTUAL_TIME


@pytest.mark.parametrize("end", [Process.terminate, Process.kill])
async def test_a_new_leader_wakes_whom_the_one_before_rejected(
    end: Callable[[Process], None],
) -> None:
    async with serving(2) as world:
        await world.add_pods("first", "second")
        await world.accept("first", ONE)
        await world.accept("first")
        await world.reject("second")
        world.refuse("second")
        leader = world.leader
        end(leader)
        await world.processes.until(lambda: not leader.is_leading, within=6)

        await world.answers()
        await world.settled()

        assert world.woken == ["second"]
        assert (await world.ask("second")).accepted == [ONE, TWO, THREE]


async def test_a_new_leader_wakes_nobody_who_needs_no_room() -> None:
    async with serving(2) as world:
        pod: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "plain", "namespace": "default"},
            "spec": {},
            "status": {"phase": "Pending"},
        }
        world.server.put(pod)
        world.refuse("plain")
        await world.add_pods("new", "bound", "huge")
        world.refuse("bound")
        world.bind("bound", ONE)
        leader = world.leader
        leader.terminate()
        await world.processes.until(lambda: not leader.is_leading, within=2)

        await world.answers()
        await world.settled()

        assert world.woken == []


async def test_an_old_leader_wakes_nobody() -> None:
    async with serving(2) as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        await world.reject("second")
        old = world.leader
        old.freeze()
        await world.processes.until(lambda: not old.is_leading, within=6)

        world.delete_pod("first")
        old.resume()
        await asyncio.sleep(12)

        assert old.pod not in {call.client for call in world.server.calls if wakes(call)}
