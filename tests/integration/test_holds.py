"""A hold counts from the answer until Longhorn counts its volumes, or the pod is given up."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from extender.holds import End
from tests.fakes import Answer, Fault, Object, WatchGarbage
from tests.integration.instances import VIRTUAL_TIME, setting
from tests.integration.scheduling import (
    HELD,
    ONE,
    SCHEDULING_SECONDS,
    THREE,
    TWO,
    World,
    event,
    follows,
    serving,
)

pytestmark = VIRTUAL_TIME

Choice = Callable[[World, str, str], None]
CHOICES = pytest.mark.parametrize(
    "choose",
    [
        pytest.param(World.nominate, id="nominated"),
        pytest.param(World.select, id="selected"),
        pytest.param(World.bind, id="bound"),
    ],
)


async def test_an_answer_counts_on_every_node_that_it_accepts():
    async with serving() as world:
        await world.add_pods("first", "second")

        await world.accept("first", ONE, TWO)
        answer = await world.ask("second")

        assert answer.accepted == [THREE]
        assert answer.rejected == {ONE: HELD, TWO: HELD}


@CHOICES
async def test_once_chosen_it_counts_on_the_chosen_node_alone(choose):
    async with serving() as world:
        await world.add_pods("first", "second")
        await world.accept("first")

        choose(world, "first", TWO)
        await world.settled()

        assert await world.held() == [("first", "chosen", (TWO,), (world.volume("first"),))]
        assert (await world.ask("second")).accepted == [ONE, THREE]


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


Step = Callable[[World], None]
SLACK_SECONDS = 0.3


def nothing(_: World) -> None:
    """Leave the pod as it was at the answer."""


def nominate(world: World) -> None:
    world.nominate("first", ONE)


def select(world: World) -> None:
    nominate(world)
    world.select("first", ONE)


def provision(world: World) -> None:
    select(world)
    world.provision("first")


def bind(world: World) -> None:
    provision(world)
    world.bind("first", ONE)


async def test_a_hold_that_nothing_follows_ends_after_the_scheduling_timeout():
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.accept("first")

        took = await world.ends(End.NOT_CHOSEN, within=10)

        assert took == pytest.approx(SCHEDULING_SECONDS, abs=SLACK_SECONDS)
        await world.accept("other")


@pytest.mark.parametrize("state", [nothing, select, bind])
@pytest.mark.parametrize("gone", ["deleted", "replaced", "before its watch begins"])
async def test_a_pod_that_is_gone_ends_its_hold(state, gone):
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        state(world)
        if gone != "before its watch begins":
            await world.settled()

        world.delete_pod("first")
        if gone == "replaced":
            world.add_pod("first")

        await world.ends(End.POD_GONE)


async def test_a_pod_that_is_about_to_go_keeps_its_room_only_if_it_is_bound():
    async with serving() as world:
        await world.add_pods("first", "bound")
        await world.accept("first", ONE)
        await world.accept("bound", TWO)
        world.bind("bound", TWO)
        for pod in ("first", "bound"):
            found = world.of("pods", pod)
            found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            world.server.put(found)

        await world.settled()

        assert [each.pod for each in await world.held()] == ["bound"]
        assert world.ended(End.POD_GONE) == 1


@pytest.mark.parametrize("change", ["deleted", "removed"])
async def test_a_selection_that_is_no_more_ends_a_hold(change):
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        world.select("first", ONE)
        await world.settled()

        if change == "deleted":
            world.delete_claim("first")
        else:
            world.select("first", "")

        await world.ends(End.UNSCHEDULED, within=4)


SCHEDULING = "scheduler-extender-pod-scheduling-timeout"


@pytest.mark.parametrize("seconds", ["0", "1"])
async def test_a_shorter_scheduling_timeout_ends_what_stands_too_long(seconds):
    async with serving() as world:
        world.set_config(pod_scheduling_timeout="600")
        await world.add_pods("first")
        await world.settled()
        await world.accept("first")
        await asyncio.sleep(100)
        assert await world.held_nodes("first") == (ONE, TWO, THREE)

        world.set_config(pod_scheduling_timeout=seconds)

        await world.ends(End.NOT_CHOSEN)


async def test_a_longer_timeout_lets_a_hold_stand_and_its_end_ends_it():
    async with serving() as world:
        await world.add_pods("first", "second")
        world.server.put(setting(SCHEDULING, "0"))  # of Longhorn's own extender
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


async def test_what_was_before_kube_schedulers_copy_counts_for_nothing():
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


async def test_a_claim_tells_of_the_node_while_the_watch_of_the_pod_is_broken():
    async with serving() as world:
        await world.add_pods("first")
        world.server.faults.append(Fault(Answer(500), follows, times=None))
        await world.accept("first")

        world.select("first", TWO)
        await world.settled()

        assert await world.held_nodes("first") == (TWO,)


ODD: list[Any] = [
    pytest.param({"status": None}, id="no-status"),
    pytest.param({"status": {"conditions": None, "nominatedNodeName": None}}, id="nulls"),
    pytest.param({"status": {"conditions": [{"type": "PodScheduled"}]}}, id="no-condition-status"),
    pytest.param({"metadata": {"resourceVersion": None}}, id="no-version"),
    pytest.param({"metadata": {"resourceVersion": "abc"}}, id="no-number"),
]


def changed(pod: Object, change: dict[str, Any]) -> Object:
    """Return a pod with other fields; those of its metadata are merged."""
    return {**pod, **change, "metadata": {**pod["metadata"], **change.get("metadata", {})}}


@pytest.mark.parametrize("change", [*ODD, pytest.param({"status": "?"}, id="broken")])
async def test_an_odd_pod_in_the_watch_ends_no_hold(change):
    async with serving() as world:
        await world.add_pods("first")
        odd = changed(world.of("pods", "first"), change)
        world.server.faults.append(Fault(WatchGarbage(event("MODIFIED", odd)), follows))
        await world.accept("first")
        await world.settled()
        assert await world.held_nodes("first") == (ONE, TWO, THREE)

        world.nominate("first", TWO)
        await world.settled()

        assert await world.held_nodes("first") == (TWO,)


@pytest.mark.parametrize("broken", [{"status": "?"}, {"spec": 1}])
async def test_a_broken_pod_in_the_list_keeps_no_leader_from_answering(broken):
    async with serving(2) as world:
        await world.add_pods("first", "broken")
        await world.accept("first")
        world.select("first", ONE)
        await world.settled()
        before = await world.held()
        found = world.of("pods", "broken")
        status = {"phase": "Pending", "conditions": "?"}
        world.server.put({**found, **broken, "status": broken.get("status", status)})

        await world.replace_leader()

        assert await world.held() == before
