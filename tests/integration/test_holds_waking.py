"""A pod that got no node is woken when there is room for it, since kube-scheduler sees none."""

import asyncio

import pytest

from app.kube.longhorn.resources import NODES, REPLICAS
from tests.builders import GIB
from tests.fakes.installed import LONGHORN
from tests.integration.instances import VIRTUAL_TIME, Process
from tests.integration.scheduling import HELD, ONE, THREE, TWO, World, serving, wakes

pytestmark = VIRTUAL_TIME


def grow(world: World, node: str, gib: int) -> None:
    """Give the disk of a node another size."""
    found = world.server.get(NODES.name, node, LONGHORN)
    assert found is not None
    disk = found["status"]["diskStatus"]["disk-1"]
    disk |= {"storageMaximum": gib * GIB, "storageAvailable": gib * GIB}
    world.server.put(found)


@pytest.mark.parametrize("end", ["pod deleted", "disk grown", "replica deleted", "time out"])
async def test_whatever_makes_room_wakes_who_was_rejected(end):
    async with serving(nodes=(ONE,)) as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        if end == "replica deleted":
            world.run("first", ONE)
            await world.settled()
        await world.reject("second")

        if end == "pod deleted":
            world.delete_pod("first")
        elif end == "disk grown":
            grow(world, ONE, 120)
        elif end == "replica deleted":
            world.server.delete(REPLICAS.name, f"{world.volume('first')}-r-1", LONGHORN)
        else:
            await asyncio.sleep(5)
        await world.settled()

        assert world.woken == ["second"]


async def test_an_event_that_says_held_is_renewed_once_the_hold_is_over():
    async with serving(nodes=(ONE,)) as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        assert (await world.ask("second")).rejected == {ONE: HELD}

        world.run("first", ONE)
        await world.settled()
        assert world.woken == ["second"]

        await world.reject("second")
        await asyncio.sleep(60)
        assert world.woken == ["second"]


async def test_nobody_is_woken_who_does_not_want_it():
    async with serving(wake_up=False) as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        await world.reject("second")

        world.delete_pod("first")
        await world.settled()

        assert world.woken == []


@pytest.mark.parametrize("end", [Process.terminate, Process.kill])
async def test_a_new_leader_wakes_whom_the_one_before_rejected(end):
    async with serving(2) as world:
        await world.add_pods("first", "second")
        await world.accept("first", ONE)
        await world.accept("first")
        await world.reject("second")
        world.refuse("second")

        await world.replace_leader(end)
        await world.settled()

        assert world.woken == ["second"]
        assert (await world.ask("second")).accepted == [ONE, TWO, THREE]


async def test_an_old_leader_wakes_nobody():
    async with serving(2) as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        await world.reject("second")
        old = world.leader
        old.freeze()
        await world.processes.until(lambda: not old.is_leading, within=7)

        world.delete_pod("first")
        old.resume()
        await asyncio.sleep(12)

        assert old.pod not in {call.client for call in world.server.calls if wakes(call)}
