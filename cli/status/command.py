"""The command `status`: how the storage of a cluster is, on one screen, offline as well."""

from typing import Annotated

import typer

from app.settings import Settings
from cli.catalogue import Severity
from cli.explaining.answering import NOBODY_MISSING, look
from cli.explaining.reading import read_explainer
from cli.missing import ASKED_FROM
from cli.options import (
    Output,
    Printed,
    Warn,
    check_origin,
    command_of,
    load_settings,
    warner,
    written_answer,
)
from cli.paragraphs import output_width
from cli.status.lines import lines
from cli.status.status import status_of
from cli.watching import Answer, Watched, print_answers

_NO_ERROR, _ERRORS = 0, 1


class _Options(Watched, frozen=True, kw_only=True):
    """What is given to the command."""

    output: Printed = Output.TABLE
    show_all: Annotated[bool, typer.Option("--all", help="Name every object.")] = False


@command_of(_Options)
def show_status(given: _Options) -> None:
    """Show on one screen how all is: extender, nodes, disks, volumes, pods, what is under way.

    It says what `survey`, `overview` and `filter` find, and which of them says more. Whether the
    extender leads is known of a live cluster alone; that it is not installed is no error.

    Exit status: 0 no error (there may be warnings), 1 some error, 2 the input cannot be used.
    """
    settings, warn = load_settings(), warner(quiet=given.quiet)
    check_origin(given.cluster_file, given.kubeconfig, given.context, given.also)
    print_answers(lambda: _answer(given, settings, warn), given, given.output)


def _answer(given: _Options, settings: Settings, warn: Warn) -> Answer:
    is_live = given.cluster_file is None
    seen = look(settings, given.kubeconfig, given.context) if is_live else None
    answering = NOBODY_MISSING if seen is None else seen.answering
    explainer = read_explainer(given, settings, ASKED_FROM, warn, answering)
    found = status_of(explainer, seen)
    shown = lines(found, output_width(), show_all=given.show_all)
    status = _ERRORS if found.worst is Severity.ERROR else _NO_ERROR
    return Answer(text=written_answer(found, given.output, shown), status=status)
