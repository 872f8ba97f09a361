"""Pods and claims with odd or broken fields make and end no promise by that."""

import json
from typing import Any

import pytest

from extender import End
from tests.fakes import Fault, Object, WatchGarbage
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.promising import ONE, THREE, TWO, event, follows, serving

pytestmark = VIRTUAL_TIME

ODD: list[Any] = [
    pytest.param({"status": None}, id="no-status"),
    pytest.param({"status": {"conditions": None, "nominatedNodeName": None}}, id="nulls"),
    pytest.param({"status": {"conditions": [{"type": "PodScheduled"}]}}, id="no-condition-status"),
    pytest.param({"metadata": {"resourceVersion": None}}, id="no-version"),
    pytest.param({"metadata": {"resourceVersion": ""}}, id="empty-version"),
    pytest.param({"metadata": {"resourceVersion": "abc"}}, id="no-number"),
    pytest.param({"metadata": {"resourceVersion": "-1"}}, id="negative"),
    pytest.param({"metadata": {"resourceVersion": "1.5"}}, id="fraction"),
    pytest.param({"metadata": {"resourceVersion": "\u0661"}}, id="other-digits"),
    pytest.param({"metadata": {"resourceVersion": "9" * 5000}}, id="huge-version"),
]


def changed(pod: Object, change: dict[str, Any]) -> Object:
    """Return a pod with other fields; those of its metadata are merged."""
    return {**pod, **change, "metadata": {**pod["metadata"], **change.get("metadata", {})}}


@pytest.mark.parametrize("change", ODD)
async def test_an_odd_pod_in_the_request_is_promised_room_and_followed(
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


@pytest.mark.parametrize("change", ODD)
async def test_an_odd_pod_in_the_watch_ends_no_promise(change: dict[str, Any]) -> None:
    async with serving() as world:
        await world.add_pods("first")
        odd = changed(world.of("pods", "first"), change)
        world.server.faults.append(Fault(WatchGarbage(event("MODIFIED", odd)), follows))
        await world.offer("first")
        await world.settled()
        assert await world.held_nodes("first") == (ONE, TWO, THREE)

        world.nominate("first", TWO)
        await world.settled()

        assert await world.held_nodes("first") == (TWO,)


@pytest.mark.parametrize(
    "broken", [{"status": "?"}, {"spec": 1}, {"status": {"conditions": {}}}, {"status": []}]
)
async def test_a_broken_pod_in_the_watch_ends_no_promise(broken: dict[str, Any]) -> None:
    async with serving() as world:
        await world.add_pods("first")
        odd = changed(world.of("pods", "first"), broken)
        world.server.faults.append(Fault(WatchGarbage(event("MODIFIED", odd)), follows))

        await world.offer("first")
        await world.settled()

        assert await world.held_nodes("first") == (ONE, TWO, THREE)


@pytest.mark.parametrize("broken", [{"status": "?"}, {"spec": 1}])
async def test_a_broken_pod_in_the_list_keeps_no_leader_from_answering(
    broken: dict[str, Any],
) -> None:
    async with serving(2) as world:
        await world.add_pods("first", "broken")
        await world.offer("first")
        world.select("first", ONE)
        await world.settled()
        before, leader = await world.held(), world.leader
        found = world.of("pods", "broken")
        status = {"phase": "Pending", "conditions": "?"}
        world.server.put({**found, **broken, "status": broken.get("status", status)})

        leader.terminate()
        await world.replicas.until(lambda: not leader.is_leading, within=2)
        await world.answers()

        assert await world.held() == before


@pytest.mark.parametrize(
    "annotations", ["?", 1, [], {"volume.kubernetes.io/selected-node": 1}, {"other": {"a": 1}}]
)
async def test_odd_annotations_of_a_claim_choose_no_node(annotations: object) -> None:
    async with serving() as world:
        await world.add_pods("first")
        await world.offer("first")
        claim = world.of("persistentvolumeclaims", "first")
        claim["metadata"]["annotations"] = annotations

        world.server.put(claim)
        await world.settled()

        assert await world.held_nodes("first") == (ONE, TWO, THREE)
        assert world.ended(End.UNSCHEDULED) == 0
