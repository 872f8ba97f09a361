"""The command `trial`: the test plan of the charter on a live cluster."""

import asyncio
import math
import signal
from collections.abc import Awaitable, Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import typer

from app.config import NAME
from app.errors import AppError, InputError
from app.kube.connection import Connection
from cli.drawing import check_writable
from cli.options import (
    Context,
    Kubeconfig,
    Output,
    Printed,
    Quiet,
    check_origin,
    command_of,
    load_settings,
    print_answer,
    tell,
)
from cli.paragraphs import output_width
from cli.trial.cases import GOALS, PREFIX, Action, Case
from cli.trial.cleaning import Cleaning
from cli.trial.drawing import page
from cli.trial.looking import Plan
from cli.trial.manifests import Way
from cli.trial.preparing import LEAST_NODES, Ground, Wished, prepare
from cli.trial.report import TrialNode, TrialReport, cases_of, lines
from cli.trial.requests import Requests
from cli.trial.running import Trial
from planner.sizes import amount

Done = TypeVar("Done")

_DONE, _NOT_DONE = 0, 1
_RUN_SECONDS, _MORE_SECONDS = 60, 40
"""What a run takes on a cluster that is not slow, and each thing that is done before or after."""
TrialNamespace = Annotated[
    str, typer.Option("--namespace", "-n", help="A namespace that the trial makes and removes.")
]


class _Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is given to the command."""

    ctx: typer.Context
    case: Annotated[
        list[str] | None,
        typer.Option(
            "--case",
            show_default=False,
            help=f"What to try, of {', '.join(GOALS)}; may be given several times. Default: all.",
        ),
    ] = None
    way: Annotated[
        list[Way] | None,
        typer.Option(
            "--way",
            show_default=False,
            help="Who is asked for nodes; may be given several times: kube-scheduler alone (none), "
            "this extender (ours), Longhorn's own (longhorn). Default: none and ours.",
        ),
    ] = None
    repeat: Annotated[int, typer.Option(min=1, max=100, help="Runs of each case and way.")] = 1
    pods: Annotated[int, typer.Option(min=3, max=100, help="Most pods at once.")] = 16
    nodes: Annotated[
        int, typer.Option(min=LEAST_NODES, max=20, help="Most nodes: those with most room.")
    ] = 4
    leave: Annotated[
        float, typer.Option(metavar="GIB", min=0, help="What each disk keeps for others.")
    ] = 5.0
    image: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="Of the pods; it runs without arguments. Default: the nodes' pause image.",
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="The schedulerName for --way ours. Default: the second scheduler, where it is "
            "installed, else default-scheduler.",
        ),
    ] = None
    within: Annotated[
        int, typer.Option(metavar="SECONDS", min=5, help="Most that the pods of a run may take.")
    ] = 300
    settle: Annotated[
        int,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="How long Longhorn has for replicas after the pods run, and for its figures "
            "between two runs.",
        ),
    ] = 60
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and end.")] = (
        False
    )
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it, as one page for a browser.")
    ] = None
    namespace: TrialNamespace = PREFIX
    kubeconfig: Kubeconfig = None
    context: Context = None
    output: Printed = Output.TABLE
    quiet: Quiet = False


def _try(given: _Options) -> None:
    """Try on a live cluster where pods go that use Longhorn: without an extender and with it.

    It makes a namespace, StorageClasses, and StatefulSets of pods that do nothing. Their volumes
    are thin and nothing is written to them, but while it runs, they take what may be scheduled on
    the disks of some nodes, but for --leave. No node is cordoned, and no other pod is touched. It
    says beforehand what it does and asks. In the end, with Ctrl-C too, all of it is removed; after
    a crash `trial clean` does that. Nothing in the answer names the cluster.

    Exit status: 0 carried out, 1 not all of it was, or something is left, 2 it cannot be.
    """
    if given.ctx.invoked_subcommand is not None:
        return
    settings = load_settings()
    _check(given)
    wished = Wished(
        cases=given.case or GOALS,
        ways=given.way or (Way.NONE, Way.OURS),
        repeat=given.repeat,
        most_pods=given.pods,
        most_nodes=given.nodes,
        leave_gib=given.leave,
        image=given.image,
        scheduler=given.scheduler,
        within_seconds=given.within,
        settle_seconds=given.settle,
        namespace=given.namespace,
    )
    found = _run(given.kubeconfig, given.context, lambda each: prepare(each, settings, wished))
    for line in _announced(found, given) if given.dry_run or not given.quiet else ():
        typer.echo(line, err=not given.dry_run)
    if given.dry_run:
        return
    if not given.yes:
        typer.confirm("Begin?", abort=True, err=True)
    report, problem = _run(
        given.kubeconfig, given.context, lambda each: _tried(each, found, given.quiet)
    )
    if problem and not report.cases:
        raise InputError(problem)
    if given.html is not None:
        given.html.write_text(page(report), encoding="utf-8")
    print_answer(report, given.output, lines(report, output_width()))
    if problem:
        tell("error: ", problem)
    raise typer.Exit(_DONE if report.is_complete and not (problem or report.unasked) else _NOT_DONE)


def _check(given: _Options) -> None:
    """Raise InputError if what is given cannot be used, whatever the cluster is."""
    check_origin(None, given.kubeconfig, given.context)
    if unknown := [each for each in given.case or () if each not in GOALS]:
        raise InputError(f"--case {unknown[0]}: use some of {', '.join(GOALS)}")
    if not math.isfinite(given.leave):
        raise InputError(f"--leave {given.leave}: give a number of GiB")
    if given.html is not None:
        check_writable(given.html)


trial = typer.Typer(
    name="trial", invoke_without_command=True, rich_markup_mode=None, subcommand_metavar="[clean]"
)
trial.callback()(command_of(_Options)(_try))


@trial.command(short_help="Remove what a trial has left.")
def clean(
    namespace: TrialNamespace = PREFIX, kubeconfig: Kubeconfig = None, context: Context = None
) -> None:
    """Remove what a trial has left that was cut off. Nothing else is touched.

    Exit status: 0 nothing is left, 2 something is, or there is no cluster.
    """
    settings = load_settings()
    check_origin(None, kubeconfig, context)

    async def remove(requests: Requests) -> bool:
        return await Cleaning(requests, namespace, settings.longhorn_namespace).remove_all()

    was_there = _run(kubeconfig, context, lambda each: remove(Requests(each)))
    typer.echo("all of it is removed" if was_there else "there is nothing of a trial")


def _run(
    kubeconfig: Path | None, context: str | None, do: Callable[[Connection], Awaitable[Done]]
) -> Done:
    from app.kube.connecting import connect  # noqa: PLC0415 (it takes long)

    async def run() -> Done:
        connection = await connect(kubeconfig, context)
        try:
            return await do(connection)
        finally:
            await connection.close()

    try:
        return asyncio.run(run())
    except KeyboardInterrupt:
        text = "ended at once; if a trial had begun, `trial clean` removes what is left of it"
        raise InputError(text) from None


def _announced(found: Ground, given: _Options) -> Iterable[str]:
    """Say what will be done, and for how long."""
    plan = found.plan
    size, runs = amount(plan.sizing.claim_bytes), len(plan.cases) * len(plan.asking) * plan.repeat
    yield f"namespace {plan.namespace}, pods of image {plan.asking[0].image}"
    yield f"claims of {size}, thin and never written to:"
    for number, (node, count) in enumerate(plan.sizing.slots.items(), start=1):
        kept = [room % plan.sizing.claim_bytes for room in found.rooms[node]]
        yield (
            f"  node-{number} is {node}: takes {count}, which leaves "
            f"{', '.join(amount(each) for each in kept)}"
        )
    for each in plan.cases:
        fills = f", {sum(each.fillers.values())} more fill other nodes" if each.fillers else ""
        yield f"  {each.name}: {each.told}{fills}"
    for skipped in found.skipped:
        yield f"  {skipped.name}: not tried: {skipped.why}"
    ways = ", ".join(f"{each.way} ({each.scheduler})" for each in plan.asking)
    yield f"asked: {ways}"
    seconds = sum(_seconds(each, plan) for each in plan.cases) * len(plan.asking) * plan.repeat
    minutes = max(1, round(seconds / 60))
    yield f"{runs} runs, {plan.repeat} of each case and way; some {minutes} minutes in all"
    yield "meanwhile a volume of somebody else's may not fit on these nodes that would fit now"
    if given.dry_run:
        yield "nothing was made (--dry-run)"


def _seconds(case: Case, plan: Plan) -> float:
    """Return what one run of a case takes, as a guess."""
    before = case.start or case.action is Action.RESTART
    return _RUN_SECONDS * (2 if before else 1) + (_MORE_SECONDS + plan.settle_seconds) * (
        2 if case.fillers else 1
    )


async def _tried(
    connection: Connection,
    found: Ground,
    quiet: bool,  # noqa: FBT001 (as it is given)
) -> tuple[TrialReport, str]:
    """Carry everything out and remove it; what ends it early is said."""
    plan, requests = found.plan, Requests(connection)
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)

    def say(text: str) -> None:
        if not quiet:
            typer.echo(text, err=True)

    carried = Trial(requests, plan, say)
    problem, is_complete = "", False
    try:
        await carried.run()
        is_complete = True
    except asyncio.CancelledError:
        task.uncancel()
        say("ended early; removing what was made (again Ctrl-C: at once)")
    except AppError as error:
        problem = f"ended early: {error}"
    try:
        cleaning = Cleaning(requests, plan.namespace, plan.longhorn_namespace)
        await cleaning.remove_all()
    except AppError as error:
        problem = "; ".join(filter(None, (problem, str(error))))
    names = {name: f"node-{number}" for number, name in enumerate(plan.sizing.slots, start=1)}
    report = TrialReport(
        extender=version(NAME),
        kubernetes=found.kubernetes,
        longhorn=found.longhorn,
        nodes=tuple(
            TrialNode(name=names[node], room_bytes=tuple(found.rooms[node]), claims=count)
            for node, count in plan.sizing.slots.items()
        ),
        claim_bytes=plan.sizing.claim_bytes,
        cases=cases_of(carried.outcomes, {each.name: each.told for each in plan.cases}, names),
        skipped=tuple(found.skipped),
        unasked=carried.unasked,
        is_complete=is_complete,
    )
    return report, problem
