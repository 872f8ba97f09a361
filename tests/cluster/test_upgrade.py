"""From older releases to this one and back, in real pods, while pods come without a pause."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from app.config import NAME
from supply.version import version
from tests.cluster.coming import all_scheduled_soon, longest_gap, pods_created, until_more
from tests.cluster.conftest import started
from tests.cluster.images import ROOT
from tests.cluster.installed import ADDRESS, roll_out
from tests.cluster.outside import REPOSITORY
from tests.cluster.running import RunningCluster
from tests.e2e.test_upgrade import BACK, OVERLAY
from tests.fakes.installed import LONGHORN

pytestmark = pytest.mark.nodes

RELEASES = {"0.1.0": "e846c10", "0.2.0": "cb99577"}
"""The commits of those that are not this one."""
SCHEDULER = Path("manifests/scheduler/kubeadm.yaml")
SERVICE = f"http://{ADDRESS}:9504/filter"
UNTIL = "2999-12-24T12:00:00Z"
"""kube-scheduler goes on by plain HTTP, as it is configured for the older ones."""
KUSTOMIZE = (
    *("bash", "-euc"),
    f"NAMESPACE={LONGHORN} manifests/certificates.sh {ADDRESS} | kubectl apply --filename -\n"
    f"make install-cluster IMAGE={REPOSITORY}:{{}} CLUSTER_IP={ADDRESS} NAMESPACE={LONGHORN} "
    f"PLAIN_UNTIL={UNTIL}",
)
VARIABLE = "EXTENDER_LONGHORN_NAMESPACE"
HELM = (
    *("bash", "-euc"),
    f"kubectl --namespace {LONGHORN} set env deployment/{NAME} {VARIABLE}={LONGHORN}\n"
    f"helm upgrade --install {NAME} charts/longhorn-scheduler-extender --namespace {LONGHORN} "
    f"--take-ownership --force-conflicts --wait --set image.repository={REPOSITORY} "
    f"--set service.clusterIP.ipv4={ADDRESS} "
    f"--set kubeSchedulerConfigured=true,tls.plainUntil={UNTIL}",
)
"""As docs/upgrade.md has them, where the older ones are."""
SILENCE_SECONDS = 5.0
"""The longest time without an answer; leaders that end give their lease away."""


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[RunningCluster]:
    """A cluster whose nodes have the older images, too."""
    known = subprocess.run(
        ["git", "-C", str(ROOT), "cat-file", "-e", RELEASES["0.1.0"]], check=False
    )
    if known.returncode != 0:
        pytest.skip("this clone has no older commits: the whole history is needed")
    with started(folder, list(RELEASES.values())) as cluster:
        yield cluster


@pytest.mark.parametrize("way", [KUSTOMIZE, HELM], ids=["kustomize", "helm"])
@pytest.mark.parametrize("release", RELEASES)
async def test_pods_get_nodes_on_the_way_here_and_back(cluster, tmp_path, release, way):
    tree = unpacked(RELEASES[release], tmp_path)
    administrator = cluster.administrator
    await install(cluster, tree)
    cluster.configure_scheduler((tree / SCHEDULER).read_text(encoding="utf-8"))

    with cluster.probed(SERVICE) as answers:
        await until_more(answers)
        async with pods_created(cluster) as names:
            await administrator.run(*(word.format(version(ROOT)) for word in way))
            await roll_out(cluster, LONGHORN)
            if way is HELM:
                await administrator.run("bash", "-euc", BACK, "sh", str(tree / OVERLAY))
                await roll_out(cluster, LONGHORN)
            else:
                await install(cluster, tree)
        await until_more(answers)
    await all_scheduled_soon(cluster, names)

    assert longest_gap(answers) < SILENCE_SECONDS


def unpacked(commit: str, folder: Path) -> Path:
    """Return the tree of a commit, with its images where the nodes have them."""
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=True
    )
    subprocess.run(["tar", "-xC", str(folder)], input=archive.stdout, check=True)
    overlay = folder / OVERLAY / "kustomization.yaml"
    kustomization = yaml.safe_load(overlay.read_text(encoding="utf-8"))
    [image] = kustomization["images"]
    image |= {"newName": REPOSITORY, "newTag": commit}
    overlay.write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    return folder


async def install(cluster: RunningCluster, tree: Path) -> None:
    """Install the service of an older tree, as its docs say."""
    await cluster.administrator.run("kubectl", "apply", "-k", str(tree / OVERLAY))
    await roll_out(cluster, LONGHORN)
