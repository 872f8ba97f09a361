"""What Longhorn 1.13 does besides: its Settings, and an extender of its own by its proposal."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx

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
from tests.unit.actors.world import EPOCH, NAMESPACE, VIRTUAL_TIME, World, running

NODES = ["node-1", "node-2"]
Answer = Callable[[Object], Awaitable[Object]]


def two_nodes(**settings: str) -> World:
    world = World()
    for name in NODES:
        world.add_node(name, 100)
    for name, value in settings.items():
        world.put(kinds.SETTINGS, setting(name.replace("_", "-"), value))
    return world


def add_pod(world: World, name: str, *, gib: int = 60) -> Object:
    """Add a pod with one claim that is not bound yet."""
    metadata = {"namespace": "default", "name": name}
    requests = {"storage": f"{gib}Gi"}
    spec = {"storageClassName": "local", "resources": {"requests": requests}}
    world.put(kinds.CLAIMS, {"metadata": metadata, "spec": spec})
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
    made = {"metadata": metadata, "spec": {"volumes": volumes}}
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
async def filtering(world: World) -> AsyncIterator[Filter]:
    """Let its extender answer, without a server; all caches are filled."""
    async with running(world):
        for informer in world.longhorn.cluster.informers:
            await informer.synced.wait()
        async with asyncio.TaskGroup() as tasks:
            yield Filter(world.longhorn.cluster, tasks)


def asked(pod: Object, nodes: list[str]) -> Object:
    return {"Pod": pod, "Nodes": None, "NodeNames": nodes}


async def accepted(answer: Answer, pod: Object) -> list[str]:
    """Ask for a pod; the caches know it by then."""
    await asyncio.sleep(0.1)
    names: list[str] = (await answer(asked(pod, NODES)))["NodeNames"]
    return names


@VIRTUAL_TIME
async def test_settings_are_made_with_their_defaults_and_others_stay():
    world = two_nodes(storage_over_provisioning_percentage="200")
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


@VIRTUAL_TIME
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


@VIRTUAL_TIME
async def test_it_does_not_lead_while_somebody_else_holds_its_lease():
    world = two_nodes(**{ENABLED: "true"})
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


@VIRTUAL_TIME
async def test_a_pod_gets_the_nodes_whose_largest_disk_has_room():
    world = two_nodes()
    world.add_node("small", 50)
    async with filtering(world) as found:
        pod = add_pod(world, "web")
        await asyncio.sleep(0.1)

        answer = await found.answer(asked(pod, ["small", "node-2", "unknown", "node-1"]))

    assert answer["NodeNames"] == ["node-2", "node-1"]
    assert [*answer["FailedNodes"]] == ["small", "unknown"]


@VIRTUAL_TIME
async def test_a_pod_without_volumes_of_longhorn_keeps_all_nodes():
    pod = {"metadata": {"namespace": "default", "name": "web"}, "spec": {}}
    async with filtering(two_nodes()) as found:
        assert await accepted(found.answer, pod) == NODES
        assert await accepted(found.answer, pod) == NODES


@VIRTUAL_TIME
async def test_a_pod_goes_back_to_where_all_its_replicas_are():
    world = two_nodes()
    async with filtering(world) as found:
        await world.provision("data")
        world.run_pod("web", "node-2", "data")
        await world.until(lambda: world.places("data") == ["node-2"], within=10)
        world.end_pod("web")
        metadata = {"namespace": "default", "name": "data"}
        requests = {"storage": "10Gi"}
        spec = {"storageClassName": "local", "resources": {"requests": requests}}
        world.put(kinds.CLAIMS, {"metadata": metadata, "spec": {**spec, "volumeName": "data"}})
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
        again = {
            "metadata": {"namespace": "default", "name": "again"},
            "spec": {"volumes": volumes},
        }

        assert await accepted(found.answer, again) == ["node-2"]
        assert await accepted(found.answer, again) == ["node-2"]  # and nothing waits for it


@VIRTUAL_TIME
async def test_the_next_answer_waits_until_the_pod_before_has_its_node():
    world = two_nodes()
    async with filtering(world) as found:
        first, second = add_pod(world, "first"), add_pod(world, "second")
        assert await accepted(found.answer, first) == NODES

        waiting = asyncio.create_task(accepted(found.answer, second))
        await asyncio.sleep(3)
        assert not waiting.done()

        bind(world, first, "node-1")
        assert await waiting == ["node-2"]
        assert found.reserved == {"node-1"}


@VIRTUAL_TIME
async def test_both_timeouts_end_what_is_kept():
    world = two_nodes()
    async with filtering(world) as found:
        first, second = add_pod(world, "first"), add_pod(world, "second")
        await accepted(found.answer, first)
        began = asyncio.get_running_loop().time()
        assert await accepted(found.answer, second) == NODES
        assert 4.5 < asyncio.get_running_loop().time() - began < 5.5

        bind(world, second, "node-1")
        await world.until(lambda: found.reserved == {"node-1"}, within=1)
        await world.hold(lambda: found.reserved == {"node-1"}, seconds=4)
        await world.until(lambda: not found.reserved, within=2)


@VIRTUAL_TIME
async def test_a_node_is_reserved_until_the_replicas_are_listed_there():
    world = two_nodes(**{NODE_RESERVATION_TIMEOUT: "600"})
    async with filtering(world) as found:
        pod = add_pod(world, "data")
        await accepted(found.answer, pod)
        bind(world, pod, "node-1")
        await world.until(lambda: found.reserved == {"node-1"}, within=1)
        await world.hold(lambda: found.reserved == {"node-1"}, seconds=10)

        await world.provision("data", gib=60)
        claim = world.server.get("persistentvolumeclaims", "data", "default")
        assert claim is not None
        spec = {"storageClassName": "local", "resources": {"requests": {"storage": "60Gi"}}}
        world.put(kinds.CLAIMS, {**claim, "spec": {**spec, **claim["spec"]}})

        await world.until(lambda: world.published_gib("node-1") == {"disk-1": 60}, within=20)
        await world.until(lambda: not found.reserved, within=1)


@VIRTUAL_TIME
async def test_timeouts_of_zero_keep_nothing():
    world = two_nodes(**{POD_SCHEDULING_TIMEOUT: "0"})
    async with filtering(world) as found:
        first, second = add_pod(world, "first"), add_pod(world, "second")
        await accepted(found.answer, first)
        began = asyncio.get_running_loop().time()

        assert await accepted(found.answer, second) == NODES
        assert asyncio.get_running_loop().time() - began < 0.5


async def test_it_answers_over_http_in_names_and_in_whole_nodes():
    world = two_nodes()
    nodes = [{"metadata": {"name": name}, "status": {"kept": True}} for name in ("small", *NODES)]
    world.add_node("small", 50)
    async with filtering(world) as found:
        pod = add_pod(world, "web")
        await world.longhorn.cluster.claims.until(
            lambda: world.longhorn.cluster.claims.get("web", "default") is not None
        )
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
