"""Objects that cannot be read, in lists and as news: only what belongs to them suffers."""

import asyncio
from typing import Any

import pytest

from tests.fakes import Object
from tests.integration.instances import VIRTUAL_TIME, Answer, Processes

pytestmark = VIRTUAL_TIME


async def answer_of(processes: Processes, pod: str = "pair") -> Answer:
    answer = await processes.ask(pod)
    assert answer is not None
    return answer


def spoil(processes: Processes, resource: str, name: str, namespace: str, **fields: Any) -> Object:
    """Put nonsense into an object; return what it was."""
    found = processes.server.get(resource, name, namespace)
    assert found is not None
    processes.server.put({**found, **fields})
    return found


@pytest.mark.parametrize("late", [False, True], ids=["listed", "watched"])
async def test_a_node_that_cannot_be_read_is_rejected_alone(*, late):
    async with Processes() as processes:
        if late:
            await processes.start_all(1)
        spoil(processes, "nodes.longhorn.io", "node-3", "longhorn-system", spec={"disks": [1, 2]})
        if not late:
            await processes.start_all(1)
        await asyncio.sleep(0.1)

        answer = await answer_of(processes)

        assert answer.accepted == ["node-2", "node-4"]
        assert "cannot be read" in answer.rejected["node-3"]


@pytest.mark.parametrize("late", [False, True], ids=["listed", "watched"])
async def test_a_claim_that_cannot_be_read_fails_its_own_pod_alone(*, late):
    async with Processes() as processes:
        if late:
            await processes.start_all(1)
        spoil(
            processes, "persistentvolumeclaims", "single-a", "default", spec={"resources": "much"}
        )
        if not late:
            await processes.start_all(1)
        await asyncio.sleep(0.1)

        single, pair = await answer_of(processes, "single"), await answer_of(processes)

        assert "single-a" in single.error
        assert pair.accepted == ["node-2", "node-3", "node-4"]


async def test_a_broken_object_does_not_keep_an_instance_from_leading():
    async with Processes() as processes:
        for resource in ("volumes", "replicas", "settings", "backingimages"):
            kind = {"volumes": "Volume", "replicas": "Replica", "settings": "Setting"}
            processes.server.put(
                {
                    "apiVersion": "longhorn.io/v1beta2",
                    "kind": kind.get(resource, "BackingImage"),
                    "metadata": {"name": "broken", "namespace": "longhorn-system"},
                    "spec": [],
                    "value": [],
                }
            )

        await processes.start_all(1)

        assert (await answer_of(processes)).accepted == ["node-2", "node-3", "node-4"]
