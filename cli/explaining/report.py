"""All that `filter` tells of one pod, as `-o json` prints it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec

from cli.catalogue import (
    DISKS,
    ERRORS,
    EXCLUSIONS,
    NOTES,
    REJECTIONS,
    Entry,
    Table,
)
from cli.explaining.claims import ClaimReport, claim_names
from cli.explaining.details import (
    claims_of_volumes,
    disk_reasons,
    node_details,
)
from cli.explaining.notes import Note
from cli.remedies.remedy import RemedyReport
from cli.report import Report
from extender import Answer, Basis, ClusterView, PodRef
from extender.errors import ClaimProblem
from extender.explaining import Shortfall, Spread
from longhorn import NodeName, VolumeName
from planner.predicates import Refusal

_BEST = 3
"""Most accepted nodes that the answer names."""
_NOT_KNOWN = "not judged: none of Longhorn's Nodes is known"
_FEW_NODES = 4
"""So many nodes are shown with all their disks, whatever is asked for."""


def _one_of(*tables: Table) -> msgspec.Meta:
    return msgspec.Meta(extra_json_schema={"enum": sorted(code for t in tables for code in t)})


NoteCode = Annotated[str, _one_of(NOTES)]
ReasonCode = Annotated[str, _one_of(REJECTIONS, EXCLUSIONS)]
DiskCode = Annotated[str, _one_of(DISKS)]
ErrorCode = Annotated[str, _one_of(ERRORS, {"": Entry()})]


class NoteReport(msgspec.Struct):
    """One thing to know about the pod."""

    code: NoteCode
    text: str
    action: str
    refuses: bool
    """Whether the pod does not start because of it, whatever nodes fit."""


class DiskReport(msgspec.Struct):
    """Why a disk is not taken; *code* is in docs/reasons.md."""

    code: DiskCode
    text: str


class ReasonReport(msgspec.Struct):
    """Why a node is not taken; *code* is in docs/troubleshooting.md."""

    code: ReasonCode
    text: str
    action: str
    details: Sequence[str] = ()
    """Figures, in the order in which they matter."""
    short_bytes: int | None = None
    """With so much more on one disk the node would take the pod; null if it is not about that."""
    short_disk: str = ""
    """That disk."""


class SpreadReport(msgspec.Struct):
    """Where the replicas of one volume are, and would go."""

    volume: str
    wanted: int
    placed: Sequence[str]
    local: str
    """Where one is placed anew beside the pod; empty if none is."""
    others: Sequence[str]
    """Where the others find room; Longhorn may choose other nodes."""
    missing: int
    """How many find none."""


class Explanation(Report):
    """What `filter -o json` prints: the verdicts, and all that explains them."""

    answer: str
    """The answer in one line."""
    pod: str
    error_code: ErrorCode
    """Of *error*; empty if there is none."""
    basis: str
    claims: Sequence[ClaimReport]
    notes: Sequence[NoteReport]
    reasons: Mapping[str, ReasonReport]
    """Of each rejected node."""
    excluded: Mapping[str, ReasonReport]
    """Nodes that kube-scheduler itself leaves out; they were not judged."""
    disks: Mapping[str, Mapping[str, DiskReport]]
    """By node, the disks that take no new replica whatever it is."""
    spreads: Sequence[SpreadReport]
    """Of each volume, if the pod goes to the best node that accepts it."""
    remedies: Sequence[RemedyReport] = ()
    """What would get the pod a node if none takes it, from the least to the most costly. Each was
    tried on the cluster."""

    @property
    def is_refused(self) -> bool:
        """Whether the pod does not start, whatever the extender says: kube-scheduler gives it no
        node, or it waits on its node for a volume."""
        return any(note.refuses for note in self.notes)

    @property
    def fits(self) -> bool:
        """Whether the pod can get a node, and its volumes there."""
        return bool(self.accepted) and not self.is_refused

    @property
    def volume_names(self) -> dict[VolumeName, str]:
        """How volumes of the pod are named: by its claims."""
        return claim_names(self.claims, self.pod.partition("/")[0])


def shows_every_disk(nodes: int, *, all_nodes: bool) -> bool:
    """Whether each disk is shown of so many nodes that were judged."""
    return all_nodes or nodes <= _FEW_NODES


def explanation(
    report: Report,
    result: Answer,
    view: ClusterView,
    *,
    claims: Sequence[ClaimReport],
    notes: Iterable[Note],
    excluded: Mapping[NodeName, Refusal],
    shortfalls: Mapping[NodeName, Sequence[Shortfall]],
    spreads: Iterable[Spread],
) -> Explanation:
    """Put together what explains an answer."""
    pod, owners = result.request.pod, claims_of_volumes(view)
    reasons: dict[str, ReasonReport] = {
        name: _node_reason(name, result, view, shortfalls.get(name, ()), owners)
        for name in result.rejected
    }
    found = Explanation(
        accepted=report.accepted,
        scores=report.scores,
        rejected=report.rejected,
        error=report.error,
        nodes=report.nodes,
        answer="",
        pod=f"{pod.namespace}/{pod.name}",
        error_code="",
        basis=result.basis,
        claims=claims,
        notes=[_note(each) for each in notes],
        reasons=reasons,
        excluded={name: _exclusion(why) for name, why in excluded.items()},
        disks={
            name: {
                disk: DiskReport(code=each.code, text=each.text) for disk, each in refused.items()
            }
            for name in report.nodes
            if (refused := disk_reasons(view, NodeName(name)))
        },
        spreads=[_spread(each) for each in spreads],
    )
    return msgspec.structs.replace(found, answer=_answer(found, view))


def unanswered(
    problem: ClaimProblem,
    text: str,
    pod: PodRef,
    claims: Sequence[ClaimReport],
    notes: Iterable[Note],
) -> Explanation:
    """Report on a pod of which some claim cannot be judged."""
    return Explanation(
        accepted=[],
        scores={},
        rejected={},
        error=text,
        nodes={},
        answer="not judged: a claim cannot be used",
        pod=f"{pod.namespace}/{pod.name}",
        error_code=problem,
        basis="",
        claims=claims,
        notes=[_note(each) for each in notes],
        reasons={},
        excluded={},
        disks={},
        spreads=[],
    )


def _note(note: Note) -> NoteReport:
    return NoteReport(code=note.code, text=note.text, action=note.action, refuses=note.refuses)


def _exclusion(why: Refusal) -> ReasonReport:
    return ReasonReport(
        code=why.code, text=why.text, action=EXCLUSIONS[why.code].action_for(why.text)
    )


def _node_reason(
    name: NodeName,
    result: Answer,
    view: ClusterView,
    shortfalls: Sequence[Shortfall],
    owners: Mapping[str, str],
) -> ReasonReport:
    rejection = result.rejected[name]
    nearest = shortfalls[0] if shortfalls else None
    return ReasonReport(
        code=rejection.reason,
        text=str(rejection),
        action=REJECTIONS[rejection.reason].action,
        details=node_details(name, rejection, view, shortfalls, owners),
        short_bytes=nearest.bytes if nearest else None,
        short_disk=nearest.disk if nearest else "",
    )


def _spread(spread: Spread) -> SpreadReport:
    return SpreadReport(
        volume=spread.volume,
        wanted=spread.wanted,
        placed=spread.placed,
        local=spread.local or "",
        others=spread.others,
        missing=spread.missing,
    )


def _answer(found: Explanation, view: ClusterView) -> str:
    """Say it in one line: how many nodes fit, and of the others how many do not, by reason."""
    if found.rejected and not (view.spaces or view.unreadable_nodes):
        return _NOT_KNOWN
    total = len(found.accepted) + len(found.reasons) + len(found.excluded)
    parts = [
        f"{count} {REJECTIONS[code].short}"
        for code, count in Counter(each.code for each in found.reasons.values()).most_common()
    ]
    if found.excluded:
        parts.append(f"{len(found.excluded)} excluded by kube-scheduler")
    rest = f"; {', '.join(parts)}" if parts else ""
    if not total:
        return "not judged: no node is known"
    count = f"{len(found.accepted)} of {total} nodes"
    if found.is_refused:
        return f"{_refusal(found)}; {count} would fit{rest}"
    if found.accepted and found.basis == Basis.NOTHING_LOCAL:
        return f"{count} will do, as no volume has to be on the pod's node{rest}"
    return f"{count} fit{_best(found)}{rest}" if found.accepted else f"{count}: {', '.join(parts)}"


def _refusal(found: Explanation) -> str:
    """Say why the pod does not start whatever fits."""
    shorts = (NOTES[each.code].short for each in found.notes if each.refuses)
    return next(shorts, "") or "kube-scheduler refuses the pod"


def best_first(found: Explanation) -> list[str]:
    """Return the accepted nodes, those of the highest score first."""
    return sorted(found.accepted, key=lambda name: -found.scores[name].total)


def _best(found: Explanation) -> str:
    best = best_first(found)
    return f", best {best[0]}" if len(best) > _BEST else f": {', '.join(best)}"
