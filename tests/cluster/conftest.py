"""A cluster with real nodes, in a folder of its own, which ends with the tests."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster import outside
from tests.cluster.programs import missing_packages
from tests.cluster.running import RunningCluster
from tests.e2e.controlplane.programs import cache_root
from tests.tools import give_up

DISKS = {"node-1": 80, "node-2": 40, "node-3": 20, "node-4": 20}
"""Goal 1b at a tenth: volumes of 10 GiB fill them exactly."""


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """An empty folder for a cluster, if there is all that it needs."""
    if missing := missing_packages():
        give_up(f"nodes need Debian's {', '.join(missing)}")
    if os.geteuid() != 0:
        give_up("nodes are started as root")
    with tempfile.TemporaryDirectory(prefix="nodes-", dir=cache_root(os.environ)) as made:
        yield Path(made)


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[RunningCluster]:
    """A cluster with Longhorn and nothing else."""
    with started(folder) as cluster:
        yield cluster


@contextmanager
def started(
    folder: Path, commits: Sequence[str] = (), flags: Sequence[str] = ()
) -> Iterator[RunningCluster]:
    """Run a cluster whose nodes have images of older commits as well, and its API server flags."""
    shutil.rmtree(folder / "cluster", ignore_errors=True)
    keeper = outside.start(folder / "cluster", DISKS, commits, flags)
    try:
        yield RunningCluster(folder / "cluster")
    finally:
        outside.stop(folder / "cluster")
        keeper.wait()
