"""The alerts, as a table, and the PrometheusRule they make.

An expression keeps the namespace, so that each installation alerts for itself. Instances that are
scraped by two jobs count once. A single event never alerts if something normal may cause it,
such as a hand-over: the window is then shorter than the time for which it must last.
"""

import re
from typing import Any, Literal

import msgspec

from monitoring.series import (
    AHEAD_DAYS,
    CONTROLLER_JOB,
    CONTROLLER_PREFIX,
    FILTER_SECONDS_LIMIT,
    JOB,
    LAG_SECONDS_LIMIT,
    LEAST_VOLUME_BYTES,
    LONGHORN_DISKS,
    PREFIX,
    RAN_OUT,
)

RUNBOOKS = "docs/runbooks.md#{}"
"""A chapter of the runbooks: in this repository, unless the documentation is published."""
LIMIT = "LIMIT"
"""Placeholder in an expression for the limit of its alert."""
_NAME_PREFIX = "LonghornSchedulerExtender"


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One alert; what it means and what to do is in its runbook."""

    name: str
    """Without the prefix that all share."""
    severity: Literal["critical", "warning", "info"]
    """critical: pods wait now. warning: they will, or some do. info: nothing is lost yet."""
    expr: str
    limit_seconds: float = 0
    """A time that must be exceeded; in *expr* it is `LIMIT`."""
    lasts: str
    """How long it must be so, as Prometheus writes durations."""
    summary: str
    description: str
    """What it says about the series at hand, in Prometheus's templates."""

    @property
    def alert(self) -> str:
        """Its name in Prometheus."""
        return _NAME_PREFIX + self.name

    @property
    def runbook(self) -> str:
        """The name of its runbook."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", self.name).lower()

    @property
    def promql(self) -> str:
        """The expression that is evaluated."""
        return self.expr.replace(LIMIT, f"{self.limit_seconds:g}")


def _increase(metric: str, selector: str, window: str, by: str = "namespace") -> str:
    return f"sum by ({by}) (increase({PREFIX}{metric}{{{selector}}}[{window}]))"


_HEARTBEATS = f"max by (namespace, pod) ({PREFIX}heartbeat)"
_CONFLICTS = _increase("disk_schedule_passes_total", 'outcome="conflict"', "15m")
_WRITTEN = _increase("disk_schedule_passes_total", 'outcome="written"', "15m")
_BY_DISK = "max by (namespace, node, disk)"
_LAG = f"{PREFIX}event_loop_lag_seconds"
_DISK_USED, _DISK_SIZE = (f"{_BY_DISK} ({each})" for each in LONGHORN_DISKS)
_UP = f'max by (namespace, pod) (up{{job="{JOB}"}})'

ALERTS = (
    # Who answers
    Alert(
        name="Absent",
        severity="critical",
        expr=f"absent({PREFIX}build_info)",
        lasts="5m",
        summary="No instance of the Longhorn scheduler extender is seen by Prometheus.",
        description="Either none runs, and pods that ask for the extender stay pending, or "
        "Prometheus does not find them.",
    ),
    Alert(
        name="TargetDown",
        severity="warning",
        expr=f"{_UP} == 0",
        lasts="5m",
        summary="An instance of the Longhorn scheduler extender cannot be scraped.",
        description="Pod {{ $labels.pod }} in {{ $labels.namespace }} does not answer /metrics.",
    ),
    Alert(
        name="NoStandby",
        severity="info",
        expr=f"count by (namespace) ({_UP} == 1) < 2",
        lasts="15m",
        summary="Only one instance of the Longhorn scheduler extender runs.",
        description="No instance in {{ $labels.namespace }} could take over at once if it failed.",
    ),
    Alert(
        name="NoLeader",
        severity="critical",
        expr=f"max by (namespace) ({PREFIX}heartbeat) == 0",
        lasts="2m",
        summary="No instance of the Longhorn scheduler extender leads.",
        description="No instance in {{ $labels.namespace }} answers kube-scheduler: pods that ask "
        "for the extender stay pending.",
    ),
    Alert(
        name="TwoLeaders",
        severity="critical",
        expr=f"count by (namespace) ({_HEARTBEATS} == 1) > 1",
        lasts="3m",
        summary="More than one instance of the Longhorn scheduler extender leads.",
        description="{{ $value }} instances in {{ $labels.namespace }} believe that they lead: "
        "each may give the same room away.",
    ),
    Alert(
        name="LeaderChanges",
        severity="warning",
        expr=_increase("leader_transitions_total", 'role="leader"', "15m") + " > 4",
        lasts="0m",
        summary="The leader of the Longhorn scheduler extender changes again and again.",
        description="In {{ $labels.namespace }} an instance became the leader "
        '{{ $value | printf "%.0f" }} times in 15 minutes.',
    ),
    Alert(
        name="Restarts",
        severity="warning",
        expr=(
            f'max by (namespace, pod) (changes(process_start_time_seconds{{job="{JOB}"}}[1h])) > 2'
        ),
        lasts="0m",
        summary="An instance of the Longhorn scheduler extender restarts again and again.",
        description="Pod {{ $labels.pod }} in {{ $labels.namespace }} was restarted "
        '{{ $value | printf "%.0f" }} times within an hour.',
    ),
    Alert(
        name="EventLoopLag",
        severity="warning",
        expr=(
            f"max by (namespace, pod) (increase({_LAG}_count[10m])) - max by (namespace, pod) "
            f'(increase({_LAG}_bucket{{le="{LAG_SECONDS_LIMIT:.1f}"}}[10m])) > 5'
        ),
        lasts="5m",
        summary="An instance of the Longhorn scheduler extender is held up again and again.",
        description="Pod {{ $labels.pod }} in {{ $labels.namespace }} did nothing else for more "
        f'than {LAG_SECONDS_LIMIT:g} s {{{{ $value | printf "%.0f" }}}} times within 10 minutes; '
        "it may answer late, and lose the lease.",
    ),
    # What is answered
    Alert(
        name="Unavailable",
        severity="critical",
        expr=(
            _increase("decisions_total", 'outcome="unavailable"', "3m")
            + " > 0 unless "
            + _increase("decisions_total", 'outcome!="unavailable"', "3m")
            + " > 0"
        ),
        lasts="5m",
        summary="kube-scheduler asks the Longhorn scheduler extender and gets no answer.",
        description="For 5 minutes every request in {{ $labels.namespace }} reached an instance "
        "that may not answer.",
    ),
    Alert(
        name="Errors",
        severity="warning",
        expr=_increase("decisions_total", 'outcome="error"', "10m") + " > 0",
        lasts="15m",
        summary="Pods have claims for which no Longhorn volume can be found.",
        description='{{ $value | printf "%.0f" }} requests in {{ $labels.namespace }} within 10 '
        "minutes were answered with an error; those pods stay pending.",
    ),
    Alert(
        name="BadRequests",
        severity="warning",
        expr=_increase("decisions_total", 'outcome="bad_request"', "10m") + " > 0",
        lasts="15m",
        summary="The Longhorn scheduler extender gets requests that it must refuse.",
        description='{{ $value | printf "%.0f" }} requests in {{ $labels.namespace }} within 10 '
        "minutes were not filter calls, too large, or too slow.",
    ),
    Alert(
        name="FilterSlow",
        severity="warning",
        expr=(
            f"histogram_quantile(0.99, sum by (namespace, le) "
            f"(rate({PREFIX}filter_duration_seconds_bucket[5m]))) > {FILTER_SECONDS_LIMIT:g}"
        ),
        lasts="10m",
        summary="Answers of the Longhorn scheduler extender take nearly as long as the timeout.",
        description="1 in 100 answers in {{ $labels.namespace }} takes longer than "
        f"{FILTER_SECONDS_LIMIT:g} s; kube-scheduler gives up after its httpTimeout (5 s as "
        "shipped).",
    ),
    Alert(
        name="Abandoned",
        severity="warning",
        expr=(
            _increase("filter_wait_duration_seconds_count", 'outcome="abandoned"', "15m") + " > 3"
        ),
        lasts="0m",
        summary="kube-scheduler does not wait for answers of the Longhorn scheduler extender.",
        description='{{ $value | printf "%.0f" }} requests in {{ $labels.namespace }} within 15 '
        "minutes were given up by kube-scheduler while they waited.",
    ),
    # What is held
    Alert(
        name="HoldsExpire",
        severity="warning",
        expr=(
            _increase("holds_ended_total", f'cause=~"{RAN_OUT}"', "30m", "namespace, cause")
            + " > 3 and on (namespace) "
            + _increase("holds_ended_total", f'cause=~"{RAN_OUT}"', "30m")
            + " > 0.1 * "
            + _increase("holds_ended_total", "", "30m")
        ),
        lasts="5m",
        summary="Holds of the Longhorn scheduler extender run out of time.",
        description='{{ $value | printf "%.0f" }} holds in {{ $labels.namespace }} ended as '
        "{{ $labels.cause }} within 30 minutes, and more than 1 in 10 of all ran out of time.",
    ),
    Alert(
        name="PodsWaitLong",
        severity="warning",
        expr=f"max by (namespace) ({PREFIX}longest_wait_seconds) > {LIMIT}",
        limit_seconds=1800,
        lasts="5m",
        summary="A pod has been rejected on every node for a long time.",
        description="By the extender in {{ $labels.namespace }}, for "
        "{{ $value | humanizeDuration }}: there is no room for its volumes.",
    ),
    Alert(
        name="WakeUpsFail",
        severity="warning",
        expr=_increase("wake_ups_total", 'outcome="failed"', "10m") + " > 0",
        lasts="15m",
        summary="Pods for which there is room again cannot be woken.",
        description="The leader in {{ $labels.namespace }} could not patch pods; they sleep for up "
        "to 5 minutes although they fit.",
    ),
    Alert(
        name="PackingUndecided",
        severity="warning",
        expr=_increase("rejections_total", 'reason="packing_undecided"', "1h") + " > 0",
        lasts="0m",
        summary="Nodes were rejected because the search for a packing reached its limit.",
        description='{{ $value | printf "%.0f" }} nodes in {{ $labels.namespace }} were rejected '
        "within an hour although the pod might fit there.",
    ),
    # Days to come. The figures of two leaders within 5 minutes count as one: a hand-over shall not
    # begin the time anew.
    Alert(
        name="ClassFull",
        severity="warning",
        expr=(
            f"max by (namespace, storage_class) "
            f"(max_over_time({PREFIX}largest_volume_bytes[5m])) < {LEAST_VOLUME_BYTES}"
        ),
        lasts="15m",
        summary="There is no room for new volumes of a StorageClass.",
        description="No new volume of 1 GiB of {{ $labels.storage_class }} fits, by the extender "
        "in {{ $labels.namespace }}; the largest that does has {{ $value | humanize1024 }}B.",
    ),
    Alert(
        name="NoNodeMayBeLost",
        severity="warning",
        expr=f"max by (namespace, by) (max_over_time({PREFIX}nodes_may_be_lost[5m])) == 0",
        lasts="1h",
        summary="The loss of one node would cost data, or leave no room to rebuild replicas.",
        description="By {{ $labels.by }} (data: some volume would lose its last replica; room: the "
        "other disks could not take what the node has scheduled), for an hour in "
        "{{ $labels.namespace }}.",
    ),
    Alert(
        name="DiskFullSoon",
        severity="warning",
        # A value for each quarter of an hour: all samples of thousands of disks in a day are more
        # than Prometheus reads for one query. Disks that are less than half full have time.
        expr=(
            f"{_BY_DISK} (predict_linear({LONGHORN_DISKS[0]}[1d:15m], {AHEAD_DAYS} * 86400))"
            f" > {_DISK_SIZE} and {_DISK_USED} > 0.5 * {_DISK_SIZE}"
            f" and {_BY_DISK} (count_over_time({LONGHORN_DISKS[0]}[1d:15m])) > 3"
        ),
        lasts="1h",
        summary=f"A disk of Longhorn will be full within {AHEAD_DAYS} days.",
        description="If disk {{ $labels.disk }} of node {{ $labels.node }}, as longhorn-manager in "
        "{{ $labels.namespace }} shows it, goes on to fill as in "
        f"the last day, {{{{ $value | humanize1024 }}}}B will be written in {AHEAD_DAYS} days, "
        "which is more than it has.",
    ),
    # What is known
    Alert(
        name="ViewStale",
        severity="warning",
        expr=f"max by (namespace, pod, kind) ({PREFIX}view_age_seconds) > {LIMIT}",
        limit_seconds=120,
        lasts="2m",
        summary="An instance of the Longhorn scheduler extender hears nothing of some kind.",
        description="Pod {{ $labels.pod }} in {{ $labels.namespace }} last heard of "
        "{{ $labels.kind }} {{ $value | humanizeDuration }} ago, and does not answer.",
    ),
    Alert(
        name="ViewIncomplete",
        severity="warning",
        # Only NaN differs from itself.
        expr=f"{PREFIX}view_age_seconds != {PREFIX}view_age_seconds",
        lasts="5m",
        summary="An instance of the Longhorn scheduler extender cannot list a kind of objects.",
        description="Pod {{ $labels.pod }} in {{ $labels.namespace }} has never heard of "
        "{{ $labels.kind }}, and does not answer.",
    ),
    Alert(
        name="WatchFlapping",
        severity="warning",
        expr=(
            _increase(
                "watch_restarts_total",
                'cause!~"ended|idle"',
                "15m",
                "namespace, pod, kind",
            )
            + " > 10"
        ),
        lasts="5m",
        summary="A watch of the Longhorn scheduler extender breaks again and again.",
        description="Pod {{ $labels.pod }} in {{ $labels.namespace }} started to watch "
        '{{ $labels.kind }} again {{ $value | printf "%.0f" }} times in 15 minutes.',
    ),
    Alert(
        name="UnreadableObjects",
        severity="warning",
        expr=f"max by (namespace, kind) ({PREFIX}unreadable_objects) > 0",
        lasts="10m",
        summary="Objects cannot be read by the Longhorn scheduler extender.",
        description="{{ $value }} of {{ $labels.kind }} in {{ $labels.namespace }} cannot be read; "
        "nodes and volumes they belong to are rejected.",
    ),
    Alert(
        name="SettingsErrors",
        severity="warning",
        expr=_increase("settings_errors_total", "", "1h") + " > 0",
        lasts="0m",
        summary="A live setting of the Longhorn scheduler extender cannot be used.",
        description="In {{ $labels.namespace }} the last good value stays in use.",
    ),
    # Connections
    Alert(
        name="ConnectionLimit",
        severity="warning",
        expr=_increase("connections_ended_total", 'cause="displaced"', "10m") + " > 0",
        lasts="5m",
        summary="The Longhorn scheduler extender has more connections than it may.",
        description='{{ $value | printf "%.0f" }} connections in {{ $labels.namespace }} were '
        "closed within 10 minutes to make room for others.",
    ),
    Alert(
        name="SlowClients",
        severity="info",
        expr=(
            _increase(
                "connections_ended_total",
                'cause=~"headers_late|answer_not_taken"',
                "15m",
                "namespace, cause",
            )
            + " > 10"
        ),
        lasts="0m",
        summary="Clients of the Longhorn scheduler extender are too slow.",
        description='{{ $value | printf "%.0f" }} connections in {{ $labels.namespace }} ended '
        "within 15 minutes: {{ $labels.cause }}.",
    ),
    Alert(
        name="HandshakesFail",
        severity="warning",
        expr=_increase(
            "connections_ended_total", 'cause=~"handshake_failed|client_not_named"', "10m"
        )
        + " > 0",
        lasts="15m",
        summary="The Longhorn scheduler extender refuses clients for their certificates.",
        description='{{ $value | printf "%.0f" }} connections in {{ $labels.namespace }} were '
        "refused within 10 minutes; if they are kube-scheduler's, pods that ask for the extender "
        "wait.",
    ),
    Alert(
        name="CertificateUnusable",
        severity="warning",
        expr=_increase("tls_reloads_total", 'outcome="unusable"', "15m", "namespace, pod") + " > 0",
        lasts="0m",
        summary="A new certificate of the Longhorn scheduler extender cannot be used.",
        description="Pod {{ $labels.pod }} in {{ $labels.namespace }} serves the old one, until it "
        "expires.",
    ),
    # DiskSchedule: its controller is off as shipped, and then there are no such series
    Alert(
        name="DiskScheduleNoLeader",
        severity="critical",
        expr=(
            f"max by (namespace) ({CONTROLLER_PREFIX}heartbeat) == 0"
            f' or max by (namespace) (up{{job="{CONTROLLER_JOB}"}}) == 0'
        ),
        lasts="2m",
        summary="No instance of the controller of DiskSchedules leads.",
        description="Nobody in {{ $labels.namespace }} decides what disks hold: new replicas and "
        "backing images of Longhorn wait.",
    ),
    Alert(
        name="DiskScheduleRival",
        severity="warning",
        expr=f"max by (namespace) ({CONTROLLER_PREFIX}rivals) > 0",
        lasts="5m",
        summary="Longhorn has a controller of DiskSchedules of its own.",
        description="longhorn-manager has written {{ $value }} DiskSchedules in "
        "{{ $labels.namespace }}, so our controller writes nothing.",
    ),
    Alert(
        name="DiskScheduleWritesFail",
        severity="warning",
        expr=_increase("disk_schedule_passes_total", 'outcome="failed"', "10m") + " > 0",
        lasts="15m",
        summary="The controller of DiskSchedules cannot write what it decides.",
        description='{{ $value | printf "%.0f" }} passes in {{ $labels.namespace }} failed within '
        "10 minutes; what was asked for there is not granted.",
    ),
    Alert(
        name="DiskScheduleConflicts",
        severity="warning",
        expr=f"{_CONFLICTS} > 100 and {_CONFLICTS} > {_WRITTEN}",
        lasts="5m",
        summary="The controller of DiskSchedules decides again and again on what has changed.",
        description='{{ $value | printf "%.0f" }} writes in {{ $labels.namespace }} within 15 '
        "minutes came too late, more than were in time.",
    ),
    Alert(
        name="DiskScheduleRefusals",
        severity="warning",
        expr=f"sum by (namespace) ({_BY_DISK} ({CONTROLLER_PREFIX}refused)) > 0",
        lasts="30m",
        summary="Replicas or backing images have been refused room on their disk for long.",
        description="{{ $value }} requirements in {{ $labels.namespace }} do not fit on the disk "
        "that was chosen for them, and nobody takes them back.",
    ),
    Alert(
        name="DiskScheduleOverLimit",
        severity="info",
        # A disk that is not ready has a limit of 0.
        expr=(
            f"{_BY_DISK} ({CONTROLLER_PREFIX}held_bytes)"
            f" > ({_BY_DISK} ({CONTROLLER_PREFIX}limit_bytes) > 0)"
        ),
        lasts="15m",
        summary="A disk holds more than its limit.",
        description="Disk {{ $labels.disk }} of node {{ $labels.node }} in {{ $labels.namespace }} "
        "holds {{ $value | humanize1024 }}B; nothing grows on it until it holds less.",
    ),
)


def prometheus_rule(runbooks: str = RUNBOOKS) -> dict[str, Any]:
    """Return the PrometheusRule; *runbooks* is where a runbook is, with {} for its name."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": JOB},
        "spec": rule_groups(ALERTS, runbooks),
    }


def rule_groups(alerts: tuple[Alert, ...], runbooks: str = RUNBOOKS) -> dict[str, Any]:
    """Return alerts as a file of rules for Prometheus."""
    return {"groups": [{"name": JOB, "rules": [_rule(alert, runbooks) for alert in alerts]}]}


def _rule(alert: Alert, runbooks: str) -> dict[str, Any]:
    return {
        "alert": alert.alert,
        "expr": alert.promql,
        "for": alert.lasts,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": runbooks.format(alert.runbook),
        },
    }
