"""What the leader before held shows in the cluster."""

import msgspec
import pytest

from app.kube.resource import AnyRecord
from extender import Hold, Mode
from extender.holds import State, rebuild
from extender.holds.hold import Signal
from extender.kubernetes import Claim, PodStatus
from longhorn import NodeName, Replica
from tests.builders import (
    bound,
    claim,
    node,
    pending,
    persistent_volume,
    pod,
    replica,
    storage_class,
    view_of,
    volume,
)

HERE, ELSEWHERE = NodeName("node-1"), NodeName("node-2")
NOW = 100.0
UNTOUCHED = PodStatus(version=7)


def rebuilt(
    status: PodStatus,
    *records: AnyRecord,
    claims: tuple[str, ...] = ("vol",),
    mode: Mode = Mode.CAPACITY,
) -> Hold | None:
    """Return the hold of one pod, in a cluster of two nodes and *records*."""
    view = view_of(node("node-1"), node("node-2"), storage_class(), *records)
    holds = rebuild([(pod(*claims), status)], view, mode, NOW)
    assert len(holds) <= 1
    return holds[0] if holds else None


def where(hold: Hold | None) -> tuple[State, set[NodeName], Signal | None]:
    """Return where a hold counts, and what named the node."""
    assert hold is not None
    return hold.state, {*hold.nodes}, hold.named_by


def unplaced(name: str = "vol") -> list[AnyRecord]:
    """Build a volume that is bound and has no replica with a disk."""
    return [*bound(volume(name)), replica(f"{name}-r-1", of=name, on="", healthy_once=False)]


def selected(name: str = "vol", node_name: NodeName = HERE, *, pv: str | None = None) -> Claim:
    return msgspec.structs.replace(claim(name, persistent_volume=pv), selected_node=node_name)


def provisioned(name: str = "vol", *replicas: Replica) -> list[AnyRecord]:
    """Build a volume whose claim tells where it was to be provisioned."""
    return [
        volume(name),
        persistent_volume(f"pv-{name}", handle=name),
        selected(name, pv=f"pv-{name}"),
        *replicas,
    ]


@pytest.mark.parametrize(
    ("status", "signal"),
    [
        pytest.param(PodStatus(version=7, nominated=HERE), Signal.NOMINATED, id="nominated"),
        pytest.param(PodStatus(version=7, node=HERE), Signal.BOUND, id="bound"),
    ],
)
def test_a_pod_whose_node_is_known_has_a_hold_there(status: PodStatus, signal: Signal) -> None:
    assert where(rebuilt(status, claim("vol"))) == (State.CHOSEN, {HERE}, signal)
    assert where(rebuilt(status, *unplaced())) == (State.CHOSEN, {HERE}, signal)


def test_a_claim_that_is_to_be_provisioned_tells_the_node() -> None:
    hold = rebuilt(UNTOUCHED, selected())

    assert where(hold) == (State.CHOSEN, {HERE}, Signal.SELECTED)


def test_one_of_several_claims_is_enough() -> None:
    hold = rebuilt(UNTOUCHED, claim("a"), selected("b"), claims=("a", "b"))

    assert where(hold) == (State.CHOSEN, {HERE}, Signal.SELECTED)
    assert hold is not None
    assert len(hold.volumes) == 2


def test_claims_that_are_bound_and_not_placed_tell_the_node_for_a_moment() -> None:
    """Before Kubernetes 1.35 nothing else shows it until the pod is bound."""
    hold = rebuilt(UNTOUCHED, *provisioned())

    assert where(hold) == (State.CHOSEN, {HERE}, None)


def test_claims_whose_replica_is_placed_tell_nothing() -> None:
    """They may have been provisioned long ago, for another pod."""
    assert rebuilt(UNTOUCHED, *provisioned("vol", replica(on="node-2"))) is None


def test_a_pod_that_nobody_has_chosen_a_node_for_has_no_hold() -> None:
    assert rebuilt(UNTOUCHED, claim("vol")) is None
    assert rebuilt(UNTOUCHED, *unplaced()) is None
    assert rebuilt(PodStatus(version=7, refusal="no room"), claim("vol")) is None


@pytest.mark.parametrize("field", ["ended", "running"])
def test_a_pod_that_runs_or_has_run_has_no_hold(field: str) -> None:
    status = msgspec.structs.replace(PodStatus(version=7, node=HERE), **{field: True})

    assert rebuilt(status, *unplaced()) is None


def test_a_pod_whose_replicas_are_placed_has_no_hold() -> None:
    assert rebuilt(PodStatus(node=HERE), *bound(volume()), replica(on="node-1")) is None


def test_a_pod_bound_away_from_its_replicas_has_a_hold() -> None:
    hold = rebuilt(PodStatus(node=HERE), *bound(volume()), replica(on="node-2"))

    assert where(hold) == (State.CHOSEN, {HERE}, Signal.BOUND)


def test_a_replica_that_must_come_to_the_node_confirms_nothing() -> None:
    hold = rebuilt(PodStatus(node=HERE), *bound(volume()), pending("vol-r-1", of="vol"))

    assert where(hold) == (State.CHOSEN, {HERE}, Signal.BOUND)


def test_what_is_placed_of_a_pod_counts_no_more() -> None:
    hold = rebuilt(
        PodStatus(node=HERE),
        *bound(volume("a"), volume("b")),
        replica("a-r-1", of="a"),
        claims=("a", "b"),
    )

    assert hold is not None
    assert hold.existing == {("a", HERE)}
    assert [each.name for each in hold.volumes] == ["a", "b"]


def test_a_pod_that_needs_no_room_has_no_hold() -> None:
    bound_claim = claim("vol", persistent_volume="pv")

    assert rebuilt(PodStatus(node=HERE), bound_claim, persistent_volume("pv", driver="nfs")) is None


def test_a_claim_that_is_being_deleted_serves_its_pod_all_the_same() -> None:
    assert rebuilt(PodStatus(node=HERE), claim("vol", deleting=True)) is not None


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([], id="no-claim"),
        pytest.param([claim("vol", persistent_volume="pv")], id="no-volume"),
        pytest.param([claim("vol", storage_class="gone")], id="no-class"),
        pytest.param([volume(deleting=True), *bound(volume())[1:]], id="volume-deleting"),
    ],
)
def test_a_pod_whose_claims_lead_nowhere_keeps_no_other_from_being_found(
    records: list[AnyRecord],
) -> None:
    view = view_of(node(), storage_class(), *records, claim("other"))
    bound_here = PodStatus(node=HERE)
    pods = [(pod("vol"), bound_here), (pod("other", name="other"), bound_here)]

    assert [each.pod.name for each in rebuild(pods, view, Mode.CAPACITY, NOW)] == ["other"]


@pytest.mark.parametrize(
    "status",
    [PodStatus(node=HERE, running=True), PodStatus(node=HERE, ended=True), UNTOUCHED],
    ids=["running", "ended", "no-node"],
)
def test_a_pod_without_a_hold_keeps_no_other_from_being_found(status: PodStatus) -> None:
    view = view_of(node(), storage_class(), claim("vol"), claim("other"))
    pods = [(pod("vol"), status), (pod("other", name="other"), PodStatus(node=HERE))]

    assert [each.pod.name for each in rebuild(pods, view, Mode.CAPACITY, NOW)] == ["other"]


@pytest.mark.parametrize(
    "status", [PodStatus(version=7, nominated=HERE), PodStatus(version=7, node=HERE), UNTOUCHED]
)
def test_time_counts_from_now(status: PodStatus) -> None:
    hold = rebuilt(status, selected())

    assert hold is not None
    assert hold.answered_at == NOW
    assert hold.bound_at == (NOW if status.node else None)


def test_a_nomination_is_not_what_the_pod_was_asked_with() -> None:
    """Or it could not be taken back."""
    hold = rebuilt(PodStatus(version=7, nominated=HERE, refusal="no room"), claim("vol"))

    assert hold is not None
    assert hold.asked == PodStatus(version=7, refusal="no room")


def test_in_mode_node_a_pod_that_is_not_bound_keeps_others_waiting() -> None:
    hold = rebuilt(PodStatus(nominated=HERE), claim("vol"), mode=Mode.NODE)

    assert where(hold) == (State.OPEN, {HERE}, None)


def test_in_mode_node_a_pod_that_is_bound_keeps_its_node() -> None:
    hold = rebuilt(PodStatus(node=HERE), claim("vol"), mode=Mode.NODE)

    assert where(hold) == (State.CHOSEN, {HERE}, Signal.BOUND)


def test_all_pods_are_found_in_their_order() -> None:
    names = [f"pod-{number}" for number in range(50)]
    view = view_of(node("node-1"), node("node-2"), storage_class(), *(claim(n) for n in names))
    pods = [
        (pod(name, name=name), PodStatus(nominated=(HERE, ELSEWHERE)[number % 2]))
        for number, name in enumerate(names)
    ]

    holds = rebuild(pods, view, Mode.CAPACITY, NOW)

    assert [(each.pod.name, each.node) for each in holds] == [
        (ref.name, status.nominated) for ref, status in pods
    ]
