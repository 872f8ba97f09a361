"""Replays bursts of pods on virtual time, and counts what their users see.

Run as ``python -m benchmarks.bench_bursts``. The service is the real one; kube-scheduler, Longhorn
and the rest of the cluster are played as in the simulation (`tests/simulation`), without faults.
The cases are those of `tests/e2e/whole_volumes.py`, and *small* clusters that are nearly full,
drawn by the seed, with volumes of all localities. kube-scheduler asks for scores, at weight 2. Each
row is the sum of many runs.
"""

import argparse
import asyncio
import logging
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from enum import StrEnum
from functools import partial
from itertools import count
from random import Random

import looptime
import msgspec
import structlog

from benchmarks.bursts import burst_of, drawn
from tests.actors import api as kinds
from tests.e2e.whole_volumes import ALL_FIT, CASES, optimum
from tests.simulation.invariants import Invariants
from tests.simulation.plan import Plan, longhorn_nodes
from tests.simulation.simulation import RESOLUTION
from tests.simulation.trace import Trace
from tests.simulation.users import Users, Workload
from tests.simulation.world import World

SMALL = "small"
_QUIET_SECONDS = 100.0
"""With nothing bound or started for so long, nothing will be: Longhorn tries again after 30 s, and
kube-scheduler after 10."""
_MOST_SECONDS = 900.0


class Manner(StrEnum):
    """How Longhorn chooses among disks."""

    ALIKE = "alike"  # by figures that are up to date, at random between equal disks
    ODD = "odd"  # no two disks are equally large, so that nothing is left to chance
    OLD = "old"  # by figures that lag, as the real one


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a burst, or of many."""

    pods: int
    bound: int
    stuck: int
    """Pods that have a node and never run."""
    waiting: int
    """Pods that wait though they fit on some node."""
    elsewhere: int
    """Volumes of running pods that have no replica on the pod's node and should."""
    missing: int
    """Replicas that are wanted and have no disk."""
    beyond: int
    """Disks beyond Longhorn's limit."""
    wrong: int
    """What the simulation's judge calls a violation (`tests/simulation/invariants.py`)."""
    next: int
    """Pods that got a node once a bound one had been deleted."""
    seconds: float
    """Until the last pod of the burst was bound."""
    calls: int
    cpu_seconds: float
    """Of everything, what plays the cluster included."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="runs of each case")
    parser.add_argument("--small", type=int, default=50, help="small clusters")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    rows = [(case.name, options.seeds, optimum(case)) for case in (*CASES, *ALL_FIT)]
    columns = Seen.__struct_fields__
    titles = [column.replace("_seconds", " s") for column in columns]
    print(f"{'case':26}{'disks':7}{'runs':>5}{'best':>6}" + "".join(f"{n:>10}" for n in titles))
    with ProcessPoolExecutor(options.processes) as pool:
        for name, runs, best in [*rows, (SMALL, options.small, 0)]:
            for manner in Manner:
                found = [*pool.map(partial(run, name, manner), range(runs))]
                sums = [sum(getattr(each, column) for each in found) for column in columns]
                figures = "".join(f"{each:10.{isinstance(each, float):d}f}" for each in sums)
                print(f"{name:26}{manner:7}{runs:5}{best * runs or '':>6}{figures}", flush=True)


def run(name: str, manner: Manner, seed: int) -> Seen:
    """Go through one burst.

    Args:
        name: Of the case.
        manner: How Longhorn chooses.
        seed: Of all chance.
    """
    random = Random(f"burst {name} {seed}")
    cases = {case.name: case for case in (*CASES, *ALL_FIT)}
    burst = drawn(random) if name == SMALL else burst_of(cases[name])
    plan = msgspec.structs.replace(burst.plan, is_stale=manner is Manner.OLD)
    loop = looptime.new_event_loop(resolution=RESOLUTION, noop_cycles=0)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(_live_through(plan, burst.workloads, random, manner))


async def _live_through(
    plan: Plan, workloads: Sequence[Workload], random: Random, manner: Manner
) -> Seen:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    trace = Trace()
    invariants = Invariants(plan, trace)
    began = time.process_time()
    world = World(plan, random, trace, tell=invariants.told, on_crash=invariants.crashed)
    invariants.watch(world)
    if manner is not Manner.ALIKE:
        _make_odd(world)
    users = Users(world.server, world.truth, plan, Random(random.getrandbits(32)), trace)
    async with world.running():
        started = trace.seconds
        for workload in workloads:
            users.start(workload)
        bound_at = await _come_to_rest(world, trace)
        found = _seen(world, invariants, bound_at - started)
        before = _bound(world)
        if 0 < found.bound < len(workloads):
            users.delete(random.choice(sorted(before)).rpartition("-")[0])
            await _come_to_rest(world, trace)
    return msgspec.structs.replace(
        found,
        pods=len(workloads),
        next=len(_bound(world) - before),
        wrong=len(invariants.violations),
        cpu_seconds=time.process_time() - began,
    )


async def _come_to_rest(world: World, trace: Trace) -> float:
    """Wait until nothing happens any more; return when the last pod was bound."""
    began = changed_at = bound_at = trace.seconds
    bound, running = _bound(world), -1
    while trace.seconds < min(changed_at + _QUIET_SECONDS, began + _MOST_SECONDS):
        await asyncio.sleep(0.5)
        pods = world.truth.pods()
        now = sum(pod["status"].get("phase") == "Running" for pod in pods)
        if _bound(world) - bound:
            bound_at = trace.seconds
        if (_bound(world), now) != (bound, running):
            bound, running, changed_at = _bound(world), now, trace.seconds
    return bound_at


def _bound(world: World) -> set[str]:
    pods = world.truth.pods()
    return {pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName")}


def _make_odd(world: World) -> None:
    """Make each disk a little larger than the one before it."""
    more = count(2**25, 2**25)
    for node in longhorn_nodes(world.plan):
        for status in node["status"]["diskStatus"].values():
            more_bytes = next(more)
            status["storageMaximum"] += more_bytes
            status["storageAvailable"] += more_bytes
        world.put(kinds.LONGHORN_NODES, node)


def _seen(world: World, invariants: Invariants, seconds: float) -> Seen:
    known, calm, nodes = world.truth.known(), invariants.calm, len(world.plan.nodes)
    return Seen(
        pods=0,
        bound=len(_bound(world)),
        stuck=len(calm.not_running()),
        waiting=len(calm.unplaced()),
        elsewhere=len(calm.not_local()),
        missing=sum(
            max(0, min(volume.wanted_replicas, nodes) - sum(bool(r.disk) for r in replicas))
            for name, volume in known.volumes.items()
            for replicas in (known.replicas.get(name, ()),)
        ),
        beyond=len(calm.beyond_limits()),
        wrong=0,
        next=0,
        seconds=seconds,
        calls=world.trace.counts["filter calls"],
        cpu_seconds=0.0,
    )


if __name__ == "__main__":
    main()
