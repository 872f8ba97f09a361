"""The findings as a person or a program reads them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import wrap

import msgspec
import typer

from cli.catalogue import Severity
from cli.doctor.problems import Check, Finding

_COLOURS = {
    Severity.OK: "green",
    Severity.WARNING: "yellow",
    Severity.ERROR: "red",
    Severity.UNKNOWN: "cyan",
}
_SEVERITY_WIDTH = max(len(severity) for severity in Severity)
_CHECK_WIDTH = max(len(check) for check in Check)
_INDENT = " " * (_SEVERITY_WIDTH + _CHECK_WIDTH + 4)
_LEAST_TEXT = 20
_ARROW = "-> "


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What `doctor -o json` prints."""

    findings: Sequence[Finding]
    counts: dict[Severity, int]


def make_report(found: Sequence[Finding]) -> Report:
    """Put the findings together with how many there are of each severity."""
    counts = Counter(finding.severity for finding in found)
    return Report(findings=found, counts={severity: counts[severity] for severity in _COLOURS})


def table_lines(report: Report, width: int) -> Iterator[str]:
    """Write the counts, a line for each finding, and what to do below it."""
    text_width = max(width - len(_INDENT), _LEAST_TEXT)
    yield ", ".join(f"{count} {severity}" for severity, count in report.counts.items() if count)
    for finding in report.findings:
        first, *rest = _wrapped(finding.text, "", text_width)
        severity = typer.style(f"{finding.severity:{_SEVERITY_WIDTH}}", _COLOURS[finding.severity])
        yield f"{severity}  {finding.check:{_CHECK_WIDTH}}  {first}"
        for line in (*rest, *_wrapped(finding.remedy, _ARROW, text_width)):
            yield f"{_INDENT}{line}"


def _wrapped(text: str, start: str, width: int) -> list[str]:
    """Break *text* into lines; *start* goes before the first, and as much space before others."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return wrap(
        " ".join(printable.split()),
        width,
        initial_indent=start if text else "",
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
