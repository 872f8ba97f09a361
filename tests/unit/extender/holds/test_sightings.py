"""Only what happened to a pod and its claims after the answer counts."""

from collections.abc import Mapping

import msgspec
import pytest

from extender import Hold, Mode
from extender.holds.evidence import sighting_of
from extender.holds.hold import Sighting
from extender.kubernetes import Claim, ClaimKey, PodStatus
from longhorn import NodeName
from tests.builders import claim, hold, pod

HERE, ELSEWHERE = NodeName("node-1"), NodeName("node-2")
ASKED = PodStatus(version=10)
NO_CLAIMS: Mapping[ClaimKey, Claim] = {}


def seen(
    status: PodStatus | None, *, asked: PodStatus = ASKED, mode: Mode = Mode.CAPACITY
) -> Sighting:
    """Return what a pod without unbound claims tells."""
    return sighting_of(hold(asked=asked), status, NO_CLAIMS, mode)


def later(**fields: str | bool) -> PodStatus:
    """Build a pod as it was after the answer."""
    return msgspec.convert({"version": 11, **fields}, PodStatus)


def claims_of(*found: Claim) -> dict[ClaimKey, Claim]:
    return {each.key: each for each in found}


def selected(name: str, node: NodeName, *, bound: bool = False, deleting: bool = False) -> Claim:
    made = claim(name, persistent_volume=f"pv-{name}" if bound else None, deleting=deleting)
    return msgspec.structs.replace(made, selected_node=node)


def hold_of(*unbound: str, claims: tuple[str, ...] = ("a", "b")) -> Hold:
    """Build the hold of a pod with claims, of which some were not bound at the answer."""
    made = hold(asked=ASKED, unbound=unbound)
    return msgspec.structs.replace(made, pod=pod(*claims))


def test_a_pod_that_does_not_exist_is_gone() -> None:
    assert seen(None) == Sighting(exists=False)


@pytest.mark.parametrize("mode", Mode)
def test_a_pod_that_has_ended_is_gone(mode: Mode) -> None:
    assert not seen(later(ended=True), mode=mode).exists


def test_a_pod_as_it_was_at_the_answer_tells_nothing() -> None:
    asked = PodStatus(version=10, nominated=HERE, refusal="no room")

    assert seen(asked, asked=asked) == Sighting()


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(later(node="node-1"), Sighting(node=HERE), id="bound"),
        pytest.param(later(nominated="node-1"), Sighting(nominated=HERE), id="nominated"),
        pytest.param(later(refusal="no room"), Sighting(refused=True), id="refused"),
        pytest.param(later(), Sighting(), id="nothing"),
    ],
)
def test_what_has_come_since_the_answer_counts(status: PodStatus, expected: Sighting) -> None:
    assert seen(status) == expected


@pytest.mark.parametrize("field", ["node", "nominated", "refusal", "ended"])
def test_what_was_before_kube_schedulers_copy_tells_nothing(field: str) -> None:
    value = True if field == "ended" else "node-1"

    assert seen(later(**{field: value}), asked=PodStatus(version=12)) == Sighting()


@pytest.mark.parametrize(
    ("asked", "heard"),
    [pytest.param(0, 11, id="of-the-request"), pytest.param(10, 0, id="of-the-pod")],
)
def test_without_a_version_nothing_counts_as_old(asked: int, heard: int) -> None:
    status = PodStatus(version=heard, nominated=HERE)

    assert seen(status, asked=PodStatus(version=asked)) == Sighting(nominated=HERE)


def test_a_nomination_counts_only_if_it_is_another() -> None:
    asked = PodStatus(version=10, nominated=HERE)

    assert seen(later(nominated="node-1"), asked=asked).nominated is None
    assert seen(later(nominated="node-2"), asked=asked).nominated == ELSEWHERE
    assert seen(later(), asked=asked) == Sighting()


def test_a_refusal_counts_only_if_it_is_another() -> None:
    asked = PodStatus(version=10, refusal="1 no room")

    assert not seen(later(refusal="1 no room"), asked=asked).refused
    assert seen(later(refusal="2 no room"), asked=asked).refused
    assert not seen(later(), asked=asked).refused


def test_a_claim_that_was_unbound_names_the_node() -> None:
    claims = claims_of(claim("a"), selected("b", HERE))

    assert sighting_of(hold_of("a", "b"), ASKED, claims, Mode.CAPACITY) == Sighting(selected=HERE)


def test_a_claim_that_was_bound_at_the_answer_names_none() -> None:
    claims = claims_of(selected("a", HERE, bound=True), claim("b"))

    assert sighting_of(hold_of("b"), ASKED, claims, Mode.CAPACITY) == Sighting()


def test_a_claim_that_is_bound_meanwhile_names_the_node_still() -> None:
    claims = claims_of(selected("a", HERE, bound=True), selected("b", HERE))

    assert sighting_of(hold_of("a", "b"), ASKED, claims, Mode.CAPACITY).selected == HERE


@pytest.mark.parametrize("others", [[], [claim("b")]], ids=["alone", "beside-another"])
def test_a_claim_that_is_gone_names_none(others: list[Claim]) -> None:
    assert sighting_of(hold_of("a", "b"), ASKED, claims_of(*others), Mode.CAPACITY) == Sighting()


def test_a_claim_that_is_going_names_its_node_still() -> None:
    """It stays as long as a pod that is bound uses it, and its volume is placed for that one."""
    claims = claims_of(selected("a", HERE, deleting=True))

    assert sighting_of(hold_of("a"), ASKED, claims, Mode.CAPACITY) == Sighting(selected=HERE)


def test_the_claims_tell_also_while_the_pod_is_as_it_was_before() -> None:
    claims = claims_of(selected("a", HERE))
    early = PodStatus(version=9, nominated=ELSEWHERE)

    assert sighting_of(hold_of("a"), early, claims, Mode.CAPACITY) == Sighting(selected=HERE)


def test_claims_of_other_pods_tell_nothing() -> None:
    claims = claims_of(claim("a"), selected("other", HERE))

    assert sighting_of(hold_of("a"), ASKED, claims, Mode.CAPACITY) == Sighting()


def test_in_mode_node_nothing_but_binding_counts() -> None:
    claims = claims_of(selected("a", ELSEWHERE))
    chosen = later(nominated="node-2", refusal="no room")

    assert sighting_of(hold_of("a"), chosen, claims, Mode.NODE) == Sighting()
    assert sighting_of(hold_of("a"), later(node="node-1"), claims, Mode.NODE) == Sighting(node=HERE)


@pytest.mark.parametrize("other", [[], [claim("b")]], ids=["alone", "beside-one-that-failed"])
def test_claims_provisioned_before_the_attempt_was_given_up_name_no_node(
    other: list[Claim],
) -> None:
    """Their volumes can be attached anywhere, so the pod's node is open again.

    Where provisioning failed for good, the claim has no node any more.
    """
    claims = claims_of(selected("a", HERE, bound=True), *other)
    hold, refused = hold_of("a", *(["b"] if other else [])), later(refusal="no room")

    assert sighting_of(hold, refused, claims, Mode.CAPACITY) == Sighting(refused=True)
    assert sighting_of(hold, later(), claims, Mode.CAPACITY) == Sighting(selected=HERE)


def test_a_claim_that_is_being_provisioned_names_the_node_after_a_refusal() -> None:
    """The refusal may be a late one of an earlier attempt."""
    claims = claims_of(selected("a", HERE, bound=True), selected("b", HERE))
    refused = later(refusal="no room")

    found = sighting_of(hold_of("a", "b"), refused, claims, Mode.CAPACITY)

    assert found == Sighting(selected=HERE, refused=True)
