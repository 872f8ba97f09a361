"""What stands in the answers of leaders and others, and what becomes of their connections."""

import pytest

from tests.integration.instances import NOT_THE_LEADER, VIRTUAL_TIME, Processes

pytestmark = VIRTUAL_TIME


async def test_the_leader_judges_and_keeps_the_connection() -> None:
    async with Processes() as processes:
        await processes.start_all(3)

        answer = await processes.leader.filter()

        assert answer is not None
        assert (answer.status, answer.error, answer.closes) == (200, "", False)
        assert answer.accepted == ["node-2", "node-3", "node-4"]
        assert answer.rejected == {
            "node-1": "the 2 volumes the pod needs here (200 GiB in all) "
            "do not fit together on the disks of the Longhorn node"
        }


async def test_others_refuse_with_one_text_and_close_the_connection() -> None:
    async with Processes() as processes:
        await processes.start_all(3)

        answers = [await each.filter() for each in processes.standbys for _ in range(3)]

        assert {(each.status, each.error, each.closes) for each in answers if each} == {
            (200, NOT_THE_LEADER, True)
        }
        assert len({each.body for each in answers if each}) == 1


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"Pod": null}'])
async def test_others_close_the_connection_of_a_bad_request_too(body: bytes) -> None:
    async with Processes() as processes:
        await processes.start_all(2)

        bad = await processes.standbys[0].filter(body=body)

        assert bad is not None
        assert (bad.status, bad.closes) == (400, True)


async def test_the_leader_keeps_the_connection_of_a_bad_request() -> None:
    async with Processes() as processes:
        await processes.start_all(1)

        bad = await processes.leader.filter(body=b"{")

        assert bad is not None
        assert (bad.status, bad.closes) == (400, False)


async def test_the_same_question_gets_the_same_bytes() -> None:
    async with Processes() as processes:
        await processes.start_all(1)

        answers = [await processes.ask(pod) for pod in ("quad", "pair", "single") for _ in range(3)]

        assert len({answer.body for answer in answers if answer}) == 3
