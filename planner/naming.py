"""The order of names, and how many of them are told."""

import re
from collections.abc import Sequence

_NUMBER = re.compile("([0-9]+)")
_Part = tuple[str, int, str]
"""Text, and the digits after it: how many, and which."""


def natural(name: str) -> tuple[tuple[_Part, ...], str]:
    """Return a key that sorts numbers in names by their value: web-2 comes before web-10."""
    texts, numbers = _NUMBER.split(name)[::2], _NUMBER.findall(name)
    digits = [*(number.lstrip("0") for number in numbers), ""]
    parts = ((text, len(each), each) for text, each in zip(texts, digits, strict=True))
    # The name itself decides between web-1 and web-01.
    return tuple(parts), name


def counted(number: int, noun: str) -> str:
    """Write a number before its noun, which takes an s in the plural."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def first_of(names: Sequence[str], most: int) -> str:
    """Write the first names, and how many more there are than *most*."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
