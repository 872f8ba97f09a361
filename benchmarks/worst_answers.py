"""What one answer costs on the worst day: when what is due outgrows the room, and a zone is down.

*first* is a pod nobody asked about before, *again* the same pod, *new* pods of other needs, *event*
the pod once one of the due replicas has got its disk and the view is settled. *score* is the
`/prioritize` that follows on *new*. All are milliseconds of this process's CPU: medians but for
*first*, and the *max* of all.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from random import Random
from statistics import median
from typing import NamedTuple

import msgspec

from app.config import Settings
from app.kube import objects
from app.kube.records import read_object
from app.kube.translate import pod_ref
from benchmarks.clusters import GIB, Object, cluster, node_name, pod
from benchmarks.worst_cluster import COPIES, DISKS, SEED, UTC_NOW, due_volumes, zone_down
from extender import Extender, PodRef, ViewBuilder
from longhorn import Moment, Node, NodeName, Replica

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
_HEAD = f"{'first':>9}{'again':>9}{'new':>9}{'event':>9}{'score':>9}{'max':>9}{'nowhere':>9}"


class Cluster:
    """A cluster in memory, and one who asks about it.

    Attributes:
        builder: Has the view.
        extender: Answers.
        candidates: All nodes.
    """

    def __init__(self, items: Iterable[Object], nodes: int, utc: Moment | None = None) -> None:
        self.builder = ViewBuilder()
        for document in items:
            self.builder.apply(None, read_object(document))
        self.builder.settle()
        self.extender = Extender(Settings().step_limits)
        self.candidates = [NodeName(node_name(number)) for number in range(nodes)]
        self._utc = utc

    def filter_ms(self, asked: PodRef) -> float:
        """Ask for nodes; return the processor's milliseconds."""
        return measured(
            lambda: self.extender.filter(asked, self.candidates, self.builder.view, utc=self._utc)
        )

    def prioritize_ms(self, asked: PodRef) -> float:
        """Ask for scores."""
        view = self.builder.view
        return measured(
            lambda: self.extender.prioritize(asked, self.candidates, view, utc=self._utc)
        )

    def nowhere(self, asked: PodRef) -> int:
        """Return how many of the due replicas find no room."""
        view = self.builder.view
        answer = self.extender.filter(asked, self.candidates, view, utc=self._utc)
        return answer.forecast.get("nowhere", 0)

    def place(self, replica: Replica, names: Iterable[NodeName]) -> bool:
        """Show that a replica has got a disk on the first of these nodes that has room for it."""
        for name in names:
            node = self.builder.view.spaces[name].node
            for disk in node.disks:
                room_bytes = disk.maximum_bytes - disk.scheduled_bytes
                if node.ready.is_true and room_bytes >= replica.size_bytes:
                    placed = msgspec.structs.replace(replica, node=node.name, disk=disk.id)
                    self.builder.apply(node, _with(node, placed))
                    self.builder.apply(self.builder.of(Replica).get(replica.name), placed)
                    return True
        return False

    def anywhere(self, random: Random) -> list[NodeName]:
        """Return all nodes in some order."""
        return random.sample(self.candidates, len(self.candidates))


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
    print(f"{'nodes':>6}{'answer':>9}{'max':>9}{'settle':>9}")
    for nodes in (1_000, 5_000):
        items = cluster(nodes, DISKS, PODS, seed=SEED)["items"]
        found = Cluster([*items, *due_volumes(1_000, GIB, distinct=True)], nodes)
        asked, random = pod_record(PODS[0]), Random(SEED)
        found.filter_ms(asked)
        settling, answering = [], []
        for _ in _samples(30):
            for name in random.sample(found.candidates, _EVENTS_BETWEEN):
                node = found.builder.view.spaces[name].node
                found.builder.apply(node, _with_less_available(node))
            settling.append(measured(found.builder.settle))
            answering.append(found.filter_ms(asked))
        print(f"{nodes:6}{median(answering):9.2f}{max(answering):9.2f}{median(settling):9.2f}")


def measured(do: Callable[[], object]) -> float:
    """Return how many milliseconds of the processor something takes."""
    started = time.process_time()
    do()
    return 1e3 * (time.process_time() - started)


def _figures(found: Cluster, due: list[Replica]) -> str:
    """Return the figures of one line."""
    asked, *others = [pod_record(each) for each in PODS]
    random = Random(SEED)
    first = found.filter_ms(asked)
    nowhere = found.nowhere(asked)
    again = [found.filter_ms(asked) for _ in _samples(_SAMPLES)]
    new, scoring, event = list[float](), list[float](), list[float]()
    for other, _ in zip(others, _samples(_SAMPLES), strict=False):
        new.append(found.filter_ms(other))
        scoring.append(found.prioritize_ms(other))
    for replica, _ in zip(random.sample(due, _SAMPLES), _samples(_SAMPLES), strict=False):
        found.place(replica, found.anywhere(random))
        settling = measured(found.builder.settle)
        event.append(settling + found.filter_ms(asked))
    medians = (median(each) for each in (again, new, event, scoring))
    figures = (first, *medians, max(first, *again, *new, *event, *scoring))
    return "".join(f"{each:9.1f}" for each in figures) + f"{nowhere:9}"


def _samples(most: int) -> Iterator[int]:
    """Count up to *most*; stop early if that takes long."""
    until = time.process_time() + _SAMPLE_SECONDS
    for number in range(most):
        yield number
        if time.process_time() > until:
            return


def pod_record(document: Object) -> PodRef:
    """Return a pod as decisions know it."""
    return pod_ref(msgspec.convert(document, objects.Pod))


def _with(node: Node, replica: Replica) -> Node:
    """Return a node that counts a replica on its disk."""
    disks = [
        msgspec.structs.replace(
            disk,
            scheduled_bytes=disk.scheduled_bytes + replica.size_bytes,
            listed={**disk.listed, replica.name: replica.size_bytes},
        )
        if disk.id == replica.disk
        else disk
        for disk in node.disks
    ]
    return msgspec.structs.replace(node, disks=tuple(disks))


def _with_less_available(node: Node) -> Node:
    disks = [
        msgspec.structs.replace(disk, available_bytes=disk.available_bytes - 2**20)
        for disk in node.disks
    ]
    return msgspec.structs.replace(node, disks=tuple(disks))
