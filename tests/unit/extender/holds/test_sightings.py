"""Only what happened to a pod and its claims after the answer counts."""

import pytest
from msgspec.structs import replace

from extender import Hold, Mode
from extender.holds.evidence import sighting_of
from extender.holds.hold import Sighting
from extender.kubernetes import Claim, PodStatus
from longhorn import NodeName
from tests.builders import claim, hold, pod

HERE, ELSEWHERE = NodeName("node-1"), NodeName("node-2")
ASKED, LATER, EARLIER = PodStatus(version=10), PodStatus(version=11), PodStatus(version=9)
"""A pod at the answer, and as it was after and before it."""
REFUSED, ENDED = replace(LATER, refusal="no room"), replace(LATER, ended=True)
ON_1, TO_1 = replace(LATER, node=HERE), replace(LATER, nominated=HERE)
NOTHING, GONE = Sighting(), Sighting(exists=False)


def selected(name: str, node: NodeName = HERE, *, bound: bool = False) -> Claim:
    made = claim(name, persistent_volume=f"pv-{name}" if bound else None)
    return replace(made, selected_node=node)


def seen(
    status: PodStatus | None,
    *claims: Claim,
    unbound: str = "",
    asked: PodStatus = ASKED,
    mode: Mode = Mode.CAPACITY,
) -> Sighting:
    """Return what a pod with claims a and b tells, of which some were not bound at the answer."""
    of: Hold = replace(hold(asked=asked, unbound=unbound), pod=pod("a", "b"))
    return sighting_of(of, status, {each.key: each for each in claims}, mode)


OPEN_1 = PodStatus(version=10, nominated=HERE)
WAS_REFUSED = PodStatus(version=10, refusal="no room")
AT_ONCE = replace(OPEN_1, refusal="no room")
MAYBE = replace(LATER, nominated=ELSEWHERE, refusal="no room")
PODS: dict[str, tuple[PodStatus | None, PodStatus, Mode, Sighting]] = {
    # The pod now and when it was asked about; what is seen of it.
    "pod-that-does-not-exist": (None, ASKED, Mode.CAPACITY, GONE),
    **{f"pod-that-has-ended-in-mode-{mode.value}": (ENDED, ASKED, mode, GONE) for mode in Mode},
    "pod-as-it-was": (AT_ONCE, AT_ONCE, Mode.CAPACITY, NOTHING),
    "bound": (ON_1, ASKED, Mode.CAPACITY, Sighting(node=HERE)),
    "nominated": (TO_1, ASKED, Mode.CAPACITY, Sighting(nominated=HERE)),
    "refused": (REFUSED, ASKED, Mode.CAPACITY, Sighting(refused=True)),
    "pod-without-news": (LATER, ASKED, Mode.CAPACITY, NOTHING),
    **{f"pod-before-kube-schedulers-copy-{name}": (
        status, PodStatus(version=12), Mode.CAPACITY, NOTHING)
        for name, status in (("bound", ON_1), ("nominated", TO_1), ("refused", REFUSED),
            ("ended", ENDED))},
    "version-of-the-request-unknown": (
        TO_1, PodStatus(version=0), Mode.CAPACITY, Sighting(nominated=HERE)),
    "version-of-the-pod-unknown": (
        PodStatus(version=0, nominated=HERE), ASKED, Mode.CAPACITY, Sighting(nominated=HERE)),
    "nomination-that-is-the-same": (TO_1, OPEN_1, Mode.CAPACITY, NOTHING),
    "nomination-that-is-another": (
        replace(LATER, nominated=ELSEWHERE), OPEN_1, Mode.CAPACITY, Sighting(nominated=ELSEWHERE)),
    "nomination-that-is-gone": (LATER, OPEN_1, Mode.CAPACITY, NOTHING),
    "refusal-that-is-the-same": (REFUSED, WAS_REFUSED, Mode.CAPACITY, NOTHING),
    "refusal-that-is-another": (
        replace(REFUSED, refusal="2 no room"), WAS_REFUSED, Mode.CAPACITY, Sighting(refused=True)),
    "refusal-that-is-gone": (LATER, WAS_REFUSED, Mode.CAPACITY, NOTHING),
}  # fmt: skip


@pytest.mark.parametrize("name", PODS)
def test_pod_that_has_changed_since_the_answer_is_seen(name):
    status, asked, mode, expected = PODS[name]

    assert seen(status, asked=asked, mode=mode) == expected


MADE = selected("a", bound=True)
EARLY, SELECTED = replace(EARLIER, nominated=ELSEWHERE), Sighting(selected=HERE)
CLAIMS: dict[str, tuple[PodStatus, list[Claim], str, Sighting]] = {
    # The pod and its claims now, those that were not bound at the answer; what is seen.
    "claim-that-was-unbound": (ASKED, [claim("a"), selected("b")], "ab", SELECTED),
    "claim-that-was-bound": (ASKED, [MADE, claim("b")], "b", NOTHING),
    "claim-bound-meanwhile": (ASKED, [MADE, selected("b")], "ab", SELECTED),
    "claims-gone": (ASKED, [], "ab", NOTHING),
    "claim-gone-beside-another": (ASKED, [claim("b")], "ab", NOTHING),
    # It stays as long as a pod that is bound uses it, and its volume is placed for that one.
    "claim-going": (
        ASKED, [replace(claim("a", deleting=True), selected_node=HERE)], "a", SELECTED),
    "claim-of-a-pod-as-it-was-before": (EARLY, [selected("a")], "a", SELECTED),
    "claims-of-other-pods": (ASKED, [claim("a"), selected("other")], "a", NOTHING),
    # Volumes provisioned before the attempt was given up can be attached anywhere, so the pod's
    # node is open again. Where provisioning failed for good, the claim has no node any more.
    "claim-provisioned-and-given-up": (REFUSED, [MADE], "a", Sighting(refused=True)),
    "claim-provisioned": (LATER, [MADE], "a", SELECTED),
    "claim-provisioned-and-given-up-beside-one-that-failed": (
        REFUSED, [MADE, claim("b")], "ab", Sighting(refused=True)),
    "claim-provisioned-beside-one-that-failed": (LATER, [MADE, claim("b")], "ab", SELECTED),
    # The refusal may be a late one of an earlier attempt.
    "claim-being-provisioned-after-a-refusal": (
        REFUSED, [MADE, selected("b")], "ab", Sighting(selected=HERE, refused=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_claim_that_has_changed_since_the_answer_names_the_node(name):
    status, claims, unbound, expected = CLAIMS[name]

    assert seen(status, *claims, unbound=unbound) == expected


@pytest.mark.parametrize(("status", "expected"), [(MAYBE, NOTHING), (ON_1, Sighting(node=HERE))])
def test_mode_node_counts_nothing_but_binding(status, expected):
    assert seen(status, selected("a", ELSEWHERE), unbound="a", mode=Mode.NODE) == expected
