"""Measures the worst day: replicas that find no place, pods that wait, a leader that must lead.

Run as ``python -m benchmarks.bench_worst_day [--rows room,zone]``. Times are of the processor where
nothing else is said: they depend less on what else the machine does.
"""

import argparse
from collections.abc import Callable, Mapping

from benchmarks import worst_answers, worst_bursts, worst_flight, worst_lead, worst_waiting
from benchmarks.asking import measured

ROWS: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "room": lambda _: worst_answers.room(),
    "zone": lambda _: worst_answers.zone(),
    "events": lambda _: worst_answers.events(),
    "accepted": lambda _: worst_flight.accepted(),
    "flight": lambda _: worst_flight.flight(),
    "claims": lambda _: worst_flight.claims(),
    "burst": lambda options: worst_bursts.burst(options.limit),
    "settle": lambda _: worst_bursts.settle(),
    "memory": lambda _: worst_waiting.memory(),
    "waking": lambda options: worst_waiting.waking(options.limit),
    "lead": lambda options: worst_lead.lead(options.lead),
}


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(ROWS), help=f"some of {', '.join(ROWS)}")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds for a burst, and to wake a pod"
    )
    parser.add_argument("--lead", type=float, default=15.0, help="seconds to watch a leader")
    options = parser.parse_args()
    rows = options.rows.split(",")
    if unknown := sorted({*rows} - {*ROWS}):
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(ROWS)}")
    for row in rows:
        print(f"\n{row}: a million additions take {measured(_add):.0f} ms of CPU now")
        ROWS[row](options)


def _add() -> None:
    """Do what shows how fast the machine is: others may share its cores."""
    number = 0
    for each in range(10**6):
        number += each


if __name__ == "__main__":
    main()
