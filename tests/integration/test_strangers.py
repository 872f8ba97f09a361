"""What somebody can do who is let in and is not kube-scheduler: over plain HTTP, everybody."""

import asyncio
import json
from collections.abc import Sequence
from random import Random

import pytest

from benchmarks.strangers import KINDS
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.scheduling import ONE, SCHEDULING_SECONDS, THREE, TWO, World, serving

pytestmark = VIRTUAL_TIME

STRANGER = "10.0.0.66"
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


async def test_a_pod_of_the_same_uid_is_an_error_and_ends_no_hold():
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
        assert world.count("refuted_requests_total") == 2


@pytest.mark.parametrize("version", ["", "1", HUGE_VERSION])
async def test_the_room_of_a_pod_that_does_not_exist_is_free_soon(version):
    async with serving() as world:
        await world.add_pods("real", "other")

        await world.ask("", request=invented(world, "real", resourceVersion=version))
        assert [each.pod for each in await world.held()] == ["made-up"]
        await asyncio.sleep(SCHEDULING_SECONDS + 1)

        assert await world.held() == []
        assert (await world.ask("other")).accepted == [ONE, TWO, THREE]


async def test_anybody_is_told_where_there_is_room_and_which_claims_exist():
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


async def test_a_pod_that_waits_is_held_for_while_a_stranger_goes_on_asking():
    async with serving() as world:
        await world.add_pods("waits", "other")
        for _ in range(4):
            await world.ask("waits", client=STRANGER)
            await asyncio.sleep(SCHEDULING_SECONDS - 1)
            assert await world.held_nodes("waits") == (ONE, TWO, THREE)

        await asyncio.sleep(2)

        assert await world.held() == []


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


async def test_what_strangers_send_changes_no_object_and_reads_only_the_pods_that_it_names():
    async with serving() as world:
        before = len(world.server.calls)

        sent = await send_each_kind(world)

        calls = [each for each in world.server.calls[before:] if each.resource not in KEPT]
        listed = [each for each in calls if each.verb == "list"]
        asked = {dict(each.query).get("fieldSelector") for each in listed}
        assert {each.verb for each in calls} <= {"list", "watch"}
        assert {each.resource for each in listed} <= {"pods"}
        assert asked <= {f"metadata.name={name}" for name in sent}


async def test_no_label_of_a_metric_contains_what_strangers_send():
    async with serving() as world:
        sent = await send_each_kind(world)

        labels = {
            value
            for family in world.leader.registry.collect()
            for sample in family.samples
            for value in sample.labels.values()
        }
        assert labels.isdisjoint({*sent, *world.nodes, "default", "elsewhere"})


async def test_a_name_that_leads_out_of_its_path_is_refused_and_nothing_is_sent():
    async with serving() as world:
        await world.add_pods("waits")
        await world.settled()
        before = len(world.server.calls)
        hostile = "../../../../apis/longhorn.io/v1beta2/namespaces/longhorn-system/volumes/v"

        request = json.loads(world.request("waits"))
        request["Pod"]["metadata"]["name"] = hostile

        body = json.dumps(request).encode()
        answer = await world.ask("", request=body, client=STRANGER)
        await world.settled()

        assert answer.status == 400
        assert "`Pod.metadata.name` is '../../../.." in answer.body.decode()
        assert [each for each in world.server.calls[before:] if each.resource not in KEPT] == []
