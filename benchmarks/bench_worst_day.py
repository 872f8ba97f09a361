"""Measures the worst day: replicas that find no place, pods that wait, a leader that must lead.

Run as ``python -m benchmarks.bench_worst_day [--rows room,zone]``. Times are of the processor where
nothing else is said: they are nearly the same however busy the machine is.
"""

import argparse
from collections.abc import Callable

from benchmarks import worst_answers, worst_bursts, worst_lead, worst_waiting

ROWS: dict[str, Callable[[float], None]] = {
    "room": worst_answers.room,
    "zone": worst_answers.zone,
    "events": worst_answers.events,
    "burst": worst_bursts.burst,
    "settle": worst_bursts.settle,
    "lead": worst_lead.lead,
    "memory": worst_waiting.memory,
    "waking": worst_waiting.waking,
}


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(ROWS), help="which tables, e.g. room,zone")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a line of a table")
    options = parser.parse_args()
    for row in options.rows.split(","):
        ROWS[row](options.limit)


if __name__ == "__main__":
    main()
