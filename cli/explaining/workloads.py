"""`filter` of workloads: what becomes of their pods that have no node, each by itself."""

from collections.abc import Iterator, Sequence

import msgspec

from cli.asked import Alike, Asked
from cli.explaining.explainer import Explainer
from cli.explaining.lines import lines
from cli.explaining.pending import ALONE
from cli.explaining.report import Explanation
from cli.pages import Form
from cli.paragraphs import paragraph
from longhorn import NodeName
from planner.naming import first_of
from planner.workloads import DAEMON_SET, Workload

_MOST_NAMED = 3


class PodsReport(msgspec.Struct, frozen=True, kw_only=True):
    """What is told of pods that differ by their names alone."""

    pods: Sequence[str]
    """By namespace and name."""
    fits: bool
    """Whether each of them can get a node, and its volumes there; of a DaemonSet all its nodes."""
    explanation: Explanation
    """Of the first of them."""


class WorkloadReport(msgspec.Struct, frozen=True, kw_only=True):
    """One workload."""

    workload: str
    """Kind, namespace and name."""
    placed: int
    """So many of its pods have a node."""
    pods: Sequence[PodsReport]
    """Those that have none: they wait, or are to be made."""


class WorkloadsReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `filter -o json` prints of workloads."""

    answer: str
    """In one line."""
    workloads: Sequence[WorkloadReport]
    notes: Sequence[str]
    """What is not known, or left out."""

    @property
    def pods(self) -> list[PodsReport]:
        """All that is told, of whatever workload."""
        return [pods for each in self.workloads for pods in each.pods]


def workloads_report(
    asked: Asked, explainer: Explainer, candidates: Sequence[NodeName], *, all_nodes: bool
) -> WorkloadsReport:
    """Decide about the pods that have no node, each as if it were the only one."""

    def told(workload: Workload, pods: Alike) -> PodsReport:
        found = explainer.explain(pods.first, candidates, all_nodes=all_nodes, is_made=pods.is_made)
        is_everywhere = workload.kind != DAEMON_SET or not found.rejected
        return PodsReport(pods=pods.keys, fits=found.fits and is_everywhere, explanation=found)

    found = WorkloadsReport(
        answer="",
        workloads=[
            WorkloadReport(
                workload=each.workload.key,
                placed=each.placed,
                pods=[told(each.workload, pods) for pods in each.pods],
            )
            for each in asked.unplaced
        ],
        notes=asked.notes,
    )
    return msgspec.structs.replace(found, answer=_answer(found, asked.file))


def _answer(found: WorkloadsReport, file: str) -> str:
    count = sum(len(each.pods) for each in found.pods)
    if not count:
        return "no pod is without a node"
    fits = sum(len(each.pods) for each in found.pods if each.fits)
    pods = "1 pod has no node" if count == 1 else f"{count} pods have no node"
    text = f"{pods}; {fits} of them can get one {ALONE}"
    return f"{text}; `plan place {file}` places them together" if file and count > 1 else text


def workloads_lines(found: WorkloadsReport, form: Form) -> Iterator[str]:
    """Write how many pods there are, and each that does not fit with all that explains it."""
    names = ", ".join(each.workload for each in found.workloads)
    start = f"{names}: " if len(found.workloads) == 1 else f"{len(found.workloads)} workloads: "
    yield from paragraph(start, found.answer, form.width)
    for note in found.notes:
        yield from paragraph("note: ", note, form.width, colour="yellow")
    for each in found.workloads:
        if each.placed:
            has = "1 pod has" if each.placed == 1 else f"{each.placed} pods have"
            yield from paragraph(f"{each.workload}: ", f"{has} a node", form.width)
    told = [(each.workload, pods) for each in found.workloads for pods in each.pods]
    in_full = [each for each in told if not each[1].fits or len(told) == 1 or form.all_nodes]
    for workload, pods in told:
        if (workload, pods) not in in_full:
            text = pods.explanation.answer
            yield from paragraph(f"{_named(workload, pods)}: ", text, form.width, colour="green")
    for workload, pods in in_full:
        yield ""
        yield from paragraph("", _named(workload, pods), form.width, indent=2)
        yield from lines(pods.explanation, form)


def _named(workload: str, pods: PodsReport) -> str:
    """Say of which pods of a workload something is told."""
    kind, _, key = workload.partition(" ")
    names = [each.partition("/")[2] for each in pods.pods]
    if pods.pods == (key,):
        return workload
    if kind == DAEMON_SET:
        return f"{workload}, on each node"
    alike = "" if len(names) == 1 else f"{len(names)} pods alike: "
    return f"{workload}, {alike}{first_of(names, _MOST_NAMED)}"
