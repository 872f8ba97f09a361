"""How much the tests do: enough to be sure, or as much as the report is to show."""

import os

import pytest

REPORT_VARIABLE = "E2E_REPORT"
"""Names a folder for the report; without it none is written."""


def is_for_report() -> bool:
    return bool(os.environ.get(REPORT_VARIABLE))


def runs(least: int, *, report: int) -> int:
    """Return how often a case is run: *least* times to be sure, *report* times for the report."""
    return report if is_for_report() else least


FOR_REPORT = pytest.mark.skipif(not is_for_report(), reason="for the report: it only shows figures")
