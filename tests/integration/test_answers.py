"""What stands in the answers of leaders and others, and what becomes of their connections."""

import pytest

from tests.integration.instances import NOT_THE_LEADER, VIRTUAL_TIME, Process, Processes

pytestmark = VIRTUAL_TIME


async def test_the_leader_judges_and_keeps_the_connection():
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


async def test_others_refuse_with_one_text_and_close_the_connection():
    async with Processes() as processes:
        await processes.start_all(3)

        answers = [await each.filter() for each in processes.standbys for _ in range(3)]

        assert {(each.status, each.error, each.closes) for each in answers if each} == {
            (200, NOT_THE_LEADER, True)
        }
        assert len({each.body for each in answers if each}) == 1


@pytest.mark.parametrize("verb", [Process.filter, Process.prioritize])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"Pod": null}'])
async def test_only_the_leader_keeps_the_connection_of_a_bad_request(verb, body):
    async with Processes() as processes:
        await processes.start_all(2)

        bad = [await verb(each, body=body) for each in (processes.leader, *processes.standbys)]

        assert [(each.status, each.closes) for each in bad if each] == [(400, False), (400, True)]
