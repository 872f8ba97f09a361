"""Measures the command `filter` about a pod for which no node has room: `make bench`.

Each run is a process of its own, as for a person. `kept_cluster.py` makes the cluster: nodes with
3 disks, 3 replicas on each disk, 20 pods on each node.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.kept_cluster import JSON_FILE, POD, YAML_FILE

ROOT = Path(__file__).parents[1]
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


class Run(NamedTuple):
    """One run of the command."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    """Resident memory, in 10^6 bytes."""
    lines: int


def main() -> None:
    """Print the table."""
    print(f"{'nodes':>6}  {'from':6}{'MB':>5}{'seconds':>9}{'cpu':>7}{'peak MB':>9}{'lines':>7}")
    for nodes in NODES:
        with _kept(nodes) as sources:
            for source in sources:
                runs = [_run(source.options) for _ in range(source.rounds)]
                middle = Run(*(median(each) for each in zip(*runs, strict=True)))
                size = "" if source.bytes is None else f"{source.bytes / 1e6:.0f}"
                print(
                    f"{nodes:6}  {source.name:6}{size:>5}{middle.seconds:9.2f}"
                    f"{middle.cpu_seconds:7.2f}{middle.peak_mb:9.0f}{middle.lines:7}",
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
            config.write_text(json.dumps(_kubeconfig(int(kept.stdout.readline()))))
            yield [
                Source("live", ("--kubeconfig", str(config)), ROUNDS),
                _file("JSON", Path(name) / JSON_FILE, ROUNDS),
                _file("YAML", Path(name) / YAML_FILE, YAML_ROUNDS),
            ]


def _file(name: str, path: Path, rounds: int) -> Source:
    return Source(name, ("--cluster-file", str(path)), rounds, path.stat().st_size)


def _run(options: tuple[str, str]) -> Run:
    """Run the command once.

    The kernel counts the memory of this process as the new one's until that starts its program, so
    the objects are made elsewhere.
    """
    command = [sys.executable, "-m", "cli", "filter", POD, *options]
    began = time.perf_counter()
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.DEVNULL) as process,
    ):
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != _DOES_NOT_FIT:
            raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
        output.seek(0)
        lines = len(output.readlines())
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, lines)


def _kubeconfig(port: int) -> Mapping[str, object]:
    return {
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        "users": [{"name": "bench", "user": {}}],
    }


if __name__ == "__main__":
    main()
