"""A pod that got no node is woken when there is room for it, since kube-scheduler sees none."""

import asyncio

import pytest

from app.kube.resources import NODES, REPLICAS
from tests.builders import GIB
from tests.fakes import Answer, Fault
from tests.integration.instances import NAMESPACE, VIRTUAL_TIME
from tests.integration.promising import ONE, THREE, TWO, World, serving, wakes

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
        await world.offer("first")
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
        await world.offer("first")
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


async def test_room_that_is_too_small_wakes_nobody() -> None:
    async with serving(nodes=(ONE,)) as world:
        await world.add_pods("first")
        await world.add_pods("huge", gib=150)
        await world.offer("first")
        await world.reject("huge")

        grow(world, ONE, 149)
        world.delete_pod("first")
        await world.settled()

        assert world.woken == []


async def test_room_on_a_node_that_is_no_candidate_wakes_nobody() -> None:
    async with serving(nodes=(ONE, TWO)) as world:
        await world.add_pods("first", "second")
        await world.offer("first", ONE, TWO)
        assert not (await world.ask("second", ONE)).accepted

        world.nominate("first", ONE)
        await world.settled()

        assert world.woken == []


async def test_a_pod_is_woken_once_for_each_rejection() -> None:
    async with serving(nodes=(ONE,)) as world:
        await world.add_pods("huge", gib=110)
        await world.reject("huge")
        for gib in (120, 130, 140):
            grow(world, ONE, gib)
            await world.settled()
        assert world.woken == ["huge"]
        grow(world, ONE, 100)
        await world.settled()

        await world.reject("huge")
        grow(world, ONE, 120)
        await world.settled()

        assert world.woken == ["huge", "huge"]


async def test_a_pod_rejected_while_it_is_being_woken_is_woken_again() -> None:
    """kube-scheduler is faster than the answer to our patch, and the room is gone again."""
    async with serving(nodes=(ONE,)) as world:
        await world.add_pods("huge", gib=110)
        await world.reject("huge")
        world.server.latency = lambda call: (0.0, 0.2 if wakes(call) else 0.0)
        grow(world, ONE, 120)
        await asyncio.sleep(0.1)
        assert world.woken_at("huge")
        grow(world, ONE, 100)
        await asyncio.sleep(0.05)
        await world.reject("huge")
        await world.settled()

        grow(world, ONE, 120)
        await world.settled()

        assert world.woken == ["huge", "huge"]


async def test_who_has_waited_longest_is_woken_first() -> None:
    async with serving() as world:
        pods = ["e", "b", "d", "a", "c"]
        await world.add_pods("first", *pods)
        await world.offer("first")
        await world.reject(*pods)
        await world.reject("e")

        world.delete_pod("first")
        await world.settled()

        assert world.woken == pods


async def test_no_more_are_woken_than_there_is_room_for() -> None:
    async with serving(nodes=(ONE,)) as world:
        await world.add_pods("first", "second", "third")
        await world.offer("first")
        await world.reject("second", "third")

        async def ask_when_woken() -> None:
            await world.replicas.until(lambda: world.woken_at("second"), within=1, glance=0.005)
            assert (await world.ask("second")).accepted == [ONE]

        world.delete_pod("first")
        await ask_when_woken()
        await world.settled()

        assert world.woken == ["second"]
        assert await world.waiting() == ["third"]


async def test_a_pod_that_was_accepted_meanwhile_is_not_woken() -> None:
    async with serving() as world:
        await world.add_pods("first", "second")
        await world.offer("first", ONE, TWO)
        assert not (await world.ask("second", ONE, TWO)).accepted
        await world.offer("second", THREE)

        world.delete_pod("first")
        await world.settled()

        assert world.woken == []
        assert await world.waiting() == []


@pytest.mark.parametrize("recreated", [False, True], ids=["gone", "another-of-its-name"])
async def test_a_pod_that_is_gone_is_not_woken(*, recreated: bool) -> None:
    async with serving() as world:
        await world.add_pods("first", "second")
        await world.offer("first")
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


@pytest.mark.parametrize("status", [403, 429, 500])
async def test_a_wake_up_that_fails_is_tried_again(status: int) -> None:
    async with serving() as world:
        await world.add_pods("first", "second", "third")
        await world.offer("first")
        await world.reject("second", "third")
        world.server.faults.append(Fault(Answer(status), wakes, times=3))

        world.delete_pod("first")
        await asyncio.sleep(10)

        assert world.woken_at("second")
        assert world.woken_at("third")
        assert world.count("wake_ups_total", outcome="failed") == 3
        assert world.count("wake_ups_total", outcome="woken") == 2


async def test_nobody_is_woken_who_does_not_want_it() -> None:
    async with serving(wake_up=False) as world:
        await world.add_pods("first", "second")
        await world.offer("first")
        await world.reject("second")

        world.delete_pod("first")
        await world.settled()

        assert world.woken == []
