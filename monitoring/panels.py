"""The panels of the dashboard, as a table: what each shows, which question that answers."""

from typing import Literal

import msgspec

from monitoring.series import FILTER_SECONDS_LIMIT, PREFIX

NAMESPACE = "$namespace"
INTERVAL = "$__rate_interval"
"""Grafana's: long enough for four scrapes, and no shorter than a pixel."""
DISK_SCHEDULE = "DiskSchedule"
"""The row that is empty where its controller is not installed."""
_OURS = f'namespace="{NAMESPACE}"'
_LONG = "1h"
"""For shares of what happens a few times a minute, which jump over less."""
_THIRD, _HALF, _FULL = 8, 12, 24
"""Widths, of 24 columns."""

Kind = Literal["lines", "stack", "heatmap", "number", "versions"]


class Query(msgspec.Struct, frozen=True):
    """What is asked, and what its series are called, with labels in double braces."""

    expr: str
    legend: str


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One panel; the widths of those in a line add up to 24."""

    title: str
    question: str
    advice: str
    """What to do when it looks bad."""
    queries: tuple[Query, ...]
    unit: str = "short"
    """As Grafana names them."""
    kind: Kind = "lines"
    width: int = _THIRD
    alerts: tuple[str, ...] = ()
    """Names of the alerts that watch the same, whose runbooks go on from here."""
    good: tuple[float, float] | None = None
    """From where on to where it is good; outside it is shown in red."""


class Row(msgspec.Struct, frozen=True):
    """Panels that belong together."""

    title: str
    panels: tuple[Panel, ...]


def _series(metric: str, selector: str = "") -> str:
    return f"{PREFIX}{metric}{{{_OURS}{',' + selector if selector else ''}}}"


def _rate(metric: str, by: str, selector: str = "") -> Query:
    """Ask for events a second, by a label."""
    return Query(f"sum by ({by}) (rate({_series(metric, selector)}[{INTERVAL}]))", "{{" + by + "}}")


def _events(metric: str, *by: str, selector: str = "") -> Query:
    """Ask for the number of events that are rare, by labels."""
    return Query(
        f"sum by ({', '.join(by)}) (increase({_series(metric, selector)}[{INTERVAL}]))",
        " ".join("{{" + each + "}}" for each in by),
    )


def _largest(metric: str, *by: str) -> Query:
    """Ask for a gauge, by labels; only the leader's is not 0 where only the leader does it."""
    return Query(
        f"max by ({', '.join(by)}) ({_series(metric)})",
        " ".join("{{" + each + "}}" for each in by),
    )


def _of_leader(metric: str, by: str) -> Query:
    """Ask for a gauge that keeps its last value when the instance leads no more."""
    leads = f"{_series('heartbeat')} == 1"
    return Query(
        f"max by ({by}) ({_series(metric)} and on (namespace, pod) ({leads}))", "{{" + by + "}}"
    )


def _share(metric: str, selector: str, *, of: str, legend: str) -> Query:
    """Ask which share of all events within an hour are those of *selector*; *of* counts all."""
    part = f"sum(increase({_series(metric, selector)}[{_LONG}]))"
    return Query(f"{part} / sum(increase({_series(of)}[{_LONG}]))", legend)


def _quantiles(metric: str, *quantiles: float, what: str = "") -> tuple[Query, ...]:
    return tuple(
        Query(
            f"histogram_quantile({quantile:g}, "
            f"sum by (le) (rate({_series(metric + '_bucket')}[{INTERVAL}])))",
            f"{what}p{quantile * 100:g}",
        )
        for quantile in quantiles
    )


def _quantile_by(metric: str, label: str, quantile: float = 0.95) -> Query:
    return Query(
        f"histogram_quantile({quantile:g}, "
        f"sum by (le, {label}) (rate({_series(metric + '_bucket')}[{INTERVAL}])))",
        f"p{quantile * 100:g} {label} {{{{{label}}}}}",
    )


def _process(expr: str) -> str:
    """Keep of a metric that every process has what is of our processes, whatever scrapes them."""
    return f"{expr} and on (namespace, pod) {_series('build_info')}"


ROWS = (
    Row(
        "At a glance",
        (
            Panel(
                title="Leaders",
                question="Does exactly one instance lead?",
                advice="0: no instance answers kube-scheduler. 2 for longer than a minute: turn "
                "the extender off and see which instance holds the Lease.",
                queries=(Query(f"sum(max by (pod) ({_series('heartbeat')}))", "leaders"),),
                kind="number",
                width=4,
                alerts=("NoLeader", "TwoLeaders", "Absent"),
                good=(1, 2),
            ),
            Panel(
                title="Instances",
                question="How many instances run?",
                advice="Fewer than two: no instance could take over. Look at the Deployment.",
                queries=(Query(f"count(max by (pod) ({_series('build_info')}))", "instances"),),
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
                    Query(
                        f"sum(rate({_series('decisions_total')}[{INTERVAL}]))", "requests a second"
                    ),
                ),
                unit="reqps",
                kind="number",
                width=4,
            ),
            Panel(
                title="p99 of an answer",
                question="How long do answers take, except for the slowest 1 in 100?",
                advice="Half of kube-scheduler's httpTimeout or more: see which waits it is below.",
                queries=_quantiles("filter_duration_seconds", 0.99),
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
                queries=(Query(f"max({_series('waiting_pods')})", "pods"),),
                kind="number",
                width=4,
                alerts=("PodsWaitLong",),
            ),
            Panel(
                title="Versions",
                question="Which versions run?",
                advice="Two for longer than a roll-out takes: an instance was not replaced.",
                queries=(Query(f"count by (version) ({_series('build_info')})", "{{version}}"),),
                kind="versions",
                width=4,
            ),
        ),
    ),
    Row(
        "Answers",
        (
            Panel(
                title="Filter latency",
                question="How long does kube-scheduler wait for an answer?",
                advice="Milliseconds are normal, up to a second if answers wait for other pods' "
                "nodes. Slow without waits: see packing steps, candidates and CPU. Scores never "
                "wait.",
                queries=(
                    *_quantiles("filter_duration_seconds", 0.5, 0.95, 0.99),
                    *_quantiles("prioritize_duration_seconds", 0.5, 0.99, what="scores "),
                ),
                unit="s",
                width=_HALF,
                alerts=("FilterSlow", "Abandoned"),
                good=(0, FILTER_SECONDS_LIMIT),
            ),
            Panel(
                title="Filter latency, heat map",
                question="Are all answers slow, or a few?",
                advice="Two bands are normal: answers at once, and those that waited. A band "
                "that rises means that deciding takes longer.",
                queries=(
                    Query(
                        "sum by (le) "
                        f"(increase({_series('filter_duration_seconds_bucket')}[{INTERVAL}]))",
                        "{{le}}",
                    ),
                ),
                unit="s",
                kind="heatmap",
                width=_HALF,
            ),
            Panel(
                title="Decisions by outcome",
                question="What comes out of requests?",
                advice="Mostly does_not_fit: the cluster is full, or a reason below rejects "
                "everything.",
                queries=(_rate("decisions_total", "outcome"),),
                unit="reqps",
                kind="stack",
                width=_HALF,
            ),
            Panel(
                title="Rejections by reason",
                question="Why are nodes rejected?",
                advice="insufficient_storage and volumes_do_not_fit: add disks. room_held: a "
                "burst, which passes. Others name what is wrong with the node or the volume.",
                queries=(_rate("rejections_total", "reason"),),
                kind="stack",
                width=_HALF,
                alerts=("PodsWaitLong",),
            ),
            Panel(
                title="Requests without a decision",
                question="Which requests get none, and from which instance?",
                advice="error: no volume is found for a claim. unavailable: a standby was asked, "
                "a few at a hand-over are normal. bad_request: not a filter call, or too large or "
                "slow.",
                queries=(
                    _events(
                        "decisions_total",
                        "outcome",
                        "pod",
                        selector='outcome=~"error|unavailable|bad_request"',
                    ),
                ),
                alerts=("Errors", "Unavailable", "BadRequests"),
            ),
            Panel(
                title="Requests under way",
                question="Do requests pile up?",
                advice="kube-scheduler asks about one pod at a time, so more than a few come from "
                "slow bodies, several schedulers or waits.",
                queries=(
                    Query(f"sum by (pod) ({_series('requests_in_flight')})", "{{pod}}"),
                    Query(f"sum({_series('filter_waiting')})", "of which wait"),
                ),
                alerts=("FilterSlow",),
            ),
            Panel(
                title="Answers that waited",
                question="How many answers waited for another pod's node or a new object, and how "
                "did that end?",
                advice="timeout: nodes are chosen too slowly, see node choice. abandoned: "
                "kube-scheduler's httpTimeout is shorter than the wait.",
                queries=(_rate("filter_wait_duration_seconds_count", "outcome"),),
                unit="reqps",
                kind="stack",
                alerts=("Abandoned",),
            ),
            Panel(
                title="How long answers waited",
                question="How long did the answers that waited do so?",
                advice="Near EXTENDER_FILTER_WAIT_SECONDS: waits end because the time is over, not "
                "because a node is chosen.",
                queries=(_quantile_by("filter_wait_duration_seconds", "outcome"),),
                unit="s",
                alerts=("FilterSlow",),
            ),
            Panel(
                title="Candidates in a request",
                question="How many nodes does kube-scheduler send?",
                advice="Fewer than the cluster has: set percentageOfNodesToScore to 100, or the "
                "node that fits may not be among them.",
                queries=_quantiles("candidates", 0.5, 0.95),
            ),
            Panel(
                title="Size of a request",
                question="How large are the bodies?",
                advice="Megabytes: kube-scheduler sends whole nodes, set nodeCacheCapable to true.",
                queries=_quantiles("request_bytes", 0.5, 0.99),
                unit="bytes",
            ),
        ),
    ),
    Row(
        "Scores",
        (
            Panel(
                title="Data beside pods",
                question="Of the bytes of the volumes that were attached within an hour, which "
                "share has a replica on the pod's node?",
                advice="Low, and the nodes with the highest scores are taken: no node with the "
                "data fits, or it has no CPU left. Low, and others are taken: see the rank.",
                queries=(
                    _share(
                        "attached_bytes_total",
                        'data="local"',
                        of="attached_bytes_total",
                        legend="beside a replica",
                    ),
                ),
                unit="percentunit",
                width=_HALF,
            ),
            Panel(
                title="Rank of the chosen node",
                question="How often does kube-scheduler take a node with the highest score?",
                advice="Seldom: its own plugins outweigh the score, see weight in its "
                "configuration. Only pods with holds count. No line although there are holds: it "
                "does not ask for scores, run doctor.",
                queries=(
                    _share(
                        "chosen_node_rank_bucket",
                        'le="1.0"',
                        of="chosen_node_rank_count",
                        legend="the highest score",
                    ),
                    _share(
                        "chosen_node_rank_bucket",
                        'le="3.0"',
                        of="chosen_node_rank_count",
                        legend="one of the three highest",
                    ),
                ),
                unit="percentunit",
                width=_HALF,
            ),
        ),
    ),
    Row(
        "Holds",
        (
            Panel(
                title="Holds",
                question="How many pods have room held for them now?",
                advice="Open ones for seconds: kube-scheduler does not choose. Chosen ones that "
                "pile up: Longhorn places replicas slowly.",
                queries=(_largest("holds", "state"),),
                kind="stack",
                alerts=("HoldsExpire",),
            ),
            Panel(
                title="How holds end",
                question="Are holds confirmed by replicas?",
                advice="confirmed is good. not_chosen, not_bound and not_placed ran out of time.",
                queries=(_rate("holds_ended_total", "cause"),),
                unit="ops",
                kind="stack",
                alerts=("HoldsExpire",),
            ),
            Panel(
                title="Until a node is chosen",
                question="How long does kube-scheduler take to choose among the accepted nodes?",
                advice="Milliseconds from Kubernetes 1.35 on. Seconds: other answers wait for it.",
                queries=_quantiles("node_choice_duration_seconds", 0.5, 0.95, 0.99),
                unit="s",
            ),
            Panel(
                title="Until the pod is bound",
                question="How long does it take from the answer until the pod is bound, or the "
                "hold ends without?",
                advice="Near the pod scheduling timeout: holds end before pods are bound.",
                queries=(
                    _quantile_by("pod_scheduling_wait_duration_seconds", "pod_scheduled", 0.5),
                    _quantile_by("pod_scheduling_wait_duration_seconds", "pod_scheduled"),
                ),
                unit="s",
                alerts=("HoldsExpire",),
                width=_HALF,
            ),
            Panel(
                title="Until the replicas are placed",
                question="How long does Longhorn take to place the replicas of a bound pod?",
                advice="Near the node reservation timeout: raise it, and see why Longhorn is slow.",
                queries=(
                    _quantile_by("node_reservation_duration_seconds", "replicas_scheduled", 0.5),
                    _quantile_by("node_reservation_duration_seconds", "replicas_scheduled"),
                ),
                unit="s",
                alerts=("HoldsExpire",),
                width=_HALF,
            ),
            Panel(
                title="Replicas not placed yet",
                question="How many replicas is Longhorn about to place, and have all of them room?",
                advice="nowhere: they take no room now, see whether disks or zones are too few. "
                "sure for minutes: see why Longhorn does not place them.",
                queries=(_of_leader("forecast_replicas", "state"),),
                kind="stack",
                alerts=("PodsWaitLong",),
                width=_HALF,
            ),
            Panel(
                title="Local room lost",
                question="Did Longhorn place volumes elsewhere that had room on their pod's node?",
                advice="Their pods run and read over the network. Often: see whether disks are "
                "nearly full, or volumes are made for pods that do not ask the extender.",
                queries=(
                    Query(
                        f"sum(increase({_series('local_rooms_taken_total')}[{INTERVAL}]))",
                        "volumes",
                    ),
                ),
                width=_HALF,
            ),
        ),
    ),
    Row(
        "Pods without a node, and packing",
        (
            Panel(
                title="Waiting pods",
                question="How many pods wait for room?",
                advice="Falls when pods are asked about again or deleted. Only rising: it is full.",
                queries=(Query(f"max({_series('waiting_pods')})", "pods"),),
                alerts=("PodsWaitLong",),
            ),
            Panel(
                title="Longest wait",
                question="How long has a pod been rejected?",
                advice="See with the filter command what the pod needs and what disks have left.",
                queries=(Query(f"max({_series('longest_wait_seconds')})", "longest wait"),),
                unit="s",
                alerts=("PodsWaitLong",),
                good=(0, 1800),
            ),
            Panel(
                title="Wake-ups",
                question="Are pods woken when there is room again?",
                advice="failed: the right to patch pods is missing, or the API server refuses.",
                queries=(_events("wake_ups_total", "outcome"),),
                alerts=("WakeUpsFail",),
            ),
            Panel(
                title="Packing steps",
                question="How hard is it to say whether volumes fit?",
                advice="Thousands: many volumes on many disks. See whether any stay undecided.",
                queries=_quantiles("packing_steps", 0.5, 0.95, 0.99),
                width=_HALF,
                alerts=("PackingUndecided",),
            ),
            Panel(
                title="Nodes left undecided",
                question="Were nodes rejected because the search reached its limit?",
                advice="Anything but 0: raise EXTENDER_STEP_LIMIT and EXTENDER_REQUEST_STEP_LIMIT.",
                queries=(
                    _events("rejections_total", "pod", selector='reason="packing_undecided"'),
                ),
                width=_HALF,
                alerts=("PackingUndecided",),
            ),
        ),
    ),
    Row(
        "Injection",
        (
            Panel(
                title="Reviews of new pods",
                question="What becomes of the new pods that the API server asks about?",
                advice="unavailable: such pods do not ask for the extender, create those with "
                "Longhorn volumes again. bad_request: another client than the API server asks. "
                "Always 0 is normal without the webhook; with it, the API server reaches no "
                "instance.",
                queries=(_rate("mutations_total", "outcome"),),
                unit="reqps",
                kind="stack",
                width=_HALF,
            ),
            Panel(
                title="Review latency",
                question="How long does the API server wait for a review?",
                advice="Milliseconds are normal. Near the timeout of the webhook (2 s as shipped) "
                "pods are created as they are, and nobody is told: see CPU.",
                queries=_quantiles("mutate_duration_seconds", 0.5, 0.95, 0.99),
                unit="s",
                width=_HALF,
            ),
        ),
    ),
    Row(
        "Leader and view",
        (
            Panel(
                title="Leader",
                question="Which node's instance leads?",
                advice="The lines of two nodes at 1: two leaders. None: no leader.",
                queries=(_largest("heartbeat", "node"),),
                width=_HALF,
                alerts=("NoLeader", "TwoLeaders"),
            ),
            Panel(
                title="Changes of the leader",
                question="Does the leader stay the same?",
                advice="Changes without a roll-out: the leader cannot renew its Lease in time.",
                queries=(_events("leader_transitions_total", "role", "pod"),),
                width=_HALF,
                alerts=("LeaderChanges",),
            ),
            Panel(
                title="Age of the view",
                question="When did an instance last hear of each kind of objects?",
                advice="Up to 90 s is normal in a quiet cluster. From 120 s on the instance does "
                "not answer.",
                queries=(_largest("view_age_seconds", "kind"),),
                unit="s",
                width=_HALF,
                alerts=("ViewStale", "ViewIncomplete"),
                good=(0, 120),
            ),
            Panel(
                title="Watches started again",
                question="Do watches break off?",
                advice="ended every 5 to 10 minutes is normal. connection, status, malformed: see "
                "the API server, and any proxy before it.",
                queries=(_events("watch_restarts_total", "kind", "cause"),),
                width=_HALF,
                alerts=("WatchFlapping",),
            ),
            Panel(
                title="Objects known",
                question="Does it see the right cluster?",
                advice="0 of a kind that the cluster has: the wrong namespace, or rights that are "
                "missing.",
                queries=(_largest("objects", "kind"),),
            ),
            Panel(
                title="Unreadable objects",
                question="Are there objects that cannot be understood?",
                advice="The log names each (view.object_unreadable). What they belong to is "
                "rejected.",
                queries=(_largest("unreadable_objects", "kind"),),
                alerts=("UnreadableObjects",),
            ),
            Panel(
                title="Settings that cannot be used",
                question="Was a live setting mistyped?",
                advice="The log names it (settings.unusable). The last good value stays in use.",
                queries=(_events("settings_errors_total", "pod"),),
                alerts=("SettingsErrors",),
            ),
        ),
    ),
    Row(
        DISK_SCHEDULE,
        (
            Panel(
                title="Controllers of DiskSchedules that lead",
                question="Does exactly one instance of the controller lead?",
                advice="0: nobody decides what disks hold. No value: it is not installed, or not "
                "scraped.",
                queries=(
                    Query(f"sum(max by (pod) ({_series('disk_schedule_heartbeat')}))", "leaders"),
                    Query(f"max({_series('disk_schedule_rivals')})", "written by Longhorn"),
                ),
                alerts=("DiskScheduleNoLeader", "DiskScheduleRival"),
            ),
            Panel(
                title="Passes",
                question="Is what is decided also written?",
                advice="failed: the log says why (disk_schedule.not_written). conflict: others "
                "write the same objects often; each is decided on again.",
                queries=(_events("disk_schedule_passes_total", "outcome"),),
                alerts=("DiskScheduleWritesFail", "DiskScheduleConflicts"),
            ),
            Panel(
                title="Time since the last pass",
                question="When was anything last decided on?",
                advice="It grows while nothing changes. If volumes wait meanwhile, see /readyz of "
                "the controller.",
                queries=(Query(f"min({_series('disk_schedule_last_pass_age_seconds')})", "age"),),
                unit="s",
            ),
            Panel(
                title="What became of replicas and backing images",
                question="What do disks grant and get back?",
                advice="purged: Longhorn deleted replicas without taking back what they asked for.",
                queries=(_events("disk_schedule_changes_total", "change"),),
            ),
            Panel(
                title="Refused",
                question="Which disks were chosen for more than they can take?",
                advice="See what is on these disks; Longhorn should take the requirement back and "
                "choose another one.",
                queries=(
                    _largest("disk_schedule_refused", "node", "disk"),
                    _events("disk_schedule_refusals_total", "reason"),
                ),
                alerts=("DiskScheduleRefusals",),
            ),
            Panel(
                title="Held by disks",
                question="Which share of its limit does each disk hold?",
                advice="Above 1: it was over-committed before, or its limit has fallen; nothing "
                "grows there.",
                queries=(
                    Query(
                        f"max by (node, disk) ({_series('disk_schedule_held_bytes')}) / "
                        f"(max by (node, disk) ({_series('disk_schedule_limit_bytes')}) > 0)",
                        "{{node}} {{disk}}",
                    ),
                ),
                unit="percentunit",
                alerts=("DiskScheduleOverLimit",),
            ),
        ),
    ),
    Row(
        "Connections and processes",
        (
            Panel(
                title="Connections",
                question="How many clients are connected?",
                advice="Near EXTENDER_CONNECTION_LIMIT: other clients than kube-scheduler connect.",
                queries=(Query(f"sum by (pod) ({_series('connections')})", "{{pod}}"),),
                alerts=("ConnectionLimit",),
            ),
            Panel(
                title="Connections ended by us",
                question="Which clients are cut off, and why?",
                advice="displaced: too many connections. headers_late, answer_not_taken: clients "
                "that are slow, or probe the port. handshake_failed: a certificate is refused.",
                queries=(_events("connections_ended_total", "cause"),),
                alerts=("ConnectionLimit", "SlowClients", "HandshakesFail"),
            ),
            Panel(
                title="Certificate read again",
                question="Is a new certificate in use?",
                advice="unusable: the old one is served until it expires; the log says why.",
                queries=(_events("tls_reloads_total", "outcome"),),
                alerts=("CertificateUnusable",),
            ),
            Panel(
                title="CPU",
                question="How busy is each instance?",
                advice="Near one core: the process decides on one thread; see requests and steps.",
                queries=(
                    Query(
                        _process(f"rate(process_cpu_seconds_total{{{_OURS}}}[{INTERVAL}])"),
                        "{{pod}}",
                    ),
                ),
                unit="percentunit",
            ),
            Panel(
                title="Memory",
                question="How much memory does each instance take?",
                advice="Near the limit of the Deployment (1 GiB as shipped): raise it, or the "
                "instance is killed.",
                queries=(
                    Query(
                        _process(f"process_resident_memory_bytes{{{_OURS}}}"),
                        "{{pod}}",
                    ),
                ),
                unit="bytes",
                alerts=("Restarts",),
            ),
            Panel(
                title="Open files",
                question="Is an instance near its limit of open files?",
                advice="Near the limit connections are refused: see connections.",
                queries=(
                    Query(_process(f"process_open_fds{{{_OURS}}}"), "{{pod}}"),
                    Query(
                        f"min({_process(f'process_max_fds{{{_OURS}}}')})",
                        "limit",
                    ),
                ),
            ),
            Panel(
                title="Time since the start",
                question="Was an instance restarted?",
                advice="A line that falls to 0: see why with kubectl describe pod.",
                queries=(
                    Query(_process(f"(time() - process_start_time_seconds{{{_OURS}}})"), "{{pod}}"),
                ),
                unit="s",
                width=_FULL,
                alerts=("Restarts",),
            ),
        ),
    ),
)
