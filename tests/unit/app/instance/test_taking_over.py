"""Taking over: who waits is found out in pieces, nobody is judged, and a lost term ends it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import pairwise
from random import Random
from typing import cast

import pytest
from prometheus_client import CollectorRegistry

from app.instance.cluster import LiveCluster
from app.instance.holds import Holds
from app.instance.scores import LastScores
from app.instance.taking_over import TakingOver
from app.instance.waking import PODS_IN_ONE_GO, Waking
from app.kube.connection import Connection
from app.process.surroundings import Surroundings
from app.serving.metrics import Metrics
from extender import ClusterView, Extender
from tests.builders import GENEROUS, bound, core_document, node, view_of, volume
from tests.fakes import FakeApiServer

pytestmark = pytest.mark.looptime

PODS = 1_000
REFUSED = {
    "phase": "Pending",
    "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "full"}
    ],
}


class Known:
    """What taking over asks of a cluster."""

    def __init__(self, view: ClusterView) -> None:
        self.view = view


class Bench:
    """An instance that may begin to lead, and the pods that nobody has found a node for."""

    def __init__(self, connection: Connection, view: ClusterView) -> None:
        loop, metrics = asyncio.get_running_loop(), Metrics(CollectorRegistry(), version="1")
        cluster = cast(LiveCluster, Known(view))
        self.view = view
        self.extender = Extender(GENEROUS)
        around = Surroundings(
            connection, loop.time, lambda: datetime(2026, 1, 1, tzinfo=UTC), Random(1)
        )
        self.waking = Waking(around, self.extender, lambda: view, metrics, may_wake=lambda: False)
        waiting = self.waking.pods
        holds = Holds(around, self.extender, cluster, waiting, LastScores(), metrics)
        self.done: list[float] = []
        """When it had taken over."""
        self.taking_over = TakingOver(
            around,
            self.extender,
            holds,
            self.waking,
            cluster,
            lambda: self.done.append(loop.time()),
        )


@asynccontextmanager
async def taking_over() -> AsyncIterator[Bench]:
    """Run what takes over until the end of the block."""
    server = FakeApiServer(Random(5))
    names = [f"pod-{number:04}" for number in range(PODS)]
    for name in names:
        claims = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
        server.put(core_document("Pod", name, spec={"volumes": claims}, status=REFUSED))
    nodes = [node(f"node-{number}") for number in range(20)]
    view = view_of(*nodes, *bound(*(volume(name) for name in names)))
    async with server.client("us") as client:
        bench = Bench(Connection(client), view)
        task = asyncio.create_task(bench.taking_over.run())
        yield bench
        task.cancel()
        await asyncio.wait([task])


async def test_who_waits_is_found_out_piece_by_piece_and_nobody_is_judged():
    async with taking_over() as bench:
        counts = [0]
        bench.taking_over.begin()
        while not bench.done:
            counts.append(len(bench.waking.pods))
            await asyncio.sleep(0)

        pieces = [after - before for before, after in pairwise(counts)]
        assert len(bench.waking.pods) == PODS
        assert max(pieces) == PODS_IN_ONE_GO
        assert bench.extender.ledger.is_complete
        assert bench.extender.steps == 0
        [first, *_] = bench.waking.pods
        bench.extender.filter(first.pod, [*bench.view.spaces], bench.view)
        assert bench.extender.steps > 0


async def test_who_loses_the_lease_meanwhile_has_not_taken_over():
    async with taking_over() as bench:
        bench.taking_over.begin()
        turns = 0
        while not len(bench.waking.pods):
            turns += 1
            await asyncio.sleep(0)
        bench.taking_over.give_up()
        bench.waking.forget_all()
        await asyncio.sleep(30)

        assert not bench.done
        assert not bench.extender.ledger.is_complete
        assert not len(bench.waking.pods)

        bench.taking_over.begin()
        await asyncio.sleep(30)
        assert len(bench.done) == 1
        assert len(bench.waking.pods) == PODS
