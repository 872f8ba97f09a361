"""From one release to the next, and back, while pods come without a pause."""

import asyncio
import io
import subprocess
import tarfile
from itertools import pairwise
from pathlib import Path

import pytest

from app.config import NAME
from tests.actors import api as kinds
from tests.actors.api import Object
from tests.actors.longhorn import NAMESPACE
from tests.e2e.deployed import Administrator, DeployedExtender, DeployedInLonghorns
from tests.e2e.extender import ROOT
from tests.e2e.kubernetes import scheduler_configuration
from tests.e2e.users import ADMIN, SCHEDULER
from tests.e2e.waiting import until
from tests.e2e.workloads import claim, pod
from tests.e2e.world import World

OLD, NEW = "0.1.0", "0.2.0"
COMMIT_OF_OLD = "e846c10fd4f80d413551afd9e04b74601a2724df"
IP = "10.96.0.95"
OVERLAY = Path("manifests/overlays/fixed-cluster-ip")
KUSTOMIZE = (
    *("make", "install-cluster", f"IMAGE=registry.example/{NAME}:{NEW}", f"CLUSTER_IP={IP}"),
    *(f"NAMESPACE={NAMESPACE}", "TLS=insecure"),
)
HELM = (
    *("helm", "upgrade", "--install", NAME, "charts/longhorn-scheduler-extender"),
    *("--namespace", NAMESPACE, "--take-ownership", "--force-conflicts"),
    *("--set", f"service.clusterIP.ipv4={IP}", "--set", "injection.mode=none,tls.mode=insecure"),
    *("--set", f"image.repository={NAME}"),
)
"""As docs/upgrade.md has it, where the older one is; without --wait: the test sees for itself."""
CLOSED = "tls.mode=selfSigned,tls.plainUntil=2999-12-24T12:00:00Z,kubeSchedulerConfigured=true"
ADOPTABLE = (
    *("kubectl", "--namespace", NAMESPACE, "set", "env", f"deployment/{NAME}"),
    f"EXTENDER_LONGHORN_NAMESPACE={NAMESPACE}",
)
BACK = (
    'kubectl kustomize "$1" | kubectl replace --save-config --filename -\n'
    f"kubectl --namespace {NAMESPACE} delete secret --selector owner=helm,name={NAME}"
)
"""To Helm, and from it to an older release's manifests, as docs/upgrade.md has it."""
DEPLOYMENTS = kinds.Kind("apps/v1", "deployments", "Deployment")
NODES = [{"disk": 200}] * 5 + [{"disk": 4_000}] * 5
"""A pod for each node in turn would overfill the small ones."""
SIZE = "50Gi"
PAUSE_SECONDS = 0.3
"""Between two pods."""
SILENCE_SECONDS = 4.0
"""The longest time without an answer."""


@pytest.fixture(scope="module")
def old_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of the older release."""
    command = ["git", "-C", str(ROOT), "archive", COMMIT_OF_OLD]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this clone has no commit of {OLD}: the whole history is needed")
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.alone
@pytest.mark.parametrize("way", [KUSTOMIZE, HELM], ids=["kustomize", "helm"])
async def test_pods_keep_coming_while_the_service_is_upgraded_and_rolled_back(
    bare, tmp_path, old_tree, report, way
):
    async with World(bare, tmp_path, make_extender=DeployedInLonghorns, extenders=[]) as world:
        service = world.extender
        assert isinstance(service, DeployedExtender)
        service.sources |= {OLD: old_tree, NEW: ROOT}
        administrator = Administrator(world.control_plane.users.kubeconfig(ADMIN), ROOT)
        await world.add_nodes(*NODES)
        of_old = ("kubectl", "apply", "-k", str(old_tree / OVERLAY))
        await administrator.run(*of_old)
        await service.serve()
        await _use_configuration_of(old_tree, world)
        pods = _Burst(world)

        for release, command in ((NEW, way), (OLD, of_old)):
            before = service.pods.all()
            async with pods, service.probed() as answered:
                await administrator.run(*command)
                await service.pods.replaced(before)
            silence = max(after - at for at, after in pairwise(answered))
            await pods.settle()

            what = f"{pods.count} pods come while {command[0]} takes the service to {release}"
            report.measured(what, f"without an answer for {silence:.1f} s at most")
            assert silence <= SILENCE_SECONDS
            assert world.seen.without_room() == 0
            assert world.seen.overcommitted_disks() == []


async def test_older_manifests_leave_nothing_that_helm_has_added(bare, tmp_path, old_tree):
    """An older instance ends at a variable that it does not know."""
    async with World(bare, tmp_path, make_extender=DeployedInLonghorns, extenders=[]) as world:
        administrator = Administrator(bare.users.kubeconfig(ADMIN), ROOT)
        await world.add_nodes(NODES[0])
        overlay = str(old_tree / OVERLAY)
        await administrator.run("kubectl", "apply", "-k", overlay)
        before = await _deployed(world)
        await administrator.run(*ADOPTABLE)
        await administrator.run(*HELM, "--no-hooks", "--set", CLOSED)
        closed = await _deployed(world)

        await administrator.run("bash", "-euc", BACK, "sh", overlay)

        assert await _deployed(world) == before != closed


async def _deployed(world: World) -> Object:
    deployment = await world.api.get(DEPLOYMENTS, NAME, NAMESPACE)
    assert deployment is not None
    spec: Object = deployment["spec"]
    return spec


async def _use_configuration_of(tree: Path, world: World) -> None:
    """Start kube-scheduler again with the configuration that a release ships."""
    await world.control_plane.stop_scheduler()
    kubeconfig = world.control_plane.users.kubeconfig(SCHEDULER)
    config = scheduler_configuration(kubeconfig, world.extender.url, tree / "manifests")
    await world.control_plane.start_scheduler(config)


class _Burst:
    """Pods, each with a claim, one after another while it is entered."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._is_over = asyncio.Event()
        self.count = 0

    async def __aenter__(self) -> None:
        self._is_over.clear()
        self._task = asyncio.create_task(self._create())

    async def __aexit__(self, *_: object) -> None:
        self._is_over.set()
        await self._task

    async def settle(self) -> None:
        """Wait until all have nodes, and their volumes are placed."""
        nodes = self._world.seen.node_of
        await until(
            lambda: len(nodes()) == self.count and all(nodes().values()), within=60, what=nodes
        )
        await self._world.settle()

    async def _create(self) -> None:
        api = self._world.api
        while not self._is_over.is_set():
            self.count += 1
            await api.create(claim(f"data-{self.count}", SIZE), kinds.CLAIMS)
            await api.create(pod(f"pod-{self.count}", f"data-{self.count}"), kinds.PODS)
            await asyncio.sleep(PAUSE_SECONDS)
