"""Entry point of the process: `python -m cli` and the console script."""

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

# structlog and Typer load Rich where it is installed, and nothing of ours is printed by it: without
# it a process starts sooner and needs less memory.
sys.modules.setdefault("rich", None)  # type: ignore[arg-type]

from cli.running import BAD_INPUT, run_command  # noqa: E402

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Output(io.FileIO):
    """Takes for written what nobody reads any more: who closes a pipe has read enough.

    Whether that happens before or after the last line is left to chance, so it is no part of the
    answer.
    """

    def write(self, data: "ReadableBuffer") -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def main() -> None:
    """Run the command line and exit with its status."""
    if sys.stderr is None:  # closed, as by 2>&-
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", errors="replace")
    if sys.stdout is None:
        sys.stderr.write("error: the output cannot be written: it is closed\n")
        sys.exit(BAD_INPUT)
    sys.stdout, sys.stderr = _lenient(sys.stdout), _lenient(sys.stderr)
    sys.exit(run_command(sys.argv[1:]))


def _lenient(stream: TextIO) -> TextIO:
    """Return the same stream, which neither its reader nor what it cannot encode stops."""
    if not isinstance(stream, io.TextIOWrapper) or stream not in (sys.__stdout__, sys.__stderr__):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
    )


if __name__ == "__main__":
    main()
