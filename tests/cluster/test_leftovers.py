"""A cluster leaves nothing behind, however it ends."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import outside
from tests.cluster.images import ROOT
from tests.e2e.waiting import Condition, until

pytestmark = pytest.mark.nodes

START_SECONDS = 120.0
END_SECONDS = 30.0


def wait(condition: Condition, **options: Any) -> None:
    asyncio.run(until(condition, **options))


def processes(folder: Path) -> set[str]:
    """Return the commands of those that run for a cluster."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True
    )
    return {line for line in listed.stdout.splitlines() if f"{folder}/" in line}


def left(folder: Path) -> list[object]:
    """Return what is left of a cluster on this machine, besides files."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    links = subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
    return [
        *processes(folder),
        *(line for line in mounts if str(folder) in line),
        *(line for line in links.splitlines() if "to-node-" in line),
        *outside.cgroups(folder),
    ]


def test_one_that_is_killed_half_way_leaves_nothing(folder):
    own = folder / "half"
    starting = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.outside", "start", f"--folder={own}"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    wait(lambda: any("/kubelet" in line for line in processes(own)), within=START_SECONDS)
    assert outside.cgroups(own)

    starting.kill()
    starting.wait()

    wait(lambda: not left(own), within=END_SECONDS, what=lambda: left(own))


def test_one_whose_keeper_is_killed_is_cleared_away_by_stopping_it(folder):
    own = folder / "orphan"
    keeper = outside.start(own, {"node-1": 10})

    keeper.kill()
    keeper.wait()
    wait(lambda: not processes(own), within=END_SECONDS, what=lambda: processes(own))
    outside.stop(own)

    assert left(own) == []
    assert not own.exists()
