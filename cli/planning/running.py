"""A plan from its cluster to its report."""

from collections.abc import Callable, Iterator, Sequence
from random import Random

import msgspec

from app.errors import InputError
from app.settings import Settings
from cli.kube.cluster_objects import ClusterObjects
from cli.planning.cluster import planned_cluster
from longhorn import Moment
from planner.errors import PlanError
from planner.naming import natural
from planner.outcome import PlanReport
from planner.picture import Kind
from planner.plan import Plan, Step
from planner.policy import Policy
from planner.steps.nodes import LoseNode


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What is planned, and on what; only the seed is left open."""

    objects: ClusterObjects
    """The cluster, read by the table `PLANNED`."""
    origin: str
    """Where it comes from."""
    utc: Moment | None
    """Its date and time, None if it is not known."""
    steps: Sequence[Step]
    policy: Policy
    policy_name: str
    settings: Settings
    """Of the process."""
    in_flight: int
    """So many pods get nodes before Longhorn has placed their replicas."""
    ignores_waiting: bool = False
    """Whether pods that wait already are left out."""


def run_plan(
    planned: Planned, seed: int, asked: Callable[[int], None] = lambda _: None
) -> PlanReport:
    """Take all steps on a copy of the cluster, and return what they lead to.

    Args:
        planned: The plan.
        seed: Of all that is left to chance.
        asked: Told how many pods were asked about, again and again.

    Raises:
        InputError: A step names something that is not there, or asks for what cannot be.
    """
    plan = _new_plan(planned, seed, asked)
    is_loss = bool(planned.steps) and isinstance(planned.steps[0], LoseNode)
    if not is_loss:  # what is lost now is not finished first
        plan.begin()
    for number, step in enumerate(planned.steps, start=1):
        try:
            plan.take(step)
        except PlanError as error:
            where = f"step {number} ({step.title}): " if len(planned.steps) > 1 else ""
            raise InputError(f"{where}{error}") from error
    if is_loss:
        plan.notes += _spared_later(plan, _new_plan(planned, seed, asked), planned.steps[0])
    return plan.report(origin=planned.origin, policy=planned.policy_name, seed=seed)


def _spared_later(plan: Plan, other: Plan, loss: Step) -> Iterator[str]:
    """Say which volumes would not be lost once Longhorn has done what it is about to do."""
    lost = _lost(plan)
    if not lost:
        return
    other.begin()
    other.take(loss)
    spared = sorted(lost - _lost(other), key=natural)
    if spared:
        yield (
            f"{', '.join(spared)} would not be lost once Longhorn has finished what is under way, "
            "such as an eviction"
        )


def _lost(plan: Plan) -> set[str]:
    events = (event for step in plan.steps for event in step.events)
    return {each.object for each in events if each.kind is Kind.VOLUME_LOST}


def _new_plan(planned: Planned, seed: int, asked: Callable[[int], None]) -> Plan:
    cluster, notes = planned_cluster(planned.objects, planned.settings, planned.utc)
    plan = Plan(
        cluster,
        planned.policy,
        Random(seed),  # noqa: S311 (no secret)
        in_flight=planned.in_flight,
        asked=asked,
        ignores_waiting=planned.ignores_waiting,
    )
    plan.notes += notes
    return plan
