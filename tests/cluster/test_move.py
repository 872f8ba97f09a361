"""From Longhorn's namespace to one of our own and back, in real pods, while pods come."""

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from app.config import NAME
from tests.cluster.coming import all_scheduled_within, pods_created
from tests.cluster.conftest import started
from tests.cluster.outside import REPOSITORY
from tests.cluster.running import RunningCluster
from tests.fakes.installed import LONGHORN, NAMESPACE

pytestmark = pytest.mark.nodes

WAIT = timedelta(seconds=60)
"""A scheduler ends, and another one starts on nodes that have its image."""
BEFORE_SECONDS = 5.0
KINDS = (
    *("clusterroles", "clusterrolebindings"),
    *("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
    *("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
)
OURS = "app in (longhorn-scheduler-extender, longhorn-scheduler)"


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[RunningCluster]:
    """A cluster in which a release stands in Longhorn's namespace, with a second scheduler."""
    with started(folder) as cluster:
        asyncio.run(install(cluster))
        yield cluster


async def install(cluster: RunningCluster) -> None:
    await cluster.administrator.run(
        *("helm", "install", NAME, "charts/longhorn-scheduler-extender", "--wait"),
        *("--namespace", LONGHORN, "--set", f"image.repository={REPOSITORY}"),
    )


@pytest.mark.parametrize(("source", "target"), [(LONGHORN, NAMESPACE), (NAMESPACE, LONGHORN)])
async def test_a_release_moves_while_pods_come(cluster, source, target):
    async with pods_created(cluster) as names:
        await asyncio.sleep(BEFORE_SECONDS)
        await cluster.administrator.run("make", "move", f"FROM={source}", f"TO={target}")
        await asyncio.sleep(BEFORE_SECONDS)
    await all_scheduled_within(WAIT, cluster, names)

    assert await left(cluster, source) == []
    tested = await cluster.administrator.run("helm", "test", NAME, "--namespace", target)
    assert "Succeeded" in tested


async def left(cluster: RunningCluster, namespace: str) -> list[str]:
    """Name what is left of an installation; a namespace of its own stays, and is empty."""
    run = cluster.administrator.run
    inside = "all,configmaps,secrets,leases,endpointslices,roles,rolebindings,networkpolicies"
    found = await run("kubectl", "get", inside, "-n", namespace, "-l", OURS, "-o", "json")
    leases = await run("kubectl", "get", "leases", "-n", namespace, "-o", "json")
    names = [each["metadata"]["name"] for each in json.loads(found)["items"]]
    # Rights of the one that has come are where Longhorn is.
    names = [name for name in names if "." not in name or name.endswith(f".{namespace}")]
    names += [
        each["metadata"]["name"]
        for each in json.loads(leases)["items"]
        if each["metadata"]["name"] in (NAME, "longhorn-scheduler")
    ]
    around = await run("kubectl", "get", ",".join(KINDS), "-l", OURS, "-o", "name")
    return names + [name for name in around.split() if name.endswith(f".{namespace}")]
