"""Objects that cannot be read, in lists and as news: only what belongs to them suffers."""

import asyncio

import pytest

from tests.fakes.installed import LONGHORN
from tests.integration.instances import VIRTUAL_TIME, Answer, Processes

pytestmark = VIRTUAL_TIME


async def answer_of(processes: Processes) -> Answer:
    answer = await processes.ask()
    assert answer is not None
    return answer


def spoil(processes: Processes) -> None:
    """Put nonsense into a node."""
    found = processes.server.get("nodes.longhorn.io", "node-3", LONGHORN)
    assert found is not None
    processes.server.put({**found, "spec": {"disks": [1, 2]}})


@pytest.mark.parametrize("late", [False, True], ids=["listed", "watched"])
async def test_a_node_that_cannot_be_read_is_rejected_alone(*, late):
    async with Processes() as processes:
        if late:
            await processes.start_all(1)
        spoil(processes)
        if not late:
            await processes.start_all(1)
        await asyncio.sleep(0.1)

        answer = await answer_of(processes)

        assert answer.accepted == ["node-2", "node-4"]
        assert "cannot be read" in answer.rejected["node-3"]


async def test_a_broken_object_does_not_keep_an_instance_from_leading():
    async with Processes() as processes:
        for kind in ("Volume", "Replica", "Setting", "BackingImage"):
            processes.server.put(
                {
                    "apiVersion": "longhorn.io/v1beta2",
                    "kind": kind,
                    "metadata": {"name": "broken", "namespace": LONGHORN},
                    "spec": [],
                    "value": [],
                }
            )

        await processes.start_all(1)

        assert (await answer_of(processes)).accepted == ["node-2", "node-3", "node-4"]
