"""Measures what the forecast costs: /filter beside replicas that Longhorn has not placed yet.

The cluster has so many volumes of 3 replicas of which none is placed, and no two of a size. "again"
asks for a pod like the one before it; "event" places one of the replicas, settles the view and
asks again.

The second table is about pods that are on their way to nodes, each with a volume of 3 replicas, as
in a burst: nothing of them is placed either.
"""

import time
from random import Random
from statistics import median

import msgspec

from app.settings import Settings
from benchmarks.asking import pod_record, records_of, replica_of
from benchmarks.clusters import GIB, cluster, node_name, pod
from cli.kube.decoding import read_object
from cli.kube.view import build_view
from extender import Extender, ViewBuilder
from extender.holds import Asked, Sighting, State, Timeouts
from longhorn import Locality, NodeName, Volume, VolumeName

NODES, DISKS, SEED = (100, 1_000, 5_000), 10, 1
UNPLACED = (0, 50, 500)
REPLICAS = 3
ROUNDS = 30
ON_THEIR_WAY = (0, 30, 250)
TIMEOUTS = Timeouts(choosing_seconds=5.0, placing_seconds=5.0)


def main() -> None:
    """Print the table."""
    print("milliseconds of /filter, without HTTP, for a pod with 4 claims\n")
    print(f"{'nodes':>6}{'unplaced':>10}{'ahead':>9}{'first':>9}{'again':>9}{'event':>9}")
    for nodes in NODES:
        for unplaced in UNPLACED:
            columns = "".join(f"{each:9.2f}" for each in _measure(nodes, unplaced))
            print(f"{nodes:6}{unplaced:10}{columns}")
    print("\nmilliseconds of /filter for a pod with one claim, beside pods on their way\n")
    print(f"{'nodes':>6}{'pods':>10}{'median':>9}{'max':>9}")
    for nodes in NODES:
        for pods in ON_THEIR_WAY:
            seconds = _beside_a_burst(nodes, pods)
            print(f"{nodes:6}{pods:10}{1e3 * median(seconds):9.2f}{1e3 * max(seconds):9.2f}")


def _measure(nodes: int, unplaced: int) -> tuple[float, float, float, float]:
    wanted = pod("pod", [GIB, 2 * GIB, 3 * GIB, 5 * GIB])
    builder = ViewBuilder()
    for document in cluster(nodes, DISKS, [wanted], seed=SEED)["items"]:
        record = read_object(document)
        assert record is not None
        builder.apply(None, record)
    waiting = [
        replica_of(f"vol-{number // REPLICAS}", number % REPLICAS, GIB + number // REPLICAS)
        for number in range(unplaced)
    ]
    for number in range(-(-unplaced // REPLICAS)):
        volume = Volume(
            name=VolumeName(f"vol-{number}"),
            size_bytes=GIB + number,
            locality=Locality.DISABLED,
            wanted_replicas=REPLICAS,
        )
        builder.apply(None, volume)
    for replica in waiting:
        builder.apply(None, replica)
    builder.settle()
    extender = Extender(Settings().step_limits)
    asked = pod_record(wanted)
    candidates = [NodeName(node_name(number)) for number in range(nodes)]

    def ask() -> float:
        started = time.perf_counter()
        extender.filter(asked, candidates, builder.view)
        return time.perf_counter() - started

    started = time.perf_counter()
    while not extender.catch_up(builder.view):
        pass
    ahead = time.perf_counter() - started
    first = ask()
    again = median(ask() for _ in range(ROUNDS))
    random, events = Random(SEED), []
    for replica in random.sample(waiting, min(ROUNDS, len(waiting))):
        node = builder.view.spaces[random.choice(candidates)].node
        placed = msgspec.structs.replace(replica, node=node.name, disk=node.disks[0].id)
        started = time.perf_counter()
        builder.apply(replica, placed)
        builder.settle()
        extender.filter(asked, candidates, builder.view)
        events.append(time.perf_counter() - started)
    return 1e3 * ahead, 1e3 * first, 1e3 * again, 1e3 * median(events or [0.0])


def _beside_a_burst(nodes: int, pods: int) -> list[float]:
    wanted = [pod(f"pod-{number}", [GIB]) for number in range(pods + ROUNDS)]
    records = records_of(cluster(nodes, DISKS, wanted, seed=SEED, replicas=REPLICAS)["items"])
    view, extender, random = build_view(records), Extender(Settings().step_limits), Random(SEED)
    candidates = [NodeName(node_name(number)) for number in range(nodes)]
    refs = [pod_record(each) for each in wanted]
    for asked in refs[:pods]:
        result = extender.filter(asked, candidates, view)
        extender.hold(result, Asked(), timeouts=TIMEOUTS, now=0.0)
        extender.ledger.see(asked.uid, Sighting(node=random.choice(result.accepted)), 0.0)
    assert extender.ledger.count(State.CHOSEN) == pods
    seconds = []
    for asked in refs[pods:]:
        started = time.perf_counter()
        extender.filter(asked, candidates, view)
        seconds.append(time.perf_counter() - started)
    return seconds


if __name__ == "__main__":
    main()
