"""What becomes of holds shows in the metrics, and in one line of the log for each."""

import asyncio
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from extender import Mode
from extender.holds import End
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.scheduling import ONE, PLACING_SECONDS, TWO, World, serving

pytestmark = VIRTUAL_TIME

WAITED = "pod_scheduling_wait_duration_seconds"
RESERVED = "node_reservation_duration_seconds"
CHOSEN = "node_choice_duration_seconds"


def observed(world: World, name: str, **labels: str) -> tuple[float, float]:
    """Return how often something was observed, and the sum of it."""
    count = world.count(f"{name}_count", None, **labels)
    return count, round(world.count(f"{name}_sum", None, **labels), 1)


async def test_a_pod_that_goes_all_the_way_is_timed_in_three_parts():
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        assert world.count("holds", state="open") == 1
        await asyncio.sleep(1)
        world.select("first", ONE)
        await asyncio.sleep(2)
        assert world.count("holds", state="chosen") == 1
        world.bind("first", ONE)
        await asyncio.sleep(3)
        world.provision("first")
        world.place("first", ONE)
        await world.settled()

        assert observed(world, CHOSEN) == (1, 1.0)
        assert observed(world, WAITED, pod_scheduled="true") == (1, 3.0)
        assert observed(world, RESERVED, replicas_scheduled="true") == (1, 3.0)
        assert world.ended(End.CONFIRMED) == 1
        assert world.count("holds", state="chosen") == 0


async def test_a_pod_whose_replicas_are_not_placed_is_timed_until_the_end():
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")
        await world.settled()
        world.bind("first", ONE)
        world.provision("first")
        await asyncio.sleep(2 * PLACING_SECONDS)
        assert await world.held_nodes("first") == (ONE,)
        world.attach("first", ONE)

        await asyncio.sleep(PLACING_SECONDS + 1)

        assert observed(world, WAITED, pod_scheduled="true") == (1, 0.5)
        assert observed(world, RESERVED, replicas_scheduled="false") == (1, 3 * PLACING_SECONDS)


async def test_in_mode_node_the_time_for_placing_begins_with_the_binding():
    """It closes the node to others."""
    async with serving(reservation_mode=Mode.NODE) as world:
        await world.add_pods("first")
        await world.accept("first")
        await world.settled()
        world.bind("first", ONE)

        await asyncio.sleep(PLACING_SECONDS + 1)

        assert observed(world, RESERVED, replicas_scheduled="false") == (1, PLACING_SECONDS)


async def test_a_hold_does_not_end_by_what_is_on_its_way_to_a_process_that_stood_still():
    async with serving() as world:
        await world.add_pods("first")
        await world.settled()
        await world.accept("first", ONE)
        await asyncio.sleep(3)
        world.leader.freeze()
        await asyncio.sleep(2.3)

        world.leader.resume()
        await asyncio.sleep(0.01)
        world.bind("first", ONE)
        await world.settled()

        assert world.ended(End.NOT_CHOSEN) == 0
        assert [(each.pod, each.state) for each in await world.held()] == [("first", "chosen")]


def let_time_run_out(_: World) -> None:
    """Do nothing."""


def bind_and_place_late(world: World) -> None:
    """Bind the pod, with five seconds for its replicas."""
    world.set_config(node_reservation_timeout="5")
    world.bind("first", TWO)
    world.provision("first")
    world.attach("first", TWO)


ENDS: dict[str, tuple[Callable[[World], None], str, str, float]] = {
    # What is done, and the cause, the node and the seconds of the line.
    "nothing": (let_time_run_out, "not_chosen", "", 5.0),
    "deleted": (lambda world: world.delete_pod("first"), "pod_gone", "", 0.2),
    "refused": (lambda world: world.refuse("first"), "unscheduled", "", 2.2),
    "bound": (bind_and_place_late, "not_placed", TWO, 5.2),
    "run": (lambda world: world.run("first", TWO), "confirmed", TWO, 0.2),
    "disabled": (lambda world: world.set_config(enabled="false"), "handed_over", "", 0.5),
}


@pytest.mark.parametrize(("step", "why", "node", "seconds"), ENDS.values(), ids=ENDS)
async def test_each_end_is_one_line(step, why, node, seconds):
    async with serving() as world:
        await world.add_pods("first")
        await world.accept("first")

        with capture_logs() as lines:
            step(world)
            await asyncio.sleep(7)

        [line] = [line for line in lines if line["event"] == "hold.ended"]
        assert line.pop("seconds") == pytest.approx(seconds, abs=0.5)
        assert line == {
            "event": "hold.ended",
            "log_level": "info",
            "pod": "default/first",
            "node": node,
            "why": why,
        }


async def test_who_waits_to_be_woken_is_counted():
    async with serving(nodes=(ONE,)) as world:
        await world.add_pods("first", "second")
        await world.accept("first")
        assert not (await world.ask("second")).accepted
        assert world.count("waiting_pods") == 1

        with capture_logs() as lines:
            await asyncio.sleep(1)
            world.delete_pod("first")
            await world.settled()

        assert world.count("wake_ups_total", outcome="woken") == 1
        [line] = [line for line in lines if line["event"] == "pod.woken"]
        assert line["pod"] == "default/second"
        assert line["waited_seconds"] == pytest.approx(1.0, abs=0.1)

        await world.accept("second")
        assert world.count("waiting_pods") == 0
