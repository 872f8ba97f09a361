"""What only real nodes show: our image in pods, as it is installed.

The tests build on each other: the first one installs the service.
"""

import asyncio
import sys

import pytest

from app.config import NAME
from supply.version import version
from tests.cluster import outside
from tests.cluster.coming import all_scheduled_soon, pods_created
from tests.cluster.images import ROOT
from tests.cluster.installed import (
    ADDRESS,
    end_burst,
    expect_pods_with_room,
    install,
    instances,
    roll_out,
    upgrade,
)
from tests.e2e.workloads import RESOURCE
from tests.fakes.installed import NAMESPACE

pytestmark = pytest.mark.nodes

BEFORE_SECONDS = 5.0


async def test_the_commands_of_the_docs_lead_to_pods_that_run_where_they_have_room(
    cluster, tmp_path
):
    await install(cluster, tmp_path)

    await expect_pods_with_room(cluster)
    await end_burst(cluster)


async def test_the_service_runs_as_the_deployment_says(cluster):
    pods = await instances(cluster)

    assert len({pod["spec"]["nodeName"] for pod in pods}) == 2
    for pod in pods:
        [status] = pod["status"]["containerStatuses"]
        assert (status["ready"], status["restartCount"]) == (True, 0)
        assert pod["status"]["containerStatuses"][0]["user"]["linux"]["uid"] == 65532


async def test_helm_test_passes(cluster):
    await cluster.administrator.run("helm", "test", NAME, "--namespace", NAMESPACE)


async def test_the_doctor_finds_nothing(cluster):
    done = await cluster.administrator.attempt(".venv/bin/python", "-m", "cli", "doctor")

    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 warning" in done.stdout or "warning" not in done.stdout, done.stdout


async def test_a_second_scheduler_does_it_as_well(cluster):
    """It finds the service by its name, in the network of the pods."""
    await upgrade(cluster, "secondaryScheduler.enabled=true")
    await cluster.administrator.run("kubectl", "apply", "--filename", "examples/burst.yaml")
    pods = await expect_pods_with_room(cluster)
    await end_burst(cluster)

    assert {pod["spec"]["schedulerName"] for pod in pods} == {"longhorn-scheduler"}


async def test_kustomize_installs_it_as_well(cluster):
    """The cluster's kube-scheduler has been configured for its address before.

    It reads whom it trusts when it starts, and the script has made another CA.
    """
    run = cluster.administrator.run
    await run("helm", "uninstall", NAME, "--namespace", NAMESPACE, "--wait")
    image = f"IMAGE={outside.REPOSITORY}:{version(ROOT)}"
    await run("bash", "-euc", f"manifests/certificates.sh {ADDRESS} | kubectl apply --filename -")
    await cluster.copy_certificates(NAMESPACE)
    cluster.restart_scheduler()
    await run("make", "install-cluster", image, f"CLUSTER_IP={ADDRESS}", "INJECTION=policy")
    await roll_out(cluster)
    await run("kubectl", "apply", "--filename", "examples/burst.yaml")
    pods = await expect_pods_with_room(cluster)
    await end_burst(cluster)

    assert {pod["spec"]["schedulerName"] for pod in pods} == {"default-scheduler"}


async def test_kustomize_takes_it_away_as_the_docs_say_while_pods_come(cluster):
    """Pods that say nothing of the extender: injection sent them there until now."""
    run = cluster.administrator.run
    async with pods_created(cluster, asks=False) as names:
        await asyncio.sleep(BEFORE_SECONDS)
        await run(sys.executable, "-m", "cli", "release", "end")
        await run("kubectl", "delete", "--ignore-not-found", "-k", "dist/install")
        await run("kubectl", "delete", "namespace", NAMESPACE)
        await asyncio.sleep(BEFORE_SECONDS)
    first, last = [await cluster.get("pod", names[at]) for at in (0, -1)]
    await all_scheduled_soon(cluster, names)

    assert [RESOURCE in str(pod["spec"]["containers"]) for pod in (first, last)] == [True, False]
