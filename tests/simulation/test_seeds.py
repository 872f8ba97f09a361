"""Every choice leaves room for all replicas, every hold ends, and every pod that fits is placed."""

import os
import subprocess
import sys

import pytest

from tests.integration.instances import VIRTUAL_TIME
from tests.simulation.simulation import Kind, Result, simulate

SEEDS = range(1, 4)
"""A few of those that `make simulate SEEDS=500` goes through."""
WITH_DISK_SCHEDULES = [1, 24]
"""In the second one they are served only once the service runs."""
WORST_DAY = 6
WITH_RUNNERS = 43
"""Without other faults, so that the judge excuses nothing, and with linked clones."""


def replay(seed: int, hash_seed: str, kind: Kind) -> str:
    """Run a seed in a process of its own; return the digest of its trace."""
    result = f"run({seed}, Kind('{kind}'))"
    code = f"from tests.simulation.simulation import Kind, run; print({result}.digest)"
    environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def told(result: Result) -> str:
    return "\n".join((*result.lines, "", *result.violations, result.command))


@VIRTUAL_TIME
@pytest.mark.parametrize("seed", SEEDS)
async def test_all_that_must_hold_holds(seed):
    result = await simulate(seed)

    assert not result.violations, told(result)


@VIRTUAL_TIME
@pytest.mark.parametrize("seed", WITH_DISK_SCHEDULES)
async def test_all_that_must_hold_holds_where_disk_schedules_grant_room(seed):
    result = await simulate(seed, Kind.DISK_SCHEDULES)

    assert not result.violations, told(result)


@VIRTUAL_TIME
async def test_all_that_must_hold_holds_on_the_worst_day():
    result = await simulate(WORST_DAY, Kind.WORST_DAY)

    assert not result.violations, told(result)


@VIRTUAL_TIME
async def test_no_pod_gets_a_node_where_nothing_attaches():
    result = await simulate(WITH_RUNNERS, Kind.RUNNERS)

    assert not result.violations, told(result)
    assert result.counts["fault: something does not run on a node"] > 3
    assert result.counts["linked clones at the end"] > 1


@VIRTUAL_TIME
@pytest.mark.parametrize("kind", [Kind.USUAL, Kind.DISK_SCHEDULES])
async def test_the_same_seed_gives_the_same_trace(kind):
    other_hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"

    found = await simulate(5, kind)

    assert found.digest == replay(5, other_hash_seed, kind)
