"""`doctor` on the real control plane: every defect is provoked, found, mended, and gone.

Each step compares all that is found, so that the next one also shows that what was mended is gone.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

import msgspec
import pytest

from app.config import NAME, PREFIX
from app.instance.calls import read_most
from app.kube.connecting import connect
from app.settings import Settings
from cli.catalogue import Severity
from cli.doctor.findings import findings
from cli.doctor.injecting import WISH
from cli.doctor.inspection import inspect
from cli.doctor.problems import Check
from cli.findings import Finding
from tests.actors import api as kinds
from tests.actors.api import LEASES, Api, Key, Kind, Object, key_of
from tests.actors.longhorn import setting, storage_class
from tests.e2e.control_plane import ControlPlane
from tests.e2e.extender import ROOT, InstanceProcess
from tests.e2e.installation import DEFINITIONS, install
from tests.e2e.kubernetes import NODE_STATUS, kubernetes_node, scheduler_configuration
from tests.e2e.users import ADMIN, EXTENDER, SCHEDULER
from tests.e2e.waiting import until
from tests.e2e.workloads import STORAGE_CLASS, pod
from tests.e2e.world import World
from tests.fakes.installed import LONGHORN, NAMESPACE

CLUSTER_ROLES = Kind(
    "rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", namespaced=False
)
CONFIG_MAPS = Kind("v1", "configmaps", "ConfigMap")
SLICE = f"{NAME}-ipv4"
OURS = Key(NAMESPACE, NAME)
FOUND_SECONDS = 30.0
"""The leader puts endpoints right within 10 s."""
MANY = 110
ELSEWHERE = {"endpoints": [{"addresses": ["10.9.9.9"]}]}


NETWORK_POLICIES = Kind("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy")
POLICY = {
    "metadata": {"name": NAME, "namespace": NAMESPACE},
    "spec": {
        "podSelector": {"matchLabels": {"app": NAME}},
        "ingress": [{"from": [{"ipBlock": {"cidr": "192.0.2.11/32"}}]}],
    },
}


@pytest.fixture(autouse=True)
async def limited(control_plane: ControlPlane) -> AsyncIterator[None]:
    """Let only kube-scheduler reach the port, until the end of a test.

    The Lease of an earlier test says when its service was last called.
    """
    async with await control_plane.client() as client:
        await Api(client).delete(LEASES, OURS)
        await Api(client).create(POLICY, NETWORK_POLICIES)
        yield
        await Api(client).delete(NETWORK_POLICIES, OURS)


class Doctor:
    """Examines the cluster as somebody."""

    def __init__(self, control_plane: ControlPlane, user: str = ADMIN) -> None:
        self._config = control_plane.users.kubeconfig(user)

    async def findings(self, **settings: str) -> Sequence[Finding]:
        """Examine as the command does, in this process: a new one takes seconds to start."""
        connection = await connect(self._config, None)
        try:
            facts = await inspect(
                connection,
                msgspec.convert(settings, Settings),
                is_in_pod=False,
                now=datetime.now(UTC),
            )
        finally:
            await connection.close()
        return findings(facts)

    async def problems(self, **settings: str) -> set[str]:
        """Return the names of what was found; "unknown" is what cannot be judged."""
        found = await self.findings(**settings)
        return {each.code or each.severity for each in found} - {Severity.OK}

    async def finds(self, *expected: str) -> None:
        """Wait until exactly these problems are found.

        Mostly they are at once. But what leads to a defect may still be under way, and on a machine
        that has much else to do the leader may lose the Lease for a moment.
        """
        found: set[str] = set()

        async def are_found() -> bool:
            nonlocal found
            found = await self.problems()
            return found == {*expected}

        await until(are_found, within=FOUND_SECONDS, what=lambda: f"{expected}, but {found}")

    async def run(self, *arguments: str) -> tuple[int, str, str]:
        """Run the command; return its exit status, and what it prints on both streams."""
        environ = {name: text for name, text in os.environ.items() if not name.startswith(PREFIX)}
        command = [sys.executable, "-m", "cli", "doctor", "--kubeconfig", str(self._config)]
        process = await asyncio.create_subprocess_exec(
            *command, *arguments, cwd=ROOT, env=environ, stdout=-1, stderr=-1
        )
        out, err = await process.communicate()
        assert process.returncode is not None
        return process.returncode, out.decode(), err.decode()


async def test_an_installation_from_its_first_day_to_more_than_100_nodes(make_world):
    """kube-scheduler begins as it does by default: it looks at some of many nodes only."""
    async with make_world(instances=2, percentageOfNodesToScore=0) as world:
        await label_instances(world)
        doctor = Doctor(world.control_plane)
        await doctor.finds("no-longhorn-node", "never-called")

        await world.add_nodes({"disk": 100}, {"disk": 100})
        await doctor.finds("never-called")
        assert "no-longhorn-node" in await doctor.problems(longhorn_namespace="elsewhere")
        await call(world, "first")
        await all_is_fine(world)

        await add_many_nodes(world)
        await call(world, "sent-some")
        await doctor.finds("nodes-not-sent")
        await look_at_all_nodes(world)
        await call(world, "sent-all")
        await doctor.finds()


async def all_is_fine(world: World) -> None:
    """Look as an administrator, and run the command with the rights of the service."""
    await Doctor(world.control_plane).finds()
    status, out, err = await Doctor(world.control_plane, EXTENDER).run()
    assert (status, err) == (0, ""), out
    assert out.splitlines()[0] == f"{len(Check)} ok"


async def test_every_defect_is_found_and_gone_when_it_is_mended(make_world):
    async with make_world(instances=2) as world:
        await label_instances(world)
        await world.add_nodes({"disk": 100}, {"disk": 100})
        await call(world, "wired")
        doctor = Doctor(world.control_plane)
        await doctor.finds()
        await rights_and_longhorn(world, doctor)
        await storage_classes(world, doctor)
        await autoscaler(world, doctor)
        await instances(world, doctor)
        await settings(world, doctor)
        await endpoints(world, doctor)
        await access(world, doctor)
        await service(world, doctor)
        await leadership(world, doctor)
        await doctor.finds()


async def test_a_kind_that_is_not_served(control_plane):
    """Without a world: what plays Longhorn there does not bear it."""
    doctor, definition = Doctor(control_plane), Key("", "backingimages.longhorn.io")
    async with await control_plane.client() as client:
        api = Api(client)
        await api.delete(DEFINITIONS, definition)
        await until(lambda: serves_images(api, served=False), within=30)
        found = await doctor.findings()
        await until(lambda: is_gone(api, definition), within=30)
        await install(api)
        await until(lambda: serves_images(api, served=True), within=30)

    [missing] = [each for each in found if each.code == "kind-not-served"]
    assert missing.text == "the API server does not know backingimages.longhorn.io"
    assert "kind-not-served" not in await doctor.problems()


async def rights_and_longhorn(world: World, doctor: Doctor) -> None:
    api, key = world.api, Key("", f"{NAME}.{NAMESPACE}")
    role = await api.get(CLUSTER_ROLES, key.name)
    assert role is not None
    await api.patch(CLUSTER_ROLES, key, {"rules": role["rules"][:1]})
    await doctor.finds("right-missing")
    # The account cannot read the StorageClasses and pods any more either.
    await Doctor(world.control_plane, EXTENDER).finds("right-missing", "unknown")
    await api.patch(CLUSTER_ROLES, key, {"rules": role["rules"]})

    await world.set_longhorn("allow-empty-node-selector-volume", "maybe")
    await doctor.finds("longhorn-setting-unusable")
    await world.set_longhorn("allow-empty-node-selector-volume", "true")
    await world.let_schedule("node-1", "disk", on=False)
    await doctor.finds("node-unusable")
    await world.let_schedule("node-1", "disk", on=True)
    await api.create({**setting("odd", "1"), "value": 5}, kinds.SETTINGS)
    await doctor.finds("object-unreadable")
    await api.delete(kinds.SETTINGS, Key(LONGHORN, "odd"))


async def storage_classes(world: World, doctor: Doctor) -> None:
    api = world.api
    for problem, given in {
        "class-immediate": storage_class("odd", binding="Immediate"),
        "class-not-local": storage_class("odd", dataLocality="disabled"),
        "class-unusable": storage_class("odd", dataLocality="strict-local", numberOfReplicas="2"),
    }.items():
        await api.create(given, kinds.STORAGE_CLASSES)
        await doctor.finds(problem)
        await api.delete(kinds.STORAGE_CLASSES, Key("", "odd"))
    await api.create(storage_class("odd", dataLocality="disabled"), kinds.STORAGE_CLASSES)
    await world.set_longhorn("csi-storage-capacity-tracking", "true")
    await world.let_schedule("node-1", "disk", on=False)
    await doctor.finds("compute-nodes-left-out", "class-not-local", "node-unusable")
    await world.let_schedule("node-1", "disk", on=True)
    await world.set_longhorn("csi-storage-capacity-tracking", "false")
    await api.delete(kinds.STORAGE_CLASSES, Key("", "odd"))
    await api.delete(kinds.STORAGE_CLASSES, Key("", STORAGE_CLASS))
    await doctor.finds("no-class")
    await api.create(storage_class(STORAGE_CLASS), kinds.STORAGE_CLASSES)


async def autoscaler(world: World, doctor: Doctor) -> None:
    """Its pods are found with the rights of the service's account, too."""
    account = Doctor(world.control_plane, EXTENDER)
    scaler = pod("scaler", extender=False)
    scaler["metadata"]["labels"] = {"app.kubernetes.io/name": "aws-cluster-autoscaler"}
    [container] = scaler["spec"]["containers"]
    container["command"] = ["./cluster-autoscaler"]
    await world.api.create(scaler, kinds.PODS)
    for each in (doctor, account):
        await each.finds("autoscaler-not-told", "autoscaler-sees-no-room")
    await world.api.delete(kinds.PODS, key_of(scaler), at_once=True)
    container["command"].append("--scheduler-config-file=/etc/scheduler/config.yaml")
    scaler["metadata"]["name"] = "told"
    await world.set_longhorn("csi-storage-capacity-tracking", "true")
    await world.api.create(scaler, kinds.PODS)
    await doctor.finds()
    await world.set_longhorn("csi-storage-capacity-tracking", "false")
    await doctor.finds("autoscaler-sees-no-room")
    await world.api.delete(kinds.PODS, key_of(scaler), at_once=True)


async def instances(world: World, doctor: Doctor) -> None:
    first, second = world.extender.instances
    await set_ready(world, first, ready=False)
    await doctor.finds("no-standby", "instance-not-ready")
    await set_ready(world, second, ready=False)
    await doctor.finds("no-instance-ready", "instance-not-ready")
    for each in (first, second):
        await set_ready(world, each, ready=True)
    await label_instances(world, "another")
    await doctor.finds("no-instance")
    await label_instances(world)


async def settings(world: World, doctor: Doctor) -> None:
    async with extra_pod(world, {"LEASE_DURATION_SECONDS": "1"}):
        await doctor.finds("variable-unusable")
    async with extra_pod(world, {"RESERVATION_MODE": "node"}):
        await doctor.finds("answers-late")

    name = "scheduler-extender-node-reservation-timeout"
    await set_live(world, name, "soon")
    await doctor.finds("live-setting-unusable")
    await set_live(world, name, "5")
    await set_live(world, "scheduler-extender-enabled", "false")
    await until(lambda: is_emptied(world, SLICE), within=FOUND_SECONDS)
    await doctor.finds("disabled", "lease-free", "endpoints-absent")
    await set_live(world, "scheduler-extender-enabled", "true")
    await doctor.finds()


async def endpoints(world: World, doctor: Doctor) -> None:
    api, stray, ours = world.api, Key(NAMESPACE, "stray"), Key(NAMESPACE, SLICE)
    published = await api.get(kinds.ENDPOINT_SLICES, SLICE, NAMESPACE)
    assert published is not None
    await api.create(stray_slice(stray.name), kinds.ENDPOINT_SLICES)
    await until(lambda: is_emptied(world, stray.name), within=FOUND_SECONDS)
    await doctor.finds("endpoints-left-over")

    async def both_are_found() -> bool:
        for key in (stray, ours):  # the leader puts them right within 10 s
            await api.patch(kinds.ENDPOINT_SLICES, key, ELSEWHERE)
        return await doctor.problems() == {"endpoints-foreign", "endpoints-wrong"}

    await until(both_are_found, within=FOUND_SECONDS)
    await api.delete(kinds.ENDPOINT_SLICES, stray)
    await api.patch(kinds.ENDPOINT_SLICES, ours, {"endpoints": published["endpoints"]})
    await doctor.finds()


async def access(world: World, doctor: Doctor) -> None:
    everybody = {"spec": {"ingress": [{"ports": [{"port": 9504}]}]}}
    await world.api.patch(NETWORK_POLICIES, OURS, everybody)
    await doctor.finds("port-open")
    await world.api.patch(NETWORK_POLICIES, OURS, {"spec": POLICY["spec"]})
    await doctor.finds()


async def service(world: World, doctor: Doctor) -> None:
    api = world.api
    shipped = await api.get(kinds.SERVICES, NAME, NAMESPACE)
    assert shipped is not None
    await api.patch(kinds.SERVICES, OURS, {"spec": {"selector": {"app": "no-such"}}})
    # Kubernetes adds a slice of its own, sooner or later.
    assert await doctor.problems() - {"endpoints-left-over"} == {"service-selects"}

    await api.delete(kinds.SERVICES, OURS)
    await until(lambda: has_slices(world, 0), within=FOUND_SECONDS)
    await doctor.finds("service-absent", "endpoints-absent")
    families = {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"}
    await api.create(service_of({"clusterIP": "None", **families}), kinds.SERVICES)
    await doctor.finds(
        "service-without-port",
        "service-without-address",
        "endpoints-absent",
    )
    ports = {"spec": {"ports": [{"name": "http", "port": 9504}]}}
    await api.patch(kinds.SERVICES, OURS, ports)
    await until(lambda: has_slices(world, 2), within=FOUND_SECONDS)
    await doctor.finds("service-without-address", "family-unserved")
    await api.delete(kinds.SERVICES, OURS)
    await until(lambda: has_slices(world, 0), within=FOUND_SECONDS)
    spec = {name: shipped["spec"][name] for name in ("clusterIP", "ports")}
    await api.create(service_of(spec), kinds.SERVICES)
    await doctor.finds()


async def leadership(world: World, doctor: Doctor) -> None:
    first, second = world.extender.instances
    for each in (first, second):
        each.process.freeze()
    await doctor.finds("lease-stale")
    for each in (first, second):
        each.process.resume()
    await doctor.finds()

    leader = await world.extender.leader()
    lost = await world.api.get(kinds.PODS, leader.pod, NAMESPACE)
    assert lost is not None
    await world.api.delete(kinds.PODS, key_of(lost), at_once=True)
    await doctor.finds("holder-gone", "no-standby", "unknown")
    await put_back(world, lost)
    for each in (first, second):
        each.process.terminate()
        await each.process.ended()
    await doctor.finds("lease-free", "endpoints-absent")
    await world.api.delete(LEASES, OURS)
    await doctor.finds("lease-absent", "endpoints-absent", "unknown")
    for each in (first, second):
        each.start()
    await until(world.extender.answers_now, within=60)
    await doctor.finds("never-called")
    await call(world, "called-again")


async def add_many_nodes(world: World) -> None:
    """Add nodes that have no disks of Longhorn."""

    async def add(name: str) -> None:
        await world.api.create(kubernetes_node(name), kinds.KUBERNETES_NODES)
        status = {"status": NODE_STATUS}
        await world.api.patch(kinds.KUBERNETES_NODES, Key("", name), status, "status")

    async with asyncio.TaskGroup() as tasks:
        for number in range(MANY):
            tasks.create_task(add(f"other-{number}"))


async def look_at_all_nodes(world: World) -> None:
    """Give kube-scheduler the shipped configuration."""
    users = world.control_plane.users
    config = scheduler_configuration(users.kubeconfig(SCHEDULER), world.extender.url)
    await world.kill_scheduler()
    await world.control_plane.start_scheduler(config)


async def call(world: World, name: str) -> None:
    """Have kube-scheduler ask about a pod, and wait until that is noted."""
    await world.api.create(pod(name), kinds.PODS)
    await until(lambda: bool(world.calls_for(name)), within=30, what=f"a call for {name}")
    sent = world.calls_for(name)[0].candidates

    async def is_noted() -> bool:
        lease = await world.api.get(LEASES, NAME, NAMESPACE)
        return read_most(((lease or {}).get("metadata") or {}).get("annotations") or {}) >= sent

    await until(is_noted, within=5)


async def label_instances(world: World, app: str = NAME) -> None:
    """Label the pods as the Deployment does, or otherwise."""
    changes = {"metadata": {"labels": {"app": app}}}
    for each in world.extender.instances:
        await world.api.patch(kinds.PODS, Key(NAMESPACE, each.pod), changes)


async def set_live(world: World, name: str, value: str) -> None:
    await world.api.patch(CONFIG_MAPS, OURS, {"data": {name: value}})


async def put_back(world: World, pod: Object) -> None:
    """Create a deleted pod again, with the addresses that it had."""
    known = {field: pod["metadata"][field] for field in ("name", "namespace", "labels")}
    await world.api.create({"metadata": known, "spec": pod["spec"]}, kinds.PODS)
    addresses = {field: pod["status"][field] for field in ("podIP", "podIPs")}
    await world.api.patch(kinds.PODS, key_of(pod), {"status": addresses}, "status")
    await until(lambda: is_running(world, key_of(pod)), within=10)


async def set_ready(world: World, instance: InstanceProcess, *, ready: bool) -> None:
    condition = {"type": "Ready", "status": str(ready), "message": "readiness probe failed"}
    changes = {"status": {"conditions": [condition]}}
    await world.api.patch(kinds.PODS, Key(NAMESPACE, instance.pod), changes, "status")


@contextlib.asynccontextmanager
async def extra_pod(world: World, variables: dict[str, str]) -> AsyncIterator[None]:
    """Add a pod of the service with an environment; nothing runs in it."""
    env = [{"name": f"{PREFIX}{name}", "value": value} for name, value in variables.items()]
    container = {"name": "extender", "image": "none", "env": env}
    key = Key(NAMESPACE, "a-new-one")
    await world.api.create(
        {
            "metadata": {"name": key.name, "namespace": NAMESPACE, "labels": {"app": NAME}},
            "spec": {"nodeName": "control-plane", "containers": [container]},
        },
        kinds.PODS,
    )

    await until(lambda: is_running(world, key), within=10)
    yield
    await world.api.delete(kinds.PODS, key, at_once=True)


def stray_slice(name: str) -> Object:
    labels = {"kubernetes.io/service-name": NAME}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 80}],
        **ELSEWHERE,
    }


def service_of(spec: Object) -> Object:
    metadata = {"name": NAME, "namespace": NAMESPACE, "annotations": {WISH: "none"}}
    return {"metadata": metadata, "spec": spec}


async def is_running(world: World, key: Key) -> bool:
    found = await world.api.get(kinds.PODS, key.name, key.namespace)
    return found is not None and found["status"].get("phase") == "Running"


async def is_emptied(world: World, name: str) -> bool:
    found = await world.api.get(kinds.ENDPOINT_SLICES, name, NAMESPACE)
    return found is not None and not found["endpoints"]


async def has_slices(world: World, count: int) -> bool:
    return len(await world.api.list(kinds.ENDPOINT_SLICES, NAMESPACE)) == count


async def is_gone(api: Api, definition: Key) -> bool:
    return await api.get(DEFINITIONS, definition.name) is None


async def serves_images(api: Api, *, served: bool) -> bool:
    """Whether the kind of the definition that is taken away is served, or not, as asked."""
    listed = await api.get(kinds.BACKING_IMAGES, "", LONGHORN)
    return (listed is not None) == served
