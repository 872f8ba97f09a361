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
PLACED, PENDING, MOVED = map(event, (Kind.PLACED, Kind.PENDING, Kind.MOVED))
HERE, NOWHERE = Place(node="node-1", disk="disk-1"), Place()
WORKS, WORKS_NOT, NOT_TRIED = (
    "all of it works: ",
    "not all of it works: ",
    "were not tried (--most)",
)
ANSWERS = {
    f"{WORKS}nothing moves": report(),
    f"{WORKS}1 pod placed": report(PLACED),
    f"{WORKS_NOT}2 pods pending; 2 pods placed, 1 pod moved": report(PLACED, PLACED, MOVED,
        pending=2),
    f"{WORKS_NOT}1 refusal": report(event(Kind.REFUSED)),
    f"{WORKS_NOT}1 pod lost, 1 volume lost; 1 replica rebuilt": report(event(Kind.LOST),
        event(Kind.VOLUME_LOST), event(Kind.REPLICA_PLACED)),
    f"{WORKS}1 pod moved; 1 new warning": report(MOVED, warnings=(DEGRADED,)),
    f"{WORKS_NOT}1 new warning": report(warnings=(STUCK,)),
    f"{WORKS_NOT}3 volumes degraded; 1 pod moved": structs.replace(report(MOVED), degraded=3),
    f"{WORKS}1 pod waits as before": structs.replace(report(PENDING, pending=1), waited=1),
    f"{WORKS_NOT}2 pods pending; 1 pod waits as before": structs.replace(report(PENDING, pending=3),
        waited=1),
}  # fmt: skip
NOTHING = [report(PENDING), report(warnings=(STUCK, DEGRADED), before=True)]
"""A pod that got no node at first, and one later, is not pending at the end."""


@pytest.mark.parametrize(
    ("text", "plan"), [*ANSWERS.items(), *((f"{WORKS}nothing moves", each) for each in NOTHING)]
)
def test_answer_has_the_bad_first(text, plan):
    assert answer(plan) == text
    assert works(plan) == text.startswith("all")


def test_report_has_the_answer_and_a_capacity_neither_works_nor_fails():
    plan = report(PLACED, PENDING)

    found = [answered(plan, is_capacity=each) for each in (False, True)]

    assert [(each.works, each.summary) for each in found] == [
        (True, f"{WORKS}1 pod placed"),
        (None, "1 more pod fits; the next one does not"),
    ]


def planned(placed: int, pending: int = 0) -> PlanReport:
    return structs.replace(report(*[PLACED] * placed, pending=pending), placed=placed, seed=placed)


def among(*counts: int) -> PlanReport:
    """Return the worst of some capacities; what waited before is placed, and does not count."""
    plans = [structs.replace(planned(each), placed=each + 7) for each in counts]
    return worst(plans, is_capacity=True)


CAPACITIES = {
    "0 more pods fit; the next one does not": report(PENDING),
    f"1 more pod fits; more {NOT_TRIED}": report(PLACED),
    f"2 more pods fit, 1 of them with all replicas of their volumes; more {NOT_TRIED}": report(
        event(Kind.PLACED, HERE, NOWHERE), event(Kind.PLACED, HERE, HERE)
    ),
    f"2 more pods fit, 2 to 4 in 3 runs; more {NOT_TRIED}": among(4, 2, 3),
    f"4 more pods fit, the same in all 2 runs; more {NOT_TRIED}": among(4, 4),
}


@pytest.mark.parametrize(("text", "plan"), CAPACITIES.items())
def test_capacity_is_how_many_pods_fit(text, plan):
    assert capacity(plan) == text


def test_worst_of_several_plans_says_between_what_they_are():
    found = worst([planned(5), planned(3, pending=2), planned(4, pending=1)], is_capacity=False)

    assert worst([planned(1)], is_capacity=False) == planned(1)
    assert found.seed == 3
    assert found.runs == Runs(count=3, works=1, least_placed=3, most_placed=5)
    assert answer(found) == (
        f"{WORKS_NOT}2 pods pending; 3 pods placed; pods placed: 3 to 5 in 3 runs, all of it works "
        "in 1"
    )
