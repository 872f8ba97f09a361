"""Lines of a width, for people."""

import os
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from shutil import get_terminal_size
from textwrap import wrap

import typer

ANY_WIDTH = 10**6
_WIDTH = 98
"""Of output that goes to no terminal."""
_DEEPEST = 6
_LEAST_TEXT = 20
_COMMAND = re.compile(r"kubectl get \S.*? > \S+")
"""What is to be copied, and in two lines would be two commands."""
_GLUE = "\0"


def output_width() -> int:
    """Return how many characters go into a line of the output."""
    return get_terminal_size((_WIDTH, 0)).columns if sys.stdout.isatty() else _WIDTH


def error_width() -> int:
    """Return how many characters go into a line on stderr."""
    if not sys.stderr.isatty():
        return ANY_WIDTH
    columns = os.get_terminal_size(sys.stderr.fileno()).columns or _WIDTH
    return get_terminal_size((columns, 0)).columns


def printable(text: str) -> str:
    """Return *text* with a blank for each control character."""
    return "".join(c if c.isprintable() else " " for c in text)


def paragraph(
    start: str, text: str, width: int, *, indent: int | None = None, colour: str | None = None
) -> Iterator[str]:
    """Break a text into lines; names, figures and commands to copy are never broken.

    Args:
        start: What the first line begins with.
        text: The text; control characters become blanks.
        width: Most characters of a line.
        indent: Blanks before the later lines; as many as *start* is long, up to 6, if it is None.
        colour: Of the lines, on a terminal.
    """
    blanks = min(len(start), _DEEPEST) or _DEEPEST if indent is None else indent
    whole = _COMMAND.sub(lambda found: found[0].replace(" ", _GLUE), printable(text))
    for broken in wrap(
        whole,
        max(width, len(start) + _LEAST_TEXT),
        initial_indent=printable(start),
        subsequent_indent=" " * blanks,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        line = broken.replace(_GLUE, " ")
        yield typer.style(line, colour) if colour else line


def table(rows: Sequence[Sequence[str]], *, figures: Collection[int] = ()) -> Iterator[str]:
    """Write rows in columns: texts begin at the left, those of *figures* end at the right."""
    cleaned = [[*map(printable, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cleaned, strict=True)]
    for row in cleaned:
        cells = (
            cell.rjust(width) if number in figures else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
