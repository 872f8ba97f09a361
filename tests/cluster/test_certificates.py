"""HTTPS on real nodes, as the docs set it up, and certificates that are replaced."""

import asyncio
import subprocess
import sys

import pytest

from tests.cluster.installed import (
    ADDRESS,
    end_burst,
    expect_pods_with_room,
    instances,
    roll_out,
)
from tests.cluster.running import RunningCluster
from tests.docs.consoles import Chapter, commands_of
from tests.docs.pages import DOCS
from tests.e2e.deployed import clean_clone
from tests.e2e.waiting import until
from tests.fakes.installed import NAMESPACE

pytestmark = pytest.mark.nodes

CHAPTER = Chapter(DOCS / "kube-scheduler.md", "an-address")
TAKEN_UP_SECONDS = 180.0
"""A kubelet looks for new Secrets about once a minute, the service more often."""
_ASK = f'import ssl; print(ssl.get_server_certificate(("{ADDRESS}", 9504)))'


async def test_new_certificates_are_taken_up_without_a_restart(cluster, tmp_path):
    administrator = cluster.administrator_in(clean_clone(tmp_path))
    texts = [
        command.text.replace("REPOSITORY", "registry.example") for command in commands_of(CHAPTER)
    ]
    at = next(at for at, text in enumerate(texts) if "certificates.sh" in text) + 1
    for text in texts[:at]:
        await administrator.run("bash", "-euc", text)
    await cluster.copy_certificates(NAMESPACE)
    cluster.configure_scheduler(
        await administrator.run(
            *(sys.executable, "-m", "cli", "scheduler-config", "--distribution", "kubeadm"),
            *("--url", f"https://{ADDRESS}:9504"),
        )
    )
    for text in texts[at:]:
        await administrator.run("bash", "-euc", text)
    await roll_out(cluster)
    await administrator.run("kubectl", "apply", "--filename", "examples/burst.yaml")
    await expect_pods_with_room(cluster)
    await end_burst(cluster)
    before, pods = await served(cluster), await instances(cluster)

    await administrator.run("bash", "-euc", texts[at - 1])
    await cluster.copy_certificates(NAMESPACE)

    async def is_another() -> bool:
        return await served(cluster) != before

    await until(is_another, within=TAKEN_UP_SECONDS)
    cluster.restart_scheduler()  # it reads whom it trusts when it starts
    await administrator.run("kubectl", "apply", "--filename", "examples/burst.yaml")
    await expect_pods_with_room(cluster)
    await end_burst(cluster)
    after = await instances(cluster)
    assert [pod["status"]["containerStatuses"][0]["restartCount"] for pod in after] == [0, 0]
    assert {pod["metadata"]["uid"] for pod in after} == {pod["metadata"]["uid"] for pod in pods}


async def served(cluster: RunningCluster) -> str:
    """Return the certificate that the service has where kube-scheduler runs."""
    done = await asyncio.to_thread(
        subprocess.run,
        cluster.inside(sys.executable, "-c", _ASK),
        capture_output=True,
        text=True,
        check=True,
    )
    return str(done.stdout)
