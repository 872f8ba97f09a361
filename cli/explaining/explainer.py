"""Decisions with all that explains them, for the command `filter`."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from app.settings import Settings
from cli.explaining.answering import NOBODY_MISSING, Answering
from cli.explaining.claims import claim_names, claim_reports
from cli.explaining.exclusions import exclusion, exclusions, is_left_out_for_good
from cli.explaining.new_nodes import new_node_notes
from cli.explaining.notes import (
    Note,
    answering_notes,
    ask_notes,
    claim_notes,
    hold_notes,
    pod_notes,
    spread_notes,
    unjudged_notes,
    volume_notes,
)
from cli.explaining.remedies import pod_remedies
from cli.explaining.report import Explanation, explanation, shows_every_disk, unanswered
from cli.explaining.stuck_pods import held_notes
from cli.explaining.tracking import tracking_notes
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.kube.view import view_builder
from cli.missing import unresolvable
from cli.report import Report, make_report
from cli.scheduler_config.wanted import SCHEDULER_NAME
from extender import Answer, Extender, PodRef, Scores, UnresolvableClaimError
from extender.explaining import charges, expected, local_disks, shortfalls, spreads
from extender.holds import rebuild
from longhorn import Moment, Node, NodeName
from planner.predicates import limits_of
from planner.records import KubernetesNode, Wishes

_OVER_ONCE_MADE = frozenset({"does_not_ask", "immediate_binding"})
"""Codes of notes: injection changes the pod when it is made, and a class that does not wait makes
its volumes before kube-scheduler looks at it."""


class Explainer:
    """Decides about pods as the extender would, and explains the answers.

    Args:
        cluster: All that is known of the cluster.
        settings: Of the process.
        utc: The date and time, None if it is not known, as for files.
        origin: The files that the cluster comes from, None if it is live.
        answering: Who is missing that would answer about pods, or schedule them.

    Attributes:
        cluster: As above.
        utc: As above.
        builder: Keeps the view; changes are tried on it, and taken back.
        view: The cluster, indexed.
        extender: With what is held for the pods of the cluster.
    """

    def __init__(
        self,
        cluster: ClusterObjects,
        settings: Settings,
        utc: Moment | None,
        origin: str | None,
        answering: Answering = NOBODY_MISSING,
    ) -> None:
        self.cluster, self._settings, self.utc, self._origin = cluster, settings, utc, origin
        self._answering = answering
        self.builder = view_builder(cluster)
        self.view = self.builder.view
        self.extender = Extender(settings.step_limits, settings.reservation_mode, settings.balance)
        ledger = self.extender.ledger
        pods = [(each.ref, each.status) for each in cluster.of(Pod).values()]
        self._holds = rebuild(pods, self.view, ledger.mode, 0)
        for hold in self._holds:
            ledger.put(hold)

    def pending(self) -> Iterator[Pod]:
        """Yield the pods that have no node, by their names."""
        for _, pod in sorted(self.cluster.of(Pod).items()):
            wishes = pod.wishes or Wishes()
            if not (pod.status.node or pod.status.ended or wishes.deleting):
                yield pod

    def explain(
        self,
        pod: Pod,
        candidates: Sequence[NodeName],
        *,
        all_nodes: bool = False,
        is_made: bool = True,
        tries: bool = True,
    ) -> Explanation:
        """Decide about a pod, and explain the answer.

        Nodes that kube-scheduler itself leaves out are not judged.

        Args:
            pod: The pod.
            candidates: The nodes to look at.
            all_nodes: Explain every disk of every node. Else of many nodes only the disks that are
                nearest to fitting.
            is_made: False of a pod that its workload has yet to make.
            tries: Try what would help if no node takes it.
        """
        view, asked, utc = self.view, pod.ref, self.utc
        known = self.cluster.of(KubernetesNode)
        wishes, limits = pod.wishes or Wishes(), limits_of(asked, view)
        excluded = exclusions(candidates, known, self.cluster.of(Node), wishes, limits)
        judged = [name for name in dict.fromkeys(candidates) if name not in excluded]
        claims = claim_reports(asked, view, self._say)
        schedulers = [*filter(None, [self._settings.webhook_scheduler_name])]
        notes = [
            *answering_notes(pod, self._answering, [SCHEDULER_NAME, *schedulers]),
            *held_notes(pod, self.cluster, view),
            *pod_notes(pod, schedulers),
            *(ask_notes(pod, claims) if self._answering.is_installed else ()),
            *claim_notes(pod, view),
        ]
        if not is_made:
            notes = [each for each in notes if each.code not in _OVER_ONCE_MADE]
        if not known:
            notes.append(Note("nodes_unknown", "the Kubernetes Nodes are not known"))
        try:
            result = self.extender.filter(asked, judged, view, utc=utc)
        except UnresolvableClaimError as error:
            return unanswered(error.problem, self._say(error), asked, claims, notes)
        scores = self.extender.score(result)
        by_node = scores.by_node
        best = max(result.accepted, key=lambda name: by_node[name].total, default=None)
        whole = spreads(result, best)
        names = claim_names(claims, asked.namespace)
        short = shortfalls(result, every_disk=shows_every_disk(len(judged), all_nodes=all_nodes))
        found = explanation(
            self._report(result, scores, judged),
            result,
            view,
            claims=claims,
            notes=[
                *notes,
                *(() if _is_cut_off(notes) else volume_notes(claims, names)),
                *tracking_notes(asked, self.cluster, view, result.accepted),
                *(() if result.accepted else new_node_notes(asked, self.cluster, view)),
                *(() if result.rejected else unjudged_notes(claims)),
                *self._hold_notes(asked, result),
                *spread_notes(whole, names),
            ],
            excluded=excluded,
            shortfalls=short,
            spreads=whole,
        )
        if result.accepted or not tries:
            return found
        kubernetes = (known.get(name, KubernetesNode(name=name)) for name in excluded)
        closed = [e.name for e in kubernetes if not is_left_out_for_good(e, wishes, limits)]
        cordoned = [name for name in closed if excluded[name].code == "node_cordoned"]
        spaces = (view.spaces[name] for name in closed if name in view.spaces)
        down = [e.node.name for e in spaces if not e.node.ready.is_true]
        # The last: the answer stands only until another question is asked.
        may_use_new = exclusion(KubernetesNode(name=NodeName("new")), wishes, limits) is None
        remedies = pod_remedies(
            result, cordoned, down, short, self.extender, self.builder, utc, may_use_new=may_use_new
        )
        return structs.replace(found, remedies=remedies)

    def _report(self, result: Answer, scores: Scores, judged: Iterable[NodeName]) -> Report:
        view, extender, asked = self.view, self.extender, result.request
        situation = result.situation or extender.situation(asked, view, utc=self.utc)
        return make_report(
            result,
            scores,
            local_disks(result),
            view,
            {name: charges(extender.ledger, name, view, but=asked.pod.uid) for name in judged},
            expected(situation),
        )

    def _hold_notes(self, asked: PodRef, result: Answer) -> Iterator[Note]:
        """Say whose holds are not known, where they may change the answer: more reject no less."""
        if self._origin is not None or not result.accepted:
            return
        known_of = {asked.uid, *(hold.pod.uid for hold in self._holds)}
        pods = self.cluster.of(Pod).values()
        yield from hold_notes(each for each in pods if each.ref.uid not in known_of)

    def _say(self, error: UnresolvableClaimError) -> str:
        return str(error) if self._origin is None else unresolvable(error, self._origin)


def _is_cut_off(notes: Iterable[Note]) -> bool:
    return any(each.code == "strict_local_cut_off" for each in notes)
