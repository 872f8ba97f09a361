"""What the leader before held shows in the cluster."""

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender import Hold, Mode
from extender.holds import State, rebuild
from extender.holds.hold import Signal
from extender.kubernetes import Claim, PodStatus
from longhorn import NodeName
from tests.builders import (
    bound,
    claim,
    node,
    nodes_of,
    persistent_volume,
    pod,
    replicas_of,
    storage_class,
    view_of,
    volume,
    volumes_of,
)

HERE, ELSEWHERE = NodeName("node-1"), NodeName("node-2")
NOW = 100.0
UNTOUCHED = PodStatus(version=7)
NOMINATED, BOUND = PodStatus(version=7, nominated=HERE), PodStatus(version=7, node=HERE)
REFUSED = PodStatus(version=7, refusal="no room")


def rebuilt(
    status: PodStatus, *records: AnyRecord, claims: str = "vol", mode: Mode = Mode.CAPACITY
) -> Hold | None:
    """Return the hold of one pod, in a cluster of two nodes and *records*."""
    view = view_of(*nodes_of("1 2"), storage_class(), *records)
    holds = rebuild([(pod(*claims.split()), status)], view, mode, NOW)
    assert len(holds) <= 1
    return holds[0] if holds else None


def selected(name: str = "vol", *, pv: str | None = None) -> Claim:
    return replace(claim(name, persistent_volume=pv), selected_node=HERE)


VOL, MADE = claim("vol"), bound(volume())
UNPLACED = [*MADE, *replicas_of("vol@/new")]
"""A volume that is bound and has no replica with a disk."""
PROVISIONED = [volume(), persistent_volume("pv-vol", handle="vol"), selected(pv="pv-vol")]
"""One whose claim tells where it was to be provisioned."""
NFS = [claim("vol", persistent_volume="pv"), persistent_volume("pv", driver="nfs")]
CHOSEN = State.CHOSEN
ROWS: dict[str, tuple[PodStatus, list[AnyRecord], Mode, tuple[State, Signal | None] | None]] = {
    # The pod, records, and the state of its hold on node-1 and what named that, if it has one.
    "nominated": (NOMINATED, [VOL], Mode.CAPACITY, (CHOSEN, Signal.NOMINATED)),
    "nominated-and-made": (NOMINATED, UNPLACED, Mode.CAPACITY, (CHOSEN, Signal.NOMINATED)),
    "bound": (BOUND, [VOL], Mode.CAPACITY, (CHOSEN, Signal.BOUND)),
    "bound-and-made": (BOUND, UNPLACED, Mode.CAPACITY, (CHOSEN, Signal.BOUND)),
    "claim-to-be-provisioned": (UNTOUCHED, [selected()], Mode.CAPACITY, (CHOSEN, Signal.SELECTED)),
    # Before Kubernetes 1.35 nothing else shows it until the pod is bound.
    "claim-bound-and-not-placed": (UNTOUCHED, PROVISIONED, Mode.CAPACITY, (CHOSEN, None)),
    # It may have been provisioned long ago, for another pod.
    "claim-whose-replica-is-placed": (
        UNTOUCHED, [*PROVISIONED, *replicas_of("vol@2")], Mode.CAPACITY, None),
    "node-not-chosen": (UNTOUCHED, [VOL], Mode.CAPACITY, None),
    "node-not-chosen-and-made": (UNTOUCHED, UNPLACED, Mode.CAPACITY, None),
    "node-refused": (REFUSED, [VOL], Mode.CAPACITY, None),
    "pod-that-has-ended": (replace(BOUND, ended=True), UNPLACED, Mode.CAPACITY, None),
    "pod-that-runs": (replace(BOUND, running=True), UNPLACED, Mode.CAPACITY, None),
    "replicas-placed": (PodStatus(node=HERE), [*MADE, *replicas_of("vol@1")], Mode.CAPACITY, None),
    "replicas-away-from-the-node": (PodStatus(node=HERE), [*MADE, *replicas_of("vol@2")],
        Mode.CAPACITY, (CHOSEN, Signal.BOUND)),
    "replica-that-must-come-to-the-node": (PodStatus(node=HERE), [*MADE, *replicas_of("vol>1")],
        Mode.CAPACITY, (CHOSEN, Signal.BOUND)),
    "room-not-needed": (PodStatus(node=HERE), NFS, Mode.CAPACITY, None),
    "claim-being-deleted": (PodStatus(node=HERE), [claim("vol", deleting=True)],
        Mode.CAPACITY, (CHOSEN, Signal.BOUND)),
    "mode-node-keeps-others-waiting": (PodStatus(nominated=HERE), [VOL],
        Mode.NODE, (State.OPEN, None)),
    "mode-node-keeps-the-node-of-a-bound-pod": (PodStatus(node=HERE), [VOL],
        Mode.NODE, (CHOSEN, Signal.BOUND)),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_hold_of_a_pod(name):
    status, records, mode, expected = ROWS[name]
    found = rebuilt(status, *records, mode=mode)

    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert (found.state, {*found.nodes}, found.named_by) == (expected[0], {HERE}, expected[1])


def test_claim_of_several_that_tells_the_node_is_enough():
    hold = rebuilt(UNTOUCHED, claim("a"), selected("b"), claims="a b")

    assert hold is not None
    assert (hold.state, {*hold.nodes}, hold.named_by) == (CHOSEN, {HERE}, Signal.SELECTED)
    assert len(hold.volumes) == 2


def test_replica_placed_of_a_pod_counts_no_more():
    records = *bound(*volumes_of("a b")), *replicas_of("a@1")
    hold = rebuilt(PodStatus(node=HERE), *records, claims="a b")

    assert hold is not None
    assert hold.existing == {("a", HERE)}
    assert [each.name for each in hold.volumes] == ["a", "b"]


OTHERS: dict[str, tuple[PodStatus, list[AnyRecord]]] = {
    # The claims of the first pod lead nowhere, or it has no hold.
    "claim-missing": (PodStatus(node=HERE), []),
    "volume-missing": (PodStatus(node=HERE), [claim("vol", persistent_volume="pv")]),
    "class-missing": (PodStatus(node=HERE), [claim("vol", storage_class="gone")]),
    "volume-deleting": (PodStatus(node=HERE), [volume(deleting=True), *MADE[1:]]),
    "pod-that-runs": (PodStatus(node=HERE, running=True), [VOL]),
    "pod-that-has-ended": (PodStatus(node=HERE, ended=True), [VOL]),
    "node-none": (UNTOUCHED, [VOL]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_pod_without_a_hold_keeps_no_other_from_being_found(name):
    status, records = OTHERS[name]
    view = view_of(node(), storage_class(), *records, claim("other"))
    pods = [(pod("vol"), status), (pod("other", name="other"), PodStatus(node=HERE))]

    assert [each.pod.name for each in rebuild(pods, view, Mode.CAPACITY, NOW)] == ["other"]


@pytest.mark.parametrize("status", [NOMINATED, BOUND, UNTOUCHED])
def test_time_counts_from_now(status):
    hold = rebuilt(status, selected())

    assert hold is not None
    assert hold.answered_at == NOW
    assert hold.bound_at == (NOW if status.node else None)


def test_nomination_is_not_what_the_pod_was_asked_with():
    """Or it could not be taken back."""
    hold = rebuilt(replace(REFUSED, nominated=HERE), VOL)

    assert hold is not None
    assert hold.asked == REFUSED


def test_pods_are_all_found_in_their_order():
    names = [f"pod-{number}" for number in range(50)]
    view = view_of(*nodes_of("1 2"), storage_class(), *(claim(n) for n in names))
    pods = [
        (pod(name, name=name), PodStatus(nominated=(HERE, ELSEWHERE)[number % 2]))
        for number, name in enumerate(names)
    ]

    holds = rebuild(pods, view, Mode.CAPACITY, NOW)

    assert [(each.pod.name, each.node) for each in holds] == [
        (ref.name, status.nominated) for ref, status in pods
    ]
