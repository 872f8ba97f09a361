"""Writes a configuration as lines of YAML, with comments that say why."""

import json
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

import yaml

_WIDTH = 100


def lines_of(
    fields: Mapping[str, Any], reasons: Mapping[str, str], indent: int = 0
) -> Iterator[str]:
    """Write a mapping as lines of YAML, each field with its reason above it."""
    for name, value in fields.items():
        yield from _field(name, value, reasons, indent, " " * indent)


def entry_lines(entry: Mapping[str, Any], reasons: Mapping[str, str], indent: int) -> Iterator[str]:
    """Write one item of a list: the first field's reason stands above the dash."""
    (name, value), *rest = entry.items()
    yield from _field(name, value, reasons, indent, f"{' ' * indent}- ")
    yield from lines_of(dict(rest), reasons, indent + 2)


def _field(
    name: str, value: object, reasons: Mapping[str, str], indent: int, start: str
) -> Iterator[str]:
    edge = f"{' ' * indent}# "
    yield from wrap(
        reasons.get(name, ""),
        _WIDTH,
        initial_indent=edge,
        subsequent_indent=edge,
        break_on_hyphens=False,
    )
    match value:
        case dict():
            yield f"{start}{name}:"
            yield from lines_of(value, reasons, len(start) + 2)
        case list():
            yield f"{start}{name}:"
            for item in value:
                yield from entry_lines(item, reasons, len(start) + 2)
        case _:
            yield f"{start}{name}: {_scalar(value)}"


def _scalar(value: object) -> str:
    """Write a value without quotes where YAML reads the same back."""
    quoted = json.dumps(value)
    if not isinstance(value, str):
        return quoted
    try:
        is_plain = yaml.safe_load(f"a: {value}") == {"a": value}
    except yaml.YAMLError:
        is_plain = False
    return value if is_plain else quoted
