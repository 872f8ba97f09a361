"""Work that gives way: a generator that yields after each piece, and returns what was found.

Between two pieces the cluster may change. So a figure may rest on several moments, some
milliseconds or seconds apart.
"""

from collections.abc import Generator
from typing import TypeVar

Found = TypeVar("Found")
Pieces = Generator[None, None, Found]


def finish(pieces: Pieces[Found]) -> Found:
    """Do all of it at once, and return what was found."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            found: Found = end.value
            return found
