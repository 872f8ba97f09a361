"""Rows on what clients ask, and what they are told."""

from monitoring.panels.panel import FULL, HALF, Panel, Query, Row
from monitoring.panels.queries import INTERVAL, events, quantile_by, quantiles, rate, series, share
from monitoring.series import FILTER_SECONDS_LIMIT

ANSWERS = Row(
    "Answers",
    (
        Panel(
            title="Filter latency",
            question="How long does kube-scheduler wait for an answer?",
            advice="Milliseconds are normal, up to a second if answers wait for other pods' "
            "nodes. Slow without waits: see packing steps, candidates and CPU. Scores never "
            "wait.",
            queries=(
                *quantiles("filter_duration_seconds", 0.5, 0.95, 0.99),
                *quantiles("prioritize_duration_seconds", 0.5, 0.99, what="scores "),
            ),
            unit="s",
            width=HALF,
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
                    f"(increase({series('filter_duration_seconds_bucket')}[{INTERVAL}]))",
                    "{{le}}",
                ),
            ),
            unit="s",
            kind="heatmap",
            width=HALF,
        ),
        Panel(
            title="Decisions by outcome",
            question="What comes out of requests?",
            advice="Mostly does_not_fit: the cluster is full, or a reason below rejects "
            "everything.",
            queries=(rate("decisions_total", "outcome"),),
            unit="reqps",
            kind="stack",
            width=HALF,
        ),
        Panel(
            title="Rejections by reason",
            question="Why are nodes rejected?",
            advice="insufficient_storage and volumes_do_not_fit: add disks. room_held: a "
            "burst, which passes. Others name what is wrong with the node or the volume.",
            queries=(rate("rejections_total", "reason"),),
            kind="stack",
            width=HALF,
            alerts=("PodsWaitLong",),
        ),
        Panel(
            title="Requests without a decision",
            question="Which requests get none, and from which instance?",
            advice="error: no volume is found for a claim. unavailable: a standby was asked, "
            "a few at a hand-over are normal. bad_request: not a filter call, or too large or "
            "slow.",
            queries=(
                events(
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
                Query(f"sum by (pod) ({series('requests_in_flight')})", "{{pod}}"),
                Query(f"sum({series('filter_waiting')})", "of which wait"),
            ),
            alerts=("FilterSlow",),
        ),
        Panel(
            title="Answers that waited",
            question="How many answers waited for another pod's node or a new object, and how "
            "did that end?",
            advice="timeout: nodes are chosen too slowly, see node choice. abandoned: "
            "kube-scheduler's httpTimeout is shorter than the wait.",
            queries=(rate("filter_wait_duration_seconds_count", "outcome"),),
            unit="reqps",
            kind="stack",
            alerts=("Abandoned",),
        ),
        Panel(
            title="How long answers waited",
            question="How long did the answers that waited do so?",
            advice="Near EXTENDER_FILTER_WAIT_SECONDS: waits end because the time is over, not "
            "because a node is chosen.",
            queries=(quantile_by("filter_wait_duration_seconds", "outcome"),),
            unit="s",
            alerts=("FilterSlow",),
        ),
        Panel(
            title="Candidates in a request",
            question="How many nodes does kube-scheduler send?",
            advice="Fewer than the cluster has: set percentageOfNodesToScore to 100, or the "
            "node that fits may not be among them.",
            queries=quantiles("candidates", 0.5, 0.95),
        ),
        Panel(
            title="Size of a request",
            question="How large are the bodies?",
            advice="Megabytes: kube-scheduler sends whole nodes, set nodeCacheCapable to true.",
            queries=quantiles("request_bytes", 0.5, 0.99),
            unit="bytes",
        ),
        Panel(
            title="Pods that nobody asked about",
            question="Do pods with the resource get nodes without the extender?",
            advice="None is right. Else an Emergency is still on, or the extender is ignorable. "
            "Not each such pod is seen.",
            queries=(events("unasked_pods_total", "pod"),),
            alerts=("NotAsked",),
            width=FULL,
        ),
    ),
)

SCORES = Row(
    "Scores",
    (
        Panel(
            title="Data beside pods",
            question="Of the bytes of the volumes that were attached within an hour, which "
            "share has a replica on the pod's node?",
            advice="Low, and the nodes with the highest scores are taken: no node with the "
            "data fits, or it has no CPU left. Low, and others are taken: see the rank.",
            queries=(
                share(
                    "attached_bytes_total",
                    'data="local"',
                    of="attached_bytes_total",
                    legend="beside a replica",
                ),
            ),
            unit="percentunit",
            width=HALF,
        ),
        Panel(
            title="Rank of the chosen node",
            question="How often does kube-scheduler take a node with the highest score?",
            advice="Seldom: its own plugins outweigh the score, see weight in its "
            "configuration. Only pods with holds count. No line although there are holds: it "
            "does not ask for scores, run doctor.",
            queries=(
                share(
                    "chosen_node_rank_bucket",
                    'le="1.0"',
                    of="chosen_node_rank_count",
                    legend="the highest score",
                ),
                share(
                    "chosen_node_rank_bucket",
                    'le="3.0"',
                    of="chosen_node_rank_count",
                    legend="one of the three highest",
                ),
            ),
            unit="percentunit",
            width=HALF,
        ),
    ),
)

INJECTION = Row(
    "Injection",
    (
        Panel(
            title="Reviews of new pods",
            question="What becomes of the new pods that the API server asks about?",
            advice="unavailable: such pods do not ask for the extender, create those with "
            "Longhorn volumes again. bad_request: another client than the API server asks. "
            "Always 0 is normal without the webhook; with it, the API server reaches no "
            "instance.",
            queries=(rate("mutations_total", "outcome"),),
            unit="reqps",
            kind="stack",
            width=HALF,
        ),
        Panel(
            title="Review latency",
            question="How long does the API server wait for a review?",
            advice="Milliseconds are normal. Near the timeout of the webhook (2 s as shipped) "
            "pods are created as they are, and nobody is told: see CPU.",
            queries=quantiles("mutate_duration_seconds", 0.5, 0.95, 0.99),
            unit="s",
            width=HALF,
        ),
    ),
)
