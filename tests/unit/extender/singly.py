"""The slow way to an answer: every node is packed by itself, and nothing is remembered."""

from extender import Answer, ClusterView, Ledger, Rejection
from extender.verdicts.attaching import unattachable
from extender.verdicts.node_verdict import judge
from longhorn import NodeName
from tests.unit.extender.books import situation_in


def judged_singly(answer: Answer, view: ClusterView, ledger: Ledger) -> dict[NodeName, Rejection]:
    """Return why nodes are rejected that *answer* is about, all of them known to Longhorn."""
    situation = situation_in(view, answer.request, ledger)
    rejections = unattachable(answer.request, answer.candidates, view)
    for name in answer.candidates:
        if name in rejections:
            continue
        rejection = judge(situation, view.spaces[name], step_limit=1_000_000).rejection
        if rejection is not None:
            rejections[name] = rejection
    return rejections
