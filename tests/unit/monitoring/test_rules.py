"""Every alert says what it is about and leads to its runbook."""

import re
from pathlib import Path

import pytest

from monitoring.rules import ALERTS, Alert, prometheus_rule
from tests.unit.manifests.rendered import ROOT

RUNBOOKS = (ROOT / "docs" / "runbooks.md").read_text(encoding="utf-8")
HEADINGS = ("What it means", "What users notice", "How to find the cause", "What to do")
EVERY_ALERT = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)


def page(alert: Alert) -> str:
    """Return the chapter that the alert's address names."""
    title = alert.runbook.replace("-", " ").capitalize()
    return RUNBOOKS.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@EVERY_ALERT
def test_an_alert_has_a_runbook(alert: Alert) -> None:
    assert f"Alert `{alert.alert}`." in page(alert)
    assert tuple(re.findall(r"^\*\*(.*)\*\*$", page(alert), flags=re.MULTILINE)) == HEADINGS


@EVERY_ALERT
def test_a_runbook_tells_the_severity_and_the_duration(alert: Alert) -> None:
    lasts = "at once" if alert.lasts == "0m" else f"after {alert.lasts}"

    assert f"Severity: {alert.severity}. Fires {lasts}." in page(alert)


@EVERY_ALERT
def test_a_runbook_says_how_to_look(alert: Alert) -> None:
    assert "```" in page(alert).partition(f"**{HEADINGS[2]}**")[2].partition("\n**")[0]


def test_there_is_no_runbook_without_an_alert() -> None:
    titles = re.findall(r"^## (.*)$", RUNBOOKS, flags=re.MULTILINE)

    assert [title.lower().replace(" ", "-") for title in titles] == [
        alert.runbook for alert in ALERTS
    ]


def test_names_are_unique() -> None:
    assert len({alert.alert for alert in ALERTS}) == len(ALERTS)


@EVERY_ALERT
def test_the_summary_and_the_description_are_sentences(alert: Alert) -> None:
    assert alert.summary.endswith(".")
    assert alert.description.endswith(".")
    assert "{{" not in alert.summary  # it is the same for all series


@EVERY_ALERT
def test_the_description_names_the_namespace(alert: Alert) -> None:
    assert "$labels.namespace" in alert.description or alert.name == "Absent"


def test_the_rule_leads_to_runbooks_in_the_repository() -> None:
    links = urls(prometheus_rule())

    assert links == [f"docs/runbooks.md#{alert.runbook}" for alert in ALERTS]


def test_the_place_of_the_runbooks_can_be_named() -> None:
    links = urls(prometheus_rule("https://docs.test/runbooks.html#{}"))

    assert "https://docs.test/runbooks.html#no-leader" in links


def urls(rule: dict[str, object]) -> list[str]:
    text = str(rule)
    return re.findall(r"'runbook_url': '([^']*)'", text)


def test_the_table_of_the_documentation_lists_every_alert() -> None:
    text = Path(ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\w+)\]\(runbooks\.md#([\w-]+)\) \| (\w+) \|", text, re.MULTILINE)

    assert rows == [(alert.name, alert.runbook, alert.severity) for alert in ALERTS]
