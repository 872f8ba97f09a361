"""Pods whose node has gone come back elsewhere: without that they would stay there for ever."""

import asyncio
from random import Random

from tests.actors import api as kinds
from tests.actors.api import Api, Informer, Kind, Object
from tests.actors.pod_collector import PodCollector
from tests.fakes import FakeApiServer
from tests.unit.actors.world import VIRTUAL_TIME

pytestmark = VIRTUAL_TIME


def put(server: FakeApiServer, kind: Kind, name: str, spec: Object) -> None:
    metadata = {"name": name, **({"namespace": "default"} if kind.namespaced else {})}
    obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
    server.put(obj)


async def test_pods_are_deleted_whose_node_has_been_gone_for_a_while() -> None:
    server = FakeApiServer(Random(0))
    for name in ("stays", "goes", "returns"):
        put(server, kinds.KUBERNETES_NODES, name, {})
        put(server, kinds.PODS, f"on-{name}", {"nodeName": name})
    put(server, kinds.PODS, "waits", {})

    def left() -> list[str]:
        return [pod["metadata"]["name"] for pod in server.list("pods", "default")]

    async with server.client("collector") as client, asyncio.TaskGroup() as tasks:
        api = Api(client)
        pods, nodes = informers = [Informer(api, k) for k in (kinds.PODS, kinds.KUBERNETES_NODES)]
        collector = PodCollector(api, pods=pods, nodes=nodes)
        running = [tasks.create_task(each.run()) for each in informers]
        running.append(tasks.create_task(collector.run()))
        await asyncio.sleep(60)
        server.delete("nodes", "goes")
        server.delete("nodes", "returns")
        await asyncio.sleep(20)
        put(server, kinds.PODS, "late", {"nodeName": "goes"})
        put(server, kinds.KUBERNETES_NODES, "returns", {})
        await asyncio.sleep(15)
        before = left()
        await asyncio.sleep(10)
        between = left()
        await asyncio.sleep(60)
        for each in running:
            each.cancel()

    assert before == ["late", "on-goes", "on-returns", "on-stays", "waits"]
    assert between == ["late", "on-returns", "on-stays", "waits"]
    assert left() == ["on-returns", "on-stays", "waits"]
