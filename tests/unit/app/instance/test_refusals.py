"""Why pods got no node: what is counted, and what is forgotten."""

from app.instance.refusals import LastRefusals
from extender import Rejection
from extender.verdicts.rejections import InsufficientStorage, NodeNotReady
from longhorn import NodeName
from planner.outcome import Reason
from tests.builders import GIB

MOST_PODS, MOST_NODES = 1_000, 250_000
NOT_READY, FULL = NodeNotReady(), InsufficientStorage(size_bytes=GIB)


def rejected(*rejections: Rejection) -> dict[NodeName, Rejection]:
    """Build the rejections of node-1, node-2 and so on."""
    return {NodeName(f"node-{number}"): each for number, each in enumerate(rejections, 1)}


def known(last: LastRefusals, uids: list[str]) -> list[str]:
    return [uid for uid in uids if last.reasons(uid)]


def test_nodes_are_counted_by_reason_and_the_commonest_comes_first() -> None:
    last = LastRefusals()

    last.remember("uid", rejected(NOT_READY, FULL, FULL))

    assert last.reasons("uid") == (
        Reason(code="insufficient_storage", text=str(FULL), nodes=("node-2", "node-3")),
        Reason(code="node_not_ready", text=str(NOT_READY), nodes=("node-1",)),
    )


def test_only_the_last_refusal_of_a_pod_counts() -> None:
    last = LastRefusals()
    last.remember("uid", rejected(NOT_READY))
    last.remember("uid", rejected(FULL))

    assert [each.code for each in last.reasons("uid")] == ["insufficient_storage"]


def test_a_pod_without_uid_is_not_remembered() -> None:
    last = LastRefusals()

    last.remember("", rejected(FULL))

    assert last.reasons("") == ()


def test_pods_are_forgotten() -> None:
    last = LastRefusals()
    for uid in ("a", "b", "c"):
        last.remember(uid, rejected(FULL))

    last.forget("a")
    last.forget("nobody")
    assert known(last, ["a", "b", "c"]) == ["b", "c"]

    last.forget_all()
    assert known(last, ["a", "b", "c"]) == []


def test_the_oldest_of_too_many_pods_are_dropped() -> None:
    last, uids = LastRefusals(), [str(number) for number in range(MOST_PODS + 2)]

    for uid in uids:
        last.remember(uid, rejected(FULL))

    assert known(last, uids) == uids[2:]


def test_the_oldest_are_dropped_until_the_newest_has_room() -> None:
    last, many = LastRefusals(), rejected(*[FULL] * (MOST_NODES // 2))

    for uid in ("a", "b", "c"):
        last.remember(uid, many)

    assert known(last, ["a", "b", "c"]) == ["b", "c"]
