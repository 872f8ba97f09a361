"""Clusters of 100 nodes and more: kube-scheduler shows an extender only some of the nodes.

By default it stops looking once enough nodes pass its own filters (of 300: 144), before any
extender is asked. The one node with room may not be among them.
"""

import pytest

from tests.actors import api as kinds
from tests.e2e.calls import Call
from tests.e2e.conftest import MakeWorld
from tests.e2e.report import Report
from tests.e2e.waiting import until
from tests.e2e.workloads import claims, pod
from tests.e2e.world import World

NODES = 300
ONLY = f"node-{NODES // 2}"
PODS = 10


@pytest.mark.parametrize("percentage", [0, 100])
async def test_the_only_fitting_node_of_300(
    make_world: MakeWorld, report: Report, *, percentage: int
) -> None:
    """Two claims of 60 GiB pass kube-scheduler's own check on 100 GiB, each by itself."""
    async with make_world(percentageOfNodesToScore=percentage) as world:
        disks = [{"a": 100} for _ in range(NODES)]
        disks[NODES // 2 - 1] = {"a": 1000, "b": 1000}
        await world.add_nodes(*disks)
        sent, found = [], 0
        for number in range(PODS):
            first = await _first_call(world, f"pair-{number}")
            sent.append(first.candidates)
            found += first.accepted == [ONLY]

    shown = f"{min(sent)} to {max(sent)} of {NODES} nodes sent"
    setting = "by default" if percentage == 0 else f"percentageOfNodesToScore {percentage}"
    report.measured(
        f"one fitting node of {NODES}, {setting}",
        f"{shown}; accepted at the first attempt: {found} of {PODS} pods",
    )
    if percentage:
        assert (sent, found) == ([NODES] * PODS, PODS)
    else:
        assert max(sent) < NODES
        assert found < PODS


async def _first_call(world: World, name: str) -> Call:
    """Create a pod with two claims; return the first call of /filter for it."""
    wanted = claims(name, 2, "60Gi")
    for each in wanted:
        await world.api.create(each, kinds.CLAIMS)
    await world.api.create(pod(name, *[c["metadata"]["name"] for c in wanted]), kinds.PODS)
    await until(lambda: bool(world.calls_for(name)), within=30, what=f"a call for {name}")
    return world.calls_for(name)[0]
