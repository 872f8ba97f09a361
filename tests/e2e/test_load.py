"""Clients that are slow, greedy or busy cost neither the leader its lease nor a pod its node."""

import asyncio
import json
import sys

import pytest

from app.config import NAME
from tests.actors import api as kinds
from tests.actors.api import LEASES
from tests.e2e.lending import ONE_LOOP
from tests.e2e.workloads import stateful_set
from tests.e2e.world import World
from tests.fakes.installed import NAMESPACE
from tests.pod_process import ROOT

pytestmark = [ONE_LOOP, pytest.mark.alone]

SECONDS = 15
PODS = 4
BIND_SECONDS = 90.0
MIB = 2**20
MEMORY_BYTES = 768 * MIB
"""Below the limit of the Deployment by a quarter; this cluster is small."""
END_SECONDS = 30.0


@pytest.mark.parametrize("crowd", ["slow", "greedy", "busy"])
async def test_pods_are_placed_and_the_lease_is_kept_beside(share_world, report, crowd):
    async with share_world(instances=2) as world:
        await world.add_nodes(*[{"disk": 100}] * PODS)
        leader = await world.extender.leader()
        before = await _lease(world)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.crowds", crowd, str(leader.port), str(SECONDS)),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        wish = (stateful_set("web", pods=PODS), kinds.STATEFUL_SETS)
        scheduling = await world.schedule(wish, pods=PODS)
        outcome = await scheduling.outcome(within=BIND_SECONDS)
        async with asyncio.timeout(SECONDS + END_SECONDS):
            output, _ = await process.communicate()
        after = await _lease(world)
        memory_bytes = leader.process.peak_bytes
        report.measured(
            f"beside a crowd that is {crowd}",
            f"{PODS} pods bound in {outcome.bound_seconds:.1f} s with "
            f"{outcome.filter_calls} calls, the longest {outcome.longest_filter_seconds:.2f} s; "
            f"{memory_bytes // MIB} MiB at most; the crowd got {json.loads(output)}",
        )

    assert process.returncode == 0
    assert sorted(outcome.placement.values()) == [1] * PODS
    assert outcome.without_room == 0
    assert (after["holderIdentity"], after["leaseTransitions"]) == (
        before["holderIdentity"],
        before["leaseTransitions"],
    )
    assert memory_bytes < MEMORY_BYTES


async def _lease(world: World) -> kinds.Object:
    lease = await world.api.get(LEASES, NAME, NAMESPACE)
    assert lease is not None
    spec: kinds.Object = lease["spec"]
    return spec
