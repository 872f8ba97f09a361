"""Somebody who reaches the port and is not kube-scheduler takes no room and frees none."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.fakes import Answer as Response
from tests.fakes import Call, Delay, Fault
from tests.integration.instances import NAMESPACE, NODES, VIRTUAL_TIME, filter_request
from tests.integration.scheduling import ONE, THREE, TWO, World, serving

pytestmark = VIRTUAL_TIME

STRANGER = "10.0.0.66"
FOUND_OUT_SECONDS = 0.3
HUGE_VERSION = str(9 * 10**18)


def invented(
    world: World,
    *claims: str,
    uid: str = "made-up",
    nodes: Sequence[str] | None = None,
    **metadata: str,
) -> bytes:
    """Build a request for a pod that does not exist, about all nodes unless given."""
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    pod = {
        "metadata": {"name": "made-up", "namespace": "default", "uid": uid, **metadata},
        "spec": {"volumes": volumes},
    }
    names = [*(world.nodes if nodes is None else nodes)]
    return json.dumps({"Pod": pod, "NodeNames": names}).encode()


def changed(world: World, pod: str, *nodes: str, **metadata: Any) -> bytes:
    """Build the request for a pod with other metadata than it has."""
    request = json.loads(world.request(pod, *nodes))
    request["Pod"]["metadata"] |= metadata
    return json.dumps(request).encode()


def looks_up(call: Call) -> bool:
    field = dict(call.query).get("fieldSelector", "")
    return (call.resource, call.verb) == ("pods", "list") and field.startswith("metadata.name=")


async def become_known(world: World) -> None:
    """Have kube-scheduler ask about a pod that exists."""
    await world.add_pods("known", gib=1)
    await world.accept("known")
    await world.settled()
    world.delete_pod("known")
    await world.settled()
    assert await world.held() == []


async def full(world: World) -> None:
    """Have each node taken by a pod."""
    for name, node in (("a", ONE), ("b", TWO), ("c", THREE)):
        await world.add_pods(name)
        world.run(name, node)
    await world.settled()


def empty(world: World, claim: str) -> None:
    """Remove the replica of a claim, so that there is room."""
    world.server.delete("replicas.longhorn.io", f"{world.volume(claim)}-r-1", "longhorn-system")


async def test_a_pod_that_does_not_exist_takes_no_room() -> None:
    async with serving() as world:
        await become_known(world)
        await world.add_pods("real")

        answer = await world.ask("", request=invented(world, "real"), client=STRANGER)

        assert answer.accepted == [ONE, TWO, THREE]
        assert await world.held() == []
        assert world.count("refuted_requests_total", why="no_pod") == 1


@pytest.mark.parametrize("version", ["", HUGE_VERSION])
async def test_if_a_known_client_invents_a_pod_its_room_is_free_soon(version: str) -> None:
    async with serving(latency_seconds=0.1) as world:
        await become_known(world)
        await world.add_pods("real", "other")

        await world.ask("", request=invented(world, "real", resourceVersion=version))
        assert [each.pod for each in await world.held()] == ["made-up"]
        await asyncio.sleep(FOUND_OUT_SECONDS)

        assert await world.held() == []
        assert world.count("refuted_requests_total", why="no_pod") == 1


async def test_who_invents_again_and_again_makes_no_pod_wait() -> None:
    async with serving() as world:
        await become_known(world)
        names = [f"pod-{number}" for number in range(3)]
        await world.add_pods(*names)

        async def invent(number: int) -> None:
            for attempt in range(50):
                request = invented(world, *names, uid=f"uid-{number}-{attempt}")
                await world.ask("", request=request, client=f"10.0.1.{number}")

        strangers = [asyncio.create_task(invent(number)) for number in range(10)]
        await asyncio.sleep(0.1)
        for name in names:
            assert (await world.ask(name)).accepted != []
            world.nominate(name, (await world.held_nodes(name))[0])
            await world.settled()
        await asyncio.gather(*strangers)

        assert len(await world.held()) == 3


async def test_a_pod_of_the_same_uid_is_an_error_and_ends_no_hold() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.accept("first", ONE)
        await world.settled()
        uid = world.of("pods", "first")["metadata"]["uid"]

        for _ in range(2):
            answer = await world.ask("", request=invented(world, uid=uid), client=STRANGER)
            assert answer.error == "pod default/made-up is not the one that has its uid and claims"

        assert await world.held_nodes("first") == (ONE,)
        assert (await world.ask("other")).accepted == [TWO, THREE]
        assert world.count("refuted_requests_total", why="other_pod") == 2


async def test_a_hold_of_an_invented_pod_does_not_keep_out_the_real_one_of_its_uid() -> None:
    async with serving() as world:
        await become_known(world)
        await world.add_pods("first")
        uid = world.of("pods", "first")["metadata"]["uid"]
        world.server.faults.append(Fault(Delay(1.0), looks_up))

        await world.ask("", request=invented(world, "first", uid=uid))
        await world.accept("first", TWO)
        await asyncio.sleep(2)

        assert await world.held_nodes("first") == (TWO,)


async def test_a_version_that_was_never_given_changes_nothing() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        request = changed(world, "first", resourceVersion=HUGE_VERSION)

        await world.ask("first", request=request, client=STRANGER)
        await world.settled()
        world.nominate("first", TWO)
        await world.settled()

        assert await world.held_nodes("first") == (TWO,)


async def test_who_repeats_a_real_request_frees_no_room() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.accept("first")
        world.nominate("first", TWO)
        await world.settled()

        await world.ask("first", THREE, client=STRANGER)
        assert (await world.ask("other")).accepted == [ONE]
        world.bind("first", TWO)
        await world.settled()
        await world.ask("first", THREE, client=STRANGER)

        assert await world.held_nodes("first") == (TWO,)


async def test_who_repeats_a_request_takes_no_room_once_a_claim_has_its_node() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.accept("first")
        world.select("first", TWO)
        await world.settled()

        await world.ask("first", THREE, client=STRANGER)

        assert (await world.ask("other")).accepted == [ONE, THREE]
        assert await world.held_nodes("first") == (TWO,)


async def test_who_asks_first_cannot_take_back_what_kube_scheduler_was_told() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.ask("first", ONE, client=STRANGER)
        await world.accept("first", TWO)

        await world.ask("first", ONE, client=STRANGER)

        assert (await world.ask("other")).accepted == [THREE]


async def test_a_pod_is_woken_whatever_a_stranger_was_told_about_it() -> None:
    async with serving() as world:
        await full(world)
        await world.add_pods("waits", "small")
        await world.reject("waits")

        await world.ask("waits", ONE, client=STRANGER)
        empty(world, "b")
        await world.processes.until(lambda: world.woken == ["waits"], within=3)


async def test_while_pods_cannot_be_looked_up_kube_scheduler_is_answered() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        world.server.faults.append(Fault(Response(500), looks_up, times=None))

        await world.accept("first", ONE)

        assert (await world.ask("other")).accepted == [TWO, THREE]


async def test_who_reaches_the_port_first_makes_kube_scheduler_wait_for_no_look_up() -> None:
    """Look-ups for who is not known yet take turns, so that one client cannot hold up another."""
    async with serving() as world:
        await world.add_pods("first", "claims")
        requests = [invented(world, "claims", uid=f"uid-{number}") for number in range(400)]
        strangers = [
            asyncio.create_task(world.ask("", request=each, client=STRANGER)) for each in requests
        ]
        await asyncio.sleep(0.05)
        began = asyncio.get_running_loop().time()

        await world.accept("first")

        assert asyncio.get_running_loop().time() - began < 0.5
        await asyncio.gather(*strangers)


async def test_who_tries_out_an_example_is_answered_and_holds_nothing() -> None:
    async with serving() as world:
        answer = await world.ask("", request=filter_request("pair"), client=STRANGER)

        assert answer.accepted
        assert await world.held() == []
        assert world.count("refuted_requests_total", why="no_pod") == 1


async def test_an_invented_pod_does_not_wait_for_room() -> None:
    """Ten thousand pods may wait: invented ones would take the places of real ones."""
    async with serving() as world:
        await become_known(world)
        await world.add_pods("real")

        await world.ask("", request=invented(world, "real", nodes=["made-up-node"]))
        assert await world.waiting() == ["made-up"]
        await asyncio.sleep(FOUND_OUT_SECONDS)

        assert await world.waiting() == []
        assert world.count("refuted_requests_total", why="no_pod") == 1


async def test_a_pod_is_woken_though_its_uid_was_given_to_an_invented_one() -> None:
    async with serving() as world:
        await become_known(world)
        await full(world)
        await world.add_pods("waits")
        uid = world.of("pods", "waits")["metadata"]["uid"]
        world.server.faults.append(Fault(Delay(1.0), looks_up))

        await world.ask("", request=invented(world, "waits", uid=uid))
        await world.reject("waits")
        await asyncio.sleep(2)
        await world.ask("", request=invented(world, "waits", uid=uid))
        empty(world, "b")

        await world.processes.until(lambda: world.woken == ["waits"], within=3)


@pytest.mark.parametrize("nodes", [[ONE], []])
async def test_who_waited_before_a_new_leader_is_woken_whatever_a_stranger_asks(
    nodes: list[str],
) -> None:
    async with serving() as world:
        for name in NODES:  # where it would fit
            world.server.delete("nodes.longhorn.io", name, NAMESPACE)
        await full(world)
        await world.add_pods("waits")
        await world.reject("waits")
        world.refuse("waits")
        await world.settled()
        world.processes.start(1)
        await world.settled()
        world.leader.kill()
        await world.answers()
        assert await world.waiting() == ["waits"]
        assert world.woken == []

        request = changed(world, "waits")
        request = json.dumps(json.loads(request) | {"NodeNames": nodes}).encode()
        await world.ask("", request=request, client=STRANGER)
        empty(world, "b")

        await world.processes.until(lambda: world.woken == ["waits"], within=3)


async def test_a_nomination_that_a_stranger_leaves_out_frees_no_room() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        world.nominate("first", ONE)
        request = json.loads(world.request("first"))
        del request["Pod"]["status"]["nominatedNodeName"]

        await world.ask("", request=json.dumps(request).encode(), client=STRANGER)
        await world.accept("first")
        await world.settled()

        assert (await world.ask("other")).accepted == []


@pytest.mark.parametrize("status", [{"phase": "Succeeded"}, {"node": ONE}])
async def test_for_pods_that_do_not_wait_nothing_is_held(status: dict[str, str]) -> None:
    async with serving() as world:
        await world.add_pods("done")
        found = world.of("pods", "done")
        spec = {**found["spec"], "nodeName": status.pop("node", "")}
        world.server.put({**found, "spec": spec, "status": status})
        request = changed(world, "done")

        for nodes in ([*world.nodes], ["made-up"]):
            body = json.loads(request) | {"NodeNames": nodes}
            body["Pod"] |= {"status": {}, "spec": found["spec"]}
            await world.ask("", request=json.dumps(body).encode(), client=STRANGER)
            assert (await world.held(), await world.waiting()) == ([], [])


async def test_a_pod_is_looked_up_once_for_a_request() -> None:
    async with serving() as world:
        await world.add_pods("first")

        await world.accept("first")
        await world.settled()

        assert len([call for call in world.server.calls if looks_up(call)]) == 1
