"""Somebody else than kube-scheduler reaches the leader, and knows the cluster.

What each kind of request does is tested in `tests/integration/test_strangers.py`; this is about
what the real kube-scheduler and its pods notice of it.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import httpx
import pytest

from app.config import NAME
from benchmarks import strangers
from tests.actors import api as kinds
from tests.actors.api import LEASES, Object
from tests.e2e.conftest import MakeWorld
from tests.e2e.effort import is_for_report
from tests.e2e.extender import PROBE, InstanceProcess
from tests.e2e.report import Report
from tests.e2e.waiting import until
from tests.e2e.workloads import claim, pod, stateful_set
from tests.e2e.world import World
from tests.fakes.installed import LONGHORN, NAMESPACE
from tests.pod_process import ROOT

NODES = ["node-1", "node-2", "node-3", "node-4"]
PODS = 16
BIND_SECONDS = 60.0
SHORT_SECONDS = 1.0
HEAD_START_SECONDS = 2.0
LONG_SECONDS = 20.0 if is_for_report() else 10.0
SLEEP_SECONDS = 3.0
HOSTILE = f"../../../../apis/longhorn.io/v1beta2/namespaces/{LONGHORN}/nodes/node-1"
MIB = 2**20
MEMORY_BYTES = 300 * MIB


@pytest.mark.gate
async def test_they_take_no_room_and_free_none(make_world: MakeWorld) -> None:
    async with make_world(instances=1, settings={"debug": True}) as world:
        await world.add_nodes(*[{"disk": 100}] * len(NODES))
        leader = await world.extender.leader()
        web = (stateful_set("web", pods=len(NODES)), kinds.STATEFUL_SETS)
        scheduling = await world.schedule(web, pods=len(NODES))
        await until(lambda: _are_held(leader, len(NODES)), within=BIND_SECONDS)
        asked = {each["metadata"]["name"]: each for each in world.seen.pods()}

        seen = await _ask(leader, [*asked.values()])
        await world.api.create(claim("late"), kinds.CLAIMS)
        await world.api.create(pod("late", "late"), kinds.PODS)
        outcome = await scheduling.outcome(within=BIND_SECONDS)
        await asyncio.sleep(SLEEP_SECONDS)

        assert seen["200"] > 0
        assert sorted(outcome.placement.values()) == [1] * len(NODES)
        assert (outcome.without_room, outcome.elsewhere) == (0, 0)
        assert world.seen.node_of()["late"] == ""


async def test_a_name_that_leads_to_another_object_is_refused(make_world: MakeWorld) -> None:
    async with make_world(instances=1, settings={"debug": True}) as world:
        await world.add_nodes({"disk": 100})
        leader = await world.extender.leader()
        named = {
            "metadata": {"name": HOSTILE, "namespace": "default", "uid": "made-up"},
            "spec": {},
        }

        async with httpx.AsyncClient() as http:
            url = f"http://127.0.0.1:{leader.port}/filter"
            response = await http.post(url, json={"Pod": named, "NodeNames": ["node-1"]})
        state = await leader.state()

    assert response.status_code == 400
    assert (state["holds"], state["waiting"]) == ([], [])


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds_asked", [strangers.INVENTED, tuple(strangers.KINDS)], ids=["invented", "all"]
)
async def test_pods_get_their_nodes_beside_them(
    make_world: MakeWorld, report: Report, kinds_asked: tuple[str, ...]
) -> None:
    async with make_world(instances=2) as world:
        alone = await _fill(world, ())
        leader, before = await world.extender.leader(), await _lease(world)
        beside = await _fill(world, kinds_asked)
        after = await _lease(world)
        memory_bytes = leader.process.peak_bytes

    report.measured(
        f"beside 1,000 requests a second of strangers ({', '.join(kinds_asked)})",
        f"{PODS} pods bound in {beside.bound_seconds:.2f} s, {alone.bound_seconds:.2f} s without; "
        f"an answer took {1e3 * beside.answer_seconds:.1f} ms in the middle, "
        f"{1e3 * alone.answer_seconds:.1f} ms without, the longest {beside.longest_seconds:.2f} s; "
        f"{memory_bytes // MIB} MiB at most; they got {beside.seen}",
    )
    assert beside.placement == alone.placement == [PODS // len(NODES)] * len(NODES)
    assert beside.without_room == 0
    if kinds_asked == strangers.INVENTED:  # else pods may wait for what is held for real ones
        assert beside.longest_seconds < 1.0
    assert after == before
    assert memory_bytes < MEMORY_BYTES


class Filled(NamedTuple):
    """What came of pods that fill all nodes."""

    placement: list[int]
    bound_seconds: float
    """Until the last one had a node, since there were nodes to have."""
    answer_seconds: float
    """How long /filter took for them: half of the answers took longer."""
    longest_seconds: float
    without_room: int
    seen: dict[str, int]
    """What strangers got."""


async def _fill(world: World, kinds_asked: Sequence[str]) -> Filled:
    """Fill all nodes with pods that wait for them, while strangers ask about these pods."""
    await world.add_nodes(*[{"disk": 100 * PODS // len(NODES)}] * len(NODES))
    leader = await world.extender.leader()
    for node in NODES:
        await world.cordon(node)
    web = (stateful_set("web", pods=PODS), kinds.STATEFUL_SETS)
    scheduling = await world.schedule(web, pods=PODS)
    await until(lambda: len(world.seen.pods()) == PODS, within=BIND_SECONDS)
    process = await _strangers(leader, world.seen.pods(), kinds_asked) if kinds_asked else None
    began = time.time()
    for node in NODES:
        await world.cordon(node, on=False)
    outcome = await scheduling.outcome(within=BIND_SECONDS)
    asked = [call.seconds for call in world.extender.calls(since=began) if call.pod != PROBE]
    bound_seconds = max(world.seen.bound_at.values()) - began
    seen = json.loads((await process.communicate())[0]) if process else {}
    await world.wipe()
    return Filled(
        placement=[*outcome.placement.values()],
        bound_seconds=bound_seconds,
        answer_seconds=median(asked),
        longest_seconds=max(asked),
        without_room=outcome.without_room,
        seen=seen,
    )


async def _strangers(
    leader: InstanceProcess, pods: Sequence[Object], kinds_asked: Sequence[str]
) -> asyncio.subprocess.Process:
    """Have strangers ask the leader about pods for a while, and return once they have begun."""
    command = ["benchmarks.strangers", str(leader.port), str(LONG_SECONDS), *kinds_asked]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *command),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps({"pods": pods, "nodes": NODES}).encode())
    process.stdin.close()
    await asyncio.sleep(HEAD_START_SECONDS)
    return process


async def _ask(leader: InstanceProcess, pods: Sequence[Object]) -> Counter[str]:
    """Ask about pods in each way there is, for a moment."""
    return await strangers.ask(leader.port, time.monotonic() + SHORT_SECONDS, pods, NODES)


async def _are_held(leader: InstanceProcess, count: int) -> bool:
    return len((await leader.state())["holds"]) == count


async def _lease(world: World) -> tuple[str, int]:
    lease = await world.api.get(LEASES, NAME, NAMESPACE)
    assert lease is not None
    return lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]
