"""The findings as a person or a program reads them."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from cli.catalogue import Severity
from cli.doctor.problems import Check
from cli.findings import Finding, count_line, finding_lines

_SEVERITIES = (Severity.OK, Severity.WARNING, Severity.ERROR, Severity.UNKNOWN)
_CHECK_WIDTH = max(map(len, Check))


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What `doctor -o json` prints."""

    findings: Sequence[Finding]
    counts: dict[Severity, int]


def make_report(found: Sequence[Finding]) -> Report:
    """Put the findings together with how many there are of each severity."""
    counts = Counter(finding.severity for finding in found)
    return Report(findings=found, counts={severity: counts[severity] for severity in _SEVERITIES})


def table_lines(report: Report, width: int) -> Iterator[str]:
    """Write the counts, a line for each finding, and what to do below it."""
    yield count_line(report.findings)
    yield from finding_lines(report.findings, width, checks=_CHECK_WIDTH)
