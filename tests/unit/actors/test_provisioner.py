"""The played provisioner takes a node back that has no room: the service must cope with that."""

import asyncio
from collections.abc import Mapping
from random import Random

from tests.actors import api as kinds
from tests.actors.api import Api, Informer, Object
from tests.actors.longhorn import DRIVER, storage_class
from tests.actors.provisioner import (
    PROVISIONER,
    SELECTED_NODE,
    Provisioner,
    ResourceExhaustedError,
)
from tests.fakes import FakeApiServer
from tests.unit.actors.world import VIRTUAL_TIME

pytestmark = VIRTUAL_TIME


class Driver:
    """A CSI driver that has no room at first, and keeps the volumes that it makes.

    Attributes:
        asked: How often it was asked for a volume.
    """

    def __init__(self) -> None:
        self.asked = 0
        self.volumes: dict[str, tuple[int, Mapping[str, str]]] = {}
        self.nodes = {"node-1", "node-2"}

    def is_registered(self, node: str) -> bool:
        return node in self.nodes

    async def create_volume(
        self, name: str, size_bytes: int, parameters: Mapping[str, str]
    ) -> None:
        self.asked += 1
        if self.asked == 1:
            raise ResourceExhaustedError(name)
        self.volumes[name] = (size_bytes, parameters)

    async def delete_volume(self, name: str) -> None:
        del self.volumes[name]


def put(server: FakeApiServer, kind: kinds.Kind, obj: Object) -> None:
    server.put({"apiVersion": kind.api_version, "kind": kind.kind, **obj})


async def test_without_room_another_node_is_to_be_selected_and_without_driver_nothing_happens():
    server, driver = FakeApiServer(Random(0)), Driver()
    put(server, kinds.STORAGE_CLASSES, storage_class("local"))
    ours = {PROVISIONER: DRIVER}
    spec = {
        "storageClassName": "local",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "10Gi"}},
    }

    async def select(node: str) -> tuple[object, int, int]:
        """Select a node; return the annotations later on, the calls so far and the volumes."""
        annotations = {**ours, **({SELECTED_NODE: node} if node else {})}
        metadata = {"name": "data", "namespace": "default", "annotations": annotations}
        put(server, kinds.CLAIMS, {"metadata": metadata, "spec": spec})
        await asyncio.sleep(600)
        found = server.get("persistentvolumeclaims", "data", "default") or {}
        names = [volume["metadata"]["name"] for volume in server.list("persistentvolumes")]
        assert names == [*driver.volumes]
        return found["metadata"]["annotations"], driver.asked, len(names)

    async with server.client("provisioner") as client, asyncio.TaskGroup() as tasks:
        api = Api(client)
        kinds_needed = (kinds.CLAIMS, kinds.PERSISTENT_VOLUMES, kinds.STORAGE_CLASSES)
        claims, volumes, classes = informers = [Informer(api, kind) for kind in kinds_needed]
        provisioner = Provisioner(
            api, driver, claims=claims, persistent_volumes=volumes, storage_classes=classes
        )
        running = [tasks.create_task(informer.run()) for informer in informers]
        running.append(tasks.create_task(provisioner.run()))

        assert await select("") == (ours, 0, 0)
        assert await select("node-1") == (ours, 1, 0)
        assert await select("node-3") == ({**ours, SELECTED_NODE: "node-3"}, 1, 0)
        assert await select("node-2") == ({**ours, SELECTED_NODE: "node-2"}, 2, 1)

        for task in running:
            task.cancel()
