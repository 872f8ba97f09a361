"""What becomes of local replicas in a crowd, on paper: Longhorn chooses nodes by figures that lag.

A model, not the service: nodes with one disk each, pods that come one after another with one
volume each. A pod goes to the best node by what is placed and on its way; some time later Longhorn
places all replicas of its volume, by figures that show each placement only after a lag. It says
what a scheduler can do about that at all, and what it is worth to count what is on its way
(docs/decisions/0030-nobody-waits-for-what-might-come.md).

Run with `python -m benchmarks.bench_lag`; it takes two minutes.
"""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from random import Random
from statistics import mean
from typing import NamedTuple

RUNS = 16


def beside(room: int, free: int, coming: int) -> float:
    """Return the share of a node that is left, as far as what is on its way leaves it."""
    left = max(0, free - coming)
    return left / room * left / max(1, free)


SCORES: Mapping[str, Callable[[int, int, int], float]] = {
    "does not count": lambda room, free, _: free / room,
    "counts once": lambda room, free, coming: max(0, free - coming) / room,
    "counts twice": lambda room, free, coming: max(0, free - 2 * coming) / room,
    "counts as the service has it": beside,
}
"""The balance of a node by its room, what is free of it, and what is on its way."""


class Crowd(NamedTuple):
    """How many there are, and what takes how long, in seconds."""

    name: str
    nodes: int
    room: int
    """Replicas that a node has room for."""
    pods: int
    replicas: int
    pods_per_second: float
    until_placed: tuple[float, float]
    """From when a pod has a node until Longhorn places the replicas of its volume."""
    lag: tuple[float, float]
    """Until Longhorn's figures show a replica that was placed."""


CROWDS = (
    Crowd("300 pods on 100 nodes, lag to 1 s", 100, 10, 300, 3, 2.2, (8, 30), (0.3, 1.0)),
    Crowd("300 pods on 100 nodes, lag to 3 s", 100, 10, 300, 3, 2.2, (8, 30), (0.3, 3.0)),
    Crowd("30 pods on 10 nodes, all at once", 10, 10, 30, 3, 25.0, (3, 5), (0.3, 0.6)),
)


class Seen(NamedTuple):
    """What came of a crowd, each in % of the pods."""

    elsewhere: float
    """Volumes without a replica on the pod's node."""
    without_room: float
    """Those, and local replicas that are too many on a disk beyond its limit."""
    beyond: float
    """Disks beyond their limit."""
    on_beyond: float
    """Pods on such a disk."""


def live_through(crowd: Crowd, score: Callable[[int, int, int], float], random: Random) -> Seen:
    """Let all pods of a crowd come, and all replicas be placed."""
    nodes = range(crowd.nodes)
    placed, shown, held = ([0] * crowd.nodes for _ in range(3))
    node_of: dict[int, int] = {}
    on_their_way: dict[int, int] = {}
    elsewhere = 0
    events = [(pod / crowd.pods_per_second, 0, pod) for pod in range(crowd.pods)]
    while events:
        now, kind, which = heappop(events)
        if kind == 0:
            coming = _forecast(crowd, placed, held, on_their_way)
            fitting = [n for n in nodes if placed[n] + coming[n] < crowd.room] or [*nodes]
            points = {
                n: round(10 * score(crowd.room, max(0, crowd.room - placed[n] - 1), coming[n]))
                for n in fitting
            }
            best = random.choice([n for n in fitting if points[n] == max(points.values())])
            held[best] += 1
            node_of[which] = on_their_way[which] = best
            heappush(events, (now + random.uniform(*crowd.until_placed), 1, which))
        elif kind == 1:
            chosen = _placed_by_longhorn(crowd, shown, node_of[which], random)
            elsewhere += node_of[which] not in chosen
            held[on_their_way.pop(which)] -= 1
            for node in chosen:
                placed[node] += 1
                heappush(events, (now + random.uniform(*crowd.lag), 2, node))
        else:
            shown[which] += 1
    beyond = [node for node in nodes if placed[node] > crowd.room]
    local = [*node_of.values()]
    too_many = sum(min(placed[node] - crowd.room, local.count(node)) for node in beyond)
    counts = (elsewhere, elsewhere + too_many, len(beyond), sum(map(local.count, beyond)))
    return Seen(*(100 * count / crowd.pods for count in counts))


def _forecast(
    crowd: Crowd, placed: list[int], held: list[int], on_their_way: dict[int, int]
) -> list[int]:
    """Return what comes to each node: held there, or remote replicas where most is left."""
    coming = [*held]
    for local in on_their_way.values():
        used = {local}
        while len(used) < crowd.replicas:
            left = (node for node in range(crowd.nodes) if node not in used)
            used.add(least := min(left, key=lambda node: placed[node] + coming[node]))
            coming[least] += 1
    return coming


def _placed_by_longhorn(crowd: Crowd, shown: list[int], local: int, random: Random) -> set[int]:
    """Return where the replicas of a volume go: to its pod's node, and to the roomiest others."""
    chosen = {local} if shown[local] < crowd.room else set[int]()
    while len(chosen) < crowd.replicas:
        left = [n for n in range(crowd.nodes) if n not in chosen and shown[n] < crowd.room]
        if not left:
            break
        least = min(shown[node] for node in left)
        chosen.add(random.choice([node for node in left if shown[node] == least]))
    return chosen


def main() -> None:
    """Print the means of all runs."""
    print("% of the pods: elsewhere, without room, disks beyond their limit, pods on such disks")
    for crowd in CROWDS:
        for counts, score in SCORES.items():
            runs = [live_through(crowd, score, Random(seed)) for seed in range(RUNS)]
            means = "  ".join(f"{mean(values):5.1f}" for values in zip(*runs, strict=True))
            print(f"{crowd.name}, what is on its way {counts}: {means}")


if __name__ == "__main__":
    main()
