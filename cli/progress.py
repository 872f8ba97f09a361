"""How far something is, on a terminal, once it takes long."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TextIO

import typer

_LONG_SECONDS = 2.0


class Screen(NamedTuple):
    """Where it is shown."""

    stream: TextIO
    clock: Callable[[], float]
    """Returns seconds, of whatever beginning."""


SCREEN: ContextVar[Screen | None] = ContextVar("SCREEN", default=None)
"""That of the command that runs; None if it shall show nothing."""


@contextmanager
def progress(label: str, total: int, *, counts: bool = True) -> Iterator[Callable[[int], None]]:
    """Show a bar, if the screen is a terminal; it is gone when all is done.

    Args:
        label: What is counted.
        total: How many there will be, at most.
        counts: Show how many there are, and not their share.

    Yields:
        What to call with how many there were since the last call.
    """
    screen = SCREEN.get()
    if screen is None or not screen.stream.isatty():
        yield lambda _: None
        return
    stream, clock = screen
    begin, done, shown = clock(), 0, 0
    bar = typer.progressbar(
        length=total,
        label=label,
        show_eta=False,
        show_pos=counts,
        show_percent=not counts,
        file=stream,
    )

    def count(number: int) -> None:
        nonlocal done, shown
        done += number
        if clock() - begin >= _LONG_SECONDS:
            # What is done again counts once, as pods that get no node are asked about again.
            bar.update(min(done, total) - shown)
            shown = min(done, total)

    try:
        yield count
    finally:
        if shown:
            stream.write("\r\033[K\033[?25h")
            stream.flush()
