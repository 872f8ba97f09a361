"""The metrics of every process."""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge

NAMESPACE = "longhorn_scheduler_extender"

ROLES = ("leader", "standby")
CONNECTION_ENDS = (
    "headers_late",
    "answer_not_taken",
    "displaced",
    "handshake_failed",
    "client_not_named",
    "not_its_turn",
)


class ProcessMetrics:
    """What every process shows that serves and may lead.

    Each metric has the name of its attribute behind *prefix*, which differs between the kinds of
    processes: a sum over all instances must not mix them.
    """

    def __init__(self, registry: CollectorRegistry, prefix: str, *, version: str) -> None:
        self.registry = registry
        counter = partial(Counter, namespace=prefix, registry=registry)
        gauge = partial(Gauge, namespace=prefix, registry=registry)
        self.heartbeat = gauge(
            "heartbeat",
            "1 while this instance leads, 0 otherwise; the label is its node.",
            ["node"],
        )
        self.leader_transitions_total = counter(
            "leader_transitions_total",
            "Times this instance became the leader, or a standby again.",
            ["role"],
        )
        self.objects = gauge("objects", "Objects known, by kind.", ["kind"])
        self.unreadable_objects = gauge(
            "unreadable_objects", "Objects that cannot be read, by kind.", ["kind"]
        )
        self.view_age_seconds = gauge(
            "view_age_seconds",
            "Time since the API server last sent something of a kind; NaN before it ever did.",
            ["kind"],
        )
        self.watch_restarts_total = counter(
            "watch_restarts_total",
            "Lists and watches started again, by kind and cause.",
            ["kind", "cause"],
        )
        self.connections = gauge("connections", "Connections of clients that are open.")
        self.connections_ended_total = counter(
            "connections_ended_total",
            "Connections ended by this side before the client had its answer, by cause.",
            ["cause"],
        )
        build = gauge("build_info", "Always 1; the label is the version.", ["version"])
        build.labels(version).set(1)
        for role in ROLES:
            self.leader_transitions_total.labels(role)
        for cause in CONNECTION_ENDS:
            self.connections_ended_total.labels(cause)
