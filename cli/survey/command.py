"""The command `survey`: what is at risk, offline as well."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.catalogue import Severity
from cli.explaining.reading import read_explainer
from cli.findings import Finding
from cli.missing import ANSWERED_FROM
from cli.options import Where, command_of, load_settings, output_option, print_answer, warner
from cli.paragraphs import output_width
from cli.remedies.relief import relief
from cli.survey.found import Helps
from cli.survey.ignoring import read_ignored, without
from cli.survey.junit import junit_lines
from cli.survey.lines import lines
from cli.survey.survey import survey_of
from cli.volumes.command import what_helps

_FINE, _FAILS = 0, 1


class FailOn(StrEnum):
    """From which severity on a finding makes the exit status 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


class SurveyOutput(StrEnum):
    """How the answer is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    JUNIT = "junit"


class _Options(Where, frozen=True, kw_only=True):
    """What is given to the command."""

    fail_on: Annotated[
        FailOn,
        typer.Option(
            metavar="|".join(FailOn), help="How bad a finding is that makes the exit status 1."
        ),
    ] = FailOn.ERROR
    ignore: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Leave out what is known: a code, or a code and an object, in each line, with * "
            "for any characters; # begins a comment.",
        ),
    ] = None
    output: Annotated[SurveyOutput, output_option(SurveyOutput)] = SurveyOutput.TABLE
    show_all: Annotated[bool, typer.Option("--all", help="Name every object.")] = False


@command_of(_Options)
def show_survey(given: _Options) -> None:
    """Find what is at risk: volumes, nodes that may not be lost, disks that fill up, classes.

    It looks at objects alone, so it works on files and on a support bundle. What it finds has a
    remedy each; `doctor` checks the installation of the extender instead.

    Exit status: 0 no error (there may be warnings), 1 some error, 2 the input cannot be used.
    With --fail-on, 1 stands for some finding as bad as that.
    """
    ignored = read_ignored(given.ignore) if given.ignore is not None else []
    warn = warner(quiet=given.quiet)
    explainer = read_explainer(given, load_settings(), ANSWERED_FROM, warn)
    helps = Helps(
        volume=lambda name: what_helps(name, explainer),
        disk=lambda node, disk: [each.text for each in relief(node, disk, explainer.builder)],
    )
    found, idle = without(survey_of(explainer, helps), ignored)
    warn(idle)
    if given.output is SurveyOutput.JUNIT:
        shown = junit_lines(found, lambda each: _fails(each, given.fail_on))
    else:
        shown = lines(found, output_width(), show_all=given.show_all)
    print_answer(found, given.output, shown)
    raise typer.Exit(_FAILS if any(_fails(e, given.fail_on) for e in found.findings) else _FINE)


def _fails(each: Finding, least: FailOn) -> bool:
    order = [*Severity]
    return least is not FailOn.NEVER and order.index(each.severity) <= order.index(Severity(least))
