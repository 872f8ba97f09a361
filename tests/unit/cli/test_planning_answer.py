"""The first line of a plan: whether it works, and what happens, the bad first."""

import pytest
from msgspec import structs

from cli.planning.answer import answer, answered, capacity, works, worst
from planner.outcome import PlanReport, Runs
from planner.picture import Event, Kind, Place, PlannedVolume, PlanWarning, StepReport


def event(kind: Kind, *places: Place) -> Event:
    volumes = (PlannedVolume(name="v", size_bytes=1, locality="disabled", replicas=places),)
    return Event(kind=kind, object="default/web-0", volumes=volumes if places else ())


def report(
    *events: Event, pending: int = 0, warnings: tuple[PlanWarning, ...] = (), before: bool = False
) -> PlanReport:
    """Build a plan of one step, or of none but the cluster as it was."""
    now = StepReport(title="now", warnings=warnings if before else ())
    step = StepReport(title="place", events=events, warnings=() if before else warnings)
    return PlanReport(
        origin="x", policy="today", seed=1, steps=(now, step), placed=0, pending=pending
    )


DEGRADED = PlanWarning(code="volume_degraded", object="Volume v", text="has 1 of 2 replicas")
STUCK = PlanWarning(code="pod_stuck", object="Pod p", text="cannot start")


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (report(), "all of it works: nothing moves"),
        (report(event(Kind.PLACED)), "all of it works: 1 pod placed"),
        (
            report(event(Kind.PLACED), event(Kind.PLACED), event(Kind.MOVED), pending=2),
            "not all of it works: 2 pods pending; 2 pods placed, 1 pod moved",
        ),
        (report(event(Kind.PENDING)), "all of it works: nothing moves"),
        (report(event(Kind.REFUSED)), "not all of it works: 1 refusal"),
        (
            report(event(Kind.LOST), event(Kind.VOLUME_LOST), event(Kind.REPLICA_PLACED)),
            "not all of it works: 1 pod lost, 1 volume lost; 1 replica rebuilt",
        ),
        (
            report(event(Kind.MOVED), warnings=(DEGRADED,)),
            "all of it works: 1 pod moved; 1 new warning",
        ),
        (report(warnings=(STUCK,)), "not all of it works: 1 new warning"),
        (
            structs.replace(report(event(Kind.MOVED)), degraded=3),
            "not all of it works: 3 volumes degraded; 1 pod moved",
        ),
        (
            structs.replace(report(event(Kind.PENDING), pending=1), waited=1),
            "all of it works: 1 pod waits as before",
        ),
        (
            structs.replace(report(event(Kind.PENDING), pending=3), waited=1),
            "not all of it works: 2 pods pending; 1 pod waits as before",
        ),
        (report(warnings=(STUCK, DEGRADED), before=True), "all of it works: nothing moves"),
    ],
)
def test_the_bad_comes_first(plan: PlanReport, text: str) -> None:
    """A pod that got no node at first, and one later, is not pending at the end."""
    assert answer(plan) == text
    assert works(plan) == text.startswith("all")


def test_the_answer_is_in_the_report_and_a_capacity_neither_works_nor_fails() -> None:
    plan = report(event(Kind.PLACED), event(Kind.PENDING))

    of_plan = answered(plan, is_capacity=False)
    of_capacity = answered(plan, is_capacity=True)

    assert (of_plan.works, of_plan.summary) == (True, "all of it works: 1 pod placed")
    assert (of_capacity.works, of_capacity.summary) == (
        None,
        "1 more pod fits; the next one does not",
    )


HERE, NOWHERE = Place(node="node-1", disk="disk-1"), Place()


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (report(event(Kind.PENDING)), "0 more pods fit; the next one does not"),
        (report(event(Kind.PLACED)), "1 more pod fits; more were not tried (--most)"),
        (
            report(event(Kind.PLACED, HERE, NOWHERE), event(Kind.PLACED, HERE, HERE)),
            "2 more pods fit, 1 of them with all replicas of their volumes; more were not tried "
            "(--most)",
        ),
    ],
)
def test_capacity_is_how_many_pods_fit(plan: PlanReport, text: str) -> None:
    assert capacity(plan) == text


def planned(placed: int, pending: int = 0) -> PlanReport:
    return structs.replace(
        report(*[event(Kind.PLACED)] * placed, pending=pending), placed=placed, seed=placed
    )


def test_one_plan_is_the_worst_of_its_own() -> None:
    assert worst([planned(1)], is_capacity=False) == planned(1)


def test_the_worst_of_several_plans_says_between_what_they_are() -> None:
    plans = [planned(5), planned(3, pending=2), planned(4, pending=1)]

    found = worst(plans, is_capacity=False)

    assert found.seed == 3
    assert found.runs == Runs(count=3, works=1, least_placed=3, most_placed=5)
    assert answer(found) == (
        "not all of it works: 2 pods pending; 3 pods placed; pods placed: 3 to 5 in 3 runs, all of "
        "it works in 1"
    )


def test_a_capacity_is_between_the_runs() -> None:
    """What waited before the plan is placed as well, and does not count."""
    plans = [structs.replace(planned(each), placed=each + 7) for each in (4, 2, 3)]

    assert capacity(worst(plans, is_capacity=True)) == (
        "2 more pods fit, 2 to 4 in 3 runs; more were not tried (--most)"
    )
    assert capacity(worst(plans[:1] * 2, is_capacity=True)) == (
        "4 more pods fit, the same in all 2 runs; more were not tried (--most)"
    )
