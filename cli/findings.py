"""What a command finds, and how it is printed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from cli.catalogue import Severity
from cli.paragraphs import paragraph
from planner.naming import first_of

_COLOURS: Mapping[Severity, str | None] = {
    Severity.ERROR: "red",
    Severity.WARNING: "yellow",
    Severity.INFO: None,
    Severity.OK: "green",
    Severity.UNKNOWN: "cyan",
}
_GAP = 2
_SEVERITY_WIDTH = max(map(len, Severity)) + _GAP
_MOST_NAMED = 5
MOST_REMEDIES = 3


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is found."""

    check: str = ""
    """What `doctor` looked at."""
    severity: Severity
    code: str = ""
    """Its name in the documentation; empty if all is well, or it could not be seen."""
    text: str
    objects: Sequence[str] = ()
    """What it is about, all of them, where the text does not name them."""
    remedies: Sequence[str] = ()
    """What to do, from the least to the most costly."""


def count_line(found: Sequence[Finding]) -> str:
    """Say how many findings there are of each severity."""
    counts = Counter(each.severity for each in found)
    return ", ".join(
        f"{count} {severity}{'s' * (count > 1 and severity in _PLURALS)}"
        for severity in Severity
        if (count := counts[severity])
    )


_PLURALS = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def finding_lines(
    found: Sequence[Finding], width: int, *, checks: int = 0, show_all: bool = False
) -> Iterator[str]:
    """Write each finding, with what to do below it.

    Args:
        found: In their order.
        width: Most characters of a line.
        checks: How wide the column is of what was looked at; 0 if there is none.
        show_all: Name every object, and every remedy.
    """
    indent = _SEVERITY_WIDTH + (checks + _GAP if checks else 0)
    for each in found:
        start = f"{each.severity:{_SEVERITY_WIDTH}}"
        start += f"{each.check:{checks + _GAP}}" if checks else ""
        colour = _COLOURS[each.severity]
        yield from paragraph(start, each.text, width, indent=indent, colour=colour)
        if not all(name in each.text for name in each.objects):
            names = first_of(each.objects, len(each.objects) if show_all else _MOST_NAMED)
            yield from paragraph(" " * indent, names, width, indent=indent)
        remedies = each.remedies if show_all else each.remedies[:MOST_REMEDIES]
        for remedy in remedies:
            yield from paragraph(" " * indent + "-> ", remedy, width, indent=indent + 3)
