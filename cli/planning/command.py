"""The command `plan`: what would happen if."""

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer
from msgspec import structs

from app.errors import InputError
from app.logs import has_colours
from app.settings import Settings
from cli.drawing import check_writable, draw
from cli.explaining.remedies import REMEDIES, in_words
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.kube.resources import PLANNED
from cli.kube.workloads import MOST_PODS
from cli.missing import PLANNED_FROM
from cli.options import (
    Also,
    ClusterFile,
    Context,
    Kubeconfig,
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
from cli.planning.lines import Form, lines
from cli.planning.policies import named_policy
from cli.planning.progress import progress
from cli.planning.running import Planned, run_plan
from cli.planning.scenario import Workloads
from cli.planning.steps import STEPS, Given, step_kind
from cli.planning.workloads import fill_step, place_step
from longhorn import Moment
from planner.outcome import PlanReport
from planner.picture import Event
from planner.plan import Step
from planner.steps.scaling import Scale
from planner.steps.workloads import MOST_PODS as MOST_TRIED
from planner.steps.workloads import Fill, FillSized, PlaceWorkloads

_WORKS, _DOES_NOT = 0, 1
_LARGEST_SEED = 2**31 - 1
_MOST_REPLICAS = 20
"""Longhorn allows no more."""
_MOST_RUNS = 1_000
_MOST_IN_FLIGHT = 1_000


_HELP = (
    """Say what would happen if: workloads were placed, nodes drained or lost, disks added.

Nothing in the cluster changes. The first word says what is planned:

\b
"""
    + "\n".join(f"  {each.usage}" for each in STEPS.values())
    + """

`run` takes several steps, one after another, from a file; docs/plan.md says how it is written.

Exit status: 0 all of it works, 1 not all of it (a pod gets no node, or something is lost or \
refused), 2 the input cannot be used. Of capacity it is 0 or 2.
"""
)


def plan(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="STEP [ARGUMENT]...", show_default=False, help="What is planned: see above."
        ),
    ],
    cluster_file: ClusterFile = None,
    also: Also = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=MOST_PODS,
            help="How many pods there are to be, of each workload. Default: as its file says.",
        ),
    ] = None,
    until_full: Annotated[  # noqa: FBT002 (a flag)
        bool,
        typer.Option(
            "--until-full", help="Place pods until one does not fit."
        ),
    ] = False,
    size: Annotated[
        str | None,
        typer.Option(
            "--size", metavar="SIZE",
            help="Of capacity, in place of FILE: pods with one claim of this size each.",
        ),
    ] = None,
    class_: Annotated[
        str | None,
        typer.Option(
            "--class", metavar="NAME",
            help="With --size: the StorageClass of the claims. Default: the cluster's default.",
        ),
    ] = None,
    volume_replicas: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=_MOST_REPLICAS,
            help="With --size: replicas of each volume. Default: as the class says.",
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=MOST_PODS,
            help=f"Try no more than so many pods. Default: {MOST_TRIED}.",
        ),
    ] = None,
    force: Annotated[  # noqa: FBT002 (a flag)
        bool,
        typer.Option(
            "--force",
            help="Drain deletes pods that no controller makes again.",
        ),
    ] = False,
    delete_emptydir_data: Annotated[  # noqa: FBT002 (a flag)
        bool,
        typer.Option(
            "--delete-emptydir-data",
            help="Drain evicts pods with an emptyDir.",
        ),
    ] = False,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="NODE",
            help="The new nodes are as this one is, with empty disks.",
        ),
    ] = None,
    reserved: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Reserved on a new disk. Default: 0."
        ),
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option(
            "--tag", metavar="TAG",
            help="Of a new disk. May be given several times.",
        ),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help="How nodes are chosen: today (kube-scheduler with the extender), seed (the "
            "classic default), or a policy file.",
        ),
    ] = "today",
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=_LARGEST_SEED,
            help="Of all that is left to chance. The same seed gives the same plan.",
        ),
    ] = 1,
    runs: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=_MOST_RUNS,
            help="Plan so often, with the seeds that follow, and show the worst.",
        ),
    ] = 1,
    in_flight: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=_MOST_IN_FLIGHT,
            help="At most so many pods get nodes before Longhorn has placed their replicas.",
        ),
    ] = 20,
    output: Printed = Output.TABLE,
    show_all: Annotated[  # noqa: FBT002 (a flag)
        bool,
        typer.Option("--all", help="Show every event and node."),
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw it, as one page for a browser."
        ),
    ] = None,
    quiet: Quiet = False,  # noqa: FBT002 (a flag)
) -> None:  # fmt: skip
    """See `_HELP`."""
    given = Given(
        replicas=replicas,
        most=most,
        size=size,
        class_=class_,
        volume_replicas=volume_replicas,
        until_full=until_full,
        like=like,
        reserved=reserved,
        tags=tuple(tags or ()),
        force=force,
        delete_emptydir_data=delete_emptydir_data,
    )
    kind = step_kind(words, given)
    chosen = named_policy(policy)
    settings = load_settings()
    check_origin(cluster_file, kubeconfig, context, also)
    if html is not None:
        check_writable(html)
    workloads = Workloads(
        place=place_step,
        fill=lambda path, most: fill_step(path, most, group=in_flight),
        fill_sized=lambda sized, most: FillSized(
            sized=sized, group=in_flight, most=most or MOST_TRIED
        ),
    )
    try:
        steps = kind.make(words[1:], given, workloads)
    except ValueError as error:
        raise InputError(f"{words[0]}: {error}") from error
    if cluster_file is None:
        objects, problems, origin, utc = _read_live(settings, kubeconfig, context)
    else:
        objects, problems = read_files(cluster_file, also, PLANNED_FROM, PLANNED)
        origin, utc = origin_of(cluster_file, also), None
    warn(problems, quiet=quiet)

    planned = Planned(
        objects=objects,
        origin=origin,
        utc=utc,
        steps=steps,
        policy=chosen,
        policy_name=policy,
        settings=settings,
        in_flight=in_flight,
    )
    is_wished = has_colours(os.environ) and not quiet
    total = runs * _size(objects, steps)
    with progress(total, sys.stderr, monotonic, is_wished=is_wished) as asked:
        is_capacity = words[0] == "capacity" or until_full
        reports = (run_plan(planned, seed + number, asked) for number in range(runs))
        report = worst(reports, is_capacity=is_capacity)
    warn([*report.notes, *report.unplanned], quiet=quiet)
    report = answered(_with_remedies(report), is_capacity=is_capacity)
    report = structs.replace(report, notes=(*problems, *report.notes))
    if html is not None:
        draw(report.picture(), html)
    form = Form(width=output_width(), show_all=show_all)
    print_answer(report, output, lines(report, form))
    raise typer.Exit(_DOES_NOT if report.works is False else _WORKS)


plan.__doc__ = _HELP


def _read_live(
    settings: Settings, kubeconfig: Path | None, context: str | None
) -> tuple[ClusterObjects, list[str], str, Moment]:
    """Read a live cluster; return its objects, what they lack, what to call it, and the time."""
    from cli.kube import snapshot  # noqa: PLC0415 (it takes long)

    objects, problems, _ = snapshot.read_cluster(settings, kubeconfig, context, snapshot.PLANNING)
    return objects, problems, "the live cluster", datetime.now(UTC)


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
        structs.replace(each, remedy=in_words(REMEDIES[each.code].action)) for each in event.reasons
    )
    return structs.replace(event, reasons=tuple(reasons))
