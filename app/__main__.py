"""Entry point of the process: `python -m app` and the console script."""

import sys

from app.cli import run_command


def main() -> None:
    """Run the command line and exit with its status."""
    sys.exit(run_command(sys.argv[1:]))


if __name__ == "__main__":
    main()
