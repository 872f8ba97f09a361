"""CSIStorageCapacity objects: external-provisioner with Longhorn's GetCapacity behind it.

One object for each of Longhorn's StorageClasses that waits for a consumer, and each node. They are
asked for anew at every poll, when a class or a node appears, and for a class also whenever a
PersistentVolume of it comes or goes: external-provisioner's NewProvisionWrapper does that after
provisioning and deletion (by topology if the volume has one, which Longhorn's volumes have not).
That is before the volume is attached, so best-effort volumes are not counted yet then. The numbers
are from the Node objects as last published. Kubernetes nodes' hostname labels are taken for equal
to their names.
"""

import asyncio
from typing import NamedTuple, NoReturn

from longhorn import Capacity, Node, capacity_of, tracked_need
from tests.actors.api import CSI_STORAGE_CAPACITIES, Object
from tests.actors.controller import Controller
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.objects import DRIVER, HOSTNAME_LABEL
from tests.actors.longhorn.records import recorded
from tests.actors.longhorn.settings import Settings, are_readable, known

WORKERS = 10


class Segment(NamedTuple):
    """What one object is about."""

    storage_class: str
    node: str

    @property
    def name(self) -> str:
        return f"csisc-{self.storage_class}-{self.node}"


def capacity(node: Object, storage_class: Object, settings: Settings) -> Capacity:
    """Say what a node has left for volumes of a class."""
    need = tracked_need(storage_class.get("parameters") or {})
    return capacity_of(recorded(node, Node), need, known(settings))


def capacity_object(segment: Segment, found: Capacity, *, namespace: str) -> Object:
    """Build a CSIStorageCapacity."""
    return {
        "metadata": {
            "name": segment.name,
            "namespace": namespace,
            "labels": {
                "csi.storage.k8s.io/drivername": DRIVER,
                "csi.storage.k8s.io/managed-by": "external-provisioner",
            },
        },
        "storageClassName": segment.storage_class,
        "nodeTopology": {"matchLabels": {HOSTNAME_LABEL: segment.node}},
        **_quantities(found),
    }


def _quantities(found: Capacity) -> Object:
    return {
        "capacity": str(found.available_bytes),
        "maximumVolumeSize": str(found.maximum_bytes),
    }


class Publisher:
    """Keeps the objects."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._controller: Controller[Segment] = Controller(self._publish, workers=WORKERS)
        self._published: dict[Segment, Capacity] = {}

    async def run(self) -> NoReturn:
        """Work until cancelled; the caches are filled."""
        cluster = self._cluster
        cluster.nodes.handlers.append(self._on_node)
        cluster.storage_classes.handlers.append(self._on_class)
        cluster.persistent_volumes.handlers.append(self._on_persistent_volume)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._controller.run())
            while True:
                for name in cluster.storage_classes.objects:
                    self._refresh(name.name)
                await asyncio.sleep(cluster.delays.capacity_poll)
        raise AssertionError("controllers do not end")

    def _refresh(self, storage_class: str) -> None:
        for key in self._cluster.nodes.objects:
            self._controller.add(Segment(storage_class, key.name))

    def _on_node(self, old: Object | None, new: Object | None) -> None:
        node = new or old
        if node is not None and (old is None or new is None):
            for key in self._cluster.storage_classes.objects:
                self._controller.add(Segment(key.name, node["metadata"]["name"]))

    def _on_class(self, old: Object | None, new: Object | None) -> None:
        found = new or old
        if found is not None:
            self._refresh(found["metadata"]["name"])

    def _on_persistent_volume(self, old: Object | None, new: Object | None) -> None:
        found = new or old
        if found is not None and (old is None or new is None):
            self._refresh(found["spec"].get("storageClassName", ""))

    async def _publish(self, segment: Segment) -> None:
        cluster = self._cluster
        node = cluster.nodes.get(segment.node, cluster.namespace)
        storage_class = cluster.storage_classes.get(segment.storage_class)
        key = cluster.key(segment.name)
        if node is None or storage_class is None or not _waits_for_consumer(storage_class):
            if self._published.pop(segment, None) is not None:
                await cluster.api.delete(CSI_STORAGE_CAPACITIES, key)
            return
        if not are_readable(cluster.setting_values()):
            return  # CSI GetCapacity fails
        found = capacity(node, storage_class, cluster.setting_values())
        if self._published.get(segment) == found:
            return
        changed = await cluster.api.patch(CSI_STORAGE_CAPACITIES, key, _quantities(found))
        if changed is None:
            obj = capacity_object(segment, found, namespace=cluster.namespace)
            await cluster.api.create(obj, CSI_STORAGE_CAPACITIES)
        self._published[segment] = found


def _waits_for_consumer(storage_class: Object) -> bool:
    return (
        storage_class["provisioner"] == DRIVER
        and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
    )
