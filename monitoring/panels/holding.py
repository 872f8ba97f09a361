"""Rows on what follows an answer: holds, and pods that wait."""

from monitoring.panels.panel import HALF, Panel, Query, Row
from monitoring.panels.queries import (
    INTERVAL,
    events,
    largest,
    of_leader,
    quantile_by,
    quantiles,
    rate,
    series,
)

HOLDS = Row(
    "Holds",
    (
        Panel(
            title="Holds",
            question="How many pods have room held for them now?",
            advice="Open ones for seconds: kube-scheduler does not choose. Chosen ones that "
            "pile up: Longhorn places replicas slowly.",
            queries=(largest("holds", "state"),),
            kind="stack",
            alerts=("HoldsExpire",),
        ),
        Panel(
            title="How holds end",
            question="Are holds confirmed by replicas?",
            advice="confirmed is good. not_chosen, not_bound and not_placed ran out of time.",
            queries=(rate("holds_ended_total", "cause"),),
            unit="ops",
            kind="stack",
            alerts=("HoldsExpire",),
        ),
        Panel(
            title="Until a node is chosen",
            question="How long does kube-scheduler take to choose among the accepted nodes?",
            advice="Milliseconds from Kubernetes 1.35 on. Seconds: other answers wait for it.",
            queries=quantiles("node_choice_duration_seconds", 0.5, 0.95, 0.99),
            unit="s",
        ),
        Panel(
            title="Until the pod is bound",
            question="How long does it take from the answer until the pod is bound, or the "
            "hold ends without?",
            advice="Near the pod scheduling timeout: holds end before pods are bound.",
            queries=(
                quantile_by("pod_scheduling_wait_duration_seconds", "pod_scheduled", 0.5),
                quantile_by("pod_scheduling_wait_duration_seconds", "pod_scheduled"),
            ),
            unit="s",
            alerts=("HoldsExpire",),
            width=HALF,
        ),
        Panel(
            title="Until the replicas are placed",
            question="How long does Longhorn take to place the replicas of a bound pod?",
            advice="Near the node reservation timeout: raise it, and see why Longhorn is slow.",
            queries=(
                quantile_by("node_reservation_duration_seconds", "replicas_scheduled", 0.5),
                quantile_by("node_reservation_duration_seconds", "replicas_scheduled"),
            ),
            unit="s",
            alerts=("HoldsExpire",),
            width=HALF,
        ),
        Panel(
            title="Replicas not placed yet",
            question="How many replicas is Longhorn about to place, and have all of them room?",
            advice="nowhere: they take no room now, see whether disks or zones are too few. "
            "sure for minutes: see why Longhorn does not place them.",
            queries=(of_leader("forecast_replicas", "state"),),
            kind="stack",
            alerts=("PodsWaitLong",),
            width=HALF,
        ),
        Panel(
            title="Local room lost",
            question="Did Longhorn place volumes elsewhere that had room on their pod's node?",
            advice="Their pods run and read over the network. Often: see whether disks are "
            "nearly full, or volumes are made for pods that do not ask the extender.",
            queries=(
                Query(
                    f"sum(increase({series('local_rooms_taken_total')}[{INTERVAL}]))",
                    "volumes",
                ),
            ),
            width=HALF,
        ),
    ),
)

WAITING = Row(
    "Pods without a node, and packing",
    (
        Panel(
            title="Waiting pods",
            question="How many pods wait for room?",
            advice="Falls when pods are asked about again or deleted. Only rising: it is full.",
            queries=(Query(f"max({series('waiting_pods')})", "pods"),),
            alerts=("PodsWaitLong",),
        ),
        Panel(
            title="Longest wait",
            question="How long has a pod been rejected?",
            advice="See with the filter command what the pod needs and what disks have left.",
            queries=(Query(f"max({series('longest_wait_seconds')})", "longest wait"),),
            unit="s",
            alerts=("PodsWaitLong",),
            good=(0, 1800),
        ),
        Panel(
            title="Wake-ups",
            question="Are pods woken when there is room again?",
            advice="failed: the right to patch pods is missing, or the API server refuses.",
            queries=(events("wake_ups_total", "outcome"),),
            alerts=("WakeUpsFail",),
        ),
        Panel(
            title="Packing steps",
            question="How hard is it to say whether volumes fit?",
            advice="Thousands: many volumes on many disks. See whether any stay undecided.",
            queries=quantiles("packing_steps", 0.5, 0.95, 0.99),
            width=HALF,
            alerts=("PackingUndecided",),
        ),
        Panel(
            title="Nodes left undecided",
            question="Were nodes rejected because the search reached its limit?",
            advice="Anything but 0: raise EXTENDER_STEP_LIMIT and EXTENDER_REQUEST_STEP_LIMIT.",
            queries=(events("rejections_total", "pod", selector='reason="packing_undecided"'),),
            width=HALF,
            alerts=("PackingUndecided",),
        ),
    ),
)
