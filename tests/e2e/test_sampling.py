"""Clusters of 100 nodes and more: kube-scheduler shows an extender only some of the nodes.

By default it stops looking once enough nodes pass its own filters (of 300: 144), before any
extender is asked. The one node with room may not be among them.
"""

from tests.actors import api as kinds
from tests.e2e.calls import Call
from tests.e2e.effort import runs
from tests.e2e.report import Report
from tests.e2e.waiting import until
from tests.e2e.workloads import claims, pod
from tests.e2e.world import World

NODES = 300
ONLY = f"node-{NODES // 2}"
PODS = runs(5, report=10)


async def test_the_only_fitting_node_of_300(make_world, report):
    """Two claims of 60 GiB pass kube-scheduler's own check on 100 GiB, each by itself."""
    async with make_world(percentageOfNodesToScore=0) as world:
        disks = [{"a": 100} for _ in range(NODES)]
        disks[NODES // 2 - 1] = {"a": 1000, "b": 1000}
        await world.add_nodes(*disks)
        by_default = await _first_calls(world, report, "by default")
        await world.delete_workloads()
        await world.kill_scheduler()
        await world.start_scheduler(percentageOfNodesToScore=100)
        all_nodes = await _first_calls(world, report, "percentageOfNodesToScore 100")

    assert max(call.candidates for call in by_default) < NODES
    assert any(call.accepted != [ONLY] for call in by_default)
    assert {(call.candidates, *call.accepted) for call in all_nodes} == {(NODES, ONLY)}


async def _first_calls(world: World, report: Report, setting: str) -> list[Call]:
    """Create pods one after another; return the first call of /filter for each."""
    name = "all" if setting.endswith("100") else "some"
    calls = [await _first_call(world, f"{name}-{number}") for number in range(PODS)]
    sent = [call.candidates for call in calls]
    found = sum(call.accepted == [ONLY] for call in calls)
    report.measured(
        f"one fitting node of {NODES}, {setting}",
        f"{min(sent)} to {max(sent)} of {NODES} nodes sent; "
        f"accepted at the first attempt: {found} of {PODS} pods",
    )
    return calls


async def _first_call(world: World, name: str) -> Call:
    """Create a pod with two claims; return the first call of /filter for it."""
    wanted = claims(name, 2, "60Gi")
    for each in wanted:
        await world.api.create(each, kinds.CLAIMS)
    await world.api.create(pod(name, *[c["metadata"]["name"] for c in wanted]), kinds.PODS)
    await until(lambda: bool(world.calls_for(name)), within=30, what=f"a call for {name}")
    return world.calls_for(name)[0]
