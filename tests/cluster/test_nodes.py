"""What only real nodes show: our image in pods, probes, kube-proxy.

The tests build on each other: the first one installs the service.
"""

import itertools
import os
import time
from collections import Counter
from pathlib import Path

import pytest

from app.config import NAME
from supply.manifests import CHART
from tests.actors.longhorn import NAMESPACE
from tests.cluster import addresses
from tests.cluster.running import Object, RunningCluster
from tests.docs.consoles import Chapter, commands_of
from tests.docs.pages import DOCS
from tests.e2e.deployed import clean_clone, write_program
from tests.e2e.waiting import until

pytestmark = pytest.mark.nodes

CHAPTER = Chapter(DOCS / "install.md", "in-five-commands")
ADDRESS = "10.96.0.95"
"""What propose-address finds."""
PODS = 16
EXPECTED = {"node-1": 8, "node-2": 4, "node-3": 2, "node-4": 2}
RUNNING_SECONDS = 180.0
TAKE_OVER_SECONDS = 30.0


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

    async def all_run() -> bool:
        pods = (await cluster.get("pods"))["items"]
        return [pod["status"]["phase"] for pod in pods].count("Running") == PODS

    await until(all_run, within=RUNNING_SECONDS)
    pods = (await cluster.get("pods"))["items"]
    assert Counter(pod["spec"]["nodeName"] for pod in pods) == EXPECTED
    replicas = (await cluster.get("replicas.longhorn.io", "--namespace", NAMESPACE))["items"]
    assert Counter(replica["spec"]["nodeID"] for replica in replicas) == EXPECTED


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


@pytest.mark.parametrize("end", ["deleted", "killed"])
async def test_another_instance_answers_soon(cluster: RunningCluster, end: str) -> None:
    """By kube-proxy, which sends requests to the leader alone."""
    url = f"http://{ADDRESS}:9504/filter"
    leader = await leading(cluster)
    pod = await cluster.get("pod", leader, "--namespace", NAMESPACE)
    with cluster.probed(url, end) as answers:
        await until(lambda: len(answers.all()) > 20, within=TAKE_OVER_SECONDS)
        ended = time.monotonic()
        if end == "killed":
            cluster.kill_container(pod)
        else:
            await cluster.administrator.run(
                "kubectl", "delete", "pod", leader, "--namespace", NAMESPACE, "--wait=false"
            )

        async def another_leads() -> bool:
            return await leading(cluster) not in ("", leader)

        await until(another_leads, within=TAKE_OVER_SECONDS)
        led = time.monotonic()
        await until(lambda: answers.all()[-1] > led + 1, within=TAKE_OVER_SECONDS)
    times = [at for at in answers.all() if at > ended - 1]
    gap = max(later - earlier for earlier, later in itertools.pairwise(times))
    print(f"\nno answer after the leader was {end}: {gap:.2f} s")  # noqa: T201

    assert gap < TAKE_OVER_SECONDS


async def instances(cluster: RunningCluster) -> list[Object]:
    """Return the pods of the service."""
    found = await cluster.get("pods", "--namespace", NAMESPACE, "--selector", f"app={NAME}")
    items: list[Object] = found["items"]
    return items


async def leading(cluster: RunningCluster) -> str:
    """Return the name of the pod that holds the Lease."""
    lease = await cluster.get("lease", NAME, "--namespace", NAMESPACE)
    holder: str = lease["spec"].get("holderIdentity") or ""
    return holder
