"""Rows on the instances themselves: who leads, what they know, what they take."""

from monitoring.panels.panel import HALF, Panel, Query, Row
from monitoring.panels.queries import (
    INTERVAL,
    OURS,
    events,
    largest,
    process,
    quantile_by,
    series,
)

LEADER_AND_VIEW = Row(
    "Leader and view",
    (
        Panel(
            title="Leader",
            question="Which node's instance leads?",
            advice="The lines of two nodes at 1: two leaders. None: no leader.",
            queries=(largest("heartbeat", "node"),),
            width=HALF,
            alerts=("NoLeader", "TwoLeaders"),
        ),
        Panel(
            title="Changes of the leader",
            question="Does the leader stay the same?",
            advice="Changes without a roll-out: the leader cannot renew its Lease in time.",
            queries=(events("leader_transitions_total", "role", "pod"),),
            width=HALF,
            alerts=("LeaderChanges",),
        ),
        Panel(
            title="Age of the view",
            question="When did an instance last hear of each kind of objects?",
            advice="Up to 90 s is normal in a quiet cluster. From 120 s on the instance does "
            "not answer.",
            queries=(largest("view_age_seconds", "kind"),),
            unit="s",
            width=HALF,
            alerts=("ViewStale", "ViewIncomplete"),
            good=(0, 120),
        ),
        Panel(
            title="Watches started again",
            question="Do watches break off?",
            advice="ended every 5 to 10 minutes is normal. connection, status, malformed: see "
            "the API server, and any proxy before it.",
            queries=(events("watch_restarts_total", "kind", "cause"),),
            width=HALF,
            alerts=("WatchFlapping",),
        ),
        Panel(
            title="Objects known",
            question="Does it see the right cluster?",
            advice="0 of a kind that the cluster has: the wrong namespace, or rights that are "
            "missing.",
            queries=(largest("objects", "kind"),),
        ),
        Panel(
            title="Unreadable objects",
            question="Are there objects that cannot be understood?",
            advice="The log names each (view.object_unreadable). What they belong to is rejected.",
            queries=(largest("unreadable_objects", "kind"),),
            alerts=("UnreadableObjects",),
        ),
        Panel(
            title="Settings that cannot be used",
            question="Was a live setting mistyped?",
            advice="The log names it (settings.unusable). The last good value stays in use.",
            queries=(events("settings_errors_total", "pod"),),
            alerts=("SettingsErrors",),
        ),
    ),
)

PROCESSES = Row(
    "Connections and processes",
    (
        Panel(
            title="Connections",
            question="How many clients are connected?",
            advice="Near EXTENDER_CONNECTION_LIMIT: other clients than kube-scheduler connect.",
            queries=(Query(f"sum by (pod) ({series('connections')})", "{{pod}}"),),
            alerts=("ConnectionLimit",),
        ),
        Panel(
            title="Connections ended by us",
            question="Which clients are cut off, and why?",
            advice="displaced: too many connections. headers_late, answer_not_taken: clients "
            "that are slow, or probe the port. handshake_failed, client_not_named: a "
            "certificate is refused.",
            queries=(events("connections_ended_total", "cause"),),
            alerts=("ConnectionLimit", "SlowClients", "HandshakesFail"),
        ),
        Panel(
            title="Certificate read again",
            question="Is a new certificate in use?",
            advice="unusable: the old one is served until it expires; the log says why.",
            queries=(events("tls_reloads_total", "outcome"),),
            alerts=("CertificateUnusable",),
        ),
        Panel(
            title="CPU",
            question="How busy is each instance?",
            advice="Near one core: the process decides on one thread; see requests and steps.",
            queries=(
                Query(
                    process(f"rate(process_cpu_seconds_total{{{OURS}}}[{INTERVAL}])"),
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
                    process(f"process_resident_memory_bytes{{{OURS}}}"),
                    "{{pod}}",
                ),
            ),
            unit="bytes",
            alerts=("Restarts",),
        ),
        Panel(
            title="Event loop lag",
            question="For how long does an instance do one thing only?",
            advice="Above 0.25 s: it gets no CPU, or works too long without giving way. Answers "
            "and the renewal of the lease wait meanwhile.",
            queries=(quantile_by("event_loop_lag_seconds", "pod", 0.99),),
            unit="s",
            alerts=("EventLoopLag",),
            good=(0, 0.25),
        ),
        Panel(
            title="Open files",
            question="Is an instance near its limit of open files?",
            advice="Near the limit connections are refused: see connections.",
            queries=(
                Query(process(f"process_open_fds{{{OURS}}}"), "{{pod}}"),
                Query(
                    f"min({process(f'process_max_fds{{{OURS}}}')})",
                    "limit",
                ),
            ),
            width=HALF,
        ),
        Panel(
            title="Time since the start",
            question="Was an instance restarted?",
            advice="A line that falls to 0: see why with kubectl describe pod.",
            queries=(
                Query(process(f"(time() - process_start_time_seconds{{{OURS}}})"), "{{pod}}"),
            ),
            unit="s",
            width=HALF,
            alerts=("Restarts",),
        ),
    ),
)
