"""Charter, goal 1: 16 pods at once, each with a claim of 100 GiB, that fill all disks exactly."""

from statistics import median

import pytest

from tests.e2e.cases import EVEN, NODES, PODS, SEVERAL, UNEVEN, Case, fill
from tests.e2e.effort import FOR_REPORT, is_for_report, runs
from tests.e2e.lending import ONE_LOOP
from tests.e2e.outcome import Outcome
from tests.e2e.report import Report
from tests.e2e.variants import CAPACITY, NO_SCORES, NODE, WHOLE_NODES, WITHOUT, Variant
from tests.e2e.world import World

pytestmark = ONE_LOOP

RUNS = runs(3, report=10)
WITHIN_SECONDS = 240.0
"""Mode `node` takes the pods one after another, each for 3 s and more."""


@pytest.mark.gate
@pytest.mark.parametrize("case", [EVEN, UNEVEN], ids=str)
async def test_they_go_where_they_have_room(make_world, report, case):
    """Runs without the extender come in between, so that both meet the same machine."""
    async with make_world(**CAPACITY.options) as world:
        for number in range(RUNS):
            if is_for_report() or (case is UNEVEN and number == 0):
                _expect_wrong(case, await _run(world, report, case, WITHOUT))
            _expect_right(case, await _run(world, report, case, CAPACITY))
        leader = await world.extender.leader()
        chosen = await leader.histogram("node_choice_duration_seconds")
        waited = await leader.histogram("filter_wait_duration_seconds")

    report.plot(case.name, f"e2e-bound-{case}.svg")
    room = dict(zip(NODES, map(int, case.pods.split("/")), strict=True))
    report.plot_room(case.name, f"e2e-room-{case}.svg", room)
    report.measured(f"{case.name}, until a pod's node is known", str(chosen))
    report.measured(f"{case.name}, answers that waited", str(waited))
    _compare(report, case, CAPACITY)


@pytest.mark.parametrize("case", [pytest.param(EVEN, marks=FOR_REPORT), UNEVEN], ids=str)
@pytest.mark.parametrize(
    ("variant", "times"),
    [
        (WHOLE_NODES, runs(2, report=3)),
        (NODE, runs(1, report=2)),
        (NO_SCORES, runs(1, report=RUNS)),
    ],
    ids=["whole-nodes", "mode-node", "no-scores"],
)
async def test_so_they_do_in_every_variant(share_world, report, case, variant, times):
    async with share_world(**variant.options) as world:
        for _ in range(times):
            _expect_right(case, await _run(world, report, case, variant))

    _compare(report, case, variant)
    if variant is NO_SCORES:
        _compare(report, case, CAPACITY, to=NO_SCORES)


@pytest.mark.parametrize("is_stale", [True, False], ids=["longhorn-stale", "longhorn-up-to-date"])
async def test_so_they_do_with_several_disks_in_a_node(share_world, report, *, is_stale):
    """Which disk a volume gets is for Longhorn to say, which may fill one over that has room."""
    async with share_world(stale=is_stale) as world:
        for _ in range(runs(2, report=5) if is_stale else runs(1, report=3)):
            outcome = await _place(world, SEVERAL, CAPACITY)

            variant = CAPACITY.name + ("" if is_stale else "; Longhorn up to date")
            report.run(SEVERAL.name, variant, NODES, outcome)
            assert outcome.pods(NODES) == SEVERAL.pods
            assert outcome.without_room == 0
            assert is_stale or (outcome.elsewhere, outcome.overcommitted_disks) == (0, 0)


async def _run(world: World, report: Report, case: Case, variant: Variant) -> Outcome:
    outcome = await _place(world, case, variant)
    report.run(case.name, variant.name, NODES, outcome)
    return outcome


async def _place(world: World, case: Case, variant: Variant) -> Outcome:
    return await fill(world, case, extender=variant.extender, within=WITHIN_SECONDS)


def _expect_right(case: Case, outcome: Outcome) -> None:
    assert outcome.pods(NODES) == case.pods
    assert (outcome.without_room, outcome.elsewhere, outcome.overcommitted_disks) == (0, 0, 0)


def _expect_wrong(case: Case, outcome: Outcome) -> None:
    """Without the extender pods are spread evenly, which is right only where the disks are even."""
    assert sum(outcome.placement.values()) == PODS
    if case is UNEVEN:
        assert outcome.without_room > 0
        # Longhorn puts them on other nodes, or beyond the limit of a disk it has not seen fill.
        assert outcome.elsewhere or outcome.overcommitted_disks


def _compare(report: Report, case: Case, variant: Variant, *, to: Variant = WITHOUT) -> None:
    """Say how much longer one variant takes than another."""
    both = [report.rows.get((case.name, each.name)) for each in (variant, to)]
    times = [median(run.bound_seconds for run in row.runs) for row in both if row is not None]
    if len(times) == len(both):  # not if only some of the tests are run
        report.measured(
            f"{case.name}, {variant.name}: until all are bound",
            f"{times[0] / times[1]:.2f} x {to.name}",
        )
