"""Whether a real process leads on the worst day, how soon it answers, and what it needs for it.

*known* and *answer* are seconds from the first `lease.acquired` to `holds.known` and to the end of
the first good answer; *lost* counts `lease.lost`. *stall* is the slowest answer of `/healthz`,
asked for every 50 ms by another process, *filter* the slowest good one of `/filter`, and *failed*
counts those that were not good once one was. *MiB* is resident memory when the holds are known (or
in the end), and in the end.
"""

import asyncio
import time
from typing import NamedTuple

from benchmarks.clusters import cluster
from benchmarks.glancer import GLANCED
from benchmarks.worst_cluster import COPIES, DISKS, SEED, waiting_pods
from benchmarks.worst_process import MIB, Due, changing, event, glancing, running

START_SECONDS = 120.0
_WAITING_GIB = 500
"""No disk is so large."""


class Day(NamedTuple):
    """How bad it is."""

    nodes: int
    due: Due
    waiting: int


DAYS = (
    Day(300, Due(334, is_distinct=False), 600),
    Day(300, Due(334), 200),
    Day(300, Due(334, size_gib=200), 10),
    Day(1_000, Due(334), 3_000),
    Day(1_000, Due(334, size_gib=200), 3_000),
    Day(5_000, Due(334), 10_000),
)


def lead(seconds: float) -> None:
    """Print how instances lead for so long."""
    print(f"\nA real process, for {seconds:g} s after it got the lease\n")
    print(
        f"{'nodes':>6}{'due':>6}{'GiB':>5}  {'sizes':9}{'waiting':>8}{'known s':>9}{'answer s':>9}"
        f"{'lost':>5}{'stall ms':>9}{'filter ms':>10}{'failed':>7}{'MiB':>6}{'then':>6}"
    )
    for day in DAYS:
        asyncio.run(_row(day, seconds))


async def _row(day: Day, seconds: float) -> None:
    pods = waiting_pods(day.waiting, _WAITING_GIB)
    items = cluster(day.nodes, DISKS, [*pods, GLANCED], seed=SEED, replicas=COPIES)["items"]
    items += [*pods, *day.due.objects()]
    async with (
        running(items) as (server, instance),
        changing(server, day.nodes, day.due),
        glancing(instance, day.nodes) as glances,
    ):
        acquired = await event(instance, "lease.acquired", within_seconds=START_SECONDS)
        assert acquired is not None, "nobody leads"
        began = acquired.timestamp()
        known = await event(instance, "holds.known", within_seconds=seconds)
        memory = [instance.process.resident_bytes / MIB]
        await asyncio.sleep(max(0.0, began + seconds - time.time()))
        memory.append(instance.process.resident_bytes / MIB)
        ended = time.time()
        lost = sum(each["event"] == "lease.lost" for each in instance.events())
        probes, answers = (glances.of(path, began) for path in ("/healthz", "/filter"))
    # A probe that is not answered yet counts for as long as it waits.
    waits = ended - max((each.at + each.seconds for each in probes), default=began)
    stall_seconds = max(waits, *(each.seconds for each in probes))
    good = [each for each in answers if each.is_good]
    known_seconds = known.timestamp() - began if known else None
    answer_seconds = good[0].at + good[0].seconds - began if good else None
    failed = sum(each.at > good[0].at for each in answers if not each.is_good) if good else "all"
    sizes = "distinct" if day.due.is_distinct else "same"
    print(
        f"{day.nodes:6}{day.due.replicas:6}{day.due.size_gib:5}  {sizes:9}{day.waiting:8}"
        f"{_seconds(known_seconds, seconds)}{_seconds(answer_seconds, seconds)}{lost:5}"
        f"{1e3 * stall_seconds:9.0f}"
        f"{1e3 * max((each.seconds for each in good), default=0.0):10.0f}{failed:>7}"
        f"{memory[0]:6.0f}{memory[1]:6.0f}",
        flush=True,
    )


def _seconds(found: float | None, limit: float) -> str:
    return f"{f'> {limit:g}':>9}" if found is None else f"{found:9.1f}"
