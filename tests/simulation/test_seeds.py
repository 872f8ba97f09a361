"""Every choice leaves room for all replicas, every hold ends, and every pod that fits is placed."""

import os
import subprocess
import sys

import pytest

from tests.integration.instances import VIRTUAL_TIME
from tests.simulation.simulation import Result, simulate

SEEDS = range(1, 4)
"""A few of those that `make simulate SEEDS=500` goes through."""
WITH_DISK_SCHEDULES = [1, 24]
"""In the second one they are served only once the service runs."""


def replay(seed: int, hash_seed: str, *, disk_schedules: bool) -> str:
    """Run a seed in a process of its own; return the digest of its trace."""
    result = f"run({seed}, disk_schedules={disk_schedules})"
    code = f"from tests.simulation.simulation import run; print({result}.digest)"
    environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def told(result: Result) -> str:
    return "\n".join((*result.lines, "", *result.violations, result.command))


@VIRTUAL_TIME
@pytest.mark.parametrize("seed", SEEDS)
async def test_all_that_must_hold_holds(seed: int) -> None:
    result = await simulate(seed)

    assert not result.violations, told(result)


@VIRTUAL_TIME
@pytest.mark.parametrize("seed", WITH_DISK_SCHEDULES)
async def test_all_that_must_hold_holds_where_disk_schedules_grant_room(seed: int) -> None:
    result = await simulate(seed, disk_schedules=True)

    assert not result.violations, told(result)


@VIRTUAL_TIME
@pytest.mark.parametrize("disk_schedules", [False, True])
async def test_the_same_seed_gives_the_same_trace(*, disk_schedules: bool) -> None:
    other_hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"

    found = await simulate(5, disk_schedules=disk_schedules)

    assert found.digest == replay(5, other_hash_seed, disk_schedules=disk_schedules)
