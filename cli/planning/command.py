"""The command `plan`: what all its steps do alike."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from inspect import Parameter, Signature, getdoc, signature
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec import structs

from app.errors import InputError
from app.settings import Settings
from cli.catalogue import REASONS, in_words
from cli.drawing import check_writable, draw
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.kube.resources import PLANNED
from cli.missing import PLANNED_FROM
from cli.options import (
    DEFAULT_NAMESPACE,
    Also,
    ClusterCommand,
    ClusterFile,
    Context,
    Kubeconfig,
    Namespace,
    Output,
    Printed,
    Quiet,
    check_origin,
    load_settings,
    origin_of,
    print_answer,
    read_files,
    warn,
)
from cli.paragraphs import output_width
from cli.planning.answer import answered, worst
from cli.planning.group import STATUSES
from cli.planning.lines import Form, lines
from cli.planning.policies import named_policy
from cli.planning.running import Planned, run_plan
from cli.progress import progress
from longhorn import Moment
from planner.outcome import PlanReport
from planner.picture import Event
from planner.plan import Step
from planner.steps.scaling import Scale
from planner.steps.workloads import Fill, FillSized, PlaceWorkloads

_WORKS, _DOES_NOT = 0, 1
_LARGEST_SEED = 2**31 - 1
_MOST_RUNS = 1_000
_MOST_IN_FLIGHT = 1_000

InFlight = Annotated[
    int,
    typer.Option(
        metavar="N", min=1, max=_MOST_IN_FLIGHT,
        help="At most so many pods get nodes before Longhorn has placed their replicas.",
    ),
]  # fmt: skip


class Common(msgspec.Struct, frozen=True, kw_only=True):
    """The options of all steps."""

    cluster_file: ClusterFile = None
    also: Also = None
    kubeconfig: Kubeconfig = None
    context: Context = None
    namespace: Namespace = None
    policy: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help="How nodes are chosen: today (kube-scheduler with the extender), seed (the "
            "classic default), or a policy file.",
        ),
    ] = "today"
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=_LARGEST_SEED,
            help="Of all that is left to chance. The same seed gives the same plan.",
        ),
    ] = 1
    runs: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            max=_MOST_RUNS,
            help="Plan so often, with the seeds that follow, and show the worst.",
        ),
    ] = 1
    in_flight: InFlight = 20
    ignore_waiting: Annotated[
        bool,
        typer.Option(
            "--ignore-waiting", help="Plan as if pods that wait already for a node were not there."
        ),
    ] = False
    output: Printed = Output.TABLE
    show_all: Annotated[bool, typer.Option("--all", help="Show every event and node.")] = False
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it, as one page for a browser."),
    ] = None
    quiet: Quiet = False  # fmt: skip


class _StepCommand(ClusterCommand):
    """Names the step in what is wrong with its words and options."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            text = error.format_message().rstrip(".")
            raise InputError(f"{self.name}: {text}; see: plan {self.name} --help") from error


steps = typer.Typer(rich_markup_mode=None, add_completion=False)


def step(
    name: str, statuses: str = STATUSES
) -> Callable[[Callable[..., list[Step]]], Callable[..., list[Step]]]:
    """Make a command of what makes steps of its own arguments and options.

    The command has the options of all steps, too. Of these the function gets what it names.

    Args:
        name: Of the command.
        statuses: What its help says about the exit status.
    """

    def register(make: Callable[..., list[Step]]) -> Callable[..., list[Step]]:
        own, common = signature(make).parameters, signature(Common).parameters

        def command(**given: Any) -> None:
            def made(namespace: str) -> list[Step]:
                known = given | {"namespace": namespace}
                return make(**{each: known[each] for each in own})

            _plan(name, made, Common(**{each: given[each] for each in common}))

        alone = [each for each in own.values() if each.name not in common]
        keywords = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in alone]
        every = Signature([*keywords, *common.values()])
        command.__signature__ = every  # type: ignore[attr-defined]
        text = f"{getdoc(make)}\n\n{statuses}"
        steps.command(name, cls=_StepCommand, help=text)(command)
        return make

    return register


def _plan(name: str, make: Callable[[str], list[Step]], given: Common) -> None:
    """Plan the steps of a command, made with a namespace, and print what they lead to."""
    chosen = named_policy(given.policy)
    settings = load_settings()
    check_origin(given.cluster_file, given.kubeconfig, given.context, given.also)
    if given.html is not None:
        check_writable(given.html)
    objects, problems, origin, utc, in_use = _read(settings, given)
    try:
        asked = make(given.namespace or in_use)
    except ValueError as error:
        raise InputError(f"{name}: {error}") from error
    warn(problems, quiet=given.quiet)
    planned = Planned(
        objects=objects,
        origin=origin,
        utc=utc,
        steps=asked,
        policy=chosen,
        policy_name=given.policy,
        settings=settings,
        in_flight=given.in_flight,
        ignores_waiting=given.ignore_waiting,
    )
    # Of a scenario it is asked whether it works, also if it fills the cluster.
    is_capacity = name != "run" and isinstance(asked[0], Fill | FillSized)
    report = _worst(planned, given, is_capacity=is_capacity)
    warn([*report.notes, *report.unplanned], quiet=given.quiet)
    report = answered(_with_remedies(report), is_capacity=is_capacity)
    report = structs.replace(report, notes=(*problems, *report.notes))
    if given.html is not None:
        draw(report.picture(), given.html)
    form = Form(width=output_width(), show_all=given.show_all)
    print_answer(report, given.output, lines(report, form))
    raise typer.Exit(_DOES_NOT if report.works is False else _WORKS)


def _worst(planned: Planned, given: Common, *, is_capacity: bool) -> PlanReport:
    """Plan as often as it is asked for, with a bar on a terminal; return the worst."""
    total = given.runs * _size(planned.objects, planned.steps)
    with progress("pods", total) as asked:
        seeds = range(given.seed, given.seed + given.runs)
        return worst((run_plan(planned, seed, asked) for seed in seeds), is_capacity=is_capacity)


def _read(
    settings: Settings, given: Common
) -> tuple[ClusterObjects, list[str], str, Moment | None, str]:
    """Read the cluster.

    Returns:
        Its objects, what they lack, what to call it, the time, and the namespace of what is given
        without one.
    """
    if given.cluster_file is None:
        return _read_live(settings, given.kubeconfig, given.context)
    objects, problems = read_files(given.cluster_file, given.also, PLANNED_FROM, PLANNED)
    return objects, problems, origin_of(given.cluster_file, given.also), None, DEFAULT_NAMESPACE


def _read_live(
    settings: Settings, kubeconfig: Path | None, context: str | None
) -> tuple[ClusterObjects, list[str], str, Moment, str]:
    """Read a live cluster; return the same of it."""
    from cli.kube import snapshot  # noqa: PLC0415 (it takes long)

    objects, problems, in_use = snapshot.read_cluster(
        settings, kubeconfig, context, snapshot.PLANNING
    )
    return objects, problems, "the live cluster", datetime.now(UTC), in_use


def _size(objects: ClusterObjects, steps: Sequence[Step]) -> int:
    """Return how many pods a plan asks about at most: those without a node, and new ones."""
    waiting = sum(pod.status.node is None for pod in objects.of(Pod).values())
    return waiting + sum(_size_of(step) for step in steps)


def _size_of(step: Step) -> int:
    match step:
        case PlaceWorkloads():
            return step.size
        case Fill() | FillSized():
            return step.most
        case Scale():
            return step.replicas
    return 0


def _with_remedies(report: PlanReport) -> PlanReport:
    """Return the plan with what to do about each reason."""
    steps = (
        structs.replace(step, events=tuple(map(_with_actions, step.events)))
        for step in report.steps
    )
    return structs.replace(report, steps=tuple(steps))


def _with_actions(event: Event) -> Event:
    reasons = (
        structs.replace(each, remedy=in_words(REASONS[each.code].action_for(each.text)))
        for each in event.reasons
    )
    return structs.replace(event, reasons=tuple(reasons))
