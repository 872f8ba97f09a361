"""Volumes of several replicas: pods get nodes only while all that is coming has room.

Most cases have more pods than room. Those that are bound must run, with a replica beside them where
their class asks for one, and no disk is beyond its limit. How many can be is found by CP-SAT.
"""

from statistics import median

import pytest

from tests.e2e.effort import FOR_REPORT, is_for_report, runs
from tests.e2e.lending import ONE_LOOP
from tests.e2e.report import Report, VolumesRun
from tests.e2e.variants import CAPACITY, WHOLE_NODES, WITHOUT, Variant
from tests.e2e.whole_volumes import (
    ALL_FIT,
    CASES,
    DELAYS_HERE,
    Case,
    Result,
    come_to_rest,
    optimum,
    run,
    start,
)
from tests.e2e.world import World

pytestmark = ONE_LOOP

NEXT_SECONDS = 3.0
"""So soon the next pod has its node once room has become free."""


@pytest.mark.alone
@pytest.mark.parametrize(
    "case", [pytest.param(CASES[0], marks=pytest.mark.gate), *CASES[1:]], ids=str
)
async def test_no_disk_is_beyond_its_limit_and_no_pod_is_stuck(share_world, report, case):
    async with share_world(stale=False, delays=DELAYS_HERE) as world:
        for _ in range(runs(1, report=10)):
            expect_right(case, await measured(world, report, case, f"{CAPACITY}; up to date"))


@pytest.mark.alone
@FOR_REPORT
@pytest.mark.parametrize("case", CASES, ids=str)
async def test_so_it_is_with_whole_nodes(share_world, report, case):
    async with share_world(stale=False, delays=DELAYS_HERE, **WHOLE_NODES.options) as world:
        for _ in range(runs(1, report=3)):
            expect_right(case, await measured(world, report, case, f"{WHOLE_NODES}; up to date"))


@pytest.mark.parametrize(
    "case",
    [*CASES[:2], *(pytest.param(case, marks=FOR_REPORT) for case in CASES[2:-1]), CASES[-1]],
    ids=str,
)
async def test_a_longhorn_with_old_figures_costs_no_pod_its_start(share_world, report, case):
    """It puts more on some disks than they may hold, and then has less for others.

    What a deleted pod leaves then is not free, or goes to the replicas that others lack.
    """
    async with share_world(stale=True, delays=DELAYS_HERE) as world:
        for _ in range(runs(1, report=10)):
            variant = f"{CAPACITY}; old figures"
            result = await measured(world, report, case, variant, replace=False)

            assert result.bound >= case.least - 1, result
            assert result.empty == 0, result


def expect_right(case: Case, result: Result) -> None:
    # Longhorn's own choice may leave room that the last volumes cannot use all of, or not for all
    # their replicas: then more pods are bound, or some have fewer replicas.
    assert result.bound >= case.least, result
    assert (result.overcommitted, result.empty) == (0, 0), result
    assert result.elsewhere == result.by_own, result
    assert result.reasons, result
    assert result.next_seconds is not None
    assert result.next_seconds < NEXT_SECONDS, result


async def measured(
    world: World, report: Report, case: Case, variant: str, *, replace: bool = True
) -> Result:
    result = await run(world, case, replace=replace)
    found = VolumesRun(
        bound=result.bound,
        missing=result.missing,
        elsewhere=len(result.elsewhere),
        overcommitted=result.overcommitted,
        excess_gib=result.excess_gib,
        bound_seconds=result.bound_seconds,
        next_seconds=result.next_seconds,
    )
    report.volumes(case.name, variant, case.pods, optimum(case), found)
    return result


@pytest.mark.parametrize("case", ALL_FIT, ids=str)
async def test_where_all_fit_all_are_bound(share_world, report, case):
    """The report says how long that takes; where room is tight, some wait for the others."""
    variants = (WITHOUT, CAPACITY) if is_for_report() else (CAPACITY,)
    took: dict[str, list[float]] = {str(CAPACITY): [], str(WITHOUT): []}
    async with share_world(stale=False) as world:
        for _ in range(runs(1, report=5)):
            for variant in variants:
                took[str(variant)].append(await _bound_all(world, case, variant))

    if is_for_report():
        within, without = (median(took[str(each)]) for each in (CAPACITY, WITHOUT))
        report.measured(
            f"{case.name}, 3 replicas: until all are bound",
            f"{within:.1f} s with the extender, {without:.1f} s without: {within / without:.2f} x",
        )


async def _bound_all(world: World, case: Case, variant: Variant) -> float:
    scheduling = await start(world, case, extender=variant.extender)
    if variant.extender:
        bound = await come_to_rest(world, case, scheduling)
        assert len(bound) == case.pods
        assert world.seen.overcommitted_disks() == []
    await scheduling.all_bound()
    took = scheduling.bound_at()[-1]
    await world.wipe()
    return took
