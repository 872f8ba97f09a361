"""The service on real nodes while its pods, its containers and its nodes are in trouble.

The tests build on each other: each leaves the service whole.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from statistics import median
from typing import NamedTuple

import pytest

from app.config import NAME
from tests.cluster.coming import (
    MANY,
    SLEEPER,
    all_scheduled_soon,
    longest_gap,
    pods_created,
    until_more,
)
from tests.cluster.installed import (
    SERVICE,
    end_burst,
    expect_pods_with_room,
    holder,
    install,
    instances,
    leader,
    roll_out,
    upgrade,
)
from tests.cluster.probe import REFUSED
from tests.cluster.running import Answers, Object, RunningCluster
from tests.e2e.effort import runs
from tests.e2e.waiting import until
from tests.fakes.installed import NAMESPACE

pytestmark = pytest.mark.nodes

TAKE_OVER_SECONDS = 60.0
READY_SECONDS = 120.0
DELETED, KILLED, FROZEN, CUT_OFF = (
    "pod deleted",
    "container killed",
    "container frozen",
    "node cut off",
)
MOST_SECONDS = {DELETED: 5.0, KILLED: 20.0, FROZEN: 20.0, CUT_OFF: 20.0}
"""A leader that is told to end gives its lease away; else the next one waits for its end."""


@pytest.fixture(scope="module", autouse=True)
def installed(cluster: RunningCluster, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The service, as the docs install it."""

    async def begin() -> None:
        await install(cluster, tmp_path_factory.mktemp("installed"))
        await expect_pods_with_room(cluster)
        await end_burst(cluster)

    asyncio.run(begin())


@pytest.mark.parametrize("end", [DELETED, KILLED, FROZEN, CUT_OFF])
async def test_another_instance_answers_soon(cluster, capsys, end):
    """By kube-proxy, which sends requests to the leader alone."""
    found = [await without_answer(cluster, end) for _ in range(runs(1, report=10))]
    new, kept = [each.new for each in found], [each.kept for each in found]
    lost = [each.lost for each in found]
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{end}: {median(new):.1f} s without an answer, at most {max(new):.1f} s; "
            f"where a connection is kept {median(kept):.1f} s, at most {max(kept):.1f} s; "
            f"requests lost: {median(lost):.0f}, at most {max(lost)}"
        )

    assert max(*new, *kept) < MOST_SECONDS[end]


async def test_a_pod_reaches_the_leader_as_well(cluster):
    """A second scheduler asks from a pod."""
    kubectl = cluster.administrator
    await kubectl.run("kubectl", "create", "--filename", "-", stdin=json.dumps(SLEEPER))
    await kubectl.run("kubectl", "wait", "--for=condition=Ready", "pod/sleeper")
    pod = await cluster.get("pod", "sleeper")

    async with take_over(cluster, *cluster.network_of(pod)) as answers:
        await delete(cluster, await leader(cluster))
    await kubectl.run("kubectl", "delete", "pod/sleeper", "--wait")

    assert longest_gap(answers) < MOST_SECONDS[DELETED]


async def test_who_was_frozen_answers_nobody_any_more(cluster):
    """It led when it was stopped; another one leads when it goes on."""
    await roll_out(cluster)
    frozen = await leader(cluster)
    direct = f"https://{frozen['status']['podIP']}:9504/filter"
    with cluster.probed(direct) as answers:
        await until(lambda: len(answers.given()) > MANY, within=TAKE_OVER_SECONDS)
        async with take_over(cluster):
            cluster.signal(frozen, "SIGSTOP")
        before = len(answers.given())
        cluster.signal(frozen, "SIGCONT")
        refused = len(answers.refused())
        await until(
            lambda: any(each.startswith(REFUSED) for each in answers.refused()[refused:]),
            within=TAKE_OVER_SECONDS,
        )

    assert len(answers.given()) == before


async def test_a_node_is_drained(cluster):
    await roll_out(cluster)
    node = (await leader(cluster))["spec"]["nodeName"]
    kubectl = cluster.administrator
    async with take_over(cluster) as answers:
        await kubectl.run(
            *("kubectl", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force")
        )
    await roll_out(cluster)
    nodes = [pod["spec"]["nodeName"] for pod in await instances(cluster)]
    await kubectl.run("kubectl", "uncordon", node)

    assert longest_gap(answers) < MOST_SECONDS[DELETED]
    assert node not in nodes


async def test_pods_get_nodes_during_an_upgrade_and_a_rollback(cluster):
    """Pods that hold data are created all the time, and asked about while instances change."""
    async with pods_created(cluster) as names:
        with cluster.probed(SERVICE) as answers:
            await upgrade(cluster, "resources.requests.cpu=90m")
            await cluster.administrator.run(
                *("helm", "rollback", NAME, "--namespace", NAMESPACE, "--wait")
            )
            await until_more(answers)

    await roll_out(cluster)
    await all_scheduled_soon(cluster, names)

    assert longest_gap(answers) < MOST_SECONDS[DELETED]


async def test_with_a_tenth_of_a_core_all_pods_get_their_nodes(cluster):
    await upgrade(cluster, "resources.limits.cpu=100m")
    await cluster.administrator.run("kubectl", "apply", "--filename", "examples/burst.yaml")
    await expect_pods_with_room(cluster)
    await end_burst(cluster)
    await upgrade(cluster, "resources.limits.cpu=null")


async def test_with_too_little_memory_the_old_instances_go_on(cluster):
    """A roll-out stops no instance before a new one is ready."""
    await roll_out(cluster)
    before = await staying(cluster)
    with cluster.probed(SERVICE) as answers:
        await upgrade(
            cluster, "resources.limits.memory=32Mi", "resources.requests.memory=32Mi", wait=False
        )
        await until(lambda: is_out_of_memory(cluster), within=READY_SECONDS)
        names = await staying(cluster)
        await cluster.administrator.run(
            *("helm", "rollback", NAME, "--namespace", NAMESPACE, "--wait")
        )
        await until_more(answers)

    assert before < names
    assert longest_gap(answers) < MOST_SECONDS[DELETED]


async def test_everything_comes_back_after_a_power_cut(cluster):
    """The control plane and all nodes at once; of Longhorn only its volumes."""
    await roll_out(cluster)
    await cluster.administrator.run("kubectl", "apply", "--filename", "examples/burst.yaml")
    pods = await expect_pods_with_room(cluster)
    before = {pod["metadata"]["name"]: container_of(pod) for pod in pods}
    await cluster.cut_power()

    async def all_run_again() -> bool:
        pods = (await cluster.get("pods"))["items"]
        return all(
            is_running(pod) and container_of(pod) != before[pod["metadata"]["name"]] for pod in pods
        )

    with cluster.probed(SERVICE) as answers:
        await until(lambda: len(answers.given()) > MANY, within=READY_SECONDS)
    await until(all_run_again, within=READY_SECONDS)
    await roll_out(cluster)
    await end_burst(cluster)
    await cluster.administrator.run("kubectl", "apply", "--filename", "examples/burst.yaml")
    await expect_pods_with_room(cluster)
    await end_burst(cluster)


def container_of(pod: Object) -> str:
    """Return the id of the container of a pod."""
    [status] = pod["status"]["containerStatuses"]
    container: str = status["containerID"]
    return container


def is_running(pod: Object) -> bool:
    """Say whether the container of a pod runs, as far as its kubelet said."""
    [status] = pod["status"]["containerStatuses"]
    return "running" in status["state"]


async def staying(cluster: RunningCluster) -> set[str]:
    """Name the pods of the service that are not being deleted."""
    return {
        pod["metadata"]["name"]
        for pod in await instances(cluster)
        if "deletionTimestamp" not in pod["metadata"]
    }


class WithoutAnswer(NamedTuple):
    """What a take-over cost.

    Attributes:
        new: The longest time without an answer, in seconds, to who asks over new connections.
        kept: The same, to who keeps its connection while it works.
        lost: How many requests of the first had no answer. One comes 20 ms after another, and
            waits 0.3 s.
    """

    new: float
    kept: float
    lost: int


async def without_answer(cluster: RunningCluster, end: str) -> WithoutAnswer:
    """End the leader."""
    await roll_out(cluster)
    ended = await leader(cluster)
    node = ended["spec"]["nodeName"]
    with cluster.probed(SERVICE, kept=True) as kept:
        await until(lambda: len(kept.given()) > MANY, within=TAKE_OVER_SECONDS)
        async with take_over(cluster) as new:
            if end == CUT_OFF:
                cluster.cut_off(node)
            elif end == DELETED:
                await delete(cluster, ended)
            else:
                cluster.signal(ended, "SIGKILL" if end == KILLED else "SIGSTOP")
        await until_more(kept)
    if end == CUT_OFF:
        cluster.connect(node)
        await cluster.administrator.run(
            *("kubectl", "wait", "--for=condition=Ready", f"node/{node}", "--timeout=120s")
        )
    elif end != DELETED:
        await delete(cluster, ended)  # its next container would start ever later
    return WithoutAnswer(longest_gap(new), longest_gap(kept), len(new.refused()))


@contextlib.asynccontextmanager
async def take_over(cluster: RunningCluster, *where: str) -> AsyncIterator[Answers]:
    """Ask until another instance leads and has answered; the block ends the one that leads.

    Args:
        cluster: The cluster.
        where: What runs a command there; none for where kube-scheduler runs.
    """
    await roll_out(cluster)
    before = await holder(cluster)
    with cluster.probed(SERVICE, *where) as answers:
        await until(lambda: len(answers.given()) > MANY, within=TAKE_OVER_SECONDS)
        assert answers.refused() == []
        yield answers

        async def is_another() -> bool:
            return await holder(cluster) not in ("", before)

        await until(is_another, within=TAKE_OVER_SECONDS)
        await until_more(answers)


async def delete(cluster: RunningCluster, pod: Object) -> None:
    """Delete a pod, and do not wait until it is gone."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    await cluster.administrator.run(
        *("kubectl", "delete", "pod", name, "--namespace", namespace, "--wait=false")
    )


async def is_out_of_memory(cluster: RunningCluster) -> bool:
    """Say whether some instance was ended as it took more memory than it may."""
    return any(
        state.get("terminated", {}).get("reason") == "OOMKilled"
        for pod in await instances(cluster)
        for status in pod["status"].get("containerStatuses") or ()
        for state in (status["state"], status.get("lastState") or {})
    )
