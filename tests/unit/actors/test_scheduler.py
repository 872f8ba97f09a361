"""How the played kube-scheduler differs from an ideal one: the simulation's verdict rests on it."""

import asyncio

import pytest

from tests.actors.scheduler import Answered
from tests.fakes import Fault, LostAnswer
from tests.unit.actors.scheduling import NODES, Stage, settle
from tests.unit.actors.world import VIRTUAL_TIME

pytestmark = VIRTUAL_TIME

NODE = "node-2"


async def test_the_expected_node_is_written_first_and_then_claims_one_by_one():
    async with Stage("a", "b", accepts=[[NODE]]).running() as stage:
        await stage.run_pod("web", "a", "b")

        assert stage.writes() == [
            "patch pods/status web",
            "update persistentvolumeclaims a",
            "update persistentvolumeclaims b",
        ]
        assert (stage.selected("a"), stage.selected("b"), stage.node_of("web")) == (NODE, NODE, "")


async def test_before_1_35_claims_are_the_first_to_show_the_node():
    async with Stage("a", nominates=False, accepts=[[NODE]]).running() as stage:
        await stage.run_pod("web", "a")

        assert stage.writes() == ["update persistentvolumeclaims a"]


async def test_the_next_pod_is_asked_about_while_claims_are_provisioned():
    async with Stage("a", accepts=[[NODE]]).running() as stage:
        stage.put_pod("web", "a")
        await asyncio.sleep(1.5)
        stage.put_pod("other")
        stage.bind_claim("a")
        await settle()
        assert (stage.node_of("web"), stage.node_of("other")) == ("", NODE)

        await asyncio.sleep(0.5)  # it looks once a second

        assert stage.node_of("web") == NODE


async def test_claims_are_written_from_a_cache_and_what_was_written_stays():
    stage = Stage("a", "b", accepts=[[NODE]])
    stage.server.watch_delay = lambda call: 0.5 * (call.resource == "persistentvolumeclaims")
    async with stage.running():
        await asyncio.sleep(1)
        stage.annotate_claim("b", other="writer")
        stage.put_pod("web", "a", "b")
        await asyncio.sleep(0.7)

        [why] = stage.failures()
        assert "409" in why
        assert stage.condition("web") == ("False", "SchedulerError")
        assert (stage.selected("a"), stage.selected("b")) == (NODE, "")


@pytest.mark.parametrize(
    ("pinned", "expected"), [("", "provisioning failed"), ("node-3", "another node")]
)
async def test_a_claim_that_cannot_be_used_on_the_node_fails_the_attempt(pinned, expected):
    """Nobody has room for it there, or it came to be elsewhere; others are tried again."""
    async with Stage("a", accepts=[[NODE], [], [], ["node-1"]]).running() as stage:
        await stage.run_pod("web", "a")
        stage.put_pod("other")
        await asyncio.sleep(0.5)
        assert stage.node_of("other") == ""

        if pinned:
            stage.bind_claim("a", pinned=pinned)
        else:
            stage.annotate_claim("a")
        await asyncio.sleep(0.6)

        [why] = stage.failures()
        assert expected in why
        assert stage.node_of("other") == "node-1"


async def test_a_binding_that_was_taken_though_its_answer_was_lost_counts():
    stage = Stage(accepts=[[NODE]])
    lost = Fault(LostAnswer(), matches=lambda call: call.resource == "pods/binding")
    stage.server.faults.append(lost)
    async with stage.running():
        stage.put_pod("web")
        await asyncio.sleep(5)

        assert (stage.node_of("web"), len(stage.extender.asked)) == (NODE, 1)


async def test_a_scheduler_that_ends_leaves_what_it_wrote_to_the_next_one():
    async with Stage("a", accepts=[[NODE]]).running() as stage:
        await stage.run_pod("web", "a")
    stage.extender.accepts = [NODES]

    async with stage.running():
        await settle()

        assert stage.extender.candidates_asked == [[*NODES], [NODE]]


async def test_all_nodes_are_asked_about_if_the_nominated_one_is_rejected():
    stage = Stage(accepts=[["node-1"]])
    stage.put_node("node-3", unschedulable=True)
    async with stage.running():
        stage.put_pod("web", nominatedNodeName=NODE)
        await settle()

        assert stage.extender.candidates_asked == [[NODE], ["node-1", NODE]]
        assert stage.node_of("web") == "node-1"


async def test_a_rejected_pod_rests_until_its_annotation_changes():
    """Its own condition is an event; the same condition again is none."""
    async with Stage(accepts=[[], [], NODES]).running() as stage:
        stage.put_pod("web")
        await asyncio.sleep(60)
        assert stage.extender.pods_asked == ["web", "web"]
        assert stage.condition("web") == ("False", "Unschedulable")

        stage.annotate_pod("web")
        await settle()

        assert stage.node_of("web") in NODES


async def test_other_waiting_pods_wake_nobody():
    async with Stage(accepts=[[]]).running() as stage:
        await stage.run_pod("a")
        await stage.run_pod("b")

    assert stage.extender.pods_asked == ["a", "a", "b", "b"]


async def test_errors_are_tried_again_later_and_later():
    stage = Stage()
    stage.extender.error = "not the leader"
    async with stage.running():
        stage.put_pod("web")
        await asyncio.sleep(30)

    times = [round(at - stage.extender.asked[0][0]) for at, _, _ in stage.extender.asked]
    assert times == [0, 1, 3, 7, 15, 25]


async def test_a_call_that_takes_too_long_is_given_up():
    stage = Stage(http_timeout_seconds=2.0)
    stage.extender.seconds = 3.0
    async with stage.running():
        stage.put_pod("web")
        await asyncio.sleep(2.5)

        [answer] = [event for event in stage.events if isinstance(event, Answered)]
        assert "Client.Timeout" in answer.error
        assert stage.condition("web") == ("False", "SchedulerError")


async def test_late_conditions_are_written_after_the_next_answers():
    async with Stage(status_delay=(1.0, 1.0), accepts=[[]]).running() as stage:
        for name in ("a", "b"):
            await stage.run_pod(name)
        assert (stage.extender.pods_asked, stage.condition("a")) == (["a", "b"], ("", ""))

        await asyncio.sleep(1)

        assert stage.condition("a") == stage.condition("b") == ("False", "Unschedulable")


@pytest.mark.parametrize(("score", "node"), [(7, "node-1"), (8, NODE)], ids=["best", "equal"])
async def test_the_node_with_the_best_score_is_taken_and_of_equal_ones_that_with_fewest_pods(
    score, node
):
    stage = Stage(accepts=[["node-1"], NODES])
    stage.extender.scores = {"node-1": 8, NODE: score}
    async with stage.running():
        for name in ("a", "b"):
            await stage.run_pod(name)

    assert (stage.node_of("b"), stage.extender.scored) == (node, [[*NODES]])


async def test_without_an_answer_about_scores_pods_are_spread():
    async with Stage().running() as stage:
        for name in ("a", "b", "c"):
            await stage.run_pod(name)

    assert {stage.node_of(name) for name in ("a", "b", "c")} == {*NODES}


async def test_at_weight_0_scores_are_not_asked_for():
    async with Stage(score_weight=0).running() as stage:
        await stage.run_pod("web")

    assert (stage.node_of("web") in NODES, stage.extender.scored) == (True, [])
