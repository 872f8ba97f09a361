"""The alerts, as they are written in the PrometheusRule of the chart."""

import re
from pathlib import Path
from typing import Any, Literal

import msgspec

RULE_FILE = (
    Path(__file__).parents[1]
    / "charts"
    / "longhorn-scheduler-extender"
    / "files"
    / "prometheusrule.yaml"
)
RUNBOOKS = "docs/runbooks.md#{}"
"""A chapter of the runbooks: in this repository, unless the documentation is published."""
_NAME_PREFIX = "LonghornSchedulerExtender"


class Labels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What Prometheus adds to the labels of the series."""

    severity: Literal["critical", "warning", "info"]


class Annotations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What people read; the description is about the series at hand."""

    summary: str
    description: str
    runbook_url: str


class Alert(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One alert; what it means and what to do is in its runbook."""

    alert: str
    expr: str
    labels: Labels
    annotations: Annotations
    lasts: str = msgspec.field(name="for")
    """How long it must be so, as Prometheus writes durations."""

    @property
    def name(self) -> str:
        """Its name without the prefix that all share."""
        return self.alert.removeprefix(_NAME_PREFIX)

    @property
    def runbook(self) -> str:
        """The name of its runbook."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", self.name).lower()


class _Group(msgspec.Struct, frozen=True):
    name: str
    rules: tuple[Alert, ...]


class _Spec(msgspec.Struct, frozen=True):
    groups: tuple[_Group]


class _PrometheusRule(msgspec.Struct, frozen=True):
    spec: _Spec


_GROUP = msgspec.yaml.decode(RULE_FILE.read_bytes(), type=_PrometheusRule).spec.groups[0]
ALERTS = _GROUP.rules


def rule_groups(alerts: tuple[Alert, ...]) -> dict[str, Any]:
    """Return alerts as a file of rules for Prometheus."""
    return {"groups": [msgspec.to_builtins(_Group(_GROUP.name, alerts))]}


def with_runbooks(rule: str, runbooks: str) -> str:
    """Return the text of the PrometheusRule with other links; {} stands for a runbook's name."""
    for alert in ALERTS:
        link = f"runbook_url: {alert.annotations.runbook_url}\n"
        rule = rule.replace(link, f"runbook_url: {runbooks.format(alert.runbook)}\n")
    return rule
