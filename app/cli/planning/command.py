"""The command `plan`: what would happen if."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Annotated

import msgspec
import typer
from msgspec import structs

from app.cli.drawing import check_writable, draw
from app.cli.explaining.remedies import REMEDIES, in_words
from app.cli.missing import PLANNED_FROM
from app.cli.options import (
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
from app.cli.paragraphs import output_width
from app.cli.planning.answer import answered, works
from app.cli.planning.lines import Form, lines
from app.cli.planning.policies import named_policy
from app.cli.planning.progress import progress
from app.cli.planning.running import Planned, run_plan
from app.cli.planning.scenario import (
    Workloads,
    add_disk,
    names_of,
    new_node,
    read_scenario,
    resize,
    settings_of,
)
from app.cli.planning.workloads import fill_step, place_step
from app.config import Settings
from app.errors import InputError
from app.kube.cluster_objects import ClusterObjects
from app.kube.resources import PLANNED
from app.kube.translate import Pod
from app.kube.workloads import MOST_PODS
from app.logs import has_colours
from longhorn import Moment
from planner.outcome import Event, PlanReport
from planner.plan import Step
from planner.steps.disks import RemoveDisk
from planner.steps.draining import Drain
from planner.steps.nodes import AddNode, Cordon, LoseNode
from planner.steps.workloads import MOST_PODS as MOST_TRIED
from planner.steps.workloads import Fill, PlaceWorkloads

_WORKS, _DOES_NOT = 0, 1
_LARGEST_SEED = 2**31 - 1
_MOST_RUNS = 1_000
_MOST_IN_FLIGHT = 1_000


class _Given(msgspec.Struct, frozen=True, kw_only=True):
    """What the options say about a step; None, False or () where nothing is given."""

    replicas: int | None
    most: int | None
    until_full: bool
    like: str | None
    reserved: str | None
    tags: Sequence[str]
    force: bool
    delete_emptydir_data: bool


class _Kind(msgspec.Struct, frozen=True):
    """One step that the command knows."""

    usage: str
    options: frozenset[str]
    """Fields of `_Given` that it takes."""
    least: int
    """Of words after its name."""
    most: int | None
    make: Callable[[Sequence[str], _Given, Workloads], list[Step]]


def _place(words: Sequence[str], given: _Given, workloads: Workloads) -> list[Step]:
    if given.until_full:
        if given.replicas is not None:
            raise ValueError("--replicas says how many pods, and --until-full tries; give one")
        return [workloads.fill(Path(words[0]), given.most)]
    if given.most is not None:
        raise ValueError("--most ends --until-full, which is not given")
    return [workloads.place(Path(words[0]), given.replicas)]


def _drain(words: Sequence[str], given: _Given, _workloads: Workloads) -> list[Step]:
    return [
        Drain(
            nodes=names_of([*words]),
            force=given.force,
            delete_local_data=given.delete_emptydir_data,
        )
    ]


def _add_node(words: Sequence[str], given: _Given, _workloads: Workloads) -> list[Step]:
    if given.like is None:
        raise ValueError("--like is missing; name the node that the new one is as")
    return [AddNode(name=new_node(name), like=given.like) for name in names_of([*words])]


def _add_disk(words: Sequence[str], given: _Given, _workloads: Workloads) -> list[Step]:
    node, disk = _disk(words[0])
    return [add_disk(node, disk, words[1], reserved=given.reserved or "0", tags=given.tags)]


def _remove_disk(words: Sequence[str], _given: _Given, _workloads: Workloads) -> list[Step]:
    return [RemoveDisk(node=node, disk=disk) for node, disk in map(_disk, words)]


def _set(words: Sequence[str], _given: _Given, _workloads: Workloads) -> list[Step]:
    pairs = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals):
            raise ValueError(f"{word[:60]!r} sets nothing; give NAME=VALUE")
        if name in pairs:
            raise ValueError(f"{name[:60]} is set twice; set it once")
        pairs[name] = value
    return settings_of(pairs)


_FILL = frozenset({"most"})
_STEPS: Mapping[str, _Kind] = {
    "place": _Kind(
        "place FILE [--replicas N | --until-full [--most N]]",
        frozenset({"replicas", "until_full", "most"}), 1, 1, _place,
    ),
    "capacity": _Kind(
        "capacity FILE [--most N]", _FILL, 1, 1,
        lambda words, given, workloads: [workloads.fill(Path(words[0]), given.most)],
    ),
    "drain": _Kind(
        "drain NODE... [--force] [--delete-emptydir-data]",
        frozenset({"force", "delete_emptydir_data"}), 1, None, _drain,
    ),
    "lose": _Kind(
        "lose NODE...", frozenset(), 1, None,
        lambda words, *_: [LoseNode(nodes=names_of([*words]))],
    ),
    "cordon": _Kind(
        "cordon NODE...", frozenset(), 1, None,
        lambda words, *_: [Cordon(nodes=names_of([*words]))],
    ),
    "uncordon": _Kind(
        "uncordon NODE...", frozenset(), 1, None,
        lambda words, *_: [Cordon(nodes=names_of([*words]), is_cordoned=False)],
    ),
    "add-node": _Kind(
        "add-node NAME... --like NODE", frozenset({"like"}), 1, None, _add_node,
    ),
    "add-disk": _Kind(
        "add-disk NODE/DISK SIZE [--reserved SIZE] [--tag TAG]",
        frozenset({"reserved", "tags"}), 2, 2, _add_disk,
    ),
    "remove-disk": _Kind("remove-disk NODE/DISK...", frozenset(), 1, None, _remove_disk),
    "resize": _Kind(
        "resize [NAMESPACE/]CLAIM SIZE", frozenset(), 2, 2,
        lambda words, *_: [resize(words[0], words[1])],
    ),
    "set": _Kind("set NAME=VALUE...", frozenset(), 1, None, _set),
    "run": _Kind(
        "run SCENARIO.yaml", frozenset(), 1, 1,
        lambda words, _given, workloads: read_scenario(Path(words[0]), workloads),
    ),
}  # fmt: skip
"""By the first word."""

_HELP = (
    """Say what would happen if: workloads were placed, nodes drained or lost, disks added.

Nothing in the cluster changes. The first word says what is planned:

\b
"""
    + "\n".join(f"  {each.usage}" for each in _STEPS.values())
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
    given = _Given(
        replicas=replicas,
        most=most,
        until_full=until_full,
        like=like,
        reserved=reserved,
        tags=tuple(tags or ()),
        force=force,
        delete_emptydir_data=delete_emptydir_data,
    )
    kind = _kind(words, given)
    chosen = named_policy(policy)
    settings = load_settings()
    check_origin(cluster_file, kubeconfig, context, also)
    if html is not None:
        check_writable(html)
    workloads = Workloads(
        place=place_step, fill=lambda path, most: fill_step(path, most, group=in_flight)
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
        reports = (run_plan(planned, seed + number, asked) for number in range(runs))
        report = min(reports, key=_goodness)
    warn([*report.notes, *report.unplanned], quiet=quiet)
    is_capacity = words[0] == "capacity" or until_full
    report = answered(_with_remedies(report), is_capacity=is_capacity)
    report = structs.replace(report, notes=(*problems, *report.notes))
    if html is not None:
        draw(report, html)
    form = Form(width=output_width(), show_all=show_all, runs=runs)
    print_answer(report, output, lines(report, form))
    raise typer.Exit(_DOES_NOT if report.works is False else _WORKS)


plan.__doc__ = _HELP


def _kind(words: Sequence[str], given: _Given) -> _Kind:
    """Return the step that the first word names, for which the other words and options are."""
    kind = _STEPS.get(words[0])
    if kind is None:
        raise InputError(f"there is no step {words[0][:60]!r}; use one of {', '.join(_STEPS)}")
    count = len(words) - 1
    if count < kind.least or (kind.most is not None and count > kind.most):
        arguments = "1 argument" if count == 1 else f"{count} arguments"
        raise InputError(f"{words[0]} has {arguments}; use: plan {kind.usage}")
    for field in structs.fields(_Given):
        if getattr(given, field.name) not in (None, False, ()) and field.name not in kind.options:
            option = {"tags": "tag"}.get(field.name, field.name.replace("_", "-"))
            raise InputError(f"--{option} means nothing to {words[0]}; use: plan {kind.usage}")
    return kind


def _read_live(
    settings: Settings, kubeconfig: Path | None, context: str | None
) -> tuple[ClusterObjects, list[str], str, Moment]:
    """Read a live cluster; return its objects, what they lack, what to call it, and the time."""
    from app.instance import service  # noqa: PLC0415 (it takes long, and so does the next one)
    from app.kube.snapshot import PLANNING  # noqa: PLC0415

    objects, problems, _ = service.read_cluster(settings, kubeconfig, context, PLANNING)
    return objects, problems, "the live cluster", datetime.now(UTC)


def _goodness(report: PlanReport) -> tuple[bool, int, int]:
    """Rank plans, the worst first: those that do not work, then by pods, then by warnings."""
    warnings = sum(len(step.warnings) for step in report.steps[1:])
    return works(report), report.placed - report.pending, -warnings


def _size(objects: ClusterObjects, steps: Sequence[Step]) -> int:
    """Return how many pods a plan asks about at most: those without a node, and new ones."""
    waiting = sum(pod.status.node is None for pod in objects.of(Pod).values())
    return waiting + sum(_size_of(step) for step in steps)


def _size_of(step: Step) -> int:
    match step:
        case PlaceWorkloads():
            return step.size
        case Fill():
            return step.most
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


def _disk(word: str) -> tuple[str, str]:
    node, slash, disk = word.partition("/")
    if not (node and slash and disk):
        raise ValueError(f"{word[:60]!r} names no disk; give NODE/DISK")
    return node, disk
