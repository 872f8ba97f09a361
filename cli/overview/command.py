"""The command `overview`: what each disk has left, and how large a volume may be."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs

from app.errors import InputError
from app.page.now import claims_by_volume, node_now
from cli.drawing import check_writable, draw
from cli.kube.pods import Pod
from cli.kube.view import build_view
from cli.missing import ANSWERED_FROM
from cli.options import (
    Also,
    ClusterFile,
    Context,
    Kubeconfig,
    PrintedWide,
    Quiet,
    WideOutput,
    check_origin,
    load_files,
    load_settings,
    origin_of,
    print_answer,
    warn,
)
from cli.overview.figures import SORTED_BY, Overview, by, overview
from cli.overview.lines import lines
from cli.paragraphs import output_width
from extender import ClusterView, Extender, Ledger
from extender.holds import rebuild
from longhorn import NodeName
from planner.picture import Picture, StepReport


def show_overview(
    cluster_file: ClusterFile = None,
    also: Also = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    sort: Annotated[
        str, typer.Option(help=f"Sort nodes by {', '.join(SORTED_BY)}; the largest first.")
    ] = "name",
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it, as one page for a browser.")
    ] = None,
    output: PrintedWide = WideOutput.TABLE,
    quiet: Quiet = False,  # noqa: FBT002 (a flag)
) -> None:
    """Show what each disk has left, what is held and comes, and how large a volume may be.

    The largest new volume of a StorageClass is the one with which a pod still finds a node, by the
    rules of the extender: with what is held for other pods, and what Longhorn is about to place.
    Of one larger than what fits with all replicas, not each finds a disk.

    Exit status: 0 shown, 2 the input cannot be used, or there is no Longhorn Node.
    """
    if sort not in SORTED_BY:
        raise InputError(f"--sort {sort}: use one of {', '.join(SORTED_BY)}")
    if html is not None:
        check_writable(html)
    settings = load_settings()
    check_origin(cluster_file, kubeconfig, context, also)
    if cluster_file is None:
        from cli.kube import snapshot  # noqa: PLC0415 (it takes long)

        cluster, problems, _ = snapshot.read_cluster(settings, kubeconfig, context)
        warn(problems, quiet=quiet)
    else:
        cluster = load_files(cluster_file, also, ANSWERED_FROM, quiet=quiet)
    view = build_view(cluster)
    extender = Extender(settings.step_limits, settings.reservation_mode, settings.balance)
    pods = [(each.ref, each.status) for each in cluster.of(Pod).values()]
    for hold in rebuild(pods, view, extender.ledger.mode, 0):
        extender.ledger.put(hold)
    utc = datetime.now(UTC) if cluster_file is None else None
    found = overview(view, extender, utc)
    if not found.nodes:
        raise InputError("there is no Longhorn Node, so there is nothing to show")
    found = structs.replace(found, nodes=tuple(by(found.nodes, sort)))
    if html is not None:
        origin = "the live cluster" if cluster_file is None else origin_of(cluster_file, also)
        draw(_picture(found, origin, view, extender.ledger), html)
    shown = lines(found, width=output_width(), wide=output is WideOutput.WIDE)
    print_answer(found, output, shown)


def _picture(found: Overview, origin: str, view: ClusterView, ledger: Ledger) -> Picture:
    """Return the nodes as the page draws them."""
    claims = claims_by_volume(view.claims.values(), view)
    nodes = tuple(
        node_now(view.spaces[NodeName(each.name)], view, ledger, claims) for each in found.nodes
    )
    now = StepReport(title="now", nodes=nodes)
    return Picture(origin=origin, notes=found.notes, steps=(now,))
