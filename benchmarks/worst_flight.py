"""What replicas in flight do to the pods after them: those of pods with a node, with no disk yet.

Their volumes are larger than those of the other rows, and the cluster has plenty of room for them.
*accepted* says how many pods of one kind are accepted one after another, until one is rejected on
all nodes. *flight* and *claims* say what one answer costs: *first* is a pod with a need that nobody
had before, *again* the same pod, *piece* the longest stretch of what is prepared between answers.
These are milliseconds of this process's CPU.
"""

import time
from collections import deque
from random import Random

from app.settings import Settings
from benchmarks.asking import Cluster, pod_record
from benchmarks.clusters import GIB, Object, cluster, pod
from benchmarks.worst_cluster import COPIES, DISKS, SEED
from extender import Answer, Extender, PodRef
from extender.holds import Asked, Sighting, Timeouts
from longhorn import NodeName

PODS, OPEN, OFFERED = 1_000, 50, 100
SIZES_GIB = ((10,), (50,), (100,), (10, 20, 50, 100))
IN_FLIGHT = (5, 50, 500)
CLAIMS = (10, 30)
"""Of 20 to 30 GiB: thirty nearly fill a node."""
_TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)


def accepted() -> None:
    """Print how many pods are accepted while nothing is placed."""
    print("\nPods of three replicas one after another, 1,000 nodes, nothing is placed meanwhile:")
    print(f"how many of {PODS:,} are accepted. *open* of them have no node yet; *room* is for how")
    print("many of their volumes the disks have room\n")
    print(f"{'GiB':16}{'open':>6}{'accepted':>10}{'room':>8}{'filter ms':>11}{'max':>9}")
    for sizes_gib in SIZES_GIB:
        for open_ in (0, OPEN):
            print(f"{_named(sizes_gib):16}{open_:6}{_accepted(sizes_gib, open_)}", flush=True)


def flight() -> None:
    """Print what one answer costs beside pods in flight."""
    print("\nOne answer beside pods in flight, 5,000 nodes: milliseconds of CPU\n")
    print(f"{'GiB':16}{'pods':>6}{'piece':>9}{'first':>9}{'again':>9}{'max':>9}{'nodes':>9}")
    for sizes_gib in SIZES_GIB:
        _flight(sizes_gib)


def claims() -> None:
    """Print what one answer about a pod with many claims costs."""
    print("\nA pod whose claims all have different sizes, 5,000 nodes: milliseconds of CPU\n")
    print(f"{'claims':16}{'first':>9}{'again':>9}{'cut short':>11}")
    random = Random(SEED)
    for count in CLAIMS:
        odd = pod("odd", [20 * GIB + random.randrange(10 * 2**10) * 2**20 for _ in range(count)])
        found, asked = _cluster([odd], 5_000), pod_record(odd)
        found.prepare_ms()
        first, again = found.filter_ms(asked), found.filter_ms(asked)
        answer = found.extender.filter(asked, found.candidates, found.builder.view)
        print(f"{count:<16}{first:9.1f}{again:9.1f}{answer.is_cut_short!s:>11}", flush=True)


def _accepted(sizes_gib: tuple[int, ...], open_: int) -> str:
    """Let one pod after another have the best node; return how many, and what they cost."""
    pods = _pods(PODS, sizes_gib)
    found, random = _cluster(pods, 1_000), Random(SEED)
    extender, view, spent = found.extender, found.builder.view, list[float]()
    room = sum(_fit(found, size) for size in sizes_gib) // len(sizes_gib)
    waiting = deque[tuple[PodRef, NodeName]]()
    taken = 0
    for asked in map(pod_record, pods):
        found.prepare_ms()
        began = time.process_time()
        answer = extender.filter(asked, found.candidates, view)
        spent.append(1e3 * (time.process_time() - began))
        if not answer.accepted:
            break
        extender.hold(answer, Asked(), timeouts=_TIMEOUTS, now=0.0)
        waiting.append((asked, _best(extender, answer, random)))
        if len(waiting) > open_:
            chosen, node = waiting.popleft()
            extender.ledger.see(chosen.uid, Sighting(node=node), 0.0)
        taken += 1
    return f"{taken:10}{room:8}{sum(spent) / len(spent):11.1f}{max(spent):9.1f}"


def _flight(sizes_gib: tuple[int, ...]) -> None:
    """Bring pods on their way, as another instance had answered them, and ask beside them."""
    flying = _pods(max(IN_FLIGHT), sizes_gib)
    asking = _pods(len(IN_FLIGHT) * len(sizes_gib), sizes_gib, "asked", more_bytes=GIB // 2)
    found, random = _cluster([*flying, *asking], 5_000), Random(SEED)
    view, other, later = found.builder.view, Extender(Settings().step_limits), deque(asking)
    for count, each in enumerate(map(pod_record, flying), 1):
        answer = other.filter(each, random.sample(found.candidates, OFFERED), view)
        found.extender.hold(answer, Asked(), timeouts=_TIMEOUTS, now=0.0)
        node = _best(other, answer, random)
        found.extender.ledger.see(each.uid, Sighting(node=node), 0.0)
        if count in IN_FLIGHT:
            _ask(found, [pod_record(later.popleft()) for _ in sizes_gib], _named(sizes_gib), count)


def _ask(found: Cluster, asking: list[PodRef], sizes: str, count: int) -> None:
    """Ask beside *count* pods in flight, and print what that costs."""
    pieces, view = found.prepare_ms(), found.builder.view
    first, again, answers = list[float](), list[float](), list[Answer]()
    for asked in asking:
        for spent in (first, again):
            began = time.process_time()
            answers.append(found.extender.filter(asked, found.candidates, view))
            spent.append(1e3 * (time.process_time() - began))
    figures = (max(pieces), max(first), max(again), max(*pieces, *first, *again))
    nodes = max(len(each.accepted) for each in answers)
    print(f"{sizes:16}{count:6}{''.join(f'{each:9.1f}' for each in figures)}{nodes:9}", flush=True)


def _best(extender: Extender, answer: Answer, random: Random) -> NodeName:
    """Choose a node as kube-scheduler does: one of those with the best score."""
    scores = extender.score(answer)
    best = max(each.total for each in scores.scores)
    return random.choice([name for name, each in scores.by_node.items() if each.total == best])


def _fit(found: Cluster, size_gib: int) -> int:
    """Return for how many volumes of one size there is room, if a node may have several copies."""
    bins = [each for space in found.builder.view.spaces.values() for each in space.bins]
    return sum(each.logical_bytes // (size_gib * GIB) for each in bins) // COPIES


def _pods(
    count: int, sizes_gib: tuple[int, ...], name: str = "pod", more_bytes: int = 0
) -> list[Object]:
    """Return pods with one claim each, of the sizes in turn."""
    sizes = [sizes_gib[number % len(sizes_gib)] * GIB + more_bytes for number in range(count)]
    return [pod(f"{name}-{number}", [size]) for number, size in enumerate(sizes)]


def _cluster(pods: list[Object], nodes: int) -> Cluster:
    return Cluster(cluster(nodes, DISKS, pods, seed=SEED, replicas=COPIES)["items"], nodes)


def _named(sizes_gib: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes_gib))
