"""A whole cluster for one test: the control plane's programs, our service, and the played parts."""

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

from prometheus_client.parser import text_string_to_metric_families

from tests.actors import api as kinds
from tests.actors.api import Api, Key, Kind, Object, key_of
from tests.actors.kubelet import Kubelets
from tests.actors.longhorn import (
    DRIVER,
    NAMESPACE,
    Delays,
    DiskSchedules,
    Longhorn,
    csi_driver,
    csi_node,
    engine_image,
    instance_manager,
    longhorn_node,
    setting,
    storage_class,
)
from tests.actors.provisioner import Provisioner
from tests.e2e.calls import Call
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controllers import Controllers
from tests.e2e.extender import Extender
from tests.e2e.installation import install_disk_schedules, remove_disk_schedules
from tests.e2e.kubernetes import NODE_STATUS, kubernetes_node, scheduler_configuration
from tests.e2e.relay import Relay
from tests.e2e.scheduling import Scheduling
from tests.e2e.seen import Seen
from tests.e2e.users import SCHEDULER
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB, STORAGE_CLASS
from tests.e2e.workloads import NAMESPACE as WORKLOADS
from tests.pod_process import Settings

WORLD_SECONDS = 180.0
"""To start and to end; an API server that does not answer is waited for without end otherwise."""
SETTLE_SECONDS = 120.0
WIPE_SECONDS = 600.0
"""A thousand volumes take minutes where much else goes on."""
GOODBYE_SECONDS = 0.2
DELAYS = Delays(
    rebuild=(0.5, 2.0),
    detach_wish=(0.1, 0.3),
    detach=(0.1, 0.5),
    replica_cleanup=(0.1, 0.5),
    delete_poll=0.2,
)
"""As in a healthy cluster, but sooner where no decision waits."""

Disks = Mapping[str, int]
"""Gibibytes of each disk by its name."""


class World:
    """One control plane, its scheduler, some instances of the service, and a Longhorn.

    Attributes:
        api: Requests as an administrator.
        longhorn: The played Longhorn.
        seen: What the objects say of pods and volumes.
        extender: Our service, as kube-scheduler reaches it.
        relay: The service's way to the API server.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        folder: Path,
        *,
        instances: int = 3,
        stale: bool = True,
        delays: Delays = DELAYS,
        disk_schedules: DiskSchedules = DiskSchedules.UNUSED,
        settings: Settings | None = None,
        make_extender: type[Extender] = Extender,
        **scheduler: Any,
    ) -> None:
        """Nothing runs yet.

        Args:
            control_plane: Running, without nodes.
            folder: For the logs of what is started here.
            instances: How many of our service.
            stale: Whether Longhorn places from what it last saw of nodes, as it does.
            delays: How long Longhorn takes.
            disk_schedules: What Longhorn does with DiskSchedules; our controller grants room if it
                asks, and creates the objects if it does not.
            settings: Of our service where they are not the defaults, by the fields of
                `app.settings.Settings`.
            make_extender: How our service runs.
            scheduler: What differs from the shipped configuration: `nodeCacheCapable`, `ignorable`
                and `httpTimeout` of the extender, `percentageOfNodesToScore`, `profiles`.
        """
        self.control_plane = control_plane
        self._folder = folder
        self._instances = instances
        self._stale = stale
        self._delays = delays
        self._disk_schedules = disk_schedules
        self._settings = settings or {}
        self._make_extender = make_extender
        self._scheduler = scheduler
        self._attempts_before = 0.0
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with asyncio.timeout(WORLD_SECONDS), contextlib.AsyncExitStack() as stack:
            # The loop must run on for the goodbyes of TLS, or sockets are left behind.
            stack.push_async_callback(asyncio.sleep, GOODBYE_SECONDS)
            client = await stack.enter_async_context(await self.control_plane.client())
            self.api = Api(client)
            if self._disk_schedules is not DiskSchedules.UNUSED:
                await install_disk_schedules(self.api)
                stack.push_async_callback(remove_disk_schedules, self.api)
            await self._start_actors(stack)
            if self._disk_schedules is not DiskSchedules.UNUSED:
                await self._start_controllers(stack)
            await self._clear()  # of what the world before has left
            stack.push_async_callback(self.wipe)
            relay = Relay(self.control_plane.ports.api_server)
            self.relay = await stack.enter_async_context(relay.running())
            server = f"https://127.0.0.1:{self.relay.port}"
            self.extender = self._make_extender(
                self.control_plane, self.api, self._folder, server=server, settings=self._settings
            )
            stack.push_async_callback(self.extender.stop)
            await self.extender.start(self._instances)
            stack.push_async_callback(self.control_plane.stop_scheduler)
            await self.start_scheduler()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        async with asyncio.timeout(WORLD_SECONDS):
            await self.control_plane.restore_api_server()
            await self._stack.aclose()

    async def begin_anew(self) -> None:
        """Be as a world that has just begun, for the next test."""
        async with asyncio.timeout(WORLD_SECONDS):
            self.relay.delay_seconds = 0.0
            self.longhorn.cluster.delays = self._delays
            self.longhorn.cluster.not_ready.clear()
            await self.control_plane.restore_api_server()
            await self.extender.mend()
            if not self.control_plane.has_scheduler:
                await self.start_scheduler()
            await self._clear()
            self.extender.forget_calls()

    async def start_scheduler(self, **changes: Any) -> None:
        """Start kube-scheduler with the shipped configuration, as changed by this world.

        Args:
            changes: More of them, which this world keeps.
        """
        self._scheduler |= changes
        config = scheduler_configuration(
            self.control_plane.users.kubeconfig(SCHEDULER), self.extender.url
        )
        for name, value in self._scheduler.items():
            target = config if name in (*config, "profiles") else config["extenders"][0]
            target[name] = value
        await self.control_plane.start_scheduler(config)

    async def kill_scheduler(self) -> None:
        """End kube-scheduler at once; its counters start again with the next one."""
        self._attempts_before = await self.attempts()
        self.control_plane.kill_scheduler()

    async def add_nodes(self, *disks: Disks, zones: Sequence[str] = ()) -> None:
        """Add nodes, node-1 and so on, with the disks given, and wait until they count."""
        for number, sizes in enumerate(disks, start=1):
            zone = zones[number - 1] if zones else ""
            await self.add_node(f"node-{number}", sizes, zone=zone)
        await self._capacity_is_known_of(len(disks))
        if self._disk_schedules is not DiskSchedules.UNUSED:
            await self._schedules_are(sum(map(len, disks)))

    async def add_node(self, name: str, disks: Disks, *, zone: str = "") -> None:
        """Add one node: kubelet and Longhorn, and all that runs there besides."""
        await self.api.ensure(engine_image({}), kinds.ENGINE_IMAGES)
        await self.let_run(name)
        sizes = {disk: gib * GIB for disk, gib in disks.items()}
        await self.api.ensure(longhorn_node(name, sizes, zone=zone), kinds.LONGHORN_NODES)
        await self.api.ensure(kubernetes_node(name), kinds.KUBERNETES_NODES)
        key = Key("", name)
        await self.api.patch(kinds.KUBERNETES_NODES, key, {"status": NODE_STATUS}, "status")

    async def let_run(
        self, node: str, *, driver: bool = True, image: bool = True, manager: str = "running"
    ) -> None:
        """Say what runs on a node besides kubelet and Longhorn's manager.

        Args:
            node: The node.
            driver: Whether Longhorn's CSI driver is registered.
            image: Whether the engine image is ready.
            manager: The state of the instance manager.
        """
        changes = {"status": {"nodeDeploymentMap": {node: image}}}
        await self.api.patch(kinds.ENGINE_IMAGES, key_of(engine_image({})), changes)
        for obj, kind in (
            (instance_manager(node, manager), kinds.INSTANCE_MANAGERS),
            (csi_node(node, *([DRIVER] if driver else [])), kinds.CSI_NODES),
        ):
            await self.api.ensure(obj, kind)
            changes = {each: obj[each] for each in ("spec", "status") if each in obj}
            await self.api.patch(kind, key_of(obj), changes)

    async def let_schedule(self, node: str, disk: str, *, on: bool) -> None:
        """Say whether Longhorn may put replicas on a disk."""
        changes = {"spec": {"disks": {disk: {"allowScheduling": on}}}}
        await self.api.patch(kinds.LONGHORN_NODES, Key(NAMESPACE, node), changes)

    async def add_class(self, name: str, **parameters: str) -> None:
        """Add a StorageClass of Longhorn's, or replace the one of that name."""
        await self.api.delete(kinds.STORAGE_CLASSES, Key("", name))
        await self.api.create(storage_class(name, **parameters), kinds.STORAGE_CLASSES)

    async def set_longhorn(self, name: str, value: str) -> None:
        """Change a setting of Longhorn."""
        obj = setting(name, value)
        await self.api.ensure(obj, kinds.SETTINGS)
        await self.api.patch(kinds.SETTINGS, Key(NAMESPACE, name), {"value": value})

    async def schedule(self, *objects: tuple[Object, Kind], pods: int) -> Scheduling:
        """Create objects that make *pods* pods, and return what watches them."""
        scheduling = Scheduling(self, pods, time.time(), await self.attempts())
        for obj, kind in objects:
            await self.api.create(obj, kind)
        return scheduling

    async def cordon(self, node: str, *, on: bool = True) -> None:
        changes = {"spec": {"unschedulable": on or None}}
        await self.api.patch(kinds.KUBERNETES_NODES, Key("", node), changes)

    async def drain(self, node: str) -> None:
        """Cordon a node and evict its pods, as `kubectl drain` does."""
        await self.cordon(node)
        for pod in [each for each in self.seen.pods() if each["spec"].get("nodeName") == node]:
            eviction = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": pod["metadata"]["name"], "namespace": WORKLOADS},
            }
            await self.api.create_in(kinds.PODS, key_of(pod), "eviction", eviction)

    def calls_for(self, pod: str) -> list[Call]:
        """Return the calls of /filter for a pod."""
        return [call for call in self.extender.calls() if call.pod == f"{WORKLOADS}/{pod}"]

    async def delete_workloads(self, *, keep_claims: bool = False) -> None:
        """Delete StatefulSets and pods, and claims unless told otherwise, and wait until gone."""
        await self.api.delete(kinds.STATEFUL_SETS, Key(WORKLOADS, ""))
        await until(self._no_stateful_sets, within=WIPE_SECONDS, what="StatefulSets")
        await self.api.delete(kinds.PODS, Key(WORKLOADS, ""), at_once=True)
        await until(lambda: not self.seen.any_pods(), within=WIPE_SECONDS, what="pods")
        if not keep_claims:
            await self.api.delete(kinds.CLAIMS, Key(WORKLOADS, ""))
            left = self.seen.volumes_left
            await until(lambda: not left(), within=WIPE_SECONDS, what=lambda: left()[:5])

    async def wipe(self) -> None:
        """Leave nothing of workloads, nodes and settings."""
        await self.delete_workloads()
        for kind in (
            kinds.LONGHORN_NODES,
            kinds.SETTINGS,
            kinds.INSTANCE_MANAGERS,
            kinds.ENGINE_IMAGES,
        ):
            await self.api.delete(kind, Key(NAMESPACE, ""))
        for kind in (kinds.KUBERNETES_NODES, kinds.CSI_NODES):
            await self.api.delete(kind, Key("", ""))
        await self._capacity_is_known_of(0)
        if self._disk_schedules is not DiskSchedules.UNUSED:
            await self.api.delete(kinds.DISK_SCHEDULES, Key(NAMESPACE, ""))
            await self._schedules_are(0)

    async def _clear(self) -> None:
        """Leave nothing but what every cluster with Longhorn has."""
        await self.wipe()
        await self.api.delete(kinds.STORAGE_CLASSES, Key("", ""))
        for obj, kind in (
            (csi_driver(), kinds.CSI_DRIVERS),
            (storage_class(STORAGE_CLASS), kinds.STORAGE_CLASSES),
        ):
            await self.api.ensure(obj, kind)

    async def settle(self) -> None:
        """Wait until Longhorn has placed all volumes of bound pods, or found no place for them."""
        unsettled = self.seen.unsettled
        await until(lambda: not unsettled(), within=SETTLE_SECONDS, what=unsettled)

    async def attempts(self) -> float:
        """Return how many scheduling attempts there were, by kube-scheduler's own count."""
        families = text_string_to_metric_families(await self.control_plane.scheduler_metrics())
        return self._attempts_before + sum(
            sample.value
            for family in families
            if family.name == "scheduler_schedule_attempts"
            for sample in family.samples
            if sample.name == "scheduler_schedule_attempts_total"
        )

    async def _start_actors(self, stack: contextlib.AsyncExitStack) -> None:
        self.longhorn = Longhorn(
            self.api,
            random=Random(0),
            wall_clock=lambda: datetime.now(UTC),
            delays=self._delays,
            stale=self._stale,
            disk_schedules=self._disk_schedules,
        )
        cluster = self.longhorn.cluster
        self.seen = Seen(cluster)
        kubelets = Kubelets(
            self.api,
            pods=cluster.pods,
            claims=cluster.claims,
            persistent_volumes=cluster.persistent_volumes,
            volumes=cluster.volumes,
            end_seconds=0.5,
            left_to_others=self._make_extender.namespace if self._make_extender.runs_pods else None,
        )
        provisioner = Provisioner(
            self.api,
            self.longhorn,
            claims=cluster.claims,
            persistent_volumes=cluster.persistent_volumes,
            storage_classes=cluster.storage_classes,
        )
        parts = (self.longhorn, kubelets, provisioner)
        tasks = [asyncio.create_task(each.run()) for each in parts]
        stack.push_async_callback(_end, tasks)
        for informer in cluster.informers:
            await informer.synced.wait()

    async def _start_controllers(self, stack: contextlib.AsyncExitStack) -> None:
        controllers = Controllers(
            self.control_plane,
            self.api,
            self._folder,
            manage_objects=self._disk_schedules is DiskSchedules.USED,
        )
        stack.push_async_callback(controllers.stop)
        await controllers.start()

    async def _capacity_is_known_of(self, nodes: int) -> None:
        """Wait until each node has its capacity objects; there were none after the last wipe.

        Classes that do not wait for a consumer have none.
        """

        async def is_known() -> bool:
            found = await self.api.list(kinds.CSI_STORAGE_CAPACITIES, NAMESPACE)
            classes = self.longhorn.cluster.storage_classes.objects.values()
            waiting = [each for each in classes if each["volumeBindingMode"] != "Immediate"]
            return len(found) == nodes * len(waiting)

        await until(is_known, within=SETTLE_SECONDS, what="CSIStorageCapacity")

    async def _schedules_are(self, count: int) -> None:
        """Wait until there are as many DiskSchedules."""
        schedules = self.longhorn.cluster.disk_schedules
        assert schedules is not None
        known = schedules.objects
        await until(lambda: len(known) == count, within=SETTLE_SECONDS, what="DiskSchedules")

    async def _no_stateful_sets(self) -> bool:
        return not await self.api.list(kinds.STATEFUL_SETS, WORKLOADS)


async def _end(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """End the played parts; one that failed by itself fails the test."""
    failed = [task for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in failed:
        task.result()
