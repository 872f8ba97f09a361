"""Every alert says what it is about and leads to its runbook."""

import re

import pytest

from monitoring.rules import ALERTS, RULE_FILE, Alert, with_runbooks
from monitoring.series import AHEAD_DAYS, FILTER_SECONDS_LIMIT
from tests.unit.manifests.rendered import ROOT

RUNBOOKS = (ROOT / "docs" / "runbooks.md").read_text(encoding="utf-8")
HEADINGS = ("What it means", "What users notice", "How to find the cause", "What to do")
EVERY_ALERT = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)


def page(alert: Alert) -> str:
    """Return the chapter that the alert's address names."""
    title = alert.runbook.replace("-", " ").capitalize()
    return RUNBOOKS.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@EVERY_ALERT
def test_an_alert_has_a_runbook(alert):
    assert f"Alert `{alert.alert}`." in page(alert)
    assert tuple(re.findall(r"^\*\*(.*)\*\*$", page(alert), flags=re.MULTILINE)) == HEADINGS


@EVERY_ALERT
def test_a_runbook_tells_the_severity_and_the_duration(alert):
    lasts = "at once" if alert.lasts == "0m" else f"after {alert.lasts}"

    assert f"Severity: {alert.labels.severity}. Fires {lasts}." in page(alert)


@EVERY_ALERT
def test_a_runbook_says_how_to_look(alert):
    assert "```" in page(alert).partition(f"**{HEADINGS[2]}**")[2].partition("\n**")[0]


def test_there_is_no_runbook_without_an_alert():
    titles = re.findall(r"^## (.*)$", RUNBOOKS, flags=re.MULTILINE)

    assert [title.lower().replace(" ", "-") for title in titles] == [
        alert.runbook for alert in ALERTS
    ]


def test_names_are_unique_and_ours():
    assert all(alert.alert == f"LonghornSchedulerExtender{alert.name}" for alert in ALERTS)
    assert len({alert.alert for alert in ALERTS}) == len(ALERTS)


@EVERY_ALERT
def test_the_summary_and_the_description_are_sentences(alert):
    assert alert.annotations.summary.endswith(".")
    assert alert.annotations.description.endswith(".")
    assert "{{" not in alert.annotations.summary  # it is the same for all series


@EVERY_ALERT
def test_the_description_names_the_namespace(alert):
    assert "$labels.namespace" in alert.annotations.description or alert.name == "Absent"


@EVERY_ALERT
def test_an_alert_leads_to_its_runbook_in_the_repository(alert):
    assert alert.annotations.runbook_url == f"docs/runbooks.md#{alert.runbook}"


def test_the_place_of_the_runbooks_can_be_named():
    written = with_runbooks(RULE_FILE.read_text("utf-8"), "https://docs.test/runbooks.html#{}")

    assert re.findall(r"runbook_url: (.*)", written) == [
        f"https://docs.test/runbooks.html#{alert.runbook}" for alert in ALERTS
    ]


@pytest.mark.parametrize(
    ("name", "expr", "said"),
    [
        ("EventLoopLag", 'le="0.5"', "0.5 s"),
        ("FilterSlow", f"> {FILTER_SECONDS_LIMIT:g}", f"{FILTER_SECONDS_LIMIT:g} s"),
        ("DiskFullSoon", f"{AHEAD_DAYS} * 86400", f"in {AHEAD_DAYS} days"),
    ],
)
def test_a_limit_is_the_same_wherever_it_is_said(name, expr, said):
    [alert] = [alert for alert in ALERTS if alert.name == name]

    assert expr in alert.expr
    assert said in alert.annotations.description


def test_the_table_of_the_runbooks_lists_every_alert():
    rows = re.findall(r"^\| \[(\w+)\]\(#([\w-]+)\) \| (\w+) \|", RUNBOOKS, re.MULTILINE)

    assert rows == [(alert.name, alert.runbook, alert.labels.severity) for alert in ALERTS]
