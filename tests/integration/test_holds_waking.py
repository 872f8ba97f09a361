"""A pod that got no node is woken when there is room for it, since kube-scheduler sees none."""

import asyncio

from app.kube.longhorn.resources import NODES
from tests.builders import GIB
from tests.fakes.installed import LONGHORN
from tests.integration.instances import VIRTUAL_TIME, Process
from tests.integration.scheduling import ONE, THREE, TWO, serving, wakes

pytestmark = VIRTUAL_TIME


async def test_a_disk_that_grows_wakes_who_was_rejected():
    async with serving(nodes=(ONE,)) as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        await world.reject("second")

        found = world.server.get(NODES.name, ONE, LONGHORN)
        assert found is not None
        disk = found["status"]["diskStatus"]["disk-1"]
        disk |= {"storageMaximum": 120 * GIB, "storageAvailable": 120 * GIB}
        world.server.put(found)
        await world.settled()

        assert world.woken == ["second"]


async def test_nobody_is_woken_who_does_not_want_it():
    async with serving(wake_up=False) as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        await world.reject("second")

        world.delete_pod("first")
        await world.settled()

        assert world.woken == []


async def test_a_new_leader_wakes_whom_the_one_before_rejected():
    async with serving(2) as world:
        await world.add_pods("first", "second")
        await world.accept("first", ONE)
        await world.accept("first")
        await world.reject("second")
        world.refuse("second")

        await world.replace_leader(Process.kill)
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
