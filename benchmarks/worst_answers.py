"""What one answer costs on the worst day: when what is due outgrows the room, and a zone is down.

*ahead* is what is prepared before anybody asks, and *piece* the longest stretch of any preparation
in one go. *first* is a pod nobody asked about before, *again* the same pod, *new* pods of other
needs, *event* the pod once one of the due replicas has got its disk, with what is prepared because
of that. *score* is the `/prioritize` that follows on *new*. All are milliseconds of this process's
CPU: medians but for *ahead* and *first*; *max* is the most but for *ahead*.
"""

import time
from collections.abc import Iterator
from random import Random
from statistics import median
from typing import NamedTuple

import msgspec

from benchmarks.asking import Cluster, measured, pod_record
from benchmarks.clusters import GIB, cluster, pod
from benchmarks.worst_cluster import COPIES, DISKS, SEED, UTC_NOW, due_volumes, zone_down
from longhorn import Node, Replica

PODS = [pod("pod", [GIB]), *(pod(f"other-{n}", [(2 + n) * GIB, 3 * GIB]) for n in range(8))]
_SAMPLES = 8
_SAMPLE_SECONDS = 5.0
"""Most of the processor's time for the samples of one figure, but for the last of them."""
_EVENTS_BETWEEN = 17
"""Between two answers, when 5,000 nodes report every 30 s and ten answers are given a second."""


class OutOfRoom(NamedTuple):
    """What waits for a place: the disks are those of `clusters.cluster`."""

    nodes: int
    disks: int
    size_gib: int
    due: int
    is_distinct: bool = False
    copies: int = COPIES


ROOM = (
    OutOfRoom(1_000, DISKS, 1, 1_000, is_distinct=True),
    OutOfRoom(1_000, DISKS, 200, 900),
    OutOfRoom(1_000, DISKS, 200, 1_000),
    OutOfRoom(1_000, DISKS, 200, 1_000, is_distinct=True),
    OutOfRoom(1_000, DISKS, 200, 1_000, is_distinct=True, copies=1),
    OutOfRoom(1_000, DISKS, 200, 2_000, is_distinct=True),
    OutOfRoom(5_000, DISKS, 250, 2_000),
    OutOfRoom(5_000, 1, 100, 4_000),
)
DEGRADED = (1_000, 3_000, 10_000)
_HEAD = f"{'ahead':>9}{'piece':>8}{'first':>9}{'again':>9}{'new':>9}"
_HEAD += f"{'event':>9}{'score':>9}{'max':>9}{'nowhere':>9}"


def room() -> None:
    """Print what an answer costs when what is due outgrows the room."""
    print("\nWhat is due outgrows the room: milliseconds of CPU\n")
    print(f"{'nodes':>6}{'disks':>6}{'GiB':>5}{'due':>6}{'copies':>7}  {'sizes':8}{_HEAD}")
    for each in ROOM:
        items = cluster(each.nodes, each.disks, PODS, seed=SEED)["items"]
        items += due_volumes(
            each.due, each.size_gib * GIB, distinct=each.is_distinct, copies=each.copies
        )
        found = Cluster(items, each.nodes)
        due = [r for r in found.builder.of(Replica).values() if r.node is None]
        sizes = "distinct" if each.is_distinct else "same"
        print(
            f"{each.nodes:6}{each.disks:6}{each.size_gib:5}{each.due:6}{each.copies:7}  {sizes:8}"
            f"{_figures(found, due)}",
            flush=True,
        )


def zone() -> None:
    """Print what an answer costs when a zone is down."""
    print("\nOne of three zones is down, 1,000 nodes: milliseconds of CPU\n")
    print(f"{'degraded':>9}{_HEAD}")
    for volumes in DEGRADED:
        found = Cluster(zone_down(1_000, volumes, PODS), 1_000, UTC_NOW)
        failed = [r for r in found.builder.of(Replica).values() if r.failed]
        new = [
            msgspec.structs.replace(
                each,
                name=f"{each.volume}-r-ffffffff",
                failed=False,
                failed_at=None,
                healthy_once=False,
            )
            for each in failed
        ]
        print(f"{volumes:9}{_figures(found, new)}", flush=True)


def events() -> None:
    """Print what an answer costs while the cluster changes: 17 nodes report between two answers."""
    print("\n17 nodes change between two answers, 1,000 replicas are due: milliseconds of CPU\n")
    print(f"{'nodes':>6}{'answer':>9}{'max':>9}{'settle':>9}{'prepare':>9}")
    for nodes in (1_000, 5_000):
        items = cluster(nodes, DISKS, PODS, seed=SEED)["items"]
        found = Cluster([*items, *due_volumes(1_000, GIB, distinct=True)], nodes)
        asked, random = pod_record(PODS[0]), Random(SEED)
        found.prepare_ms()
        found.filter_ms(asked)
        settling, preparing, answering = list[float](), list[float](), list[float]()
        for _ in _samples(30):
            for name in random.sample(found.candidates, _EVENTS_BETWEEN):
                node = found.builder.view.spaces[name].node
                found.builder.apply(node, _with_less_available(node))
            settling.append(measured(found.builder.settle))
            preparing.append(sum(found.prepare_ms()))
            answering.append(found.filter_ms(asked))
        print(
            f"{nodes:6}{median(answering):9.2f}{max(answering):9.2f}{median(settling):9.2f}"
            f"{median(preparing):9.2f}",
            flush=True,
        )


def _figures(found: Cluster, due: list[Replica]) -> str:
    """Return the figures of one line."""
    asked, *others = [pod_record(each) for each in PODS]
    random, pieces = Random(SEED), found.prepare_ms()
    ahead = sum(pieces)
    first = found.filter_ms(asked)
    nowhere = found.nowhere(asked)
    again = [found.filter_ms(asked) for _ in _samples(_SAMPLES)]
    new, scoring, event = list[float](), list[float](), list[float]()
    for other, _ in zip(others, _samples(_SAMPLES), strict=False):
        new.append(found.filter_ms(other))
        scoring.append(found.prioritize_ms(other))
    for replica, _ in zip(random.sample(due, _SAMPLES), _samples(_SAMPLES), strict=False):
        found.place(replica, found.anywhere(random))
        found.builder.settle()
        taken_in = found.prepare_ms()
        pieces += taken_in
        event.append(sum(taken_in) + found.filter_ms(asked))
    medians = (median(each) for each in (again, new, event, scoring))
    figures = (first, *medians, max(first, *again, *new, *event, *scoring))
    columns = "".join(f"{each:9.1f}" for each in figures)
    return f"{ahead:9.1f}{max(pieces):8.1f}{columns}{nowhere:9}"


def _samples(most: int) -> Iterator[int]:
    """Count up to *most*; stop early if that takes long."""
    until = time.process_time() + _SAMPLE_SECONDS
    for number in range(most):
        yield number
        if time.process_time() > until:
            return


def _with_less_available(node: Node) -> Node:
    disks = [
        msgspec.structs.replace(disk, available_bytes=disk.available_bytes - 2**20)
        for disk in node.disks
    ]
    return msgspec.structs.replace(node, disks=tuple(disks))
