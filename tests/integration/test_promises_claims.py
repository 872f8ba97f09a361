"""What becomes of a pod's claims tells of its promise, or leaves it alone."""

import pytest

from extender import End
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.promising import ONE, THREE, TWO, serving

pytestmark = VIRTUAL_TIME


@pytest.mark.parametrize("change", ["deleted", "removed"])
async def test_a_selection_that_is_no_more_ends_a_promise(change: str) -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        world.select("first", ONE)
        await world.settled()

        if change == "deleted":
            world.delete_claim("first")
        else:
            world.select("first", "")

        await world.ends(End.UNSCHEDULED, within=4)


async def test_a_claim_that_is_deleted_leaves_the_nomination() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        world.nominate("first", ONE)
        world.select("first", ONE)
        await world.settled()

        world.delete_claim("first")
        await world.settled()

        assert await world.held_nodes("first") == (ONE,)
        world.nominate("first", "")
        await world.ends(End.UNSCHEDULED, within=4)


async def test_a_claim_that_is_deleted_leaves_the_binding() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        world.select("first", ONE)
        world.provision("first")
        world.bind("first", ONE)
        await world.settled()

        world.delete_claim("first")
        await world.settled()

        assert await world.held_nodes("first") == (ONE,)


async def test_a_claim_that_is_deleted_before_a_choice_leaves_the_offer() -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")

        world.delete_claim("first")
        await world.settled()

        assert await world.held_nodes("first") == (ONE, TWO, THREE)


async def test_a_selection_that_changes_moves_a_promise() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.offer("first")
        world.select("first", ONE)
        await world.settled()

        world.select("first", TWO)
        await world.settled()

        assert await world.held_nodes("first") == (TWO,)
        assert (await world.ask("other")).accepted == [ONE, THREE]
