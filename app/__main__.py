"""Entry point of the process: `python -m app` and the console script."""

import io
import sys

from app.cli.commands import run_command


def main() -> None:
    """Run the command line and exit with its status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name or a bar it cannot encode stops nothing
            stream.reconfigure(errors="replace")
    sys.exit(run_command(sys.argv[1:]))


if __name__ == "__main__":
    main()
