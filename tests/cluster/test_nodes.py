"""What only real nodes show: our image in pods, probes, kube-proxy.

The tests build on each other: the first one installs the service.
"""

import itertools
import os
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from app.config import NAME
from supply.manifests import CHART
from supply.version import version
from tests.actors.longhorn import NAMESPACE
from tests.cluster import addresses, outside
from tests.cluster.images import ROOT
from tests.cluster.running import Object, RunningCluster
from tests.docs.consoles import Chapter, commands_of
from tests.docs.pages import DOCS
from tests.e2e.deployed import clean_clone, write_program
from tests.e2e.effort import runs
from tests.e2e.waiting import until

pytestmark = pytest.mark.nodes

CHAPTER = Chapter(DOCS / "install.md", "in-five-commands")
ADDRESS = "10.96.0.95"
"""What propose-address finds."""
PODS = 16
EXPECTED = {"node-1": 8, "node-2": 4, "node-3": 2, "node-4": 2}
RUNNING_SECONDS = 180.0
TAKE_OVER_SECONDS = 30.0
MANY = 50
"""Answers: as many take a second or more."""
DELETED, KILLED = "pod deleted", "container killed"
MOST_SECONDS = {DELETED: 5.0, KILLED: 20.0}
"""A leader that is told to end gives its lease away; else the next one waits for its end."""


async def test_five_commands_lead_to_pods_that_run_where_they_have_room(
    cluster: RunningCluster, tmp_path: Path
) -> None:
    sent = tmp_path / "sent-to-the-node"
    write_program(tmp_path / "programs" / "ssh", f'cat > "{sent}"')
    path = f"{tmp_path / 'programs'}:{os.environ['PATH']}"
    administrator = cluster.administrator_in(clean_clone(tmp_path), PATH=path)
    for command in commands_of(CHAPTER):
        text = command.text.replace("REPOSITORY", "registry.example")
        await administrator.run("bash", "-euc", text)
        if sent.exists():
            cluster.configure_scheduler(sent.read_text(encoding="utf-8"))
            sent.unlink()

    await expect_pods_with_room(cluster)
    await end_burst(cluster)


async def test_the_service_runs_as_the_deployment_says(cluster: RunningCluster) -> None:
    pods = await instances(cluster)

    assert len({pod["spec"]["nodeName"] for pod in pods}) == 2
    for pod in pods:
        [status] = pod["status"]["containerStatuses"]
        assert (status["ready"], status["restartCount"]) == (True, 0)
        assert pod["status"]["containerStatuses"][0]["user"]["linux"]["uid"] == 65532


async def test_helm_test_passes(cluster: RunningCluster) -> None:
    await cluster.administrator.run("helm", "test", NAME, "--namespace", NAMESPACE)


async def test_the_doctor_finds_nothing(cluster: RunningCluster) -> None:
    """Once it is said who may call the service: as installed, everything in the cluster may."""
    allowed = f"networkPolicy.from[0].ipBlock.cidr={addresses.CONTROL_PLANE}/32"
    await cluster.administrator.run(
        *("helm", "upgrade", NAME, str(CHART), "--namespace", NAMESPACE, "--wait"),
        *("--reset-then-reuse-values", "--set", allowed),
    )
    done = await cluster.administrator.attempt(".venv/bin/python", "-m", "app", "doctor")

    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 warning" in done.stdout or "warning" not in done.stdout, done.stdout


@pytest.mark.parametrize("end", [DELETED, KILLED])
async def test_another_instance_answers_soon(
    cluster: RunningCluster, capsys: pytest.CaptureFixture[str], end: str
) -> None:
    """By kube-proxy, which sends requests to the leader alone."""
    gaps = [await time_without_answer(cluster, end) for _ in range(runs(1, report=10))]
    with capsys.disabled():
        print(f"\n{end}: {median(gaps):.1f} s without an answer, at most {max(gaps):.1f} s")  # noqa: T201

    assert max(gaps) < MOST_SECONDS[end]


async def time_without_answer(cluster: RunningCluster, end: str) -> float:
    """End the leader, and return the longest time without an answer around that."""
    await cluster.administrator.run(
        *("kubectl", "rollout", "status", f"deployment/{NAME}", "--namespace", NAMESPACE)
    )
    leader = await leading(cluster)
    before = await containers(cluster)
    delete = ("kubectl", "delete", "pod", leader, "--namespace", NAMESPACE, "--wait=false")
    with cluster.probed(f"http://{ADDRESS}:9504/filter") as answers:
        await until(lambda: len(answers.given()) > MANY, within=TAKE_OVER_SECONDS)
        assert answers.refused() == []
        if end == KILLED:
            cluster.kill_container(await cluster.get("pod", leader, "--namespace", NAMESPACE))
        else:
            await cluster.administrator.run(*delete)

        async def has_ended() -> bool:
            return not before <= await containers(cluster)

        await until(has_ended, within=TAKE_OVER_SECONDS)
        seen = len(answers.given())
        await until(lambda: len(answers.given()) > seen + MANY, within=TAKE_OVER_SECONDS)
    if end == KILLED:
        await cluster.administrator.run(*delete)  # its next container would start ever later
    return max(later - earlier for earlier, later in itertools.pairwise(answers.given()))


async def test_a_second_scheduler_does_it_as_well(cluster: RunningCluster) -> None:
    """It finds the service by its name, in the network of the pods."""
    await cluster.administrator.run(
        *("helm", "upgrade", NAME, str(CHART), "--namespace", NAMESPACE, "--wait"),
        *("--reset-then-reuse-values", "--set", "secondaryScheduler.enabled=true"),
    )
    await cluster.administrator.run("kubectl", "apply", "--filename", "examples/burst.yaml")
    pods = await expect_pods_with_room(cluster)
    await end_burst(cluster)

    assert {pod["spec"]["schedulerName"] for pod in pods} == {"longhorn-scheduler"}


async def test_kustomize_installs_it_as_well(cluster: RunningCluster) -> None:
    """The cluster's kube-scheduler has been configured for its address before."""
    run = cluster.administrator.run
    await run("helm", "uninstall", NAME, "--namespace", NAMESPACE, "--wait")
    image = f"IMAGE={outside.REPOSITORY}:{version(ROOT)}"
    await run("make", "install-cluster", image, f"CLUSTER_IP={ADDRESS}", "INJECTION=policy")
    await run("kubectl", "rollout", "status", f"deployment/{NAME}", "--namespace", NAMESPACE)
    await run("kubectl", "apply", "--filename", "examples/burst.yaml")
    pods = await expect_pods_with_room(cluster)
    await end_burst(cluster)

    assert {pod["spec"]["schedulerName"] for pod in pods} == {"default-scheduler"}


async def instances(cluster: RunningCluster) -> list[Object]:
    """Return the pods of the service."""
    found = await cluster.get("pods", "--namespace", NAMESPACE, "--selector", f"app={NAME}")
    items: list[Object] = found["items"]
    return items


async def containers(cluster: RunningCluster) -> set[str]:
    """Return the containers of the service that run."""
    return {
        status["containerID"]
        for pod in await instances(cluster)
        for status in pod["status"].get("containerStatuses") or ()
        if "running" in status["state"]
    }


async def leading(cluster: RunningCluster) -> str:
    """Return the name of the pod that holds the Lease, which has the pod's uid in it, too."""
    lease = await cluster.get("lease", NAME, "--namespace", NAMESPACE)
    holder: str = lease["spec"].get("holderIdentity") or ""
    return holder.partition("_")[0]


async def expect_pods_with_room(cluster: RunningCluster) -> list[Object]:
    """Wait until the pods of the burst run; return them."""

    async def all_run() -> bool:
        phases = [pod["status"]["phase"] for pod in (await cluster.get("pods"))["items"]]
        return phases.count("Running") == PODS

    await until(all_run, within=RUNNING_SECONDS)
    pods: list[Object] = (await cluster.get("pods"))["items"]
    replicas = (await cluster.get("replicas.longhorn.io", "--namespace", NAMESPACE))["items"]
    assert Counter(pod["spec"]["nodeName"] for pod in pods) == EXPECTED
    assert Counter(replica["spec"]["nodeID"] for replica in replicas) == EXPECTED
    return pods


async def end_burst(cluster: RunningCluster) -> None:
    """Delete the pods of the burst, and all that they had."""
    kubectl = cluster.administrator
    await kubectl.run("kubectl", "delete", "--filename", "examples/burst.yaml", "--wait")
    await kubectl.run("kubectl", "delete", "persistentvolumeclaims", "--all", "--wait")

    async def nothing_is_left() -> bool:
        return not (await cluster.get("volumes.longhorn.io", "--namespace", NAMESPACE))["items"]

    await until(nothing_is_left, within=RUNNING_SECONDS)
