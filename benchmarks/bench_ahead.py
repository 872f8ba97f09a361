"""Measures what the figures for days to come cost, and what a scrape and a request wait for them.

Nodes with 10 disks each, 10 volumes of three replicas to a node, 5 StorageClasses. All times are of
the processor, so that other work on the machine does not count.
"""

import asyncio
import gc
import time
from datetime import UTC, datetime
from random import Random
from statistics import median
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest

from app.instance.ahead import LookingAhead
from app.instance.figures import show_ahead
from benchmarks.asking import records_of, replica_of
from benchmarks.clusters import GIB, cluster, node_name
from cli.kube.view import build_view
from extender import ClusterView, Extender, StepLimits, StorageClass
from longhorn import (
    Locality,
    Volume,
    VolumeName,
)

NODES = (100, 1_000, 5_000)
DISKS, VOLUMES, REPLICAS, SEED, ROUNDS = 10, 10, 3, 1, 3
"""Of a node, for each node, of a volume."""
CLASSES = (
    {"numberOfReplicas": "3", "dataLocality": "best-effort"},
    {"numberOfReplicas": "1", "dataLocality": "strict-local"},
    {"numberOfReplicas": "2", "dataLocality": "disabled"},
    {"numberOfReplicas": "3", "dataLocality": "disabled"},
    {"numberOfReplicas": "3", "dataLocality": "best-effort", "dataEngine": "v2"},
)
LIMITS = StepLimits(per_node=10_000, per_request=100_000)


_NOTHING_SECONDS = 1e-4
"""A turn that was shorter was not taken beside a piece."""


class Found(NamedTuple):
    """What was measured, in seconds."""

    rounds: list[float]
    pieces: list[float]
    scrapes: list[float]
    size_bytes: int
    """Of one scrape."""


def main() -> None:
    """Print the table."""
    print("milliseconds of the processor: a round, its pieces, and a scrape\n")
    print(
        f"{'nodes':>6}{'volumes':>9}{'pieces':>8}{'round':>9}{'median':>8}{'p99':>7}{'max':>7}"
        f"{'scrape':>8}{'max':>7}{'bytes':>8}"
    )
    for nodes in NODES:
        view = _view(nodes)
        gc.collect()
        found = asyncio.run(_measure(view))
        pieces = sorted(found.pieces)
        print(
            f"{nodes:6}{nodes * VOLUMES:9}{len(pieces) // ROUNDS:8}"
            f"{1e3 * median(found.rounds):9.1f}{1e3 * median(pieces):8.2f}"
            f"{1e3 * pieces[len(pieces) * 99 // 100]:7.2f}{1e3 * pieces[-1]:7.2f}"
            f"{1e3 * median(found.scrapes):8.2f}{1e3 * max(found.scrapes):7.2f}"
            f"{found.size_bytes:8}"
        )


async def _measure(view: ClusterView) -> Found:
    """Work out the figures again and again, while somebody takes turns as a request does."""
    looking = LookingAhead(
        Extender(LIMITS),
        lambda: view,
        is_leading=lambda: True,
        clock=time.thread_time,
        wall_clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
    registry = CollectorRegistry()
    show_ahead(registry, lambda: looking.figures)
    task = asyncio.create_task(looking.run())
    found = Found([], [], [], 0)
    for number in range(ROUNDS + 1):
        looking.forget()
        looking.begin()
        waits = list[float]()
        while looking.figures is None:
            began = time.thread_time()
            await asyncio.sleep(0)
            waits.append(time.thread_time() - began)
        began = time.thread_time()
        size = len(generate_latest(registry))
        took = time.thread_time() - began
        if number:  # the first takes in all that there is, as the first answer does
            pieces = [each for each in waits if each > _NOTHING_SECONDS]
            found.rounds.append(looking.figures.seconds)
            found.pieces.extend(pieces)
            found.scrapes.append(took)
            found = found._replace(size_bytes=size)
    task.cancel()
    return found


def _view(nodes: int) -> ClusterView:
    records = records_of(cluster(nodes, DISKS, [], seed=SEED)["items"])
    for number, parameters in enumerate(CLASSES):
        records.add(
            StorageClass(
                name=f"class-{number}", provisioner="driver.longhorn.io", parameters=parameters
            )
        )
    random = Random(SEED)
    for number in range(nodes * VOLUMES):
        name = VolumeName(f"pvc-{number}")
        records.add(
            Volume(
                name=name,
                size_bytes=GIB,
                locality=Locality.DISABLED,
                wanted_replicas=REPLICAS,
                healthy=True,
            )
        )
        for copy, node in enumerate(random.sample(range(nodes), REPLICAS)):
            disk = random.randrange(DISKS)
            records.add(replica_of(name, copy, GIB, node_name(node), disk))
    return build_view(records)


if __name__ == "__main__":
    main()
