"""What a burst of pods costs: 1,000 pods with a volume of three replicas each, one after another.

Each pod is asked about with `/filter`, held, and asked about with `/prioritize`. The last 20
answers are open: their pods have no node yet. The 20 before them have one, and wait for their
replicas. A pod that is rejected because of open answers is asked about again once their pods have
nodes.
"""

import time
from collections import deque
from random import Random
from statistics import median

from msgspec.structs import replace

from benchmarks.asking import Cluster, measured, pod_record, replica_of
from benchmarks.clusters import GIB, cluster, pod
from benchmarks.worst_cluster import COPIES, DISKS, SEED
from extender import ClusterView, Ledger, PodRef
from extender.holds import Asked, End, Sighting, Timeouts
from longhorn import Locality, NodeName, Volume, VolumeName

NODES = (1_000, 5_000)
PODS, OPEN, ON_THEIR_WAY = 1_000, 20, 20
HOLDS, SETTLINGS = 5_000, 20
_SIZE_BYTES = GIB
_TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)


class Burst:
    """Pods of one kind that are created at once.

    Attributes:
        filter_ms: What each `/filter` took of the processor, in order.
        prioritize_ms: The same for `/prioritize`.
        others_ms: The same for all else: preparing, holding, settling the view and the ledger.
    """

    def __init__(self, nodes: int) -> None:
        pods = [pod(f"pod-{number}", [_SIZE_BYTES]) for number in range(PODS)]
        items = cluster(nodes, DISKS, pods, seed=SEED, replicas=COPIES)["items"]
        self._cluster = Cluster(items, nodes)
        self._pods = [pod_record(each) for each in pods]
        self._random = Random(SEED)
        self._open: deque[tuple[PodRef, NodeName]] = deque()
        self._chosen: deque[tuple[PodRef, NodeName]] = deque()
        self.filter_ms: list[float] = []
        self.prioritize_ms: list[float] = []
        self.others_ms: list[float] = []

    @property
    def spent_ms(self) -> float:
        """What both verbs took."""
        return sum(self.filter_ms) + sum(self.prioritize_ms)

    def run(self, limit_seconds: float) -> None:
        """Ask about one pod after another, until *limit_seconds* of the processor are spent."""
        for asked in self._pods:
            self._ask(asked)
            self._choose_all(but=OPEN)
            while len(self._chosen) > ON_THEIR_WAY:
                self._place(*self._chosen.popleft())
            if self.spent_ms > 1e3 * limit_seconds:
                return

    def _ask(self, asked: PodRef) -> None:
        extender, view = self._cluster.extender, self._cluster.builder.view
        candidates = self._cluster.candidates
        self.others_ms.append(sum(self._cluster.prepare_ms()))
        began = time.process_time()
        answer = extender.filter(asked, candidates, view)
        answered = time.process_time()
        extender.hold(answer, Asked(), timeouts=_TIMEOUTS, now=0.0)
        held = time.process_time()
        scores = extender.prioritize(asked, answer.accepted, view)
        scored = time.process_time()
        self.filter_ms.append(1e3 * (answered - began))
        self.prioritize_ms.append(1e3 * (scored - held))
        self.others_ms.append(1e3 * (held - answered))
        if not answer.accepted:  # too many are open: it is asked about again when they have nodes
            self._choose_all()
            self._ask(asked)
            return
        best = max(each.total for each in scores.scores)
        equals = [name for name, score in scores.by_node.items() if score.total == best]
        self._open.append((asked, self._random.choice(equals)))

    def _choose_all(self, *, but: int = 0) -> None:
        """Show the nodes of the pods that have none, *but* so many of the last ones."""
        ledger = self._cluster.extender.ledger
        while len(self._open) > but:
            chosen, node = self._open.popleft()
            began = time.process_time()
            ledger.see(chosen.uid, Sighting(node=node), 0.0)
            self.others_ms.append(1e3 * (time.process_time() - began))
            self._chosen.append((chosen, node))

    def _place(self, placed: PodRef, node: NodeName) -> None:
        """Show the volume with its replicas: one on the pod's node if it still has room."""
        [claim] = placed.claims
        name = VolumeName(f"pvc-{claim.partition('/')[2]}")
        found, builder = self._cluster, self._cluster.builder
        volume = Volume(
            name=name,
            size_bytes=_SIZE_BYTES,
            locality=Locality.BEST_EFFORT,
            wanted_replicas=COPIES,
            node=node,
        )
        builder.apply(None, volume)
        anywhere = [each for each in found.anywhere(self._random) if each != node]
        for replica in (replica_of(name, copy, _SIZE_BYTES) for copy in range(COPIES)):
            taken = {each.node for each in builder.view.replicas.get(name, ())}
            found.place(replica, [each for each in (node, *anywhere) if each not in taken])
        ledger, view = self._cluster.extender.ledger, builder.view
        self.others_ms.append(measured(builder.settle))
        self.others_ms.append(measured(lambda: ledger.settle(view, _TIMEOUTS, 0.0)))
        assert ledger.get(placed.uid) is None, "the volume is placed, and its hold goes on"


def burst(limit_seconds: float) -> None:
    """Print what bursts cost."""
    print(f"\nA burst of {PODS:,} pods with a volume of three replicas, {OPEN} answers are open")
    print(f"Up to {limit_seconds:g} s of CPU; medians and maxima once all are open\n")
    print(
        f"{'nodes':>6}{'pods':>6}{'both s':>8}{'filter ms':>11}{'max':>8}{'prioritize ms':>15}"
        f"{'max':>8}{'others s':>10}"
    )
    for nodes in NODES:
        found = Burst(nodes)
        found.run(limit_seconds)
        filter_ms, prioritize_ms = found.filter_ms[OPEN:], found.prioritize_ms[OPEN:]
        print(
            f"{nodes:6}{len(found.filter_ms):6}{found.spent_ms / 1e3:8.1f}"
            f"{median(filter_ms):11.1f}{max(filter_ms):8.1f}"
            f"{median(prioritize_ms):15.1f}{max(prioritize_ms):8.1f}"
            f"{sum(found.others_ms) / 1e3:10.1f}",
            flush=True,
        )


def settle() -> None:
    """Print what it costs to compare many holds with the cluster."""
    print(
        f"\nSettling {HOLDS:,} holds of pods with a volume of three replicas: milliseconds of CPU"
    )
    print(f"\n{'holds':8}{'median':>9}{'max':>9}")
    wanted = pod("pod", [_SIZE_BYTES])
    found = Cluster(cluster(1_000, DISKS, [wanted], seed=SEED, replicas=COPIES)["items"], 1_000)
    extender, view, asked = found.extender, found.builder.view, pod_record(wanted)
    for state, nodes in (("open", found.candidates), ("chosen", found.candidates[:1])):
        extender.ledger.drop_all(End.HANDED_OVER, 0.0)
        answer = extender.filter(asked, nodes, view)
        for number in range(HOLDS):
            own = replace(asked, uid=f"uid-{number}")
            request = replace(answer.request, pod=own)
            extender.hold(replace(answer, request=request), Asked(), timeouts=_TIMEOUTS, now=0.0)
        taken = [measured(lambda: _settle(extender.ledger, view)) for _ in range(SETTLINGS)]
        print(f"{state:8}{median(taken):9.2f}{max(taken):9.2f}", flush=True)


def _settle(ledger: Ledger, view: ClusterView) -> None:
    ledger.settle(view, _TIMEOUTS, 1.0)
    ledger.next_deadline(_TIMEOUTS)
