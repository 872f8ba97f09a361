"""Measures /prioritize over HTTP beside /filter, both about the same pods: `make bench`.

As kube-scheduler does, each pod is asked about with /filter first and with /prioritize right after.
"again" and "new" are those of `bench_filter.py`: with new needs both judge each node anew.
"""

import json
import tempfile
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles

from benchmarks.bench_filter import (
    DISKS,
    NODES,
    SEED,
    Server,
    filter_server,
    pods_of_claims,
    rows,
)
from benchmarks.clusters import Object, cluster, request

VERBS = ("filter", "prioritize")


def main() -> None:
    """Print the table."""
    same, new = pods_of_claims()
    pods = [*same.values(), *(p for group in new.values() for p in group)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.json"
        file.write_text(json.dumps(cluster(NODES, DISKS, pods, seed=SEED)))
        with filter_server(file) as service:
            print(f"{NODES} Longhorn nodes with {DISKS} disks; milliseconds\n")
            print(
                f"{'form':6}{'nodes':>6}{'claims':>7}  {'needs':6}"
                f"{'filter':>8}{'p99':>8}{'prioritize':>12}{'p99':>8}{'ratio':>7}"
            )
            for row in rows(same, new):
                compared = _compare(service, row.pods, row.candidates, row.rounds)
                print(f"{row.title}{compared}", flush=True)


def _compare(service: Server, pods: list[Object], candidates: bytes, rounds: int) -> str:
    for verb in VERBS:  # warm up
        service.ask(request(pods[-1], candidates), verb)
    seconds: dict[str, list[float]] = {verb: [] for verb in VERBS}
    for _, asked in zip(range(rounds), cycle(pods), strict=False):
        body = request(asked, candidates)
        for verb in VERBS:
            elapsed, _ = service.ask(body, verb)
            seconds[verb].append(elapsed)
    mid = {verb: median(seconds[verb]) for verb in VERBS}
    p99 = {verb: quantiles(seconds[verb], n=100)[98] for verb in VERBS}
    return (
        f"{1e3 * mid['filter']:8.2f}{1e3 * p99['filter']:8.2f}"
        f"{1e3 * mid['prioritize']:12.2f}{1e3 * p99['prioritize']:8.2f}"
        f"{mid['prioritize'] / mid['filter']:7.2f}"
    )


if __name__ == "__main__":
    main()
