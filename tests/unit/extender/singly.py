"""The slow way to an answer: every node is packed by itself, and nothing is remembered."""

from extender import Answer, ClusterView, Ledger, Rejection
from extender.verdicts.case import prepare_once
from extender.verdicts.judging import judge
from longhorn import NodeName


def judged_singly(answer: Answer, view: ClusterView, ledger: Ledger) -> dict[NodeName, Rejection]:
    """Return why nodes are rejected that *answer* is about, all of them known to Longhorn."""
    request = answer.request
    case = prepare_once(request, answer.existing, view, ledger, step_limit=1_000_000)
    rejections = {}
    for name in (*answer.accepted, *answer.rejected):
        rejection = judge(case, view.spaces[name], step_limit=1_000_000).rejection
        if rejection is not None:
            rejections[name] = rejection
    return rejections
