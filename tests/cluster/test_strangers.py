"""Pods that attack the service, as it is installed without any setting.

The network of these nodes knows no NetworkPolicy, so the service has to bear it alone.
"""

import asyncio
import json
import os
import subprocess
import sys
from itertools import pairwise
from statistics import median

import pytest

from tests.cluster.coming import SLEEPER, all_scheduled_soon, pods_created, until_more
from tests.cluster.images import ROOT
from tests.cluster.installed import (
    SERVICE,
    end_burst,
    expect_pods_with_room,
    holder,
    install,
    leader,
)
from tests.cluster.probe import PAUSE_SECONDS
from tests.cluster.running import Answers, RunningCluster
from tests.strangers import HANDSHAKES, HEADS

pytestmark = pytest.mark.nodes

SECONDS = 15
METRICS_PORT, PORT = 9505, 9504
MIB = 2**20
RESIDENT = "process_resident_memory_bytes "
MEMORY_BYTES = 300 * MIB
LONGEST_SECONDS = 2.0
"""kube-scheduler waits for 5."""
CASES = [
    *[pytest.param(kind, METRICS_PORT, False, id=f"{kind}, port of the metrics") for kind in HEADS],
    pytest.param(HANDSHAKES, PORT, False, id="handshakes"),
    *[pytest.param(kind, PORT, True, id=f"{kind}, with a certificate") for kind in HEADS],
]


@pytest.fixture(scope="module", autouse=True)
def installed(cluster: RunningCluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The service, as the docs install it, and a pod of somebody."""

    async def begin() -> None:
        await install(cluster, tmp_path_factory.mktemp("installed"))
        await expect_pods_with_room(cluster)
        await end_burst(cluster)
        kubectl = cluster.administrator
        await kubectl.run("kubectl", "create", "--filename", "-", stdin=json.dumps(SLEEPER))
        await kubectl.run("kubectl", "wait", "--for=condition=Ready", "pod/sleeper")

    asyncio.run(begin())


@pytest.mark.parametrize(("kind", "port", "has_certificate"), CASES)
async def test_pods_get_nodes_beside_a_pod_that_attacks(
    cluster, capsys, kind, port, *, has_certificate
):
    leads = await leader(cluster)
    before, host = await holder(cluster), leads["status"]["podIP"]
    where = cluster.network_of(await cluster.get("pod", "sleeper"))
    strangers = (sys.executable, "-m", "tests.strangers", host, str(port), kind, str(SECONDS))
    shown = {"CERTIFICATES": str(cluster.certificates)} if has_certificate else {}

    with cluster.probed(SERVICE, kept=True) as answers:
        await until_more(answers)
        alone = _seconds(answers, 0)
        number = len(answers.given())
        async with pods_created(cluster) as names:
            attack = await asyncio.create_subprocess_exec(
                *cluster.inside(*where, *strangers),
                cwd=ROOT,
                env={**os.environ, **shown},
                stdout=asyncio.subprocess.PIPE,
            )
            printed, _ = await attack.communicate()
        await until_more(answers)
        beside, refused = _seconds(answers, number), answers.refused()
    await all_scheduled_soon(cluster, names)
    memory_bytes = await _memory_bytes(cluster, host)

    with capsys.disabled():
        sys.stderr.write(
            f"\n{kind} at {port}{', with a certificate' if has_certificate else ''}: an answer "
            f"took {1e3 * median(beside):.1f} ms in the middle, {1e3 * median(alone):.1f} alone, "
            f"the longest {max(beside):.2f} s; {len(refused)} failed; {len(names)} pods placed; "
            f"{memory_bytes // MIB:.0f} MiB; {printed.decode().strip()}\n"
        )
    assert printed.strip() != b"{}"
    assert max(beside) < LONGEST_SECONDS
    assert await holder(cluster) == before
    assert memory_bytes < MEMORY_BYTES


def _seconds(answers: Answers, begin: int) -> list[float]:
    """Return how long each answer took, from this one on: between two there is a pause."""
    return [later - earlier - PAUSE_SECONDS for earlier, later in pairwise(answers.given()[begin:])]


async def _memory_bytes(cluster: RunningCluster, host: str) -> float:
    url = f"http://{host}:{METRICS_PORT}/metrics"
    code = f"import urllib.request as r; print(r.urlopen('{url}').read().decode())"
    text = await asyncio.to_thread(
        subprocess.run, cluster.inside(sys.executable, "-c", code), capture_output=True, check=True
    )
    [line] = [each for each in text.stdout.decode().splitlines() if each.startswith(RESIDENT)]
    return float(line.removeprefix(RESIDENT))
