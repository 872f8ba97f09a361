"""A hold ends when the pod is not placed after all, and no sooner."""

import asyncio
from collections.abc import Callable

import pytest

from extender import End
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.scheduling import (
    ONE,
    PLACING_SECONDS,
    SCHEDULING_SECONDS,
    THREE,
    TWO,
    World,
    serving,
)

pytestmark = VIRTUAL_TIME

Step = Callable[[World], None]
PROVISIONING_SECONDS = 600.0
GIVEN_UP_SECONDS = 2.0
"""A refusal may be an earlier attempt's, which is written late."""
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


STATES = pytest.mark.parametrize("state", [nothing, select, bind])


async def test_a_hold_that_nothing_follows_ends_after_the_scheduling_timeout() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.accept("first")

        took = await world.ends(End.NOT_CHOSEN, within=10)

        assert took == pytest.approx(SCHEDULING_SECONDS, abs=SLACK_SECONDS)
        await world.accept("other")


@STATES
async def test_a_pod_that_is_deleted_ends_its_hold(state: Step) -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        state(world)
        await world.settled()

        world.delete_pod("first")

        await world.ends(End.POD_GONE)


@STATES
async def test_a_pod_that_is_replaced_by_one_of_its_name_ends_its_hold(state: Step) -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        state(world)
        await world.settled()

        world.delete_pod("first")
        world.add_pod("first")

        await world.ends(End.POD_GONE)


@STATES
async def test_a_pod_that_was_deleted_before_its_watch_began_ends_its_hold(state: Step) -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        state(world)

        world.delete_pod("first")

        await world.ends(End.POD_GONE)


async def test_a_pod_that_is_about_to_go_keeps_its_room_only_if_it_is_bound() -> None:
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


async def test_a_refusal_ends_an_open_hold_after_two_seconds() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")

        world.refuse("first")

        took = await world.ends(End.UNSCHEDULED, within=4)

        assert took == pytest.approx(GIVEN_UP_SECONDS, abs=SLACK_SECONDS)


async def test_a_nominated_pod_with_unbound_claims_ends_as_kube_scheduler_gives_it_up() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        nominate(world)

        await asyncio.sleep(PROVISIONING_SECONDS - 5)

        took = await world.ends(End.NOT_BOUND, within=10)

        assert took == pytest.approx(5, abs=SLACK_SECONDS)


async def test_a_pod_that_is_bound_late_has_the_whole_time_to_be_placed() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        select(world)
        await asyncio.sleep(100)

        world.provision("first")
        world.bind("first", ONE)

        took = await world.ends(End.NOT_PLACED, within=1.1 * PLACING_SECONDS)
        assert took == pytest.approx(PLACING_SECONDS, rel=0.02)


@pytest.mark.parametrize("change", ["deleted", "removed"])
async def test_a_selection_that_is_no_more_ends_a_hold(change: str) -> None:
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


async def test_a_claim_that_is_deleted_leaves_the_binding() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        world.select("first", ONE)
        world.provision("first")
        world.bind("first", ONE)
        await world.settled()

        world.delete_claim("first")
        await world.settled()

        assert await world.held_nodes("first") == (ONE,)


async def test_a_selection_that_changes_moves_a_hold() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.accept("first")
        world.select("first", ONE)
        await world.settled()

        world.select("first", TWO)
        await world.settled()

        assert await world.held_nodes("first") == (TWO,)
        assert (await world.ask("other")).accepted == [ONE, THREE]
