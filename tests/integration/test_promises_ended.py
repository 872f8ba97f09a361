"""A promise ends when what it was made for does not happen, and no sooner."""

import asyncio
from collections.abc import Callable

import pytest

from extender import End
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.promising import (
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


STATES = pytest.mark.parametrize("state", [nothing, nominate, select, provision, bind])


async def test_a_promise_that_nothing_follows_ends_after_the_scheduling_timeout() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.offer("first")

        took = await world.ends(End.NOT_CHOSEN, within=10)

        assert took == pytest.approx(SCHEDULING_SECONDS, abs=SLACK_SECONDS)
        await world.offer("other")


@STATES
async def test_a_pod_that_is_deleted_ends_its_promise(state: Step) -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        state(world)
        await world.settled()

        world.delete_pod("first")

        await world.ends(End.POD_GONE)


@STATES
async def test_a_pod_that_is_replaced_by_one_of_its_name_ends_its_promise(state: Step) -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        state(world)
        await world.settled()

        world.delete_pod("first")
        world.add_pod("first")

        await world.ends(End.POD_GONE)


@STATES
async def test_a_pod_that_was_deleted_before_its_watch_began_ends_its_promise(state: Step) -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        state(world)

        world.delete_pod("first")

        await world.ends(End.POD_GONE)


async def test_a_pod_that_is_about_to_go_keeps_its_room_only_if_it_is_bound() -> None:
    async with serving() as world:
        await world.add_pods("first", "bound")
        await world.offer("first", ONE)
        await world.offer("bound", TWO)
        world.bind("bound", TWO)
        for pod in ("first", "bound"):
            found = world.of("pods", pod)
            found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            world.server.put(found)

        await world.settled()

        assert [each.pod for each in await world.held()] == ["bound"]
        assert world.ended(End.POD_GONE) == 1


async def test_a_pod_that_has_failed_ends_its_promise() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        bind(world)

        world.server.put({**world.of("pods", "first"), "status": {"phase": "Failed"}})

        await world.ends(End.POD_GONE)


async def test_a_nomination_that_is_taken_back_ends_a_promise() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        nominate(world)
        await world.settled()

        world.nominate("first", "")

        took = await world.ends(End.UNSCHEDULED, within=4)

        assert took == pytest.approx(GIVEN_UP_SECONDS, abs=SLACK_SECONDS)


async def test_a_refusal_ends_an_offer_after_two_seconds() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")

        world.refuse("first")

        took = await world.ends(End.UNSCHEDULED, within=4)

        assert took == pytest.approx(GIVEN_UP_SECONDS, abs=SLACK_SECONDS)


async def test_a_refusal_ends_a_choice_after_two_seconds() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        nominate(world)
        await world.settled()

        world.refuse("first")

        took = await world.ends(End.UNSCHEDULED, within=4)

        assert took == pytest.approx(GIVEN_UP_SECONDS, abs=SLACK_SECONDS)


async def test_a_nominated_pod_with_bound_claims_ends_after_the_scheduling_timeout() -> None:
    async with serving() as world:
        await world.add_pods("first")
        world.select("first", ONE)
        world.provision("first")
        await world.settled()
        await world.offer("first")
        nominate(world)

        took = await world.ends(End.NOT_BOUND, within=10)

        assert took == pytest.approx(SCHEDULING_SECONDS, abs=SLACK_SECONDS)


async def test_a_nominated_pod_with_unbound_claims_ends_as_kube_scheduler_gives_it_up() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        nominate(world)

        await asyncio.sleep(PROVISIONING_SECONDS - 5)

        took = await world.ends(End.NOT_BOUND, within=10)

        assert took == pytest.approx(5, abs=SLACK_SECONDS)


async def test_a_claim_that_is_never_provisioned_keeps_its_room_as_long_as_kube_scheduler() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.offer("first")
        select(world)

        await asyncio.sleep(PROVISIONING_SECONDS - 5)
        assert (await world.ask("other")).accepted == [TWO, THREE]
        world.delete_pod("other")
        await world.settled()

        leader = world.leader
        await world.replicas.until(lambda: world.ended(End.NOT_BOUND, leader), within=5)
        assert await world.held() == []


async def test_a_pod_that_is_bound_late_has_the_whole_time_to_be_placed() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        select(world)
        await asyncio.sleep(100)

        world.provision("first")
        world.bind("first", ONE)

        took = await world.ends(End.NOT_PLACED, within=10)
        assert took == pytest.approx(PLACING_SECONDS, abs=SLACK_SECONDS)


async def test_a_pod_bound_to_a_node_that_was_rejected_takes_no_more_than_its_time() -> None:
    """Its volume fits nowhere there, and Longhorn does not place it."""
    async with serving(nodes=(ONE, TWO)) as world:
        await world.add_pods("full", "first", "other")
        world.run("full", ONE)
        await world.settled()
        assert (await world.ask("first")).accepted == [TWO]

        world.bind("first", ONE)
        await world.settled()

        assert await world.held_nodes("first") == (ONE,)
        assert (await world.ask("other")).accepted == [TWO]
        world.delete_pod("other")
        leader = world.leader
        await world.replicas.until(lambda: world.ended(End.NOT_PLACED, leader), within=10)


async def test_a_claim_provisioned_in_vain_keeps_no_room_once_the_attempt_was_given_up() -> None:
    """Its node is open again, as the volume can be attached anywhere."""
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        provision(world)
        await world.settled()

        world.refuse("first")
        await asyncio.sleep(2 * SCHEDULING_SECONDS)

        assert await world.held() == []
