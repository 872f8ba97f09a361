"""A pod that got no node is woken when there is room for it, since kube-scheduler sees none."""

import asyncio

import pytest

from app.kube.longhorn.resources import NODES, REPLICAS
from tests.builders import GIB
from tests.fakes.installed import NAMESPACE
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.scheduling import ONE, THREE, TWO, World, serving

pytestmark = VIRTUAL_TIME


def grow(world: World, node: str, gib: int) -> None:
    """Give the disk of a node another size."""
    found = world.server.get(NODES.name, node, NAMESPACE)
    assert found is not None
    disk = found["status"]["diskStatus"]["disk-1"]
    disk |= {"storageMaximum": gib * GIB, "storageAvailable": gib * GIB}
    world.server.put(found)


async def test_a_choice_elsewhere_wakes_who_was_rejected() -> None:
    async with serving() as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        await world.reject("second")
        assert not world.woken_at("second")

        world.nominate("first", ONE)
        await world.settled()

        assert world.woken_at("second").endswith("+00:00")
        assert world.woken == ["second"]
        assert (await world.ask("second")).accepted == [TWO, THREE]


@pytest.mark.parametrize("end", ["pod deleted", "disk grown", "replica deleted", "time out"])
async def test_whatever_makes_room_wakes_who_was_rejected(end: str) -> None:
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
            world.server.delete(REPLICAS.name, f"{world.volume('first')}-r-1", NAMESPACE)
        else:
            await asyncio.sleep(5)
        await world.settled()

        assert world.woken == ["second"]


async def test_a_pod_that_was_accepted_meanwhile_is_not_woken() -> None:
    async with serving() as world:
        await world.add_pods("first", "second")
        await world.accept("first", ONE, TWO)
        assert not (await world.ask("second", ONE, TWO)).accepted
        await world.accept("second", THREE)

        world.delete_pod("first")
        await world.settled()

        assert world.woken == []
        assert await world.waiting() == []


@pytest.mark.parametrize("recreated", [False, True], ids=["gone", "another-of-its-name"])
async def test_a_pod_that_is_gone_is_not_woken(*, recreated: bool) -> None:
    async with serving() as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        await world.reject("second")
        world.delete_pod("second")
        if recreated:
            world.add_pod("second")

        world.delete_pod("first")
        await world.settled()

        assert world.woken == ["second"]
        assert await world.waiting() == []
        assert world.count("wake_ups_total", outcome="gone") == 1
        if recreated:
            assert not world.woken_at("second")


async def test_nobody_is_woken_who_does_not_want_it() -> None:
    async with serving(wake_up=False) as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        await world.reject("second")

        world.delete_pod("first")
        await world.settled()

        assert world.woken == []
