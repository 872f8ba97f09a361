"""Pods are looked up a few at once; clients take turns, and our own look-ups go first."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest
from msgspec.structs import replace

from app.kube.connection import Connection
from app.kube.errors import StatusError
from app.kube.looking_up import MOST_AT_ONCE, SHORTEST_SECONDS, LookUps, Searches
from extender import PodRef
from extender.kubernetes import ClaimKey, PodStatus
from tests.builders import core_document
from tests.fakes import Answer, Call, FakeApiServer, Fault, Object

pytestmark = pytest.mark.looptime

SPEC = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[FakeApiServer, Connection]]:
    server = FakeApiServer(Random(1))
    connection = Connection(server.client("test"))
    try:
        yield server, connection
    finally:
        await connection.close()


def put(server: FakeApiServer, name: str = "pod") -> PodRef:
    """Create a pod; return what kube-scheduler says of it."""
    made: Object = server.put(core_document("Pod", name, spec=SPEC, status={"phase": "Pending"}))
    uid = made["metadata"]["uid"]
    return PodRef(namespace="default", name=name, uid=uid, claims=(ClaimKey("default/data"),))


def looks_up(call: Call) -> bool:
    return call.resource == "pods"


async def test_a_pod_is_found_only_if_all_is_as_was_said() -> None:
    async with connected() as (server, connection):
        pod = put(server)
        put(server, "other")
        find = LookUps(connection).find

        found = await find(pod)

        assert found is not None
        assert found.version > 0
        for changed in (
            replace(pod, uid="x"),
            replace(pod, name="other"),
            replace(pod, namespace="x"),
            replace(pod, claims=()),
        ):
            assert await find(changed) is None


async def test_a_refusal_is_raised() -> None:
    async with connected() as (server, connection):
        server.faults.append(Fault(Answer(500), looks_up))

        with pytest.raises(StatusError):
            await LookUps(connection).find(put(server))


async def test_each_takes_its_place_for_a_while() -> None:
    async with connected() as (server, connection):
        pod, look_ups = put(server), LookUps(connection)
        loop = asyncio.get_running_loop()
        began = loop.time()

        await asyncio.gather(*(look_ups.find(pod) for _ in range(2 * MOST_AT_ONCE + 1)))

        assert loop.time() - began == pytest.approx(2 * SHORTEST_SECONDS, abs=0.01)


async def test_clients_take_turns_and_our_own_go_first() -> None:
    async with connected() as (server, connection):
        pod, look_ups = put(server), LookUps(connection)
        done: list[str] = []

        async def find(client: str) -> None:
            await look_ups.find(pod, client)
            done.append(client)

        first = [asyncio.create_task(look_ups.find(pod)) for _ in range(MOST_AT_ONCE)]
        clients = [*["greedy"] * MOST_AT_ONCE, "modest", ""]
        rest = [asyncio.create_task(find(client)) for client in clients]
        await asyncio.gather(*first, *rest)

        assert {*done[:3]} == {"", "greedy", "modest"}


async def test_who_gives_up_takes_no_place() -> None:
    async with connected() as (server, connection):
        pod, look_ups = put(server), LookUps(connection)
        for _ in range(3):
            tasks = [asyncio.create_task(look_ups.find(pod)) for _ in range(2 * MOST_AT_ONCE)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await asyncio.sleep(SHORTEST_SECONDS)
        loop = asyncio.get_running_loop()
        began = loop.time()

        await asyncio.gather(*(look_ups.find(pod) for _ in range(MOST_AT_ONCE)))

        assert loop.time() - began < SHORTEST_SECONDS


async def test_while_pods_cannot_be_looked_up_few_are_tried_at_once() -> None:
    async with connected() as (server, connection):
        found: list[PodRef] = []
        searches = Searches(
            LookUps(connection), on_found=lambda pod, _: found.append(pod), random=Random(1)
        )
        running = asyncio.create_task(searches.run())
        server.faults.append(Fault(Answer(500), looks_up, times=None))
        pods = [replace(put(server), name=f"pod-{number}") for number in range(1_000)]
        before = len(asyncio.all_tasks())

        for each in pods:
            searches.begin(each)
        await asyncio.sleep(1)
        tried = len(asyncio.all_tasks()) - before
        server.faults.clear()
        await asyncio.sleep(60)

        assert tried < 100
        assert {*found} == {*pods}
        running.cancel()
        await asyncio.wait([running])


async def test_a_search_goes_on_until_it_is_known_whether_there_is_such_a_pod() -> None:
    async with connected() as (server, connection):
        found: list[tuple[PodRef, PodStatus | None]] = []
        searches = Searches(
            LookUps(connection),
            on_found=lambda pod, status: found.append((pod, status)),
            random=Random(1),
        )
        running = asyncio.create_task(searches.run())
        server.faults.append(Fault(Answer(500), looks_up, times=3))
        pod, forgotten = put(server), put(server, "forgotten")
        missing = replace(pod, uid="x")

        for each in (pod, pod, missing, forgotten):
            searches.begin(each)
        searches.forget(forgotten)
        await asyncio.sleep(10)

        assert len(found) == 2
        assert {ref: status is not None for ref, status in found} == {pod: True, missing: False}
        running.cancel()
        await asyncio.wait([running])
