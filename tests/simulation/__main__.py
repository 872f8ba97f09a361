"""Runs the simulation: one seed with its trace, or many with a summary."""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.simulation.simulation import Kind, Result, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="replay one, and print what happens in it")
    which.add_argument("--seeds", type=int, help="go through as many, from the first one")
    parser.add_argument("--first", type=int, default=0, help="the first one of many")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count(), help="how many work at once; all cores"
    )
    kind = parser.add_mutually_exclusive_group()
    for option, of, what in (
        ("--disk-schedules", Kind.DISK_SCHEDULES, "let Longhorn ask DiskSchedules for room"),
        ("--worst-day", Kind.WORST_DAY, "a zone goes, disks are full, the leader is lost twice"),
        ("--runners", Kind.RUNNERS, "what runs on nodes comes late, goes, and is upgraded"),
    ):
        kind.add_argument(option, dest="kind", action="store_const", const=of, help=what)
    arguments = parser.parse_args()
    run_one = partial(run, kind=arguments.kind or Kind.USUAL)
    if arguments.seed is not None:
        return _replay(arguments.seed, run_one)
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    return _go_through(seeds, arguments.processes, run_one)


def _replay(seed: int, run_one: Callable[[int], Result]) -> int:
    result = run_one(seed)
    print(*result.lines, sep="\n")
    print(f"\nseed {seed}: {result.seconds:.1f} s, digest {result.digest[:16]}")
    _print_counts(result.counts)
    return _judge([result])


def _go_through(seeds: range, processes: int, run_one: Callable[[int], Result]) -> int:
    began, used = time.monotonic(), 0.0
    results: list[Result] = []
    with ProcessPoolExecutor(processes) as pool:
        for result, seconds in pool.map(partial(_timed, run_one), seeds):
            results.append(result)
            used += seconds
            if result.violations:
                print(f"seed {result.seed}: {result.violations[0]}", flush=True)
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(result.counts)
    lasted = sum(result.seconds for result in results)
    took = time.monotonic() - began
    print(
        f"{len(results)} seeds from {seeds.start}: {lasted:.0f} s of virtual time in {took:.0f} s, "
        f"{used / len(results):.2f} s of CPU for each"
    )
    _print_counts(counts)
    return _judge(results)


def _timed(run_one: Callable[[int], Result], seed: int) -> tuple[Result, float]:
    began = time.process_time()
    return run_one(seed), time.process_time() - began


def _print_counts(counts: dict[str, int]) -> None:
    for what, count in sorted(counts.items()):
        print(f"{count:8} {what}")


def _judge(results: Iterable[Result]) -> int:
    bad = [result for result in results if result.violations]
    for result in bad:
        print(f"\n{result.command}")
        print(*result.violations, sep="\n")
    print(f"\n{len(bad)} seeds with violations" if bad else "\nno violation")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
