"""Measures what holds cost: a burst of pods while holds are open, and settling many holds.

A burst asks for one pod after another, each of the same needs, while the last answers still count
on every node that was accepted; "first" is the first pod beside so many open holds, for which each
node is judged once. Settling compares every hold with the replicas there are. All times are of the
processor.
"""

import time
from collections.abc import Iterable, Iterator
from statistics import median

import msgspec

from app.settings import Settings
from benchmarks.asking import pod_record, records_of
from benchmarks.clusters import GIB, cluster, node_name, pod
from cli.kube.view import build_view
from extender import ClusterView, Extender, PodRef
from extender.holds import Asked, Sighting, State, Timeouts
from longhorn import NodeName

NODES = (100, 1_000, 5_000)
DISKS, PODS, SEED = 10, 60, 1
OPEN, OPEN_WITH_COPIES = (0, 1, 2, 5), (0, 5, 20)
SIZE_BYTES, SMALL_BYTES = 20 * GIB, GIB
"""The larger ones with three replicas could take each other's room on nodes that are nearly full.
Then no node is accepted."""
HOLDS = (100, 1_000, 5_000)
SETTLINGS = 20
TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)


def main() -> None:
    """Print both tables."""
    print("milliseconds for a pod of a burst, asked and held, while holds are open\n")
    print(f"{'nodes':>6}{'open':>8}{'first':>9}{'median':>9}{'max':>9}")
    _bursts(OPEN, SIZE_BYTES, replicas=1)
    print("\nthe same with three replicas\n")
    print(f"{'nodes':>6}{'open':>8}{'first':>9}{'median':>9}{'max':>9}")
    _bursts(OPEN_WITH_COPIES, SMALL_BYTES, replicas=3)
    print("\nmilliseconds for settling so many holds\n")
    print(f"{'holds':>6}{'median':>9}{'max':>9}")
    for holds in HOLDS:
        seconds = [*_settle(holds)]
        print(f"{holds:6}{1e3 * median(seconds):9.2f}{1e3 * max(seconds):9.2f}")


def _bursts(numbers: Iterable[int], size_bytes: int, *, replicas: int) -> None:
    for nodes in NODES:
        view, pods = _world(nodes, size_bytes, replicas)
        for open_ in numbers:
            first, *rest = _burst(view, pods, open_)
            print(
                f"{nodes:6}{open_:8}{1e3 * first:9.2f}{1e3 * median(rest):9.2f}"
                f"{1e3 * max(rest):9.2f}",
                flush=True,
            )


def _world(nodes: int, size_bytes: int, replicas: int) -> tuple[ClusterView, list[PodRef]]:
    wanted = [pod(f"pod-{number}", [size_bytes]) for number in range(PODS)]
    records = records_of(cluster(nodes, DISKS, wanted, seed=SEED, replicas=replicas)["items"])
    refs = [pod_record(each) for each in wanted]
    return build_view(records), [msgspec.structs.replace(ref, uid=ref.name) for ref in refs]


def _burst(view: ClusterView, pods: list[PodRef], open_: int) -> Iterator[float]:
    """Yield the time for each pod, from the first one with as many open holds on."""
    extender = Extender(Settings().step_limits)
    candidates = [NodeName(node_name(number)) for number in range(len(view.spaces))]
    extender.filter(pods[0], candidates, view)
    for number, asked in enumerate(pods[1:]):
        started = time.process_time()
        result = extender.filter(asked, candidates, view)
        extender.hold(result, Asked(), timeouts=TIMEOUTS, now=0.0)
        seconds = time.process_time() - started
        if number >= open_:
            yield seconds
        for hold in extender.ledger.open_holds()[
            : max(0, extender.ledger.count(State.OPEN) - open_)
        ]:
            chosen = result.accepted[number % len(result.accepted)]
            extender.ledger.see(hold.pod.uid, Sighting(nominated=chosen), 0.0)


def _settle(holds: int) -> Iterator[float]:
    view, pods = _world(NODES[0], SIZE_BYTES, 1)
    extender = Extender(Settings().step_limits)
    for number in range(holds):
        asked = msgspec.structs.replace(pods[number % PODS], uid=f"uid-{number}")
        result = extender.filter(asked, [NodeName(node_name(0))], view)
        extender.hold(result, Asked(), timeouts=TIMEOUTS, now=0.0)
    for _ in range(SETTLINGS):
        started = time.process_time()
        outcome = extender.ledger.settle(view, TIMEOUTS, 1.0)
        extender.ledger.next_deadline(TIMEOUTS)
        yield time.process_time() - started
        assert not outcome.ended


if __name__ == "__main__":
    main()
