"""The command `overview`: what each disk has left, and how large a volume may be."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs

from app.errors import InputError
from app.page.now import claims_by_volume, node_now
from cli.drawing import check_writable, draw
from cli.explaining.explainer import Explainer
from cli.explaining.reading import read_explainer
from cli.missing import ANSWERED_FROM
from cli.options import (
    PrintedWide,
    WideOutput,
    command_of,
    load_settings,
    origin_of,
    warner,
    written_answer,
)
from cli.overview.figures import SORTED_BY, Overview, by, overview
from cli.overview.lines import lines
from cli.paragraphs import output_width
from cli.watching import Answer, Watched, print_answers
from extender import ClusterView, Ledger
from longhorn import NodeName
from planner.picture import Picture, StepReport

_SHOWN = 0


class _Options(Watched, frozen=True, kw_only=True):
    """What is given to the command."""

    sort: Annotated[
        str, typer.Option(help=f"Sort nodes by {', '.join(SORTED_BY)}; the largest first.")
    ] = "name"
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it, as one page for a browser.")
    ] = None
    output: PrintedWide = WideOutput.TABLE


@command_of(_Options)
def show_overview(given: _Options) -> None:
    """Show what each disk has left, what is held and comes, and how large a volume may be.

    The largest new volume of a StorageClass is the one with which a pod still finds a node, by the
    rules of the extender: with what is held for other pods, and what Longhorn is about to place.
    Of one larger than what fits with all replicas, not each finds a disk.

    Exit status: 0 shown, 2 the input cannot be used, or there is no Longhorn Node.
    """
    if given.sort not in SORTED_BY:
        raise InputError(f"--sort {given.sort}: use one of {', '.join(SORTED_BY)}")
    if given.html is not None:
        check_writable(given.html)
    settings, warn = load_settings(), warner(quiet=given.quiet)
    print_answers(
        lambda: _answer(read_explainer(given, settings, ANSWERED_FROM, warn), given),
        given,
        given.output,
    )


def _answer(explainer: Explainer, given: _Options) -> Answer:
    view, extender = explainer.view, explainer.extender
    found = overview(view, extender, explainer.utc)
    found = structs.replace(found, nodes=tuple(by(found.nodes, given.sort)))
    if given.html is not None:
        files = given.cluster_file
        origin = "the live cluster" if files is None else origin_of(files, given.also)
        draw(_picture(found, origin, view, extender.ledger), given.html)
    shown = lines(found, width=output_width(), wide=given.output is WideOutput.WIDE)
    return Answer(text=written_answer(found, given.output, shown), status=_SHOWN)


def _picture(found: Overview, origin: str, view: ClusterView, ledger: Ledger) -> Picture:
    """Return the nodes as the page draws them."""
    claims = claims_by_volume(view.claims.values(), view)
    nodes = tuple(
        node_now(view.spaces[NodeName(each.name)], view, ledger, claims) for each in found.nodes
    )
    now = StepReport(title="now", nodes=nodes)
    return Picture(origin=origin, notes=found.notes, steps=(now,))
