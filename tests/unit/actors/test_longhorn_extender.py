"""What Longhorn 1.13 does besides: its Settings, and an extender of its own by its proposal."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import httpx
import pytest

from tests.actors import api as kinds
from tests.actors.api import Api, Key, Object
from tests.actors.longhorn import setting
from tests.actors.longhorn.extender import NAME, Extender, Filter, Lease, serving
from tests.actors.longhorn.release import (
    ENABLED,
    KNOWN,
    NODE_RESERVATION_TIMEOUT,
    POD_SCHEDULING_TIMEOUT,
)
from tests.unit.actors.world import EPOCH, NAMESPACE, VIRTUAL_TIME, World, running, world_of

pytestmark = VIRTUAL_TIME

NODES = ["node-1", "node-2"]
Answer = Callable[[Object], Awaitable[Object]]


def two_nodes(settings: Mapping[str, str] | None = None) -> World:
    """Return a cluster of two nodes with room for a pod of 60 GiB, and one without."""
    world = world_of(100, 100, settings=settings)
    world.add_node("small", 50)
    return world


def claim_of(gib: int, **spec: str) -> Object:
    """Return the spec of a claim of the class."""
    resources = {"requests": {"storage": f"{gib}Gi"}}
    return {"storageClassName": "local", "resources": resources, **spec}


def pod_with(claim: str, name: str) -> Object:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return {"metadata": {"namespace": "default", "name": name}, "spec": {"volumes": volumes}}


def add_pod(world: World, name: str) -> Object:
    """Add a pod with one claim of 60 GiB that is not bound yet."""
    made = pod_with(name, name)
    world.put(kinds.CLAIMS, {"metadata": made["metadata"], "spec": claim_of(60)})
    world.put(kinds.PODS, made)
    return made


def bind(world: World, pod: Object, node: str) -> None:
    world.put(kinds.PODS, {**pod, "spec": {**pod["spec"], "nodeName": node}})


def turn(world: World, value: str) -> None:
    world.put(kinds.SETTINGS, setting(ENABLED, value))


def holder(world: World) -> str:
    lease = world.server.get("leases.coordination.k8s.io", NAME, NAMESPACE)
    return str(lease["spec"]["holderIdentity"]) if lease else ""


def published(world: World) -> list[str]:
    """Name the addresses in the slice of the Service."""
    found = world.server.get("endpointslices.discovery.k8s.io", NAME, NAMESPACE)
    endpoints = (found or {}).get("endpoints") or ()
    return [address for each in endpoints for address in each["addresses"]]


@asynccontextmanager
async def upgraded(world: World) -> AsyncIterator[World]:
    """Let Longhorn be 1.13."""
    api = Api(world.server.client("longhorn-1.13"))
    async with running(world), asyncio.TaskGroup() as tasks:
        extender = Extender(api, world.longhorn.cluster, node="node-1")
        work = tasks.create_task(extender.run())
        yield world
        work.cancel()
    await api.close()


@asynccontextmanager
async def filtering(
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[tuple[World, Filter]]:
    """Let its extender answer, without a server; all caches are filled."""
    world = two_nodes(settings)
    async with running(world):
        for informer in world.longhorn.cluster.informers:
            await informer.synced.wait()
        async with asyncio.TaskGroup() as tasks:
            yield world, Filter(world.longhorn.cluster, tasks)


def asked(pod: Object, nodes: list[str]) -> Object:
    return {"Pod": pod, "Nodes": None, "NodeNames": nodes}


async def accepted(answer: Answer, pod: Object) -> list[str]:
    """Ask for a pod; the caches know it by then."""
    await asyncio.sleep(0.1)
    names: list[str] = (await answer(asked(pod, NODES)))["NodeNames"]
    return names


async def test_settings_are_made_with_their_defaults_and_others_stay():
    world = two_nodes({"storage-over-provisioning-percentage": "200"})
    async with upgraded(world):
        await world.until(
            lambda: len(world.server.list("settings.longhorn.io")) == len(KNOWN), within=10
        )

        values = {
            each["metadata"]["name"]: each["value"]
            for each in world.server.list("settings.longhorn.io", NAMESPACE)
        }

    assert values == {**KNOWN, "storage-over-provisioning-percentage": "200"}
    assert {values[ENABLED], values[POD_SCHEDULING_TIMEOUT]} == {"false", "5"}
    assert values[NODE_RESERVATION_TIMEOUT] == "5"


async def test_the_extender_runs_while_its_setting_says_so():
    async with upgraded(two_nodes()) as world:
        await asyncio.sleep(5)
        assert (holder(world), world.server.get("services", NAME, NAMESPACE)) == ("", None)

        turn(world, "true")
        await world.until(lambda: published(world), within=5)
        service = world.server.get("services", NAME, NAMESPACE)
        assert holder(world) == "node-1"
        assert service is not None
        assert "selector" not in service["spec"]

        turn(world, "false")
        await world.until(lambda: not published(world) and not holder(world), within=5)

        turn(world, "true")
        await world.until(lambda: published(world) and holder(world), within=5)
    assert (published(world), holder(world)) == ([], "")


async def test_it_does_not_lead_while_somebody_else_holds_its_lease():
    world = two_nodes({ENABLED: "true"})
    api = Api(world.server.client("somebody"))
    other = Lease(api, Key(NAMESPACE, NAME), "somebody", lambda: EPOCH)
    await other.acquire()

    async with upgraded(world):
        await world.hold(lambda: holder(world) == "somebody", seconds=19)
        await world.until(lambda: holder(world) == "node-1", within=5)

        await other.keep()  # ends at once: it is no longer held
        lease = world.server.get("leases.coordination.k8s.io", NAME, NAMESPACE)
    await api.close()
    assert lease is not None
    assert lease["spec"]["leaseTransitions"] == 1


async def test_a_pod_gets_the_nodes_whose_largest_disk_has_room():
    async with filtering() as (world, found):
        pod = add_pod(world, "web")
        await asyncio.sleep(0.1)

        answer = await found.answer(asked(pod, ["small", "node-2", "unknown", "node-1"]))

    assert answer["NodeNames"] == ["node-2", "node-1"]
    assert [*answer["FailedNodes"]] == ["small", "unknown"]


async def test_a_pod_without_volumes_of_longhorn_keeps_all_nodes():
    pod = {"metadata": {"namespace": "default", "name": "web"}, "spec": {}}
    async with filtering() as (_, found):
        assert await accepted(found.answer, pod) == NODES
        assert await accepted(found.answer, pod) == NODES


async def test_a_pod_goes_back_to_where_all_its_replicas_are():
    async with filtering() as (world, found):
        await world.provision("data")
        world.run_pod("web", "node-2", "data")
        await world.until(lambda: world.places("data") == ["node-2"], within=10)
        world.end_pod("web")
        metadata = {"namespace": "default", "name": "data"}
        world.put(kinds.CLAIMS, {"metadata": metadata, "spec": claim_of(10, volumeName="data")})
        again = pod_with("data", "again")

        assert await accepted(found.answer, again) == ["node-2"]
        assert await accepted(found.answer, again) == ["node-2"]  # and nothing waits for it


async def test_the_next_answer_waits_until_the_pod_before_has_its_node():
    async with filtering() as (world, found):
        first, second = add_pod(world, "first"), add_pod(world, "second")
        assert await accepted(found.answer, first) == NODES

        waiting = asyncio.create_task(accepted(found.answer, second))
        await asyncio.sleep(3)
        assert not waiting.done()

        bind(world, first, "node-1")
        assert await waiting == ["node-2"]
        assert found.reserved == {"node-1"}


async def test_both_timeouts_end_what_is_kept():
    async with filtering() as (world, found):
        first, second = add_pod(world, "first"), add_pod(world, "second")
        await accepted(found.answer, first)
        began = asyncio.get_running_loop().time()
        assert await accepted(found.answer, second) == NODES
        assert 4.5 < asyncio.get_running_loop().time() - began < 5.5

        bind(world, second, "node-1")
        await world.until(lambda: found.reserved == {"node-1"}, within=1)
        await world.hold(lambda: found.reserved == {"node-1"}, seconds=4)
        await world.until(lambda: not found.reserved, within=2)


async def test_a_node_is_reserved_until_the_replicas_are_listed_there():
    async with filtering({NODE_RESERVATION_TIMEOUT: "600"}) as (world, found):
        pod = add_pod(world, "data")
        await accepted(found.answer, pod)
        bind(world, pod, "node-1")
        await world.until(lambda: found.reserved == {"node-1"}, within=1)
        await world.hold(lambda: found.reserved == {"node-1"}, seconds=10)

        await world.provision("data", gib=60)
        claim = world.server.get("persistentvolumeclaims", "data", "default")
        assert claim is not None
        world.put(kinds.CLAIMS, {**claim, "spec": claim_of(60, **claim["spec"])})

        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 60}, within=20)
        await world.until(lambda: not found.reserved, within=1)


async def test_timeouts_of_zero_keep_nothing():
    async with filtering({POD_SCHEDULING_TIMEOUT: "0"}) as (world, found):
        first, second = add_pod(world, "first"), add_pod(world, "second")
        await accepted(found.answer, first)
        began = asyncio.get_running_loop().time()

        assert await accepted(found.answer, second) == NODES
        assert asyncio.get_running_loop().time() - began < 0.5


@pytest.mark.looptime(0)  # off: there are real sockets
async def test_it_answers_over_http_in_names_and_in_whole_nodes():
    nodes = [{"metadata": {"name": name}, "status": {"kept": True}} for name in ("small", *NODES)]
    async with filtering() as (world, found):
        pod = add_pod(world, "web")
        claims = world.longhorn.cluster.claims
        await claims.until(lambda: claims.get("web", "default") is not None)
        async with serving(found.answer) as port, httpx.AsyncClient() as http:
            url = f"http://127.0.0.1:{port}"
            whole = await http.post(
                f"{url}/filter", json={"Pod": pod, "Nodes": {"items": nodes}, "NodeNames": None}
            )
            bind(world, pod, "node-1")
            health = await http.get(f"{url}/healthz")
            named = await http.post(f"{url}/filter", json=asked(pod, NODES))

    assert health.status_code == 200
    assert whole.json()["Nodes"]["items"] == nodes[1:]
    assert named.json()["NodeNames"] == ["node-2"]
