"""Why is my pod Pending? Asked in the service's own pod and with the kubectl plugin.

Five situations in which kube-scheduler really gives the pod no node, or a node where it cannot
start. `tests/unit/cli/test_explaining_situations.py` has all twelve, as files.
"""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
import pytest_asyncio

from app.config import NAME
from app.serving.admission import OPT_OUT_LABEL, OPTED_OUT
from supply.version import version
from tests.actors import api as kinds
from tests.actors.api import Key, Object
from tests.actors.provisioner import SELECTED_NODE
from tests.e2e.control_plane import ControlPlane, running
from tests.e2e.deployed import Administrator, DeployedExtender
from tests.e2e.exec_server import exec_server
from tests.e2e.extender import ROOT
from tests.e2e.users import ADMIN
from tests.e2e.waiting import until
from tests.e2e.workloads import NAMESPACE as WORKLOADS
from tests.e2e.workloads import claim, pod
from tests.e2e.world import DELAYS, World
from tests.fakes.installed import LONGHORN, NAMESPACE

pytestmark = pytest.mark.asyncio(loop_scope="module")

NODES = ("node-1", "node-2")
DISKS = {"disk-1": 100, "disk-2": 100}
ADDRESS = "10.96.0.95"
STRICT, IMMEDIATE = "strict", "immediate"
PENDING_SECONDS = 30.0
LONG_SECONDS = 20.0
"""What CreateVolume takes then."""
IN_THE_POD = ("kubectl", "--namespace", NAMESPACE, "exec", f"deployment/{NAME}", "--", NAME)
PLUGIN = ("kubectl", "longhorn-scheduler")
PLUGIN_ARCHIVE = "kubectl-longhorn_scheduler-linux-amd64.tar.gz"


class Explained(NamedTuple):
    """What the command answered: its exit status, and its output as one line."""

    status: int
    shown: str

    def lacks(self, *texts: str) -> list[str]:
        """Return the texts that are not in the output."""
        return [text for text in texts if text not in self.shown]


class Installation:
    """A cluster with the service as Helm installs it.

    Attributes:
        world: The cluster.
    """

    def __init__(self, world: World, administrator: Administrator) -> None:
        self.world = world
        self._administrator = administrator

    async def schedule(self, made: Object, *claims: Object) -> None:
        """Create a pod and its claims."""
        for each in claims:
            await self.world.api.create(each, kinds.CLAIMS)
        await self.world.api.create(made, kinds.PODS)

    async def cordon(self, node: str) -> None:
        """Cordon a node, and wait until Longhorn's object of it says so."""
        await self.world.cordon(node)
        is_known = self.world.seen.is_every_node_schedulable
        await until(lambda: not is_known(), within=PENDING_SECONDS, what="Longhorn's Node")

    def let_claims_wait(self) -> None:
        """Have claims stay unbound for longer than it takes to ask about their pods."""
        slow = msgspec.structs.replace(DELAYS, create_poll=LONG_SECONDS)
        self.world.longhorn.cluster.delays = slow

    async def refusal(self, name: str) -> str:
        """Wait until kube-scheduler has found no node for a pod; return what it says."""

        def text() -> str:
            found = self.world.seen.pod(name) or {"status": {}}
            conditions = found["status"].get("conditions") or ()
            return next((each["message"] for each in conditions if _is_refusal(each)), "")

        await until(lambda: bool(text()), within=PENDING_SECONDS)
        return text()

    async def explain(self, name: str) -> Explained:
        """Ask in the pod of the service; the plugin must answer the same."""
        there = await self._administrator.attempt(*IN_THE_POD, "filter", f"pod/{name}")
        here = await self._administrator.attempt(*PLUGIN, "filter", f"pod/{name}")
        assert there.returncode == here.returncode
        assert there.stdout == here.stdout
        return Explained(here.returncode, " ".join(here.stdout.split()))


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the kubectl plugin from a clean clone; return the folder to put on the PATH."""
    clone = tmp_path_factory.mktemp("plugin") / "clone"
    for command, folder in (
        (["git", "clone", "--quiet", str(ROOT), str(clone)], ROOT),
        (["make", "plugin", "PLATFORM=linux-amd64"], clone),
        (["tar", "--extract", "--gzip", "--file", PLUGIN_ARCHIVE], clone / "dist"),
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return clone / "dist"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Run a control plane in which nothing of ours is installed."""
    with running(tmp_path_factory.mktemp("bare"), with_service=False) as control_plane:
        yield control_plane


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def installed(
    bare: ControlPlane, plugin: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Installation]:
    """Install the service once for all tests of this module."""
    folder = tmp_path_factory.mktemp("installed")
    administrator = Administrator(
        bare.users.kubeconfig(ADMIN), ROOT, PATH=f"{plugin}:{os.environ['PATH']}"
    )
    async with World(bare, folder, stale=False, make_extender=DeployedExtender) as world:
        service = world.extender
        assert isinstance(service, DeployedExtender)
        service.sources[version(ROOT)] = ROOT
        async with exec_server(service.pods.container) as node_status:
            await world.add_nodes(*[DISKS for _ in NODES])
            for node in NODES:
                changes = {"status": node_status}
                await world.api.patch(kinds.KUBERNETES_NODES, Key("", node), changes, "status")
            command = (
                *("helm", "install", NAME, f"charts/{NAME}", "--namespace", NAMESPACE, "--wait"),
                *("--set", f"image.repository=registry.example/{NAME}"),
                *("--set", f"service.clusterIP.ipv4={ADDRESS}"),
                *("--set", "kubeSchedulerConfigured=true,tls.mode=insecure"),
            )
            await asyncio.gather(administrator.run(*command), service.serve())
            await world.add_class(STRICT, dataLocality="strict-local")
            await world.add_class(IMMEDIATE, binding="Immediate")
            yield Installation(world, administrator)


@pytest_asyncio.fixture(loop_scope="module")
async def cluster(installed: Installation) -> AsyncIterator[Installation]:
    """Leave nothing of a test to the next one."""
    yield installed
    world = installed.world
    world.longhorn.cluster.delays = DELAYS
    for node in NODES:
        await world.cordon(node, on=False)
    await world.delete_workloads()
    # What is asked next must not be answered from Nodes that still tell of this test.
    await until(world.seen.is_every_node_schedulable, within=PENDING_SECONDS)
    await until(world.seen.is_every_disk_empty, within=PENDING_SECONDS)


async def test_room_in_sum_but_not_on_one_disk(cluster):
    await cluster.schedule(pod("big", "data"), claim("data", "150Gi"))
    assert "did not have enough free storage" in await cluster.refusal("big")

    found = await cluster.explain("big")

    assert found.status == 1
    assert not found.lacks(
        "pod default/big: 0 of 2 nodes: 2 without room on one disk",
        "nearest: 50.0 GiB short on node-1/disk-1",
        "data 150.0 GiB, class longhorn-local, new volume, 1 replica, locality best-effort",
        "node-1, node-2: no disk of the Longhorn node has room for a volume of 150 GiB",
        "-> Raise `storage-over-provisioning-percentage` from 100 to 150.",
    )


async def test_cordoned_node_with_the_only_replica(cluster):
    world = cluster.world
    await cluster.schedule(pod("db", "data"), claim("data", "50Gi", STRICT))
    await until(lambda: world.seen.is_running("db"), within=PENDING_SECONDS)
    node = world.seen.node_of()["db"]
    await world.delete_workloads(keep_claims=True)
    await cluster.cordon(node)
    await cluster.schedule(pod("db", "data"))
    assert "1 node(s) were unschedulable" in await cluster.refusal("db")

    found = await cluster.explain("db")

    assert found.status == 1
    assert not found.lacks(
        "0 of 2 nodes: 2 excluded by kube-scheduler",
        f"of claim default/data is limited to nodes with kubernetes.io/hostname In {node}",
        f"replicas: {node} usable",
        f"note: data is strict-local, and its replica is on {node}",
        f"{node}: excluded by kube-scheduler: Kubernetes node is cordoned",
        "-> `kubectl uncordon` the node",
    )


async def test_immediate_binding(cluster):
    cluster.let_claims_wait()
    await cluster.schedule(pod("web", "data"), claim("data", "10Gi", IMMEDIATE))
    assert "unbound immediate PersistentVolumeClaims" in await cluster.refusal("web")

    found = await cluster.explain("web")

    assert found.status == 1
    assert not found.lacks(
        "pod default/web: kube-scheduler refuses the pod; 2 of 2 nodes would fit",
        "claim default/data is not bound, and StorageClass immediate has volumeBindingMode: "
        "Immediate",
        "-> Use a StorageClass with `volumeBindingMode: WaitForFirstConsumer`",
    )


async def test_pod_that_does_not_ask(cluster):
    world = cluster.world
    made = pod("blind", "a", "b", "c", extender=False)
    made["metadata"]["labels"] = {OPT_OUT_LABEL: OPTED_OUT}
    await cluster.schedule(made, *(claim(name, "70Gi", STRICT) for name in "abc"))
    await until(partial(_are_attached_and_listed, world, 2), within=PENDING_SECONDS)
    node = world.seen.node_of()["blind"]
    assert not world.seen.is_running("blind")

    found = await cluster.explain("blind")

    assert found.status == 1
    assert not found.lacks(
        "pod default/blind: 0 of 2 nodes: 1 without room on one disk",
        "nearest: 40.0 GiB short on",
        f"replicas: not placed yet, for {node} alone",
        f"note: the pod is bound to {node} already",
        "note: no container asks for longhorn.io/scheduler-extender, so kube-scheduler does not "
        "ask the extender; label longhorn-scheduler-extender/injection: disabled turns injection",
        "-> Take the label away and create the pod again",
        f"{node}: no disk of the Longhorn node has room for a volume of 70 GiB",
    )


async def test_room_held_for_another_pod(cluster):
    world = cluster.world
    cluster.let_claims_wait()
    await cluster.cordon("node-2")
    await cluster.schedule(pod("first", "a", "b"), claim("a", "90Gi"), claim("b", "90Gi"))
    await until(partial(_have_nodes_selected, world), within=PENDING_SECONDS)
    await cluster.schedule(pod("second", "data"), claim("data", "20Gi"))
    assert "Longhorn node's room is held for other pods" in await cluster.refusal("second")

    found = await cluster.explain("second")

    assert found.status == 1
    assert not found.lacks(
        "0 of 2 nodes: 1 with room that is held for other pods, 1 excluded by kube-scheduler",
        "nearest: 10.0 GiB short on node-1/disk-1",
        "node-1: Longhorn node's room is held for other pods that are being scheduled",
        "180.0 GiB more are held for pod default/first (chosen)",
        "-> Nothing: holds end within seconds",
        "node-2: excluded by kube-scheduler: Kubernetes node is cordoned",
    )


async def _have_nodes_selected(world: World) -> bool:
    claims = await world.api.list(kinds.CLAIMS, WORKLOADS)
    return all(SELECTED_NODE in each["metadata"].get("annotations", ()) for each in claims)


async def _are_attached_and_listed(world: World, count: int) -> bool:
    """Whether so many volumes are attached, and Longhorn's Nodes list as many replicas."""
    volumes = await world.api.list(kinds.VOLUMES, LONGHORN)
    nodes = await world.api.list(kinds.LONGHORN_NODES, LONGHORN)
    attached = [each["status"]["state"] for each in volumes].count("attached")
    disks = [disk for each in nodes for disk in each["status"]["diskStatus"].values()]
    return attached == count == sum(len(each["scheduledReplica"]) for each in disks)


def _is_refusal(condition: Object) -> bool:
    return (condition["type"], condition.get("reason")) == ("PodScheduled", "Unschedulable")
