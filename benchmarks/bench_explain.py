"""Measures the command `filter` about a pod for which no node has room: `make bench`.

Each run is a process of its own, as for a person. `kept_cluster.py` makes the cluster: nodes with
3 disks, 3 replicas on each disk, 20 pods on each node.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.commands import ROOT, ran
from benchmarks.kept_cluster import JSON_FILE, POD, YAML_FILE
from tests.fakes.installed import kubeconfig

NODES = (100, 300)
ROUNDS, YAML_ROUNDS = 5, 1
_DOES_NOT_FIT = 1


class Source(NamedTuple):
    """Where the command reads a cluster from."""

    name: str
    options: tuple[str, str]
    rounds: int
    bytes: int | None = None
    """Of the file, if it is one."""


def main() -> None:
    """Print the table."""
    print(f"{'nodes':>6}  {'from':6}{'MB':>5}{'seconds':>9}{'cpu':>7}{'peak MB':>9}{'lines':>7}")
    for nodes in NODES:
        with _kept(nodes) as sources:
            for source in sources:
                words = ("filter", POD, *source.options)
                runs = [ran(words, [_DOES_NOT_FIT]) for _ in range(source.rounds)]
                seconds, cpu_seconds, peak_mb = (
                    median(each) for each in list(zip(*runs, strict=True))[:3]
                )
                lines = runs[0].lines
                size = "" if source.bytes is None else f"{source.bytes / 1e6:.0f}"
                print(
                    f"{nodes:6}  {source.name:6}{size:>5}{seconds:9.2f}"
                    f"{cpu_seconds:7.2f}{peak_mb:9.0f}{lines:7}",
                    flush=True,
                )


@contextmanager
def _kept(nodes: int) -> Iterator[list[Source]]:
    """Make a cluster of so many nodes, and keep it until the end of the block."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "benchmarks.kept_cluster", name, str(nodes)]
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as kept:
            assert kept.stdout is not None
            config = Path(name) / "kubeconfig"
            config.write_text(json.dumps(kubeconfig(int(kept.stdout.readline()), "bench")))
            yield [
                Source("live", ("--kubeconfig", str(config)), ROUNDS),
                _file("JSON", Path(name) / JSON_FILE, ROUNDS),
                _file("YAML", Path(name) / YAML_FILE, YAML_ROUNDS),
            ]


def _file(name: str, path: Path, rounds: int) -> Source:
    return Source(name, ("--cluster-file", str(path)), rounds, path.stat().st_size)


if __name__ == "__main__":
    main()
