"""Node managers: each publishes what is scheduled on the disks of its node, a while after it is.

Source: longhorn-manager controller/node_controller.go syncNode.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NoReturn

import msgspec

from longhorn import DiskSpace, Node, is_schedulable, node_disks
from tests.actors.api import LONGHORN_NODES, Object
from tests.actors.controller import Controller
from tests.actors.longhorn.accounts import by_disk, counted, disks
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.objects import condition
from tests.actors.longhorn.records import recorded
from tests.actors.longhorn.settings import (
    DISABLE_WHEN_CORDONED,
    Settings,
    are_readable,
    is_on,
    known,
)
from tests.actors.longhorn.shards import shards_by_disk

WORKERS = 10


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What a node's conditions follow from."""

    is_cordoned: bool
    not_ready: str
    """Why the manager of the node is away; "" if it is there."""
    settings: Settings
    now: str
    reads_block_disks: bool = True
    """Whether an instance manager of data engine v2 ran when disks were read last."""


def node_status(
    node: Object,
    replicas: Iterable[Object],
    situation: Situation,
    images: Iterable[Object] = (),
    shards: Iterable[Object] = (),
) -> Object:
    """Build the status of a Longhorn Node as it should be.

    What is on the disks only the node's own manager knows: while that is away, the numbers stay as
    they are. What is free on a disk is never changed here.
    """
    images = tuple(images)
    statuses = dict(node["status"].get("diskStatus") or {})
    if not situation.not_ready:
        assigned = by_disk(replicas)
        of_shards = shards_by_disk(shards)
        statuses |= {
            name: counted(status, assigned, images, of_shards) for name, _, status in disks(node)
        }
    counting = {**node, "status": {**node["status"], "diskStatus": statuses}}
    for space in node_disks(recorded(counting, Node), known(situation.settings)).disks:
        status = statuses[space.disk.name]
        conditions = _disk_conditions(space, situation)
        statuses[space.disk.name] = {
            **status,
            "conditions": _merged(status, conditions, situation.now),
        }
    conditions = _node_conditions(node["metadata"]["name"], situation)
    return {
        **node["status"],
        "conditions": _merged(node["status"], conditions, situation.now),
        "diskStatus": statuses,
    }


def _node_conditions(name: str, situation: Situation) -> tuple[Object, Object]:
    ready = condition("Ready", message=f"Node {name} is ready")
    if situation.not_ready:
        ready = condition("Ready", "False", reason=situation.not_ready)
    blocked = situation.is_cordoned and is_on(situation.settings, DISABLE_WHEN_CORDONED)
    if blocked:
        return ready, condition("Schedulable", "False", reason="KubernetesNodeCordoned")
    return ready, condition("Schedulable")


def _disk_conditions(space: DiskSpace, situation: Situation) -> tuple[Object, Object]:
    if situation.not_ready:
        gone = {"reason": "NodeNotReady"}
        return condition("Ready", "False", **gone), condition("Schedulable", "False", **gone)
    if space.disk.type == "block" and not situation.reads_block_disks:
        return (
            condition("Ready", "False", reason="NoDiskInfo"),
            condition("Schedulable", "False", reason="DiskNotReady"),
        )
    if is_schedulable(space):
        return condition("Ready"), condition("Schedulable")
    return condition("Ready"), condition("Schedulable", "False", reason="DiskPressure")


def _merged(status: Object, conditions: Collection[Object], now: str) -> list[Object]:
    """Put *conditions* in place of those of their types; the time is that of the last change."""
    old = {each["type"]: each for each in status.get("conditions") or ()}
    for new in conditions:
        before: Mapping[str, str] = old.get(new["type"], {})
        since = now if before.get("status") != new["status"] else before["lastTransitionTime"]
        old[new["type"]] = {**new, "lastTransitionTime": since}
    return [*old.values()]


class Nodes:
    """The managers of all nodes.

    Attributes:
        cordoned: Nodes that Kubernetes keeps pods off, as last taken in.
        synced: Told of each node that was just looked at.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cordoned: set[str] = set()
        self.synced: list[Callable[[str], None]] = []
        self._cluster = cluster
        self._controller: Controller[str] = Controller(self._publish, workers=WORKERS)
        self._waiting: set[str] = set()
        self._unread: set[str] = set()
        """Nodes whose block disks could not be read the last time."""
        self._polls: Controller[str] = Controller(self._poll, workers=WORKERS)

    def look(self, node: str) -> None:
        """Publish a node's status in a while; what happens until then is published with it."""
        if node and node not in self._waiting:
            self._waiting.add(node)
            seconds = self._cluster.draw(self._cluster.delays.node_status)
            self._controller.add_after(node, seconds)

    async def run(self) -> NoReturn:
        """Work until cancelled; the caches are filled."""
        cluster = self._cluster
        cluster.replicas.handlers.append(self._on_replica)
        if cluster.shards is not None:
            cluster.shards.handlers.append(self._on_replica)
        cluster.backing_images.handlers.append(self._on_image)
        cluster.nodes.handlers.append(self._on_node)
        cluster.kubernetes_nodes.handlers.append(self._on_node)
        cluster.settings.handlers.append(self._on_setting)
        cluster.instance_managers.handlers.append(self._on_manager)
        self._unread = {key.name for key in cluster.nodes.objects if not self._runs_v2(key.name)}
        self._on_setting(None, None)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._polls.run())
            tasks.create_task(self._controller.run())
        raise AssertionError("controllers do not end")

    def _on_replica(self, old: Object | None, new: Object | None) -> None:
        for replica in (old, new):
            if replica is not None:
                self.look(replica["spec"].get("nodeID", ""))

    def _on_image(self, old: Object | None, new: Object | None) -> None:
        """Look at the nodes of all disks with a copy."""
        changed = [each for each in (old, new) if each is not None]
        copies = {
            disk
            for image in changed
            for disk in (image.get("status") or {}).get("diskFileStatusMap") or {}
        }
        for node in self._cluster.nodes.objects.values():
            if any(status["diskUUID"] in copies for _, _, status in disks(node)):
                self.look(node["metadata"]["name"])

    def _on_node(self, _old: Object | None, new: Object | None) -> None:
        if new is not None:
            self.look(new["metadata"]["name"])

    def _on_setting(self, _old: Object | None, _new: Object | None) -> None:
        for key in self._cluster.nodes.objects:
            self.look(key.name)

    def _on_manager(self, old: Object | None, new: Object | None) -> None:
        manager = new or old
        assert manager is not None
        if manager["spec"]["dataEngine"] == "v2":
            seconds = self._cluster.draw(self._cluster.delays.disk_poll)
            self._polls.add_after(manager["spec"]["nodeID"], seconds)

    async def _poll(self, node: str) -> None:
        """Read the block disks of a node, if anything runs through which that can be done."""
        (self._unread.discard if self._runs_v2(node) else self._unread.add)(node)
        self.look(node)

    def _runs_v2(self, node: str) -> bool:
        return self._cluster.runners.engines(node).runs_v2

    async def _publish(self, name: str) -> None:
        self._waiting.discard(name)
        cluster = self._cluster
        node = await cluster.api.get(LONGHORN_NODES, name, cluster.namespace)
        if node is None or not are_readable(cluster.setting_values()):
            return
        is_cordoned = cluster.is_cordoned(name)
        situation = Situation(
            is_cordoned=is_cordoned,
            not_ready=cluster.not_ready.get(name, ""),
            settings=cluster.setting_values(),
            now=cluster.timestamp(),
            reads_block_disks=name not in self._unread,
        )
        status = node_status(
            node,
            cluster.replicas.objects.values(),
            situation,
            cluster.backing_images.objects.values(),
            cluster.known_shards(),
        )
        if status != node["status"]:
            await cluster.api.replace({**node, "status": status}, LONGHORN_NODES)
        self.cordoned = self.cordoned - {name} | ({name} if is_cordoned else set())
        for handler in self.synced:
            handler(name)
