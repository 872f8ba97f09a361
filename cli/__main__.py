"""Entry point of the process: `python -m cli` and the console script."""

import io
import os
import sys

from cli.commands import BAD_INPUT, run_command


def main() -> None:
    """Run the command line and exit with its status."""
    if sys.stderr is None:  # closed, as by 2>&-
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None:
        sys.stderr.write("error: the output cannot be written: it is closed\n")
        sys.exit(BAD_INPUT)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name or a bar it cannot encode stops nothing
            stream.reconfigure(errors="replace")
    sys.exit(run_command(sys.argv[1:]))


if __name__ == "__main__":
    main()
