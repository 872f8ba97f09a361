"""Measures the worst day: replicas that find no place, pods that wait, a leader that must lead.

Run as ``python -m benchmarks.bench_worst_day [--rows room,zone]``. Times are of the processor where
nothing else is said: they depend less on what else the machine does.
"""

import argparse

from benchmarks import worst_answers, worst_bursts, worst_lead, worst_waiting
from benchmarks.asking import measured

ROWS = ("room", "zone", "events", "burst", "settle", "memory", "waking", "lead")


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
        _print(row, limit_seconds=options.limit, lead_seconds=options.lead)


def _add() -> None:
    """Do what shows how fast the machine is: others may share its cores."""
    number = 0
    for each in range(10**6):
        number += each


def _print(row: str, *, limit_seconds: float, lead_seconds: float) -> None:
    match row:
        case "room":
            worst_answers.room()
        case "zone":
            worst_answers.zone()
        case "events":
            worst_answers.events()
        case "burst":
            worst_bursts.burst(limit_seconds)
        case "settle":
            worst_bursts.settle()
        case "memory":
            worst_waiting.memory()
        case "waking":
            worst_waiting.waking(limit_seconds)
        case "lead":
            worst_lead.lead(lead_seconds)


if __name__ == "__main__":
    main()
