"""Measures the memory of a leader that strangers ask for more than any kube-scheduler does.

Run as ``python -m benchmarks.bench_memory [--nodes N] [--rows START]``. Each row has a process of
its own. *before* it has answered for two pods; *then* is half a second after the last answer, when
*not kept* were left out for lack of memory: open holds, waiting pods.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.integration.attacks import (
    CLIENT,
    FITS,
    HUGE,
    MIB,
    SWELLING,
    Swelling,
    Target,
    all_but_one,
    by_client,
    invented,
    other_names,
    real,
    target,
    whole_nodes,
)

_LARGEST_BYTES = 127 * MIB
_MANY, _SMALL_BYTES = 250, 300_000
_PODS = 500

Row = Callable[[Target], Counter[str]]


def others(at: Target) -> Counter[str]:
    """Invent pods and nodes."""
    return at.send(by_client(CLIENT, invented(at, _MANY, other_names)))


def rejected(at: Target) -> Counter[str]:
    """Ask about pods that exist and fit nowhere, and all nodes."""
    return at.send(by_client(CLIENT, real(at, HUGE, lambda _: at.nodes)))


def held(at: Target) -> Counter[str]:
    """Ask about pods that exist and fit, and all nodes but one, another each time."""
    return at.send(by_client(CLIENT, real(at, FITS, all_but_one(at))))


def large(size_bytes: int) -> Row:
    """Send whole nodes once."""
    return lambda at: at.send(by_client(CLIENT, [whole_nodes(at, size_bytes)]))


def many(clients: int) -> Row:
    """Send whole nodes again and again, from some clients at once."""

    def send(at: Target) -> Counter[str]:
        bodies = [whole_nodes(at, _SMALL_BYTES)] * (_MANY // clients)
        return at.send_at_once([by_client(f"127.0.1.{n}", bodies) for n in range(1, clients + 1)])

    return send


def swelling(each: Swelling) -> Row:
    """Send a body of small values once."""
    return lambda at: at.send(by_client(CLIENT, [each.of(_LARGEST_BYTES)]))


ROWS: dict[str, Row] = {
    f"{_MANY} invented pods, each with 20,000 invented nodes": others,
    f"{_PODS} pods that fit nowhere, all nodes": rejected,
    f"{_PODS} pods that fit, all nodes but one": held,
    "whole nodes, 60 MB": large(60_000_000),
    "whole nodes, 127 MiB": large(_LARGEST_BYTES),
    f"whole nodes, 300 kB, {_MANY} times": many(1),
    f"whole nodes, 300 kB, {_MANY} times, ten clients": many(10),
    **{f"127 MiB of {name}": swelling(each) for name, each in SWELLING.items()},
}


async def _measure(name: str, row: Row, nodes: int) -> None:
    with TemporaryDirectory() as folder:
        async with target(Path(folder), nodes, _PODS) as at:
            await asyncio.sleep(1)
            before = at.process.resident_bytes
            at.process.reset_peak()
            began = asyncio.get_running_loop().time()
            seen = await asyncio.to_thread(row, at)
            took = asyncio.get_running_loop().time() - began
            await asyncio.sleep(0.5)
            answers = ", ".join(f"{status} {count}" for status, count in sorted(seen.items()))
            left_out = [
                round(await asyncio.to_thread(at.metric, f'not_remembered_total{{what="{what}"}}'))
                for what in ("open_holds", "waiting_pods")
            ]
            print(
                f"{name:55}{before // MIB:8}{at.process.resident_bytes // MIB:6}"
                f"{at.process.peak_bytes // MIB:6}"
                f"{took:8.1f}{left_out[0]:10},{left_out[1]:4}  {answers}",
                flush=True,
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--rows", default="", help="only those that begin so")
    options = parser.parse_args()
    print(f"{'MiB':55}{'before':>8}{'then':>6}{'peak':>6}{'s':>8}{'not kept':>15}  statuses")
    for name, row in ROWS.items():
        if name.startswith(options.rows):
            asyncio.run(_measure(name, row, options.nodes))


if __name__ == "__main__":
    main()
