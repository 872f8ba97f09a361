"""The scheduling cycle: one pod at a time, with which nodes, and what becomes of failures."""

import asyncio

import pytest

from tests.actors.scheduler import Answered, Choice
from tests.unit.actors.bench import settle
from tests.unit.actors.scheduling import NODES, Stage
from tests.unit.actors.world import VIRTUAL_TIME

pytestmark = VIRTUAL_TIME

PINNED = "node-2"


async def test_a_pod_without_volumes_is_bound_at_once() -> None:
    stage = Stage()
    async with stage.running():
        stage.put_pod("web")
        await settle()

        assert stage.node_of("web") in NODES
        assert stage.writes() == ["create pods/binding web"]


async def test_pods_are_looked_at_one_after_the_other() -> None:
    stage = Stage()
    stage.extender.seconds = 1.0
    async with stage.running():
        for name in ("a", "b", "c"):
            stage.put_pod(name)
        await asyncio.sleep(5)

    times = [round(at) for at, _, _ in stage.extender.asked]
    assert stage.extender.pods_asked() == ["a", "b", "c"]
    assert [later - times[0] for later in times] == [0, 1, 2]


async def test_whole_nodes_are_sent_to_who_keeps_none() -> None:
    stage = Stage(node_cache_capable=False)
    stage.extender.accepts = [["node-3"]]
    async with stage.running():
        stage.put_pod("web")
        await settle()

        assert stage.node_of("web") == "node-3"


async def test_a_cordoned_node_is_no_candidate() -> None:
    stage = Stage()
    stage.put_node("node-2", unschedulable=True)
    async with stage.running():
        stage.put_pod("web")
        await settle()

    [(_, _, candidates)] = stage.extender.asked
    assert candidates == ["node-1", "node-3"]


async def test_a_claim_with_a_selected_node_leaves_that_one_alone() -> None:
    stage = Stage()
    stage.put_claim("data", selected="node-3")
    async with stage.running():
        stage.put_pod("web", "data")
        await settle()

    [(_, _, candidates)] = stage.extender.asked
    assert candidates == ["node-3"]


async def test_a_volume_that_is_pinned_leaves_its_node_alone() -> None:
    stage = Stage()
    stage.put_claim("data")
    stage.bind_claim("data", pinned=PINNED)
    async with stage.running():
        stage.put_pod("web", "data")
        await settle()

        assert stage.node_of("web") == PINNED


@pytest.mark.parametrize("storage_class", ["immediate", "unknown"])
async def test_an_unbound_claim_that_waits_for_no_pod_is_not_asked_about(
    storage_class: str,
) -> None:
    stage = Stage()
    stage.put_claim("data", storage_class=storage_class)
    async with stage.running():
        stage.put_pod("web", "data")
        await settle()

        assert stage.extender.asked == []
        assert stage.condition("web") == ("False", "Unschedulable")


async def test_a_claim_that_comes_later_wakes_its_pod() -> None:
    stage = Stage()
    async with stage.running():
        stage.put_pod("web", "data")
        await settle()
        assert stage.extender.asked == []

        stage.put_claim("data")
        await settle()

        assert stage.extender.pods_asked() == ["web"]


async def test_the_nominated_node_is_asked_about_first_and_alone() -> None:
    stage = Stage()
    async with stage.running():
        stage.put_pod("web", nominatedNodeName="node-2")
        await settle()

        assert [candidates for _, _, candidates in stage.extender.asked] == [["node-2"]]
        assert stage.node_of("web") == "node-2"


async def test_all_nodes_are_asked_about_if_the_nominated_one_is_rejected() -> None:
    stage = Stage()
    stage.extender.accepts = [["node-1"]]
    async with stage.running():
        stage.put_pod("web", nominatedNodeName="node-2")
        await settle()

        asked = [candidates for _, _, candidates in stage.extender.asked]
        assert asked == [["node-2"], [*NODES]]
        assert stage.node_of("web") == "node-1"


async def test_a_rejected_pod_is_asked_about_twice_and_rests_then() -> None:
    """Its own condition is an event; the same condition again is none."""
    stage = Stage()
    stage.extender.accepts = [[]]
    async with stage.running():
        stage.put_pod("web")
        await asyncio.sleep(60)

        assert stage.extender.pods_asked() == ["web", "web"]
        assert stage.condition("web") == ("False", "Unschedulable")
        assert len(stage.calls("pods/status")) == 1


async def test_an_annotation_wakes_a_rejected_pod() -> None:
    stage = Stage()
    stage.extender.accepts = [[], [], NODES]
    async with stage.running():
        stage.put_pod("web")
        await asyncio.sleep(30)
        assert stage.node_of("web") == ""

        stage.touch("web")
        await settle()

        assert stage.node_of("web") in NODES


async def test_other_waiting_pods_wake_nobody() -> None:
    stage = Stage()
    stage.extender.accepts = [[]]
    async with stage.running():
        stage.put_pod("a")
        await settle()
        stage.put_pod("b")
        await settle()

    assert stage.extender.pods_asked() == ["a", "a", "b", "b"]


async def test_a_pod_with_a_node_wakes_who_was_rejected() -> None:
    stage = Stage()
    stage.extender.accepts = [[], [], ["node-1"]]
    async with stage.running():
        stage.put_pod("a")
        await settle()
        stage.put_pod("b")
        await settle()

        assert stage.node_of("a") == stage.node_of("b") == "node-1"


async def test_without_an_event_a_pod_waits_for_five_minutes() -> None:
    stage = Stage()
    stage.extender.accepts = [[], [], NODES]
    async with stage.running():
        stage.put_pod("web")
        await asyncio.sleep(295)
        assert len(stage.extender.asked) == 2

        await asyncio.sleep(40)

        assert stage.node_of("web") in NODES


async def test_errors_are_tried_again_later_and_later() -> None:
    stage = Stage()
    stage.extender.error = "not the leader"
    async with stage.running():
        stage.put_pod("web")
        await asyncio.sleep(30)
        assert stage.condition("web") == ("False", "SchedulerError")

    times = [round(at - stage.extender.asked[0][0]) for at, _, _ in stage.extender.asked]
    assert times == [0, 1, 3, 7, 15, 25]


async def test_nobody_there_is_an_error() -> None:
    stage = Stage()
    stage.extender.is_away = True
    async with stage.running():
        stage.put_pod("web")
        await settle()
        assert stage.condition("web") == ("False", "SchedulerError")

        stage.extender.is_away = False
        await asyncio.sleep(1.1)

        assert stage.node_of("web") in NODES


async def test_a_call_that_takes_too_long_is_given_up() -> None:
    stage = Stage(http_timeout_seconds=2.0)
    stage.extender.seconds = 3.0
    async with stage.running():
        stage.put_pod("web")
        await asyncio.sleep(2.5)

        [answer] = [event for event in stage.events if isinstance(event, Answered)]
        assert "Client.Timeout" in answer.error
        assert stage.condition("web") == ("False", "SchedulerError")


async def test_a_pod_that_is_deleted_is_forgotten() -> None:
    stage = Stage()
    stage.extender.accepts = [[]]
    async with stage.running():
        stage.put_pod("web")
        await settle()
        stage.server.delete("pods", "web", "default")
        await asyncio.sleep(400)

    assert len(stage.extender.asked) == 2


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        pytest.param(Choice.SPREAD, [1, 1, 1], id="spread"),
        pytest.param(Choice.PACK, [3], id="pack"),
    ],
)
async def test_which_accepted_node_is_taken(choice: Choice, expected: list[int]) -> None:
    stage = Stage(choice=choice)
    async with stage.running():
        for name in ("a", "b", "c"):
            stage.put_pod(name)
        await settle()

        nodes = [stage.node_of(name) for name in ("a", "b", "c")]
        assert sorted(nodes.count(node) for node in set(nodes)) == expected


async def test_late_conditions_are_written_after_the_next_answers() -> None:
    stage = Stage(status_delay=(1.0, 1.0))
    stage.extender.accepts = [[]]
    async with stage.running():
        for name in ("a", "b"):
            stage.put_pod(name)
            await settle()
        assert stage.extender.pods_asked() == ["a", "b"]
        assert "conditions" not in stage.pod("a")["status"]

        await asyncio.sleep(1)

        assert stage.condition("a") == stage.condition("b") == ("False", "Unschedulable")


async def test_another_scheduler_begins_with_what_is_left() -> None:
    stage = Stage()
    stage.extender.error = "not the leader"
    async with stage.running():
        stage.put_pod("web")
        await asyncio.sleep(10)
    stage.extender.error = ""
    asked = len(stage.extender.asked)

    async with stage.running():
        await settle()

        assert len(stage.extender.asked) == asked + 1
        assert stage.node_of("web") in NODES
