"""What a report looks like."""

import re

import pytest

from cli.catalogue import Severity
from cli.doctor.problems import Check
from cli.doctor.report import make_report, table_lines
from cli.doctor.seen import wrong
from cli.findings import Finding

INDENT = " " * 26
FINE = Finding(check=Check.LEASE, severity=Severity.OK, text="pod a holds it")


def plain(lines: list[str]) -> list[str]:
    """Take the colours off."""
    return [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]


def test_a_finding_is_a_line_and_what_to_do_below_it():
    found = [FINE, wrong("lease-free", "nobody holds it")]

    lines = plain([*table_lines(make_report(found), 98)])

    assert lines == [
        "1 error, 1 ok",
        "ok       lease            pod a holds it",
        "error    lease            nobody holds it",
        f"{INDENT}-> see why no instance wants to lead: their /readyz, and the other",
        f"{INDENT}   findings of this run",
    ]


@pytest.mark.parametrize("width", [60, 98])
def test_lines_are_as_long_as_the_output_is_wide_unless_a_word_is_longer(width):
    texts = ["word " * 60, "x" * 200, "in-between " * 20]

    for text in texts:
        lines = plain([*table_lines(make_report([wrong("no-instance", text)]), width)])
        assert all(len(line) <= width or "x" * 200 in line for line in lines)


def test_text_of_the_cluster_cannot_break_the_table():
    found = [wrong("instance-not-ready", "pod a is not ready: line one\nok  lease\r\x1b[2J")]

    [_, line, *_] = plain([*table_lines(make_report(found), 98)])

    assert line == "warning  instances        pod a is not ready: line one ok  lease  [2J"
