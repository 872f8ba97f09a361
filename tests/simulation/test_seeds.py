"""Every choice leaves room for all replicas, every hold ends, and every pod that fits is placed."""

import os
import subprocess
import sys

import pytest

from tests.integration.instances import VIRTUAL_TIME
from tests.simulation.simulation import Result, simulate

SEEDS = range(1, 4)
"""A few of those that `make simulate SEEDS=500` goes through."""


def replay(seed: int, hash_seed: str) -> str:
    """Run a seed in a process of its own; return the digest of its trace."""
    code = f"from tests.simulation.simulation import run; print(run({seed}).digest)"
    environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def told(result: Result) -> str:
    lines = (*result.lines, "", *result.violations, f"make simulate SEED={result.seed}")
    return "\n".join(lines)


@VIRTUAL_TIME
@pytest.mark.parametrize("seed", SEEDS)
async def test_all_that_must_hold_holds(seed: int) -> None:
    result = await simulate(seed)

    assert not result.violations, told(result)


@VIRTUAL_TIME
async def test_the_same_seed_gives_the_same_trace() -> None:
    other_hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"

    assert (await simulate(5)).digest == replay(5, other_hash_seed)
