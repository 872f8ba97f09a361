"""The metrics of the service."""

from collections import Counter as Tally
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from app.metrics import NAMESPACE, ProcessMetrics
from extender import Answer, Basis, Hold
from extender.demand import InjectionOutcome
from extender.holds import End, Ended, State
from extender.verdicts import REASONS
from longhorn import OwnExtender

_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
            2.5, 5.0, 10.0)  # fmt: skip
_WAITS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_COUNTS = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)
_BYTES = (2**10, 2**12, 2**14, 2**16, 2**18, 2**20, 2**22, 2**24, 2**26, 2**28)
_RANKS = (1, 2, 3, 5, 10, 30, 100)
_STEPS = (0, 10, 100, 1_000, 10_000, 100_000)

OUTCOMES = (
    "nothing_local", "replicas", "fits", "does_not_fit", "error", "unavailable", "bad_request",
)  # fmt: skip
PRIORITIZE_OUTCOMES = ("scored", "error", "unavailable", "bad_request")
PREEMPT_OUTCOMES = ("kept", "left_out", "error", "unavailable", "bad_request")
DATA = ("local", "remote")
REMEMBERED = ("open_holds", "waiting_pods", "scores")
WAIT_OUTCOMES = ("resolved", "timeout", "superseded", "abandoned", "unavailable")
WAKE_UP_OUTCOMES = ("woken", "gone", "failed")
MUTATE_OUTCOMES = (*InjectionOutcome, "other_object", "unavailable", "bad_request")
STARTUP_TAINT_OUTCOMES = ("removed", "failed")
TLS_OUTCOMES = ("loaded", "unusable")


class Metrics(ProcessMetrics):
    """The metrics of the service."""

    def __init__(self, registry: CollectorRegistry, *, version: str) -> None:
        super().__init__(registry, NAMESPACE, version=version)
        counter = partial(Counter, namespace=NAMESPACE, registry=registry)
        gauge = partial(Gauge, namespace=NAMESPACE, registry=registry)
        histogram = partial(Histogram, namespace=NAMESPACE, registry=registry)
        self._declare_verbs(counter, histogram)
        self._declare_requests(counter, gauge, histogram)
        self._declare_nodes_chosen(counter, histogram)
        self._declare_holds(counter, gauge)
        self._declare_waiting(counter, gauge, histogram)
        self._decisions = {outcome: self.decisions_total.labels(outcome) for outcome in OUTCOMES}
        shown_from_the_start = (
            (self.prioritizations_total, PRIORITIZE_OUTCOMES),
            (self.preemptions_total, PREEMPT_OUTCOMES),
            (self.mutations_total, MUTATE_OUTCOMES),
            (self.attached_bytes_total, DATA),
            (self.pod_scheduling_wait_duration_seconds, ("true", "false")),
            (self.node_reservation_duration_seconds, ("true", "false")),
            (self.holds_ended_total, End),
            (self.remembered_bytes, REMEMBERED),
            (self.not_remembered_total, REMEMBERED[:2]),
            (self.filter_wait_duration_seconds, WAIT_OUTCOMES),
            (self.tls_reloads_total, TLS_OUTCOMES),
            (self.wake_ups_total, WAKE_UP_OUTCOMES),
            (self.startup_taints_total, STARTUP_TAINT_OUTCOMES),
        )
        for metric, labels in shown_from_the_start:
            for label in labels:
                metric.labels(label)
        self._forecast = {
            state: self.forecast_replicas.labels(state) for state in ("sure", "open", "nowhere")
        }
        self._rejections = {reason: self.rejections_total.labels(reason) for reason in REASONS}

    def _declare_verbs(self, counter: partial[Counter], histogram: partial[Histogram]) -> None:
        self.filter_duration_seconds = histogram(
            "filter_duration_seconds",
            "Time from decoding a filter request to having sent the answer.",
            buckets=_SECONDS,
        )
        self.decisions_total = counter(
            "decisions_total", "Filter requests answered, by outcome.", ["outcome"]
        )
        self.rejections_total = counter(
            "rejections_total", "Candidate nodes rejected, by reason.", ["reason"]
        )
        self.prioritize_duration_seconds = histogram(
            "prioritize_duration_seconds",
            "Time from decoding a prioritize request to having sent the answer.",
            buckets=_SECONDS,
        )
        self.prioritizations_total = counter(
            "prioritizations_total", "Prioritize requests answered, by outcome.", ["outcome"]
        )
        self.preempt_duration_seconds = histogram(
            "preempt_duration_seconds",
            "Time from decoding a preempt request to having sent the answer.",
            buckets=_SECONDS,
        )
        self.preemptions_total = counter(
            "preemptions_total", "Preempt requests answered, by outcome.", ["outcome"]
        )
        self.mutate_duration_seconds = histogram(
            "mutate_duration_seconds",
            "Time from decoding a review of a new pod to having sent the answer.",
            buckets=_SECONDS,
        )
        self.mutations_total = counter(
            "mutations_total", "Reviews of new pods answered, by outcome.", ["outcome"]
        )

    def _declare_requests(
        self, counter: partial[Counter], gauge: partial[Gauge], histogram: partial[Histogram]
    ) -> None:
        self.requests_in_flight = gauge(
            "requests_in_flight", "Requests of every verb being read or answered now."
        )
        self.request_bytes = histogram(
            "request_bytes",
            "Size of the bodies of requests of every verb.",
            buckets=_BYTES,
        )
        self.candidates = histogram(
            "candidates", "Candidate nodes in a filter request.", buckets=_COUNTS
        )
        self.packing_steps = histogram(
            "packing_steps",
            "Placements the exact search tried for one filter request.",
            buckets=_STEPS,
        )
        self.answers_cut_short_total = counter(
            "answers_cut_short_total",
            "Filter requests whose work was over before everything was decided.",
        )
        self.settings_errors_total = counter(
            "settings_errors_total",
            "Values of live settings that could not be used, each counted once.",
        )
        self.longhorn_own_extender = gauge(
            "longhorn_own_extender",
            "1 for what is so of Longhorn's own extender: absent (before 1.13), off or on. This "
            "service does not depend on it.",
            ["state"],
        )
        self.show_own_extender(OwnExtender.ABSENT)

    def _declare_nodes_chosen(
        self, counter: partial[Counter], histogram: partial[Histogram]
    ) -> None:
        self.pod_scheduling_wait_duration_seconds = histogram(
            "pod_scheduling_wait_duration_seconds",
            "Time from the answer that made a hold until the pod was bound, or until the hold "
            "ended without that.",
            ["pod_scheduled"],
            buckets=_WAITS,
        )
        self.node_reservation_duration_seconds = histogram(
            "node_reservation_duration_seconds",
            "Time from when a pod was bound until its replicas were placed, or until the hold "
            "ended without that.",
            ["replicas_scheduled"],
            buckets=_WAITS,
        )
        self.node_choice_duration_seconds = histogram(
            "node_choice_duration_seconds",
            "Time from an answer with several nodes until it was known which one is chosen.",
            buckets=_SECONDS,
        )
        self.chosen_node_rank = histogram(
            "chosen_node_rank",
            "Place of the node chosen for a pod among the scores last told for it; 1 if no node "
            "was better.",
            buckets=_RANKS,
        )
        self.attached_bytes_total = counter(
            "attached_bytes_total",
            "Size of the volumes attached to nodes, by whether a usable replica was on the node "
            "(local) or on others only (remote); without shared volumes. Counted by the leader.",
            ["data"],
        )

    def _declare_holds(self, counter: partial[Counter], gauge: partial[Gauge]) -> None:
        self.holds = gauge(
            "holds", "Holds: open (on all accepted nodes) or chosen (on one).", ["state"]
        )
        self.forecast_replicas = gauge(
            "forecast_replicas",
            "Replicas not placed yet that the last answer counted, of other pods' volumes: sure, "
            "open (the pod may yet go to several nodes), or nowhere (no room).",
            ["state"],
        )
        self.local_rooms_taken_total = counter(
            "local_rooms_taken_total",
            "Volumes for which room was held on their pod's node, and that got no replica there.",
        )
        self.holds_ended_total = counter(
            "holds_ended_total",
            "Holds that ended, by cause; the last three ran out of time.",
            ["cause"],
        )
        self.unasked_pods_total = counter(
            "unasked_pods_total",
            "Pods with the resource that got a node without being asked about; not all are seen.",
        )
        self.refuted_requests_total = counter(
            "refuted_requests_total",
            "Requests with the uid of a pod that has a hold, and another name or other claims.",
        )

    def _declare_waiting(
        self, counter: partial[Counter], gauge: partial[Gauge], histogram: partial[Histogram]
    ) -> None:
        self.remembered_bytes = gauge(
            "remembered_bytes",
            "Memory that is kept for what clients asked, as it is estimated.",
            ["what"],
        )
        self.not_remembered_total = counter(
            "not_remembered_total",
            "What was not kept, as there was no memory left for it.",
            ["what"],
        )
        self.filter_waiting = gauge(
            "filter_waiting",
            "Filter requests that wait for another pod's node, or for an object not known yet.",
        )
        self.filter_wait_duration_seconds = histogram(
            "filter_wait_duration_seconds",
            "How long filter requests waited that did, by how that ended.",
            ["outcome"],
            buckets=_SECONDS,
        )
        self.waiting_pods = gauge(
            "waiting_pods", "Pods that got no node and were not asked about again."
        )
        self.longest_wait_seconds = gauge(
            "longest_wait_seconds",
            "Time since the pod that waits longest was first rejected; 0 if no pod waits.",
        )
        self.wake_ups_total = counter(
            "wake_ups_total",
            "Rejected pods for which there was room again, by the outcome of waking them.",
            ["outcome"],
        )
        self.startup_taints_total = counter(
            "startup_taints_total",
            "Startup taints taken off nodes, and times when that failed.",
            ["outcome"],
        )
        self.event_loop_lag_seconds = histogram(
            "event_loop_lag_seconds",
            "By how much sleeps of 50 ms were too long: so long something else ran.",
            buckets=_SECONDS,
        )
        self.tls_reloads_total = counter(
            "tls_reloads_total",
            "Changes found in the certificate files, by whether the new ones could be used.",
            ["outcome"],
        )

    def count_result(self, result: Answer, rejections: Tally[str]) -> None:
        """Count a decision and its rejections by reason."""
        self._decisions[outcome_of(result)].inc()
        self.candidates.observe(len(result.accepted) + len(result.rejected))
        self.packing_steps.observe(result.steps)
        self.answers_cut_short_total.inc(result.is_cut_short)
        for state, count in result.forecast.items():
            self._forecast[state].set(count)
        for reason, count in rejections.items():
            self._rejections[reason].inc(count)

    def show_own_extender(self, now: OwnExtender) -> None:
        """Show what is so of Longhorn's own extender."""
        for state in OwnExtender:
            self.longhorn_own_extender.labels(state).set(state is now)

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
        """Count a filter request without decision: "error", "unavailable" or "bad_request"."""
        self._decisions[outcome].inc()

    def count_prioritization(self, outcome: str) -> None:
        """Count a prioritize request: one of `PRIORITIZE_OUTCOMES`."""
        self.prioritizations_total.labels(outcome).inc()

    def count_preemption(self, outcome: str) -> None:
        """Count a preempt request: one of `PREEMPT_OUTCOMES`."""
        self.preemptions_total.labels(outcome).inc()

    def count_mutation(self, outcome: str) -> None:
        """Count a review of a new pod: one of `MUTATE_OUTCOMES`."""
        self.mutations_total.labels(outcome).inc()


def outcome_of(result: Answer) -> str:
    """Return the label of a decision."""
    if result.basis is Basis.PLACEMENT or (result.rejected and not result.accepted):
        return "fits" if result.accepted else "does_not_fit"
    return str(result.basis)
