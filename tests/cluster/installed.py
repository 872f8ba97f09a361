"""The service as it is installed on real nodes, and the pods that it places."""

import os
from collections import Counter
from pathlib import Path

from app.config import NAME
from supply.manifests import CHART
from tests.cluster.running import Object, RunningCluster
from tests.docs.consoles import Chapter, commands_of
from tests.docs.pages import DOCS
from tests.e2e.deployed import clean_clone, write_program
from tests.e2e.waiting import until
from tests.fakes.installed import LONGHORN, NAMESPACE

CHAPTER = Chapter(DOCS / "kube-scheduler.md", "kubeadm")
ADDRESS = "10.96.0.95"
"""What propose-address finds."""
SERVICE = f"https://{ADDRESS}:9504/filter"
PODS = 16
EXPECTED = {"node-1": 8, "node-2": 4, "node-3": 2, "node-4": 2}
RUNNING_SECONDS = 180.0


async def install(cluster: RunningCluster, folder: Path) -> None:
    """Run the commands of the docs, which end with a burst of pods."""
    sent = folder / "sent-to-the-node"
    write_program(
        folder / "programs" / "ssh",
        f'case "$2" in *tar*) tar -xC "{cluster.certificates}" ;; *) cat > "{sent}" ;; esac',
    )
    path = f"{folder / 'programs'}:{os.environ['PATH']}"
    administrator = cluster.administrator_in(clean_clone(folder), PATH=path)
    for command in commands_of(CHAPTER):
        text = command.text.replace("REPOSITORY", "registry.example")
        await administrator.run("bash", "-euc", text)
        if sent.exists():
            cluster.configure_scheduler(sent.read_text(encoding="utf-8"))
            sent.unlink()


async def upgrade(cluster: RunningCluster, *settings: str, wait: bool = True) -> None:
    """Change values of the release, and wait until its pods are those that it asks for."""
    await cluster.administrator.run(
        *("helm", "upgrade", NAME, str(CHART), "--namespace", NAMESPACE),
        *(["--wait"] if wait else []),
        *("--reset-then-reuse-values", "--set", ",".join(settings)),
    )


async def roll_out(cluster: RunningCluster, namespace: str = NAMESPACE) -> None:
    """Wait until all instances are ready, and no others are left."""
    await cluster.administrator.run(
        *("kubectl", "rollout", "status", f"deployment/{NAME}", "--namespace", namespace)
    )


async def instances(cluster: RunningCluster) -> list[Object]:
    """Return the pods of the service."""
    found = await cluster.get("pods", "--namespace", NAMESPACE, "--selector", f"app={NAME}")
    items: list[Object] = found["items"]
    return items


async def holder(cluster: RunningCluster) -> str:
    """Return who holds the Lease; the name of its pod stands before the first _."""
    lease = await cluster.get("lease", NAME, "--namespace", NAMESPACE)
    identity: str = lease["spec"].get("holderIdentity") or ""
    return identity


async def leader(cluster: RunningCluster) -> Object:
    """Return the pod that leads."""
    name, _, _ = (await holder(cluster)).partition("_")
    return await cluster.get("pod", name, "--namespace", NAMESPACE)


async def expect_pods_with_room(cluster: RunningCluster) -> list[Object]:
    """Wait until the pods of the burst run; return them."""

    async def all_run() -> bool:
        phases = [pod["status"]["phase"] for pod in (await cluster.get("pods"))["items"]]
        return phases.count("Running") == PODS

    await until(all_run, within=RUNNING_SECONDS)
    pods: list[Object] = (await cluster.get("pods"))["items"]
    replicas = (await cluster.get("replicas.longhorn.io", "--namespace", LONGHORN))["items"]
    assert Counter(pod["spec"]["nodeName"] for pod in pods) == EXPECTED
    assert Counter(replica["spec"]["nodeID"] for replica in replicas) == EXPECTED
    return pods


async def end_burst(cluster: RunningCluster) -> None:
    """Delete the pods of the burst, and all that they had."""
    kubectl = cluster.administrator
    await kubectl.run("kubectl", "delete", "--filename", "examples/burst.yaml", "--wait")
    await kubectl.run("kubectl", "delete", "persistentvolumeclaims", "--all", "--wait")
    await no_volumes_are_left(cluster)


async def no_volumes_are_left(cluster: RunningCluster) -> None:
    """Wait until Longhorn has deleted all volumes."""

    async def nothing_is_left() -> bool:
        return not (await cluster.get("volumes.longhorn.io", "--namespace", LONGHORN))["items"]

    await until(nothing_is_left, within=RUNNING_SECONDS)
