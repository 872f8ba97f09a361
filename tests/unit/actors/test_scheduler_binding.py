"""From the chosen node to the bound pod: claims, their provisioning, the binding."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.actors.scheduler import Assumed, Forgotten
from tests.fakes import Fault, LostAnswer
from tests.unit.actors.bench import settle
from tests.unit.actors.scheduling import Stage
from tests.unit.actors.world import VIRTUAL_TIME

pytestmark = VIRTUAL_TIME

NODE = "node-2"


def stage_with(*claims: str, accepts: Sequence[str] = (NODE,), **configuration: object) -> Stage:
    stage = Stage(**configuration)
    stage.extender.accepts = [accepts]
    for claim in claims:
        stage.put_claim(claim)
    return stage


def forgotten(stage: Stage) -> list[str]:
    return [event.why for event in stage.events if isinstance(event, Forgotten)]


def hear_of_claims_late(stage: Stage) -> None:
    stage.server.watch_delay = lambda call: 0.5 * (call.resource == "persistentvolumeclaims")


async def test_the_expected_node_is_written_first_and_then_claims_one_by_one() -> None:
    stage = stage_with("a", "b")
    async with stage.running():
        stage.put_pod("web", "a", "b")
        await settle()

        assert stage.nominated("web") == stage.selected("a") == stage.selected("b") == NODE
        assert stage.node_of("web") == ""
        assert stage.writes() == [
            "patch pods/status web",
            "update persistentvolumeclaims a",
            "update persistentvolumeclaims b",
        ]


async def test_before_1_35_claims_are_the_first_to_show_the_node() -> None:
    stage = stage_with("a", nominates=False)
    async with stage.running():
        stage.put_pod("web", "a")
        await settle()

        assert (stage.nominated("web"), stage.selected("a")) == ("", NODE)


async def test_bound_claims_need_no_expectation() -> None:
    stage = stage_with("a")
    stage.bind_claim("a")
    async with stage.running():
        stage.put_pod("web", "a")
        await settle()

        assert stage.node_of("web") == NODE
        assert stage.writes() == ["create pods/binding web"]


async def test_the_pod_is_bound_at_the_next_poll_after_its_claims() -> None:
    stage = stage_with("a")
    async with stage.running():
        stage.put_pod("web", "a")
        await asyncio.sleep(1.5)
        stage.bind_claim("a")
        await settle()
        assert stage.node_of("web") == ""

        await asyncio.sleep(0.5)

        assert (stage.node_of("web"), stage.nominated("web")) == (NODE, "")


async def test_the_next_pod_is_looked_at_while_claims_are_provisioned() -> None:
    stage = stage_with("a")
    async with stage.running():
        stage.put_pod("web", "a")
        await settle()
        stage.put_pod("other")
        await settle()

        assert (stage.node_of("web"), stage.node_of("other")) == ("", NODE)


async def test_a_claim_that_somebody_else_writes_meanwhile_fails_the_attempt() -> None:
    stage = stage_with("a")
    hear_of_claims_late(stage)
    async with stage.running():
        await asyncio.sleep(1)
        stage.annotate_claim("a", other="writer")
        stage.put_pod("web", "a")
        await asyncio.sleep(0.7)
        [why] = forgotten(stage)
        assert "409" in why
        assert stage.condition("web") == ("False", "SchedulerError")
        assert stage.nominated("web") == ""

        await asyncio.sleep(2)

        assert stage.selected("a") == NODE


async def test_what_was_selected_stays_when_the_attempt_fails() -> None:
    stage = stage_with("a", "b")
    hear_of_claims_late(stage)
    async with stage.running():
        await asyncio.sleep(1)
        stage.annotate_claim("b", other="writer")
        stage.put_pod("web", "a", "b")
        await asyncio.sleep(0.7)

        assert len(forgotten(stage)) == 1
        assert (stage.selected("a"), stage.selected("b")) == (NODE, "")


async def test_a_claim_whose_node_is_taken_back_fails_the_attempt() -> None:
    stage = stage_with("a")
    async with stage.running():
        stage.put_pod("web", "a")
        await asyncio.sleep(0.5)
        stage.annotate_claim("a")
        await asyncio.sleep(0.6)

        [why] = forgotten(stage)
        assert "provisioning failed" in why
        assert stage.condition("web") == ("False", "SchedulerError")

        await asyncio.sleep(1)

        assert stage.selected("a") == NODE


async def test_provisioning_is_not_waited_for_without_end() -> None:
    stage = stage_with("a", bind_timeout_seconds=20.0)
    async with stage.running():
        stage.put_pod("web", "a")
        await asyncio.sleep(21)

        [why] = forgotten(stage)
        assert "deadline exceeded" in why
        assert stage.selected("a") == NODE


async def test_a_volume_that_cannot_be_used_on_the_node_fails_the_attempt() -> None:
    stage = stage_with("a")
    async with stage.running():
        stage.put_pod("web", "a")
        await asyncio.sleep(0.5)
        stage.bind_claim("a", pinned="node-3")
        await asyncio.sleep(0.6)

        [why] = forgotten(stage)
        assert "another node" in why


async def test_a_pod_that_goes_while_its_claims_are_provisioned_is_forgotten() -> None:
    stage = stage_with("a")
    async with stage.running():
        stage.put_pod("web", "a")
        await asyncio.sleep(0.5)
        stage.server.delete("pods", "web", "default")
        await asyncio.sleep(5)

        [why] = forgotten(stage)
        assert "does not exist" in why
        assert len(stage.extender.asked) == 1
        assert stage.selected("a") == NODE


async def test_a_failed_attempt_wakes_the_others() -> None:
    stage = stage_with("a")
    stage.extender.accepts = [[NODE], [], [], ["node-1"]]
    async with stage.running():
        stage.put_pod("web", "a")
        await settle()
        stage.put_pod("other")
        await asyncio.sleep(0.5)
        assert stage.node_of("other") == ""

        stage.annotate_claim("a")
        await asyncio.sleep(0.6)

        assert stage.node_of("other") == "node-1"


async def test_a_binding_that_was_taken_though_its_answer_was_lost_counts() -> None:
    stage = stage_with()
    lost = Fault(LostAnswer(), matches=lambda call: call.resource == "pods/binding")
    stage.server.faults.append(lost)
    async with stage.running():
        stage.put_pod("web")
        await asyncio.sleep(5)

        assert stage.node_of("web") == NODE
        assert len(stage.extender.asked) == 1
        assert stage.condition("web") == ("True", "")


async def test_a_scheduler_that_ends_leaves_what_it_wrote() -> None:
    stage = stage_with("a")
    async with stage.running():
        stage.put_pod("web", "a")
        await settle()
    stage.extender.accepts = [["node-1", NODE]]

    async with stage.running():
        await settle()

        assert [event.node for event in stage.events if isinstance(event, Assumed)] == [NODE] * 2
        assert [candidates for _, _, candidates in stage.extender.asked][1:] == [[NODE]]


@pytest.mark.parametrize("claims", [["a"], ["a", "b"]])
async def test_all_claims_of_a_pod_are_bound_before_it_is(claims: list[str]) -> None:
    stage = stage_with(*claims)
    async with stage.running():
        stage.put_pod("web", *claims)
        for claim in claims:
            await asyncio.sleep(1.2)
            assert stage.node_of("web") == ""
            stage.bind_claim(claim)
        await asyncio.sleep(1.2)

        assert stage.node_of("web") == NODE
