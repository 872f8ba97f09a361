"""The command `claims`: what each claim of Longhorn has, offline as well."""

from typing import Annotated

import typer

from app.errors import InputError
from cli.claims.figures import SORTED_BY, Claims, by, claim_figures
from cli.claims.lines import lines
from cli.explaining.reading import read_explainer
from cli.kube.pods import Pod
from cli.missing import ANSWERED_FROM
from cli.options import (
    PrintedWide,
    Where,
    WideOutput,
    command_of,
    load_settings,
    print_answer,
    warner,
)
from cli.paragraphs import output_width


class _Options(Where, frozen=True, kw_only=True):
    """What is given to the command."""

    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAME",
            show_default=False,
            help="Only claims of this namespace. Default: of all.",
        ),
    ] = None
    sort: Annotated[
        str, typer.Option(help=f"Sort by {', '.join(SORTED_BY)}; the largest first.")
    ] = "name"
    output: PrintedWide = WideOutput.TABLE


@command_of(_Options)
def show_claims(given: _Options) -> None:
    """Show the claims of Longhorn: size, what is written, replicas, and where they are attached.

    What is written is what each replica holds, with all snapshots. Of a claim without a volume it
    says what that waits for.

    Exit status: 0 shown, 2 the input cannot be used, or there is no Longhorn Node.
    """
    if given.sort not in SORTED_BY:
        raise InputError(f"--sort {given.sort}: use one of {', '.join(SORTED_BY)}")
    warn = warner(quiet=given.quiet)
    explainer = read_explainer(given, load_settings(), ANSWERED_FROM, warn)
    pods = explainer.cluster.of(Pod).values()
    found = by(claim_figures(explainer.view, pods, given.namespace), given.sort)
    shown = lines(found, output_width(), wide=given.output is WideOutput.WIDE)
    print_answer(Claims(claims=found), given.output, shown)
