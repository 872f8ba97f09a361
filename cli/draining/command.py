"""The command `may-drain`: read a cluster, judge, print, and wait if that is wished."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from app.errors import InputError
from app.kube.errors import ApiError
from app.settings import Settings
from cli.bundles import bundled_namespaces
from cli.draining.cluster import Cluster, Means, cluster_of, situation
from cli.draining.completeness import check_files, check_live, unknown, unknown_pods
from cli.draining.judging import May, Verdict, judge
from cli.draining.lines import lines, summary
from cli.draining.report import DrainReport, make_next_report, make_report
from cli.files import load_cluster
from cli.kube.draining.kinds import DRAINED
from cli.names import node_name
from cli.options import (
    PrintedWide,
    WideOutput,
    check_origin,
    command_of,
    load_settings,
    origin_of,
    print_answer,
    tell,
    warn,
    warner,
)
from cli.paragraphs import output_width
from cli.progress import progress
from cli.watching import Watched, ask_again, check_watched, waiting_of
from longhorn import NodeName
from planner.errors import unknown as unknown_name

_STATUSES = {May.YES: 0, May.NOT_YET: 1, May.UNKNOWN: 2}
_LIVE = "the live cluster"


class _Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked."""

    nodes: tuple[NodeName, ...]
    means: Means
    next: bool
    quiet: bool


class _Options(Watched, frozen=True, kw_only=True):
    """What is given to the command."""

    nodes: Annotated[
        list[str],
        typer.Argument(metavar="NODE...", show_default=False, help="The nodes: NAME or node/NAME."),
    ]
    next_: Annotated[
        bool,
        typer.Option("--next", help="Say which of the nodes may go next, and which two at once."),
    ] = False
    force: Annotated[
        bool,
        typer.Option("--force", help="The drain deletes pods that no controller makes again."),
    ] = False
    delete_emptydir_data: Annotated[
        bool,
        typer.Option("--delete-emptydir-data", help="The drain evicts pods with an emptyDir."),
    ] = False
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Ask again until the answer is yes."),
    ] = False
    output: PrintedWide = WideOutput.TABLE


@command_of(_Options)
def may_drain(given: _Options) -> None:
    """Say whether nodes may be drained now, what is in the way, and what to do.

    The answer is that for `kubectl drain --ignore-daemonsets`: whether it comes
    to an end, by the PodDisruptionBudgets and by Longhorn's rules about volumes
    and replicas. Several nodes are all drained; with --next, one of them.

    Exit status: 0 yes, 1 not yet, 2 the input cannot be used, or not enough is
    known for a yes.
    """
    question = _Question(
        nodes=_names(given.nodes),
        means=Means(force=given.force, delete_local_data=given.delete_emptydir_data),
        next=given.next_,
        quiet=given.quiet,
    )
    settings = load_settings()
    check_origin(given.cluster_file, given.kubeconfig, given.context, given.also)
    check_watched(given)
    if given.cluster_file is None:
        ask = _asking(question, settings, given.kubeconfig, given.context)
        report = _waited(ask, given) if given.watch else ask()
    else:
        report = _ask_files(question, given.cluster_file, given.also)
    shown = lines(report, output_width(), wide=given.output is WideOutput.WIDE)
    print_answer(report, given.output, shown)
    raise typer.Exit(_STATUSES[report.may])


def _waited(ask: Callable[[], DrainReport], given: _Options) -> DrainReport:
    """Ask again and again until the answer is yes, or it is not waited for any longer."""
    say = _say_nothing if given.quiet else _say
    return ask_again(ask, waiting_of(given), say, lambda report: report.may is May.YES)


def _ask_files(question: _Question, path: Path, also: Sequence[Path] | None) -> DrainReport:
    paths = [path, *(also or ())]
    objects, problems = load_cluster(*paths, kinds=DRAINED)
    warn(problems, quiet=question.quiet)
    cluster, origin = cluster_of(objects), origin_of(path, also)
    check_files(cluster, origin)
    bundled = frozenset[str]().union(*map(bundled_namespaces, paths))
    return _answer(question, cluster, origin, [*unknown(cluster), *unknown_pods(cluster, bundled)])


def _asking(
    question: _Question, settings: Settings, kubeconfig: Path | None, context: str | None
) -> Callable[[], DrainReport]:
    """Return what reads a live cluster and judges."""
    from app.kube.connecting import connect  # noqa: PLC0415 (it takes long, as the next one does)
    from cli.kube.draining.reading import read_drained  # noqa: PLC0415

    async def read() -> tuple[Cluster, list[str]]:
        connection = await connect(kubeconfig, context)
        try:
            objects, problems = await read_drained(connection, settings, question.nodes)
            return cluster_of(objects), problems
        finally:
            await connection.close()

    warn_once = warner(quiet=question.quiet)

    def ask() -> DrainReport:
        cluster, problems = asyncio.run(read())
        warn_once(problems)
        check_live(cluster, settings.longhorn_namespace)
        return _answer(question, cluster, _LIVE, [*unknown(cluster)])

    return ask


def _answer(
    question: _Question, cluster: Cluster, origin: str, unsure: Sequence[str]
) -> DrainReport:
    for name in question.nodes:
        if name not in cluster.hosts:
            raise InputError(str(unknown_name("Kubernetes Node", name, cluster.hosts)))
    together = situation(cluster, question.nodes, question.means)
    verdicts = list[Verdict]()
    with progress("nodes", len(question.nodes)) as count:
        for name in question.nodes:
            alone = situation(cluster, [name], question.means) if question.next else together
            verdicts.append(judge(name, alone, unsure))
            count(1)
    if question.next:
        return make_next_report(verdicts, cluster, origin)
    return make_report(verdicts, origin)


def _say(found: DrainReport | ApiError) -> None:
    """Say on stderr how it stands, while it is waited for."""
    text = summary(found) if isinstance(found, DrainReport) else f"asked again soon: {found}"
    tell(f"{time.strftime('%H:%M:%S')} ", text)


def _say_nothing(_found: DrainReport | ApiError) -> None:
    pass


def _names(given: Sequence[str]) -> tuple[NodeName, ...]:
    names = [NodeName(node_name(each)) for each in given]
    if not all(names):
        raise InputError("a node without a name is given; give NODE")
    if len({*names}) < len(names):
        raise InputError("a node is named twice; name it once")
    return tuple(names)
