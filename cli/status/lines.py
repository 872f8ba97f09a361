"""What `status` prints for people."""

from collections.abc import Iterator

import typer

from cli.catalogue import Severity
from cli.findings import finding_lines
from cli.paragraphs import paragraph
from cli.status.status import Status

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.UNKNOWN: "cyan"}


def lines(found: Status, width: int, *, show_all: bool = False) -> Iterator[str]:
    """Write the verdict, and a line for each part, with what says more below it."""
    yield typer.style(found.answer, _COLOURS.get(found.worst, "green"))
    checks = max(len(each.check) for each in found.lines)
    yield from finding_lines(found.lines, width, checks=checks, show_all=show_all)
    for note in found.notes:
        yield from paragraph("note: ", note, width)
