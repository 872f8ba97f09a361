"""The first row: whether all is well."""

from monitoring.panels.panel import Panel, Query, Row
from monitoring.panels.queries import INTERVAL, quantiles, series
from monitoring.series import FILTER_SECONDS_LIMIT

AT_A_GLANCE = Row(
    "At a glance",
    (
        Panel(
            title="Leaders",
            question="Does exactly one instance lead?",
            advice="0: no instance answers kube-scheduler. 2 for longer than a minute: turn "
            "the extender off and see which instance holds the Lease.",
            queries=(Query(f"sum(max by (pod) ({series('heartbeat')}))", "leaders"),),
            kind="number",
            width=4,
            alerts=("NoLeader", "TwoLeaders", "Absent"),
            good=(1, 2),
        ),
        Panel(
            title="Instances",
            question="How many instances run?",
            advice="Fewer than two: no instance could take over. Look at the Deployment.",
            queries=(Query(f"count(max by (pod) ({series('build_info')}))", "instances"),),
            kind="number",
            width=4,
            alerts=("NoStandby", "TargetDown"),
            good=(2, 100),
        ),
        Panel(
            title="Requests",
            question="How often does kube-scheduler ask?",
            advice="0 although pods ask for the extender: kube-scheduler does not reach it.",
            queries=(
                Query(f"sum(rate({series('decisions_total')}[{INTERVAL}]))", "requests a second"),
            ),
            unit="reqps",
            kind="number",
            width=4,
        ),
        Panel(
            title="p99 of an answer",
            question="How long do answers take, except for the slowest 1 in 100?",
            advice="Half of kube-scheduler's httpTimeout or more: see which waits it is below.",
            queries=quantiles("filter_duration_seconds", 0.99),
            unit="s",
            kind="number",
            width=4,
            alerts=("FilterSlow",),
            good=(0, FILTER_SECONDS_LIMIT),
        ),
        Panel(
            title="Pods that wait for room",
            question="How many pods got no node and were not asked about again?",
            advice="Look at the reasons of rejections, then at a pod with the filter command.",
            queries=(Query(f"max({series('waiting_pods')})", "pods"),),
            kind="number",
            width=4,
            alerts=("PodsWaitLong",),
        ),
        Panel(
            title="Versions",
            question="Which versions run?",
            advice="Two for longer than a roll-out takes: an instance was not replaced.",
            queries=(Query(f"count by (version) ({series('build_info')})", "{{version}}"),),
            kind="versions",
            width=4,
        ),
    ),
)
