"""All pods without a node at once, each in a line: `filter` without a pod."""

from collections.abc import Iterator, Sequence

import msgspec

from cli.catalogue import in_words
from cli.explaining.explainer import Explainer
from cli.explaining.report import NoteReport
from cli.explaining.stuck_pods import stuck_pods
from cli.paragraphs import paragraph
from longhorn import NodeName

ALONE = "(each judged alone; CPU and memory are not looked at)"
_OF_ALL = ("nobody_leads", "scheduler_absent")
"""Notes that say the same of many pods."""


class PendingPod(msgspec.Struct, frozen=True, kw_only=True):
    """One pod without a node."""

    pod: str
    """By namespace and name."""
    fits: bool
    """Whether it can get a node, and its volumes there."""
    answer: str
    """In one line, as `filter` of the pod alone begins."""
    error: str
    """Why a claim of it cannot be judged; empty if all can."""


class PendingPods(msgspec.Struct, frozen=True, kw_only=True):
    """What `filter -o json` prints without a pod."""

    pods: Sequence[PendingPod]
    notes: Sequence[NoteReport] = ()
    """What keeps all of them waiting, or some, whatever fits."""
    stuck: Sequence[str] = ()
    """Pods that have a node and do not run for want of a volume, and why."""


def pending_pods(explainer: Explainer, candidates: Sequence[NodeName]) -> PendingPods:
    """Decide about each pod that has no node, each by itself."""
    found, notes = list[PendingPod](), dict[str, NoteReport]()
    for pod in explainer.pending():
        answer = explainer.explain(pod, candidates, tries=False)
        notes |= {each.text: each for each in answer.notes if each.code in _OF_ALL}
        found.append(
            PendingPod(pod=pod.key, fits=answer.fits, answer=answer.answer, error=answer.error)
        )
    stuck = [
        f"{pod.key} on {pod.status.node}: {note.text}"
        for pod, note in stuck_pods(explainer.cluster, explainer.view)
    ]
    return PendingPods(pods=found, notes=[*notes.values()], stuck=stuck)


def pending_lines(found: PendingPods, width: int) -> Iterator[str]:
    """Write how many pods there are, and a line for each, those that do not fit first."""
    yield from _waiting(found, width)
    for each in found.stuck:
        yield from paragraph("stuck: ", each, width, colour="red")


def _waiting(found: PendingPods, width: int) -> Iterator[str]:
    if not found.pods:
        yield "no pod waits for a node"
        return
    fits, count = sum(each.fits for each in found.pods), len(found.pods)
    waiting = "1 pod waits" if count == 1 else f"{count} pods wait"
    yield f"{waiting} for a node; {fits} of them can get one {ALONE}"
    for note in found.notes:
        yield from paragraph("note: ", note.text, width, colour="yellow")
        yield from paragraph("  -> ", in_words(note.action), width, colour="cyan")
    for each in sorted(found.pods, key=lambda pod: pod.fits):
        colour = "green" if each.fits else "red"
        yield from paragraph(f"{each.pod}: ", each.error or each.answer, width, colour=colour)
