"""Measure packing: verdicts, time and steps by family of instances, and the commonest calls.

Run as ``python -m benchmarks.bench_pack``. Times are processor time, and the best of three calls,
so that other processes on the machine count little.
"""

from collections.abc import Callable, Sequence
from random import Random
from statistics import median, quantiles
from time import process_time
from typing import NamedTuple

from benchmarks.instances import ADVERSARIAL, Instance, draw, everyday, hot_path, stranded
from packing import DEFAULT_STEP_LIMIT, Infeasible, Outcome, Packed, Undecided, pack, prepare

SEED = 1
EVERYDAY_COUNT = 5_000
ADVERSARIAL_COUNT = 300  # of each family
HOT_COUNT = 1_000
REPEATS = 3
VERDICTS = (Packed, Infeasible, Undecided)


class Measured(NamedTuple):
    outcome: Outcome
    milliseconds: float


def main() -> None:
    print(f"step limit {DEFAULT_STEP_LIMIT}, seed {SEED}; ms is milliseconds a call\n")
    print(
        f"{'family':<14}{'n':>6}{'packed':>8}{'infeas.':>9}{'undecided':>11}"
        f"{'median ms':>11}{'p99 ms':>9}{'max ms':>9}{'steps':>7}{'max':>6}"
    )
    _report("everyday", _measure_all(draw(everyday, EVERYDAY_COUNT, seed=SEED)))
    everything: list[Measured] = []
    for name, family in ADVERSARIAL.items():
        measured = _measure_all(draw(family, ADVERSARIAL_COUNT, seed=SEED))
        _report(name, measured)
        everything += measured
    _report("adversarial", everything)
    print("\n4 items on 10 bins of one kind: us a call, items prepared / as a tuple")
    for name, hot_family in {"fits": hot_path, "one item fits nowhere": stranded}.items():
        prepared, plain = _hot_microseconds(hot_family)
        print(f"{name:<24}{prepared:6.1f} /{plain:6.1f}")


def _measure_all(instances: Sequence[Instance]) -> list[Measured]:
    return [_measure(instance) for instance in instances]


def _measure(instance: Instance) -> Measured:
    best_seconds = float("inf")
    for _ in range(REPEATS):
        start = process_time()
        outcome = pack(instance.items, instance.bins, step_limit=DEFAULT_STEP_LIMIT)
        best_seconds = min(best_seconds, process_time() - start)
    return Measured(outcome, best_seconds * 1e3)


def _report(name: str, measured: Sequence[Measured]) -> None:
    packed, infeasible, undecided = (
        sum(isinstance(one.outcome, verdict) for one in measured) for verdict in VERDICTS
    )
    times = [one.milliseconds for one in measured]
    steps = [one.outcome.steps for one in measured]
    p99 = quantiles(times, n=100)[98]
    print(
        f"{name:<14}{len(measured):>6}{packed:>8}{infeasible:>9}"
        f"{undecided:>4}{undecided / len(measured):>7.1%}"
        f"{median(times):>11.3f}{p99:>9.3f}{max(times):>9.3f}{median(steps):>7.0f}{max(steps):>6}"
    )


def _hot_microseconds(family: Callable[[Random], Instance]) -> tuple[float, float]:
    instances = draw(family, HOT_COUNT, seed=SEED)
    prepared = [(prepare(items), bins) for items, bins in instances]
    best_prepared = best_plain = float("inf")
    for _ in range(5 * REPEATS):
        start = process_time()
        for demand, bins in prepared:
            pack(demand, bins, step_limit=DEFAULT_STEP_LIMIT)
        between = process_time()
        for items, bins in instances:
            pack(items, bins, step_limit=DEFAULT_STEP_LIMIT)
        best_prepared = min(best_prepared, between - start)
        best_plain = min(best_plain, process_time() - between)
    return best_prepared / HOT_COUNT * 1e6, best_plain / HOT_COUNT * 1e6


if __name__ == "__main__":
    main()
