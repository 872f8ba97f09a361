"""Pods that are created without a pause, and how long the service did not answer meanwhile."""

import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta

from tests.cluster.installed import no_volumes_are_left
from tests.cluster.running import Answers, Object, RunningCluster
from tests.e2e.waiting import until
from tests.e2e.workloads import RESOURCE, STORAGE_CLASS

MANY = 50
"""Answers: as many take a second or more."""
PAUSE_SECONDS = 0.3
SCHEDULED_SECONDS = timedelta(seconds=10)
_MORE_SECONDS = 60.0
_ALL_SECONDS = 120.0
_ROOM_BYTES = 10 * 1024**3
_PUBLISHED_SECONDS = 90.0
"""external-provisioner looks once a minute."""
SLEEPER: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "sleeper", "namespace": "default"},
    "spec": {
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "pause", "image": "registry.k8s.io/pause:3.10"}],
    },
}


@contextlib.asynccontextmanager
async def pods_created(cluster: RunningCluster, *, asks: bool = True) -> AsyncIterator[list[str]]:
    """Create a pod after another until the block ends; it has the names of those that there are.

    Args:
        cluster: Where they are created.
        asks: Whether they have the extender's resource; else only injection gives it to them.
    """
    names: list[str] = []
    is_over = asyncio.Event()

    async def create() -> None:
        for pod in many_pods(asks=asks):
            await cluster.administrator.run("kubectl", "create", "-f", "-", stdin=json.dumps(pod))
            names.append(pod["metadata"]["name"])
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(is_over.wait(), PAUSE_SECONDS)
            if is_over.is_set():
                return

    await until(lambda: _is_room_published(cluster), within=_PUBLISHED_SECONDS)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(create())
        yield names
        is_over.set()


async def _is_room_published(cluster: RunningCluster) -> bool:
    """Say whether kube-scheduler sees room on all nodes; volumes that are gone may have had it."""
    capacities = (await cluster.get("csistoragecapacities", "--all-namespaces"))["items"]
    return all(int(each["capacity"]) >= _ROOM_BYTES for each in capacities)


def many_pods(*, asks: bool) -> Iterator[Object]:
    """Make pods, with a volume each that is gone with them; if it *asks*, for the extender."""
    [alone] = SLEEPER["spec"]["containers"]
    container = alone | ({"resources": {"limits": {RESOURCE: "1"}}} if asks else {})
    for number in itertools.count(1):
        claim = {
            "spec": {
                "storageClassName": STORAGE_CLASS,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "200Mi"}},
            }
        }
        volume = {"name": "data", "ephemeral": {"volumeClaimTemplate": claim}}
        labels = {"app": "one-of-many"}
        yield {
            **SLEEPER,
            "metadata": {"name": f"one-{number}", "namespace": "default", "labels": labels},
            "spec": {**SLEEPER["spec"], "containers": [container], "volumes": [volume]},
        }


async def times_until_scheduled(cluster: RunningCluster, names: list[str]) -> list[timedelta]:
    """Wait until pods have nodes, and return how long that took each, in whole seconds."""
    waits: list[timedelta] = []
    waiting: list[tuple[str, Object, Object]] = []

    async def all_are() -> bool:
        pods = (await cluster.get("pods", "--selector=app=one-of-many"))["items"]
        waits.clear()
        waiting.clear()
        for pod in pods:
            created = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
            conditions = {each["type"]: each for each in pod["status"].get("conditions") or ()}
            found = conditions.get("PodScheduled") or {"status": "Unknown"}
            if found["status"] == "True":
                waits.append(datetime.fromisoformat(found["lastTransitionTime"]) - created)
            else:
                waiting.append((pod["metadata"]["name"], found, pod["spec"]))
        return len(waits) == len(names)

    await until(all_are, within=_ALL_SECONDS, what=lambda: f"{len(names)} pods, not {waiting}")
    return waits


async def until_more(answers: Answers) -> None:
    """Wait for more answers."""
    seen = len(answers.given())
    await until(lambda: len(answers.given()) > seen + MANY, within=_MORE_SECONDS)


def longest_gap(answers: Answers) -> float:
    """Return the longest time between two answers."""
    return max(later - earlier for earlier, later in itertools.pairwise(answers.given()))


async def all_scheduled_soon(cluster: RunningCluster, names: list[str]) -> None:
    """Expect a node for each of the pods within seconds, and end them."""
    await all_scheduled_within(SCHEDULED_SECONDS, cluster, names)


async def all_scheduled_within(limit: timedelta, cluster: RunningCluster, names: list[str]) -> None:
    """Expect a node for each of the pods before it has waited so long, and end them."""
    waits = await times_until_scheduled(cluster, names)
    await cluster.administrator.run("kubectl", "delete", "pods", "--selector=app=one-of-many")
    await no_volumes_are_left(cluster)

    assert len(waits) == len(names) > 0
    sys.stderr.write(f"{len(waits)} pods; the longest waited for {max(waits)}\n")
    assert max(waits) <= limit
