"""Odd or broken fields of pods neither make a hold nor end one."""

import json
from typing import Any

import pytest

from tests.fakes import Fault, Object, WatchGarbage
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.scheduling import ONE, THREE, TWO, event, follows, serving

pytestmark = VIRTUAL_TIME

ODD: list[Any] = [
    pytest.param({"status": None}, id="no-status"),
    pytest.param({"status": {"conditions": None, "nominatedNodeName": None}}, id="nulls"),
    pytest.param({"status": {"conditions": [{"type": "PodScheduled"}]}}, id="no-condition-status"),
    pytest.param({"metadata": {"resourceVersion": None}}, id="no-version"),
    pytest.param({"metadata": {"resourceVersion": "abc"}}, id="no-number"),
]


def changed(pod: Object, change: dict[str, Any]) -> Object:
    """Return a pod with other fields; those of its metadata are merged."""
    return {**pod, **change, "metadata": {**pod["metadata"], **change.get("metadata", {})}}


@pytest.mark.parametrize("change", ODD)
async def test_an_odd_pod_in_the_request_gets_a_hold_and_is_followed(
    change: dict[str, Any],
) -> None:
    async with serving() as world:
        await world.add_pods("first")
        request = json.loads(world.request("first"))
        request["Pod"] = changed(request["Pod"], change)

        answer = await world.ask("first", request=json.dumps(request).encode())
        assert answer.accepted == [ONE, TWO, THREE]
        world.nominate("first", TWO)
        await world.settled()

        assert await world.held_nodes("first") == (TWO,)


@pytest.mark.parametrize("change", [*ODD, pytest.param({"status": "?"}, id="broken")])
async def test_an_odd_pod_in_the_watch_ends_no_hold(change: dict[str, Any]) -> None:
    async with serving() as world:
        await world.add_pods("first")
        odd = changed(world.of("pods", "first"), change)
        world.server.faults.append(Fault(WatchGarbage(event("MODIFIED", odd)), follows))
        await world.accept("first")
        await world.settled()
        assert await world.held_nodes("first") == (ONE, TWO, THREE)

        world.nominate("first", TWO)
        await world.settled()

        assert await world.held_nodes("first") == (TWO,)


@pytest.mark.parametrize("broken", [{"status": "?"}, {"spec": 1}])
async def test_a_broken_pod_in_the_list_keeps_no_leader_from_answering(
    broken: dict[str, Any],
) -> None:
    async with serving(2) as world:
        await world.add_pods("first", "broken")
        await world.accept("first")
        world.select("first", ONE)
        await world.settled()
        before, leader = await world.held(), world.leader
        found = world.of("pods", "broken")
        status = {"phase": "Pending", "conditions": "?"}
        world.server.put({**found, **broken, "status": broken.get("status", status)})

        leader.terminate()
        await world.processes.until(lambda: not leader.is_leading, within=2)
        await world.answers()

        assert await world.held() == before
