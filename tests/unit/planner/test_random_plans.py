"""Random plans, step by step against the rules, and the same from the same seed.

`RANDOM_PLANS=300` makes it so many.
"""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import msgspec
import pytest

from planner.errors import PlanError
from planner.plan import Plan
from planner.policy import TODAY_POLICY
from tests.unit.planner.judge import Judge, JudgedCluster
from tests.unit.planner.random_plans import Scenario, fill_cluster, scenario_of

PLANS = int(os.environ.get("RANDOM_PLANS", "60"))


def planned(scenario: Scenario, seed: int, order: Random | None = None) -> tuple[bytes, int]:
    """Plan a scenario under the eyes of the judge: the report, and how many replicas it placed."""
    cluster = JudgedCluster()
    fill_cluster(cluster, scenario, order)
    cluster.begin()
    plan = Plan(cluster, TODAY_POLICY, Random(seed), in_flight=scenario.in_flight)
    plan.begin()
    judge = Judge(plan, cluster)
    for step in scenario.steps:
        try:
            judge.take(step)
        except PlanError as error:
            plan.notes.append(str(error))
    report = plan.report(origin="", policy="", seed=seed)
    judge.finish(report)
    return msgspec.json.encode(report), cluster.placements


@pytest.mark.parametrize("seed", range(PLANS))
def test_a_random_plan_keeps_the_rules_and_is_the_same_again(seed):
    scenario = scenario_of(seed)

    report, _ = planned(scenario, seed)

    assert planned(scenario, seed, order=Random(seed))[0] == report


def test_random_plans_place_pods_and_replicas():
    placements = [planned(scenario_of(seed), seed)[1] for seed in range(5)]

    assert sum(placements) > 20


def test_plans_are_the_same_in_every_process():
    """Sets of names have another order in each process."""
    code = (
        "from tests.unit.planner.test_random_plans import planned, scenario_of\n"
        "print([hash_of(planned(scenario_of(seed), seed)[0]) for seed in range(8)])"
    )
    code = f"from zlib import crc32 as hash_of\n{code}"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
        ).stdout
        for hash_seed in ("1", "2")
    }

    assert len(outputs) == 1
