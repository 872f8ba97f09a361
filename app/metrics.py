"""Every metric of the process."""

from collections import Counter as Tally

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from extender import REASONS, Answer, Basis, End, Ended, Hold, State

_PREFIX = "longhorn_scheduler_extender_"
_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
            2.5, 5.0, 10.0)  # fmt: skip
_WAITS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_COUNTS = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)
_BYTES = (2**10, 2**12, 2**14, 2**16, 2**18, 2**20, 2**22, 2**24, 2**26, 2**28)
_STEPS = (0, 10, 100, 1_000, 10_000, 100_000)

OUTCOMES = (
    "nothing_local", "replicas", "fits", "does_not_fit", "error", "unavailable", "bad_request",
)  # fmt: skip
ROLES = ("leader", "standby")
WAIT_OUTCOMES = ("resolved", "timeout", "superseded", "abandoned", "unavailable")
WAKE_UP_OUTCOMES = ("woken", "gone", "failed")
CONNECTION_ENDS = ("headers_late", "answer_not_taken", "displaced", "handshake_failed")
TLS_OUTCOMES = ("loaded", "unusable")


class Metrics:
    """The metrics, each under the name of its attribute behind the common prefix."""

    def __init__(self, registry: CollectorRegistry, *, version: str) -> None:
        self.registry = registry
        self.filter_duration_seconds = Histogram(
            f"{_PREFIX}filter_duration_seconds",
            "Time from decoding a filter request to having sent the answer.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.decisions_total = Counter(
            f"{_PREFIX}decisions_total",
            "Filter requests answered, by outcome.",
            ["outcome"],
            registry=registry,
        )
        self.rejections_total = Counter(
            f"{_PREFIX}rejections_total",
            "Candidate nodes rejected, by reason.",
            ["reason"],
            registry=registry,
        )
        self.requests_in_flight = Gauge(
            f"{_PREFIX}requests_in_flight",
            "Filter requests being read or answered now.",
            registry=registry,
        )
        self.request_bytes = Histogram(
            f"{_PREFIX}request_bytes",
            "Size of the bodies of filter requests.",
            buckets=_BYTES,
            registry=registry,
        )
        self.candidates = Histogram(
            f"{_PREFIX}candidates",
            "Candidate nodes in a filter request.",
            buckets=_COUNTS,
            registry=registry,
        )
        self.packing_steps = Histogram(
            f"{_PREFIX}packing_steps",
            "Placements the exact search tried for one filter request.",
            buckets=_STEPS,
            registry=registry,
        )
        self.heartbeat = Gauge(
            f"{_PREFIX}heartbeat",
            "1 while this instance leads, 0 otherwise; the label is its node.",
            ["node"],
            registry=registry,
        )
        self.leader_transitions_total = Counter(
            f"{_PREFIX}leader_transitions_total",
            "Times this instance became the leader, or a standby again.",
            ["role"],
            registry=registry,
        )
        self.objects = Gauge(
            f"{_PREFIX}objects",
            "Objects known, by kind.",
            ["kind"],
            registry=registry,
        )
        self.unreadable_objects = Gauge(
            f"{_PREFIX}unreadable_objects",
            "Objects that cannot be read, by kind; what they belong to is rejected.",
            ["kind"],
            registry=registry,
        )
        self.view_age_seconds = Gauge(
            f"{_PREFIX}view_age_seconds",
            "Time since the API server last sent something of a kind; NaN before it ever did.",
            ["kind"],
            registry=registry,
        )
        self.watch_restarts_total = Counter(
            f"{_PREFIX}watch_restarts_total",
            "Lists and watches started again, by kind and cause.",
            ["kind", "cause"],
            registry=registry,
        )
        self.settings_errors_total = Counter(
            f"{_PREFIX}settings_errors_total",
            "Values of live settings that could not be used, each counted once.",
            registry=registry,
        )
        self.pod_scheduling_wait_duration_seconds = Histogram(
            f"{_PREFIX}pod_scheduling_wait_duration_seconds",
            "Time from the answer that made a hold until the pod was bound, or until the hold "
            "ended without.",
            ["pod_scheduled"],
            buckets=_WAITS,
            registry=registry,
        )
        self.node_reservation_duration_seconds = Histogram(
            f"{_PREFIX}node_reservation_duration_seconds",
            "Time from when a pod was bound until its replicas were placed, or until the hold "
            "ended without.",
            ["replicas_scheduled"],
            buckets=_WAITS,
            registry=registry,
        )
        self.node_choice_duration_seconds = Histogram(
            f"{_PREFIX}node_choice_duration_seconds",
            "Time from an answer with several nodes until it was known which one is chosen.",
            buckets=_SECONDS,
            registry=registry,
        )
        self.holds = Gauge(
            f"{_PREFIX}holds",
            "Holds that stand: open on all accepted nodes, or chosen on one.",
            ["state"],
            registry=registry,
        )
        self.holds_ended_total = Counter(
            f"{_PREFIX}holds_ended_total",
            "Holds that ended, by cause; the last three ran out of time.",
            ["cause"],
            registry=registry,
        )
        self.filter_waiting = Gauge(
            f"{_PREFIX}filter_waiting",
            "Filter requests that wait for another pod's node, or for an object not known yet.",
            registry=registry,
        )
        self.filter_wait_duration_seconds = Histogram(
            f"{_PREFIX}filter_wait_duration_seconds",
            "How long filter requests waited that did, by how that ended.",
            ["outcome"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.waiting_pods = Gauge(
            f"{_PREFIX}waiting_pods",
            "Pods that got no node and were not asked about again.",
            registry=registry,
        )
        self.longest_wait_seconds = Gauge(
            f"{_PREFIX}longest_wait_seconds",
            "Time since the pod that waits longest was first rejected; 0 if no pod waits.",
            registry=registry,
        )
        self.wake_ups_total = Counter(
            f"{_PREFIX}wake_ups_total",
            "Rejected pods for which there was room again, by the outcome of waking them.",
            ["outcome"],
            registry=registry,
        )
        self.connections = Gauge(
            f"{_PREFIX}connections",
            "Connections of clients that are open.",
            registry=registry,
        )
        self.connections_ended_total = Counter(
            f"{_PREFIX}connections_ended_total",
            "Connections ended by this side before the client had its answer, by cause.",
            ["cause"],
            registry=registry,
        )
        self.tls_reloads_total = Counter(
            f"{_PREFIX}tls_reloads_total",
            "Changes found in the certificate files, by whether the new ones could be used.",
            ["outcome"],
            registry=registry,
        )
        Gauge(
            f"{_PREFIX}build_info", "Always 1; the label is the version.", ["version"],
            registry=registry,
        ).labels(version).set(1)  # fmt: skip
        self._decisions = {outcome: self.decisions_total.labels(outcome) for outcome in OUTCOMES}
        for role in ROLES:
            self.leader_transitions_total.labels(role)
        for scheduled in ("true", "false"):
            self.pod_scheduling_wait_duration_seconds.labels(scheduled)
            self.node_reservation_duration_seconds.labels(scheduled)
        for cause in End:
            self.holds_ended_total.labels(cause)
        for outcome in WAIT_OUTCOMES:
            self.filter_wait_duration_seconds.labels(outcome)
        for why in CONNECTION_ENDS:
            self.connections_ended_total.labels(why)
        for outcome in TLS_OUTCOMES:
            self.tls_reloads_total.labels(outcome)
        for outcome in WAKE_UP_OUTCOMES:
            self.wake_ups_total.labels(outcome)
        self._rejections = {reason: self.rejections_total.labels(reason) for reason in REASONS}

    def count_result(self, result: Answer, rejections: Tally[str]) -> None:
        """Count a decision and its rejections by reason."""
        self._decisions[outcome_of(result)].inc()
        self.candidates.observe(len(result.accepted) + len(result.rejected))
        self.packing_steps.observe(result.steps)
        for reason, count in rejections.items():
            self._rejections[reason].inc(count)

    def count_choice(self, before: Hold, after: Hold, now: float) -> None:
        """Count that a hold got its node, or its pod was bound."""
        waited = now - before.answered_at
        if before.state is State.OPEN and after.state is State.CHOSEN:
            self.node_choice_duration_seconds.observe(waited)
        if before.bound_at is None and after.bound_at is not None:
            self.pod_scheduling_wait_duration_seconds.labels("true").observe(waited)

    def count_end(self, ended: Ended) -> None:
        """Count how a hold ended."""
        self.holds_ended_total.labels(ended.why).inc()
        bound_at = ended.hold.bound_at
        if bound_at is None:
            # Longhorn places nothing before the pod is bound, even if we learn of that later.
            bound = "true" if ended.why is End.CONFIRMED else "false"
            self.pod_scheduling_wait_duration_seconds.labels(bound).observe(ended.seconds)
        else:
            placed = "true" if ended.why is End.CONFIRMED else "false"
            waited = ended.at - bound_at
            self.node_reservation_duration_seconds.labels(placed).observe(waited)

    def count_failure(self, outcome: str) -> None:
        """Count a request without decision: "error", "unavailable" or "bad_request"."""
        self._decisions[outcome].inc()


def outcome_of(result: Answer) -> str:
    """Return the label of a decision."""
    if result.basis is not Basis.PLACEMENT:
        return str(result.basis)
    return "fits" if result.accepted else "does_not_fit"
