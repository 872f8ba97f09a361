"""Measures what the picture of a live service costs, and what a request waits for it.

Each disk has three replicas, each volume a claim, and each hold is open on every node. While the
page is made, somebody takes one turn after another, as requests do. All times are of the processor,
so that other work on the machine does not count.
"""

import asyncio
import gc
import time
from statistics import quantiles
from typing import Any

from app.instance.picture import Caption, Sources, draw
from benchmarks.asking import records_of
from benchmarks.clusters import GIB, cluster, node_name
from cli.kube.view import build_view
from extender import ClusterView, Hold, Ledger, PodRef
from extender.demand import WantedVolume
from extender.holds import State
from extender.waiting import WaitingPods
from longhorn import Locality, Volume, VolumeName, need_of

NODES = (100, 1_000, 5_000)
HOLDS = (0, 100, 300)
DISKS, REPLICAS, SEED, ROUNDS = 10, 3, 1, 3
SIZE_BYTES = 10 * GIB


def main() -> None:
    """Print the table."""
    print(
        "seconds of work for a page, its size, and milliseconds that a request waits for a turn\n"
    )
    print(f"{'nodes':>6}{'holds':>7}{'seconds':>9}{'MB':>7}{'p99':>8}{'max':>8}")
    for nodes in NODES:
        view = _view(nodes)
        for holds in HOLDS:
            sources = _sources(view, holds)
            asyncio.run(_draw(sources))  # what is loaded once is not counted
            gc.collect()  # a cluster that has just been made would be looked through meanwhile
            found = [asyncio.run(_draw(sources)) for _ in range(ROUNDS)]
            seconds = min(each[0] for each in found)
            waits = sorted(wait for each in found for wait in each[2])
            print(
                f"{nodes:6}{holds:7}{seconds:9.2f}{found[0][1] / 1e6:7.1f}"
                f"{1e3 * quantiles(waits, n=100)[98]:8.2f}{1e3 * waits[-1]:8.2f}"
            )


async def _draw(sources: Sources) -> tuple[float, int, list[float]]:
    """Return the seconds of work for one page, its bytes, and how long others had to wait."""
    waits, size_bytes = list[float](), 0

    async def ask() -> None:
        while True:
            began = time.thread_time()
            await asyncio.sleep(0)
            waits.append(time.thread_time() - began)

    asking = asyncio.create_task(ask())
    began = time.thread_time()
    async for piece in draw(sources, Caption(origin="bench"), now=0.0):
        size_bytes += len(piece)
    seconds = time.thread_time() - began
    asking.cancel()
    return seconds, size_bytes, waits


def _view(nodes: int) -> ClusterView:
    items = cluster(nodes, DISKS, [], seed=SEED)["items"]
    for document in items:
        if document["kind"] == "Node":
            _fill(document)
    return build_view(records_of([*items, *_claims(nodes)]))


def _fill(node: dict[str, Any]) -> None:
    """Have each disk list replicas."""
    for disk, status in node["status"]["diskStatus"].items():
        name = node["metadata"]["name"]
        status["scheduledReplica"] = {
            f"pvc-{name}-{disk}-{number}-r-{number:08}": SIZE_BYTES for number in range(REPLICAS)
        }


def _claims(nodes: int) -> list[dict[str, Any]]:
    """Return a claim and its PersistentVolume for each disk: for one of its replicas."""
    found: list[dict[str, Any]] = []
    for volume in (f"pvc-{node_name(n)}-disk-{d}-0" for n in range(nodes) for d in range(DISKS)):
        claim = {"name": volume, "namespace": "bench", "uid": volume}
        wanted = {"resources": {"requests": {"storage": str(SIZE_BYTES)}}, "volumeName": volume}
        csi = {"driver": "driver.longhorn.io", "volumeHandle": volume}
        found += [
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": claim,
             "spec": wanted},
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume},
             "spec": {"csi": csi}},
        ]  # fmt: skip
    return found


def _sources(view: ClusterView, holds: int) -> Sources:
    return Sources(
        current_view=lambda: view,
        ledger=_held(view, holds),
        waiting=WaitingPods(),
    )


def _held(view: ClusterView, holds: int) -> Ledger:
    """Return a ledger with the holds of pods that may go to every node."""
    ledger = Ledger()
    volume = Volume(name=VolumeName("volume"), size_bytes=SIZE_BYTES, locality=Locality.BEST_EFFORT)
    for number in range(holds):
        ledger.put(
            Hold(
                pod=PodRef(namespace="bench", name=f"pod-{number}", uid=str(number), claims=()),
                volumes=(WantedVolume(volume=volume, need=need_of(volume, None)),),
                placed_before=frozenset(),
                existing=frozenset(),
                state=State.OPEN,
                nodes=frozenset(view.spaces),
                answered_at=0.0,
            )
        )
    return ledger


if __name__ == "__main__":
    main()
