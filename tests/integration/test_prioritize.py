"""What /prioritize is answered by leaders and others, and that it leaves nothing behind."""

import json

import pytest

from tests.integration.instances import NODES, NOT_THE_LEADER, VIRTUAL_TIME, Processes
from tests.integration.scheduling import ONE, THREE, TWO, serving

pytestmark = VIRTUAL_TIME


async def test_the_leader_scores_every_candidate_and_keeps_the_connection() -> None:
    async with Processes() as processes:
        await processes.start_all(3)

        answer = await processes.leader.prioritize("pair")

        assert answer is not None
        assert (answer.status, answer.closes, [*answer.scores]) == (200, False, [*NODES])
        assert answer.scores["node-1"] == 0  # which /filter rejects


async def test_others_have_no_score_and_close_the_connection() -> None:
    async with Processes() as processes:
        await processes.start_all(3)

        answers = [await each.prioritize() for each in processes.standbys for _ in range(3)]

        error = json.dumps({"error": NOT_THE_LEADER}, separators=(",", ":")).encode()
        assert {tuple(each) for each in answers if each} == {(503, True, error)}


async def test_who_is_disabled_has_no_score() -> None:
    async with serving() as world:
        world.add_pod("first")
        leader = world.leader
        world.set_config(enabled="false")
        await world.settled()

        answer = await leader.prioritize(body=world.request("first"))

        assert answer is not None
        assert (answer.status, answer.closes) == (503, True)
        assert "disabled" in json.loads(answer.body)["error"]


async def test_an_unresolvable_claim_is_422_at_once() -> None:
    """/filter waits for an object that kube-scheduler knows; of that, scores are not worth it."""
    async with serving() as world:
        await world.add_pods("first")
        request = world.request("first").replace(b'"claimName": "first"', b'"claimName": "gone"')

        answer = await world.leader.prioritize(body=request)

        assert answer is not None
        assert (answer.status, answer.closes) == (422, False)
        assert "default/gone" in json.loads(answer.body)["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"Pod": null}'])
async def test_a_bad_request_is_400_of_the_leader_and_of_others(body: bytes) -> None:
    async with Processes() as processes:
        await processes.start_all(2)

        bad = [await each.prioritize(body=body) for each in processes.all]

        assert sorted((each.status, each.closes) for each in bad if each) == [
            (400, False),
            (400, True),
        ]


async def test_scores_hold_nothing_and_end_no_hold() -> None:
    async with serving() as world:
        await world.add_pods("first", "second")

        await world.leader.prioritize(body=world.request("first"))
        assert await world.held() == []

        await world.accept("first")
        held = await world.held()
        await world.leader.prioritize(body=world.request("first"))
        await world.leader.prioritize(body=world.request("second"))
        assert await world.held() == held


async def test_scores_wait_for_nothing() -> None:
    """While the first pod may go to any node, no node is open to the second, and /filter waits."""
    async with serving(wait_seconds=5.0) as world:
        await world.add_pods("first", "second")
        await world.accept("first")

        answer = await world.leader.prioritize(body=world.request("second"))

        assert answer is not None
        assert answer.scores == {ONE: 0, TWO: 0, THREE: 0}
        assert world.count("filter_wait_duration_seconds_count", outcome="timeout") == 0
        assert await world.waiting() == []
