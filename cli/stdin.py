"""What comes in on stdin, in place of a file."""

import sys
from pathlib import Path

from app.errors import InputError

INPUT = Path("-")
"""Stands for stdin wherever a file is taken."""


def name_of(path: Path) -> str:
    """Name a file as texts for people have it."""
    return "the input" if path == INPUT else str(path)


def read_input(limit_bytes: int) -> bytes:
    """Read stdin, which can be done once: it is closed then.

    Returns:
        All of it, or one byte more than the limit.

    Raises:
        InputError: It is closed, or cannot be read.
    """
    if sys.stdin is None:
        raise InputError("the input is closed; name a file")
    if sys.stdin.closed:
        raise InputError("- is given twice, and stdin can be read once; name a file for the other")
    try:
        with sys.stdin as given:
            return given.buffer.read(limit_bytes + 1)
    except OSError as error:
        raise InputError(f"the input cannot be read: {error.strerror}") from error
