"""Somebody else than kube-scheduler reaches the leader, and knows the cluster."""

import asyncio
import contextlib
import time
from collections import Counter
from statistics import median
from typing import NamedTuple

import httpx
import pytest

from app.config import NAME
from tests.actors import api as kinds
from tests.actors.api import LEASES
from tests.e2e.certified import Certificates, named
from tests.e2e.extender import InstanceProcess
from tests.e2e.waiting import until
from tests.e2e.workloads import stateful_set
from tests.e2e.world import World
from tests.fakes.installed import LONGHORN, NAMESPACE
from tests.strangers import HANDSHAKES, HEADS, THREADS, Target, attacking

NODES = ["node-1", "node-2", "node-3", "node-4"]
PODS = 16
BIND_SECONDS = 60.0
HEAD_START_SECONDS = 2.0
ANSWERS, PAUSE_SECONDS = 100, 0.05
HOSTILE = f"../../../../apis/longhorn.io/v1beta2/namespaces/{LONGHORN}/nodes/node-1"
MIB = 2**20
MEMORY_BYTES = 300 * MIB
ADDRESSES = [f"127.0.9.{number + 1}" for number in range(THREADS)]


async def test_a_name_that_leads_to_another_object_is_refused(make_world):
    async with make_world(instances=1, settings={"debug": True}) as world:
        await world.add_nodes({"disk": 100})
        leader = await world.extender.leader()
        hostile = {
            "metadata": {"name": HOSTILE, "namespace": "default", "uid": "made-up"},
            "spec": {},
        }

        async with httpx.AsyncClient() as http:
            url = f"http://127.0.0.1:{leader.port}/filter"
            response = await http.post(url, json={"Pod": hostile, "NodeNames": ["node-1"]})
        state = await leader.state()

    assert response.status_code == 400
    assert (state["holds"], state["waiting"]) == ([], [])


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("kind", [*HEADS, HANDSHAKES])
async def test_pods_get_their_nodes_beside_them(make_world, tmp_path, report, kind):
    certificates = Certificates(tmp_path / "certificates", client_name="kube-scheduler")
    async with make_world(instances=2, **named(certificates, "kube-scheduler")) as world:
        alone = await _fill(world, certificates, None)
        before = await _lease(world)
        beside = await _fill(world, certificates, kind)
        after = await _lease(world)
        memory_bytes = (await world.extender.leader()).process.peak_bytes

    report.measured(
        f"beside strangers without a certificate, {kind}: 10 MB/s, 500 connections",
        f"an answer took {1e3 * beside.answer_seconds:.1f} ms in the middle, "
        f"{1e3 * alone.answer_seconds:.1f} ms without, the longest {beside.longest_seconds:.2f} s "
        f"and {alone.longest_seconds:.2f} s; {PODS} pods bound in {beside.bound_seconds:.2f} s and "
        f"{alone.bound_seconds:.2f} s; {memory_bytes // MIB} MiB at most; {beside.seen}",
    )
    assert beside.placement == alone.placement == [PODS // len(NODES)] * len(NODES)
    assert beside.longest_seconds < 1.0
    assert after == before
    assert memory_bytes < MEMORY_BYTES


class Filled(NamedTuple):
    """What came of pods that fill all nodes."""

    placement: list[int]
    bound_seconds: float
    """Until the last one had a node, since there were nodes to have."""
    answer_seconds: float
    """How long /filter took meanwhile: half of the answers took longer."""
    longest_seconds: float
    seen: dict[str, int]
    """What strangers got."""


async def _fill(world: World, certificates: Certificates, kind: str | None) -> Filled:
    """Fill all nodes with pods that wait for them, maybe while strangers attack the leader."""
    await world.add_nodes(*[{"disk": 100 * PODS // len(NODES)}] * len(NODES))
    leader = await world.extender.leader()
    for node in NODES:
        await world.cordon(node)
    web = (stateful_set("web", pods=PODS), kinds.STATEFUL_SETS)
    scheduling = await world.schedule(web, pods=PODS)
    await until(lambda: len(world.seen.pods()) == PODS, within=BIND_SECONDS)
    port = leader.port if kind == HANDSHAKES else leader.metrics_port
    none = contextlib.nullcontext(Counter[str]())
    with attacking(Target("127.0.0.1", port, kind), ADDRESSES) if kind else none as seen:
        await asyncio.sleep(HEAD_START_SECONDS if kind else 0)
        asked = list[float]()
        probing = asyncio.create_task(_ask(leader, certificates, asked))
        began = time.time()
        for node in NODES:
            await world.cordon(node, on=False)
        outcome = await scheduling.outcome(within=BIND_SECONDS)
        await until(lambda: len(asked) >= ANSWERS, within=BIND_SECONDS)
        probing.cancel()
    bound_seconds = max(world.seen.bound_at.values()) - began
    await world.wipe()
    return Filled(
        placement=[*outcome.placement.values()],
        bound_seconds=bound_seconds,
        answer_seconds=median(asked),
        longest_seconds=max(asked),
        seen=dict(seen),
    )


async def _ask(leader: InstanceProcess, certificates: Certificates, asked: list[float]) -> None:
    """Ask as kube-scheduler does, over one connection, again and again; note how long it took."""
    pod = {"metadata": {"name": "any"}, "spec": {}}
    async with httpx.AsyncClient(verify=certificates.context()) as http:
        while True:
            began = time.monotonic()
            url = f"https://127.0.0.1:{leader.port}/filter"
            response = await http.post(url, json={"Pod": pod, "NodeNames": NODES})
            assert response.status_code == 200, response.text
            asked.append(time.monotonic() - began)
            await asyncio.sleep(PAUSE_SECONDS)


async def _lease(world: World) -> tuple[str, int]:
    lease = await world.api.get(LEASES, NAME, NAMESPACE)
    assert lease is not None
    return lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]
