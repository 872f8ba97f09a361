"""What an answer leaves in the ledger."""

import pytest
from msgspec import structs

from extender import Extender
from extender.holds import Asked, End, State, Timeouts
from longhorn import NodeName
from tests.builders import GENEROUS, claim, disk, node, pod, storage_class, view_of

NODES = [NodeName("node-1"), NodeName("node-2")]
VIEW = view_of(*(node(name, disk()) for name in NODES), storage_class(), claim("data"))
POD = pod("data")


@pytest.mark.parametrize(
    ("uid", "choosing_seconds", "held"),
    [
        pytest.param("uid-pod", 5.0, 1, id="a-pod-that-waits"),
        pytest.param("", 5.0, 0, id="no-real-pod"),
        pytest.param("uid-pod", 0.0, 0, id="no-time-to-choose"),
    ],
)
def test_answer_is_held_for_a_real_pod_while_its_node_may_be_chosen(uid, choosing_seconds, held):
    extender = Extender(GENEROUS)
    answer = extender.filter(structs.replace(POD, uid=uid), NODES, VIEW)
    timeouts = Timeouts(choosing_seconds=choosing_seconds, placing_seconds=7.0)

    extender.hold(answer, Asked(), timeouts=timeouts, now=1.0)

    assert answer.accepted == [*NODES]
    assert extender.ledger.count(State.OPEN) == held


def test_answer_that_rejects_ends_what_was_held_before():
    extender = Extender(GENEROUS)
    timeouts = Timeouts(choosing_seconds=5.0, placing_seconds=7.0)
    extender.hold(extender.filter(POD, NODES, VIEW), Asked(), timeouts=timeouts, now=1.0)

    nowhere = extender.filter(POD, [NodeName("node-9")], VIEW)
    outcome = extender.hold(nowhere, Asked(), timeouts=timeouts, now=2.0)

    assert [each.why for each in outcome.ended] == [End.REPLACED]
    assert len(extender.ledger) == 0
