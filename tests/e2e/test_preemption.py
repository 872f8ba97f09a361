"""Who is evicted for a pod of high priority: with our answer, only where its volumes find room."""

from typing import Any

import pytest

from tests.actors import api as kinds
from tests.actors.api import Key
from tests.e2e.effort import FOR_REPORT
from tests.e2e.lending import ONE_LOOP
from tests.e2e.waiting import until
from tests.e2e.workloads import NAMESPACE, claim, pod
from tests.e2e.world import World

pytestmark = ONE_LOOP

CORES = "50"
"""Of 64: two such pods do not fit on a node."""
PRIORITIES = {"high": 1_000, "middle": 100, "low": 0}
RUNNING_SECONDS = 90.0
ROOMY = "node-2"


async def start(world: World, name: str, priority: str, *claims: str, node: str = "") -> None:
    made = pod(name, *claims, extender=bool(claims))
    made["spec"]["priorityClassName"] = priority
    made["spec"]["containers"][0]["resources"]["requests"]["cpu"] = CORES
    if node:
        made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    await world.api.create(made, kinds.PODS)


async def fill(world: World, roomy_priority: str) -> None:
    """Have nodes that are full of CPU; on the disks of one there is room."""
    for name, value in PRIORITIES.items():
        made = {"metadata": {"name": name}, "value": value}
        await world.api.ensure(made, kinds.PRIORITY_CLASSES)
    await world.add_nodes({"disk": 10}, {"disk": 200}, {"disk": 10})
    for number in (1, 2, 3):
        node = f"node-{number}"
        priority = roomy_priority if node == ROOMY else "low"
        await start(world, f"on-{node}", priority, node=node)
    await until(lambda: len(world.seen.node_of()) == 3, within=RUNNING_SECONDS)


async def start_urgent(world: World) -> None:
    """Have a pod with two volumes that fit on a small disk one by one, but not both.

    By their sizes alone kube-scheduler would leave such nodes out: Longhorn tells it its room.
    """
    for name in ("data", "log"):
        await world.api.create(claim(name, "6Gi"), kinds.CLAIMS)
    await start(world, "urgent", "high", "data", "log")


def evicted(world: World) -> list[str]:
    """Name those that are not there any more, or on their way."""
    found = [f"on-node-{number}" for number in (1, 2, 3)]
    return [name for name in found if not (each := world.seen.pod(name)) or _leaves(each)]


def _leaves(found: Any) -> bool:
    return bool(found["metadata"].get("deletionTimestamp"))


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        pytest.param({"preemptVerb": ""}, False, id="not-asked", marks=FOR_REPORT),
        pytest.param({"nodeCacheCapable": False}, True, id="whole-nodes"),
        pytest.param({}, True, marks=pytest.mark.gate, id="names"),
    ],
)
async def test_only_where_there_is_room_a_pod_is_evicted(options, share_world, report, *, asked):
    """kube-scheduler itself would rather take the nodes whose pods are of lower priority."""
    async with share_world(**options) as world:
        await fill(world, roomy_priority="middle")
        await start_urgent(world)
        await until(lambda: world.seen.is_running("urgent"), within=RUNNING_SECONDS)

        report.measured(
            f"a pod of high priority, {'asked' if asked else 'not asked'} before eviction",
            f"evicted: {', '.join(evicted(world))}",
        )
        assert world.seen.node_of()["urgent"] == ROOMY
        others = [each for each in evicted(world) if each != f"on-{ROOMY}"]
        assert bool(others) is not asked
        await world.api.delete(kinds.PODS, Key(NAMESPACE, "urgent"))


async def test_nobody_is_evicted_where_it_does_not_help(share_world, report):
    async with share_world() as world:
        await fill(world, roomy_priority="high")
        await start_urgent(world)
        leader = await world.extender.leader()

        async def was_asked():
            return (await leader.histogram("preempt_duration_seconds")).count > 0

        await until(was_asked, within=RUNNING_SECONDS)
        await until(lambda: _is_refused(world), within=RUNNING_SECONDS)

        report.measured("a pod of high priority, no node has room", f"evicted: {evicted(world)}")
        assert evicted(world) == []


def _is_refused(world: World) -> bool:
    found = world.seen.pod("urgent")
    conditions = (found or {}).get("status", {}).get("conditions") or []
    return any(each.get("reason") == "Unschedulable" for each in conditions)
