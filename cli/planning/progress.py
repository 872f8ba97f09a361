"""How far a plan is, on a terminal, once it takes long."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

import typer

_LONG_SECONDS = 2.0


@contextmanager
def progress(
    total: int, stream: TextIO, clock: Callable[[], float], *, is_wished: bool
) -> Iterator[Callable[[int], None]]:
    """Show a bar, if *stream* is a terminal; it is gone when the plan is done.

    Args:
        total: How many pods will be asked about, at most.
        stream: Where to show it.
        clock: Returns seconds, of whatever beginning.
        is_wished: Whether it may be shown.

    Yields:
        What to call with the number of pods that were asked about since the last call.
    """
    if not (is_wished and stream.isatty()):
        yield lambda _: None
        return
    begin, done, shown = clock(), 0, 0
    bar = typer.progressbar(length=total, label="pods", show_eta=False, show_pos=True, file=stream)

    def count(pods: int) -> None:
        nonlocal done, shown
        done += pods
        if clock() - begin >= _LONG_SECONDS:
            # Pods that get no node are asked about again, and count once.
            bar.update(min(done, total) - shown)
            shown = min(done, total)

    try:
        yield count
    finally:
        if shown:
            stream.write("\r\033[K\033[?25h")
            stream.flush()
