"""One decision with all that explains it, for the command `filter`."""

from collections.abc import Sequence

from app.cli.explaining.claims import claim_names, claim_reports
from app.cli.explaining.exclusions import exclusions
from app.cli.explaining.notes import (
    Note,
    ask_notes,
    claim_notes,
    hold_notes,
    pod_notes,
    spread_notes,
    tracking_notes,
    unjudged_notes,
    volume_notes,
)
from app.cli.explaining.report import Explanation, explanation, shows_every_disk, unanswered
from app.cli.missing import unresolvable
from app.cli.report import make_report
from app.config import Settings
from app.kube.cluster_objects import ClusterObjects
from app.kube.translate import Pod
from app.kube.view import build_view
from extender import (
    Extender,
    UnresolvableClaimError,
    charges,
    expected,
    local_disks,
    rebuild,
    shortfalls,
    spreads,
)
from longhorn import Moment, Node, NodeName
from planner.predicates import limits_of
from planner.records import KubernetesNode, Wishes


def explain_pod(
    pod: Pod,
    candidates: Sequence[NodeName],
    cluster: ClusterObjects,
    settings: Settings,
    utc: Moment | None,
    *,
    origin: str | None,
    all_nodes: bool,
) -> Explanation:
    """Decide about a pod as the extender would, and explain the answer.

    Nodes that kube-scheduler itself leaves out are not judged.

    Args:
        pod: The pod.
        candidates: The nodes to look at.
        cluster: All that is known of the cluster.
        settings: Of the process.
        utc: The date and time, None if it is not known, as for files.
        origin: The files that the cluster comes from, None if it is live.
        all_nodes: Explain every disk of every node. Else of many nodes only the disks that are
            nearest to fitting.
    """

    def say(error: UnresolvableClaimError) -> str:
        return str(error) if origin is None else unresolvable(error, origin)

    view, limits, asked = build_view(cluster), settings.step_limits, pod.ref
    known = cluster.of(KubernetesNode)
    limited = limits_of(asked, view)
    wishes = pod.wishes or Wishes()
    excluded = exclusions(candidates, known, cluster.of(Node), wishes, limited)
    judged = [name for name in dict.fromkeys(candidates) if name not in excluded]
    claims = claim_reports(asked, view, say)
    notes = [
        *pod_notes(pod, filter(None, [settings.webhook_scheduler_name])),
        *ask_notes(pod, claims),
        *claim_notes(asked, view),
    ]
    if not known:
        notes.append(Note("nodes_unknown", "the Kubernetes Nodes are not known"))
    extender = Extender(limits, settings.reservation_mode, settings.balance)
    ledger = extender.ledger
    pods = [(each.ref, each.status) for each in cluster.of(Pod).values()]
    holds = rebuild(pods, view, ledger.mode, 0)
    for hold in holds:
        ledger.put(hold)
    try:
        result = extender.filter(asked, judged, view, utc=utc)
    except UnresolvableClaimError as error:
        return unanswered(error.problem, say(error), asked, claims, notes)
    scores = extender.score(result)
    report = make_report(
        result,
        scores,
        local_disks(result),
        view,
        {name: charges(ledger, name, view, but=asked.uid) for name in judged},
        expected(result.situation or extender.situation(result.request, view, utc=utc)),
    )
    names = claim_names(claims, asked.namespace)
    is_open = origin is None and bool(result.accepted)  # more holds change no rejection
    known_of = {asked.uid, *(hold.pod.uid for hold in holds)}
    unheld = [each for each in cluster.of(Pod).values() if each.ref.uid not in known_of]
    by_node = scores.by_node
    best = max(result.accepted, key=lambda name: by_node[name].total, default=None)
    whole = spreads(result, best)
    return explanation(
        report,
        result,
        view,
        claims=claims,
        notes=[
            *notes,
            *volume_notes(claims, names),
            *tracking_notes(asked, view, result.accepted),
            *(() if result.rejected else unjudged_notes(claims)),
            *(hold_notes(unheld) if is_open else ()),
            *spread_notes(whole, names),
        ],
        excluded=excluded,
        shortfalls=shortfalls(
            result,
            every_disk=shows_every_disk(len(judged), all_nodes=all_nodes),
        ),
        spreads=whole,
    )
