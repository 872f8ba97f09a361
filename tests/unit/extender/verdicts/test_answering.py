"""Which candidates are accepted: restarts, strict-local volumes, unknown nodes, limits, memory."""

import msgspec
import pytest

from app.kube.resource import AnyRecord
from extender import Basis, ClusterView, Extender, Rejection, StepLimits, UnresolvableClaimError
from extender.verdicts.rejections import (
    NodeNotReady,
    NodeNotSchedulable,
    ReplicasElsewhere,
    StrictLocalElsewhere,
    StrictLocalUnusable,
    UnknownNode,
    UnreadableNode,
)
from extender.verdicts.shortages import InsufficientStorage, PackingUndecided, VolumesDoNotFit
from longhorn import NodeName, Unreadable, VolumeName
from tests.builders import (
    GENEROUS,
    GIB,
    ask,
    bound,
    disk,
    document,
    node,
    node_document,
    nodes_of,
    pod,
    read_as_unreadable,
    replicas_of,
    setting,
    view_of,
    volume,
    volumes_of,
)

NODES, FULL = nodes_of("1 2"), node("node-1", disk(scheduled_bytes=100 * GIB))
LOCAL, STRICT, REMOTE = bound(*volumes_of("vol")), bound(*volumes_of("vol!")), volumes_of("vol~")
AB = bound(*volumes_of("a b"))
CORDONED, DOWN = node("node-1", schedulable=False), node("node-1", ready=False)
TIGHT = node("node-1", disk(maximum_bytes=110 * GIB, listed={"old-r-1": 100 * GIB}))
HELD, HELD_STRICT = ReplicasElsewhere(), StrictLocalElsewhere()
NO_ROOM = InsufficientStorage(size_bytes=10 * GIB)


def unreadable(kind: str, name: str, **fields: object) -> Unreadable:
    return read_as_unreadable(document(kind, name) | fields)


BROKEN_REPLICA = unreadable(
    "Replica", "vol-r-1", spec={"volumeName": "vol", "nodeID": "a", "volumeSize": "?"}
)
BROKEN: dict[str, Unreadable] = {
    "node": unreadable("Node", "node-1", spec=[]),
    "disk": read_as_unreadable(node_document(disk_status={"storageMaximum": "large"})),
    "node-of-an-old-version": unreadable("Node", "node-1", apiVersion="longhorn.io/v1beta1"),
}
HOLDERS = {
    "open": node("node-1"),
    "full": FULL,
    "cordoned": CORDONED,
    "evicting": node("node-1", allow_scheduling=False, evicting=True),
    "without-the-tags": node("node-1", tags=["other"]),
}
MINE = bound(volume(node_selector=["mine"]))
BY_REPLICAS, BY_ROOM, NO_NEED = Basis.REPLICAS, Basis.PLACEMENT, Basis.NOTHING_LOCAL
Records = list[AnyRecord | Unreadable]
ROWS: dict[str, tuple[Records, str, Basis, str, dict[str, Rejection]]] = {
    # Records and replicas; what the answer rests on, the numbers of nodes accepted, the rejected.
    "remote-volume": ([node("node-2"), CORDONED, *bound(*REMOTE)], "",
        NO_NEED, "1", {"7": UnknownNode()}),
    **{f"unreadable-{name}": ([node("node-2"), broken, *LOCAL], "",
        BY_ROOM, "2", {"1": UnreadableNode()}) for name, broken in BROKEN.items()},
    **{f"unreadable-replica-{name}": ([*NODES, *LOCAL,
        unreadable("Replica", "other-r-1", spec={"volumeSize": "large", field: "node-1"})], "",
        BY_ROOM, "2", {"1": UnreadableNode()})
        for name, field in (("placed-there", "nodeID"), ("pinned-to-it", "hardNodeAffinity"))},
    "unreadable-setting-lets-a-pod-restart": (
        [node(), *LOCAL, setting("allow-empty-disk-selector-volume", "?")], "vol@1",
        BY_REPLICAS, "1", {}),
    "unreadable-setting-costs-remote-volumes-no-node": (
        [node(), *bound(*REMOTE), setting("storage-over-provisioning-percentage", "abc")], "",
        NO_NEED, "1", {}),
    **{f"unreadable-replica-costs-no-node-if-{name}": (
        [*NODES, *bound(of), BROKEN_REPLICA], "", NO_NEED, "1 2", {})
        for name, of in (("remote", REMOTE[0]), ("shared", volume(shared=True)))},
    **{f"restart-on-a-node-{name}": ([holder, node("node-2"), *MINE], "vol@1",
        BY_REPLICAS, "1", {"2": HELD}) for name, holder in HOLDERS.items()},
    "restart-with-replicas-of-all-volumes": ([*nodes_of("1 2 3 4"), *AB], "a@1 a@2 b@2 b@3",
        BY_REPLICAS, "2", {"1": HELD, "3": HELD, "4": HELD}),
    "restart-with-replicas-of-its-one-volume": (
        [*nodes_of("1 2 3 4"), *bound(*volumes_of("a")), *volumes_of("b")], "a@1 a@2 b@2 b@3",
        BY_REPLICAS, "1 2", {"3": HELD, "4": HELD}),
    "evicted-replicas-serve-where-no-candidate-has-others": (
        [*nodes_of("1 2 3 4"), *LOCAL], "vol@1/evicting vol@2/evicting vol@3",
        BY_REPLICAS, "2 1", {"4": HELD}),
    "evicted-replica-of-one-volume-prefers-another-node": (
        [*NODES, *AB], "a@1 b@1/evicting a@2 b@2", BY_REPLICAS, "2", {"1": HELD}),
    "replicas-on-no-candidate-leave-it-to-room": (
        [*NODES, node("node-3", *FULL.disks), *LOCAL], "vol@1",
        BY_ROOM, "2", {"3": NO_ROOM}),
    "replica-here-needs-no-room-beside-a-new-one": (
        [TIGHT, *nodes_of("2:109"), *bound(*volumes_of("old:100 new"))], "old:100@1",
        BY_ROOM, "1", {"2": VolumesDoNotFit(volumes=2, size_bytes=110 * GIB)}),
    "replica-of-one-volume-needs-room-for-the-other": (
        [CORDONED, *AB], "a@1", BY_ROOM, "", {"1": NodeNotSchedulable()}),
    "strict-volume-goes-to-the-placed-one": ([*NODES, *bound(*volumes_of("old! new!"))], "old@2",
        BY_ROOM, "2", {"1": HELD_STRICT}),
    "strict-volume-with-an-unusable-replica-fits-nowhere": ([*NODES, *STRICT], "vol@1/inactive",
        BY_ROOM, "", {"1": StrictLocalUnusable(), "2": HELD_STRICT}),
    "strict-volume-of-a-node-that-is-down": ([DOWN, node("node-2"), *STRICT], "vol@1",
        BY_ROOM, "", {"1": NodeNotReady(), "2": HELD_STRICT}),
    "strict-volume-with-a-replica-being-deleted-starts-anew": (
        [*NODES, *STRICT], "vol@1/deleting", BY_ROOM, "1 2", {}),
    "strict-volume-that-waits-for-one-node-starts-on-another": ([FULL, node("node-2"), *STRICT],
        "vol>1", BY_ROOM, "2", {"1": NO_ROOM}),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_candidates_that_are_accepted(name):
    records, replicas, basis, numbers, why = ROWS[name]
    view = view_of(*records, *replicas_of(replicas))
    accepted = [f"node-{number}" for number in numbers.split()]
    rejected = {f"node-{number}": each for number, each in why.items()}
    claims = [key.removeprefix("default/") for key in view.claims]

    result = ask(view, *claims, candidates=[*accepted, *rejected])

    assert (result.basis, result.accepted, result.rejected) == (basis, accepted, rejected)


def test_volume_is_not_sent_away_from_a_replica_that_cannot_be_read():
    with pytest.raises(UnresolvableClaimError) as caught:
        ask(view_of(*NODES, *STRICT, BROKEN_REPLICA))

    assert str(caught.value) == (
        "Volume vol cannot be judged; "
        "its Replica vol-r-1 cannot be read: '?' is not a size in bytes"
    )


PUZZLE = volumes_of("v0:5 v1:4 v2:4 v3:3 v4:2 v5:2")
"""Fits two disks of 10 GiB, but only a search of 7 steps finds how."""
CLAIMS = [each.name for each in PUZZLE]


def accepted_by(
    extender: Extender, view: ClusterView, *claims: str, on: str = "node-1"
) -> list[NodeName]:
    return [*extender.filter(pod(*claims), [NodeName(each) for each in on.split()], view).accepted]


@pytest.mark.parametrize(
    ("per_node", "per_request", "expected"),
    [
        pytest.param(0, 100, [], id="no-step-per-node"),
        pytest.param(1, 100, [], id="too-few-per-node"),
        pytest.param(100, 0, [], id="no-step-per-request"),
        pytest.param(100, 10, ["node-1"], id="enough-for-one-node"),
        pytest.param(100, 100, ["node-1", "node-2", "node-3"], id="enough-for-all"),
    ],
)
def test_step_limits(per_node, per_request, expected):
    view = view_of(*nodes_of("1:10,10 2:10,10 3:10,10"), *bound(*PUZZLE))

    result = ask(view, *CLAIMS, limits=StepLimits(per_node=per_node, per_request=per_request))

    assert result.accepted == expected
    assert set(result.rejected.values()) <= {PackingUndecided()}
    assert result.steps <= per_request


def test_verdict_cut_short_by_the_request_limit_is_not_remembered():
    view = view_of(*nodes_of("1:10,10 2:10,10"), *bound(*PUZZLE))
    extender = Extender(StepLimits(per_node=100, per_request=10))
    accepted_by(extender, view, *CLAIMS, on="node-1 node-2")

    assert accepted_by(extender, view, *CLAIMS, on="node-2") == ["node-2"]


def test_verdicts_that_are_remembered_take_no_steps():
    view, extender = view_of(*nodes_of("1:10,10"), *bound(*PUZZLE)), Extender(GENEROUS)

    first, second = (extender.filter(pod(*CLAIMS), [NodeName("node-1")], view) for _ in range(2))

    assert (first.steps > 0, second.steps) == (True, 0)
    assert second.accepted == first.accepted


def test_setting_that_changed_is_heeded():
    records, extender = [node(), *bound(*volumes_of("vol:150"))], Extender(GENEROUS)
    accepted_by(extender, view_of(*records))

    more = setting("storage-over-provisioning-percentage", "200")

    assert accepted_by(extender, view_of(*records, more)) == ["node-1"]


def test_pod_that_brings_a_pending_replica_is_judged_without_it():
    view = view_of(node(), *bound(*volumes_of("vol:60 other:60")), *replicas_of("other:60>1"))
    extender = Extender(GENEROUS)

    assert accepted_by(extender, view, "vol") == []
    assert accepted_by(extender, view, "other") == ["node-1"]


def test_pending_replica_counts_no_longer_when_its_volume_is_deleted():
    own, other = volumes_of("vol:60 other:60")
    view, extender = (
        view_of(node(), *bound(own), other, *replicas_of("other>1")),
        Extender(GENEROUS),
    )
    assert accepted_by(extender, view) == []

    remaining = {name: each for name, each in view.volumes.items() if name != "other"}
    later = msgspec.structs.replace(view, volumes=remaining)  # no space was replaced
    later.volume_changes.add(VolumeName("other"))

    assert accepted_by(extender, later) == ["node-1"]


def test_strict_local_pod_does_not_spoil_what_is_remembered_of_another():
    view = view_of(
        node("node-1"),
        node("node-2", disk(ready=False)),
        *bound(*volumes_of("placed! free")),
        *replicas_of("placed@2"),
    )
    extender = Extender(GENEROUS)

    found = [accepted_by(extender, view, claim) for claim in ("placed", "free", "placed")]

    assert found == [[], ["node-1"], []]


def test_needs_of_many_kinds_are_answered_as_the_first_was():
    volumes = volumes_of(" ".join(f"v{n}:{90 + n}" for n in range(40)))
    view, extender = view_of(node(), *bound(*volumes)), Extender(GENEROUS)

    for _ in range(2):
        fitting = [n for n in range(40) if accepted_by(extender, view, f"v{n}")]
        assert fitting == list(range(11))
