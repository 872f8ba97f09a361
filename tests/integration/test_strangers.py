"""Somebody who reaches the port and is not kube-scheduler takes no room and frees none."""

import asyncio
import json
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from app.config import NAME
from app.instance.calls import LAST_REQUEST_AT
from benchmarks.strangers import KINDS
from tests.fakes import Answer as Response
from tests.fakes import Call, Delay, Fault
from tests.fakes.installed import LONGHORN, NAMESPACE
from tests.integration.instances import NODES, VIRTUAL_TIME
from tests.integration.scheduling import ONE, SCHEDULING_SECONDS, THREE, TWO, World, serving

pytestmark = VIRTUAL_TIME

STRANGER = "10.0.0.66"
FOUND_OUT_SECONDS = 0.3
HUGE_VERSION = str(9 * 10**18)
KEPT = {"leases", "endpointslices", "services"}
"""What a leader reads and writes whoever asks."""


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
        assert (await world.ask("other")).accepted == [ONE, TWO, THREE]
        assert world.count("refuted_requests_total", why="no_pod") == 1


async def test_an_invented_pod_whose_claim_has_its_node_is_not_held_for_either() -> None:
    """Were it believed, its room would be held for as long as provisioning may take."""
    async with serving() as world:
        await become_known(world)
        await world.add_pods("real", "other")
        world.select("real", ONE)
        await world.settled()

        await world.ask("", request=invented(world, "real", nodes=[ONE]))
        assert await world.held() != []
        await asyncio.sleep(FOUND_OUT_SECONDS)

        assert await world.held() == []
        assert (await world.ask("other")).accepted == [ONE, TWO, THREE]


async def test_a_client_is_believed_for_no_more_pods_at_once_than_were_found() -> None:
    async with serving() as world:
        await become_known(world)
        await world.add_pods("real", "other", gib=1)
        world.server.faults.append(Fault(Delay(1.0), looks_up))

        await world.ask("", request=invented(world, "real", uid="one"))
        await world.ask("", request=invented(world, "other", uid="two"))

        assert [each.pod for each in await world.held()] == ["made-up"]


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
            world.server.delete("nodes.longhorn.io", name, LONGHORN)
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


async def test_anybody_is_told_where_there_is_room_and_which_claims_exist() -> None:
    async with serving() as world:
        await world.add_pods("real", "placed")
        world.run("placed", ONE)
        await world.settled()
        known, unknown = (invented(world, claim) for claim in ("real", "missing"))

        there = await world.ask("", request=known, client=STRANGER)
        missing = await world.ask("", request=unknown, client=STRANGER)
        scores = await world.leader.prioritize(body=invented(world, "placed"))

        assert there.accepted == [TWO, THREE]
        assert missing.error.startswith(
            "PersistentVolumeClaim default/missing is not in the cluster"
        )
        assert scores is not None
        assert max(scores.scores, key=lambda node: scores.scores[node]) == ONE


async def test_a_client_that_has_invented_a_pod_is_looked_up_before_its_answers() -> None:
    async with serving() as world:
        await become_known(world)
        await world.add_pods("real")
        await world.ask("", request=invented(world, "real"))
        await asyncio.sleep(FOUND_OUT_SECONDS)

        for number in range(3):
            await world.ask("", request=invented(world, "real", uid=f"again-{number}"))
            assert await world.held() == []


async def test_a_pod_that_waits_is_held_for_while_a_stranger_goes_on_asking() -> None:
    async with serving() as world:
        await world.add_pods("waits", "other")
        for _ in range(4):
            await world.ask("waits", client=STRANGER)
            await asyncio.sleep(SCHEDULING_SECONDS - 1)
            assert await world.held_nodes("waits") == (ONE, TWO, THREE)

        await asyncio.sleep(2)

        assert await world.held() == []


async def test_a_pod_is_woken_in_vain_if_a_stranger_asks_about_another_node() -> None:
    async with serving() as world:
        await full(world)
        await world.add_pods("waits")
        await world.ask("waits", ONE)
        await world.ask("waits", TWO, client=STRANGER)

        empty(world, "b")

        await world.processes.until(lambda: world.woken == ["waits"], within=3)


async def test_who_has_the_address_of_kube_scheduler_is_taken_for_it() -> None:
    async with serving() as world:
        await world.add_pods("first", "other")
        await world.accept("first")

        await world.ask("first", ONE)

        assert (await world.ask("other")).accepted == [TWO, THREE]


async def test_doctor_may_be_deceived_by_any_request() -> None:
    async with serving() as world:
        await world.add_pods("real")

        await world.ask("", request=invented(world, "real"), client=STRANGER)
        await world.settled()
        await asyncio.sleep(2)

        lease = world.server.get("leases.coordination.k8s.io", NAME, NAMESPACE)
        assert lease is not None
        assert LAST_REQUEST_AT in lease["metadata"]["annotations"]


async def send_each_kind(world: World) -> set[str]:
    """Have ten strangers ask about two pods in each way there is; return the names of pods sent."""
    await world.add_pods("waits-1", "waits-2")
    await world.settled()
    pods, random, sent = (
        [world.of("pods", name) for name in ("waits-1", "waits-2")],
        Random(1),
        set(),
    )
    for number in range(300):
        request = random.choice([*KINDS.values()])(random.choice(pods), world.nodes, random)
        sent.add(request["Pod"]["metadata"]["name"])
        await world.ask("", request=json.dumps(request).encode(), client=f"10.0.1.{number % 10}")
    await world.settled()
    return sent


async def test_what_strangers_send_changes_no_object_and_reads_only_the_pods_that_it_names() -> (
    None
):
    async with serving() as world:
        before = len(world.server.calls)

        sent = await send_each_kind(world)

        calls = [each for each in world.server.calls[before:] if each.resource not in KEPT]
        listed = [each for each in calls if each.verb == "list"]
        asked = {dict(each.query).get("fieldSelector") for each in listed}
        assert {each.verb for each in calls} <= {"list", "watch"}
        assert {each.resource for each in listed} == {"pods"}
        assert asked <= {f"metadata.name={name}" for name in sent}


async def test_no_label_of_a_metric_contains_what_strangers_send() -> None:
    async with serving() as world:
        sent = await send_each_kind(world)

        labels = {
            value
            for family in world.leader.registry.collect()
            for sample in family.samples
            for value in sample.labels.values()
        }
        assert labels.isdisjoint({*sent, *world.nodes, "default", "elsewhere"})


async def test_a_name_that_leads_out_of_its_path_is_refused_and_nothing_is_sent() -> None:
    async with serving() as world:
        await world.add_pods("waits")
        await world.settled()
        before = len(world.server.calls)
        hostile = "../../../../apis/longhorn.io/v1beta2/namespaces/longhorn-system/volumes/v"

        answer = await world.ask("", request=changed(world, "waits", name=hostile), client=STRANGER)
        await world.settled()

        assert answer.status == 400
        assert "`Pod.metadata.name` is '../../../.." in answer.body.decode()
        assert [each for each in world.server.calls[before:] if each.resource not in KEPT] == []
