"""Which new pods get the resource: those that may have a Longhorn volume, as far as is known."""

from typing import Any

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender.demand import Injection, InjectionOutcome, judge_claims, judge_pod
from extender.kubernetes import ClaimKey, ClaimTemplate, NewPod, StorageClass
from longhorn import Unreadable
from tests.builders import (
    bare_class,
    bound,
    claim,
    core_document,
    persistent_volume,
    read_as_unreadable,
    view_of,
    volume,
)

SECOND = "longhorn-scheduler"
INJECTED = Injection(outcome=InjectionOutcome.NEEDS_EXTENDER, resource=True)
LEFT_ALONE = Injection(outcome=InjectionOutcome.OTHER_STORAGE)
OTHERS = bare_class("other", provisioner="ebs.csi.aws.com")
LONGHORNS = bare_class("local")


def pod(*claims: str, **fields: Any) -> NewPod:
    """Build a pod with these claims in namespace default."""
    return NewPod(claims=tuple(ClaimKey(f"default/{each}") for each in claims), **fields)


def ephemeral(storage_class: str | None, *, persistent_volume: str | None = None) -> NewPod:
    template = ClaimTemplate(storage_class=storage_class, persistent_volume=persistent_volume)
    return NewPod(templates=(template,))


def default(of: StorageClass) -> StorageClass:
    return replace(of, is_default=True)


def alone(outcome: InjectionOutcome) -> Injection:
    return Injection(outcome=outcome)


ASKING = pod("a", asks_for_extender=True)
ASKS, NO_CLAIMS = alone(InjectionOutcome.ASKS_ALREADY), alone(InjectionOutcome.NO_CLAIMS)
BY_DEFAULT = "default-scheduler"
PODS: dict[str, tuple[NewPod, str, Injection | None]] = {
    # A pod, the name of a second scheduler, and what is decided before its claims are looked at.
    "pod-bound": (pod("a", is_bound=True), "", alone(InjectionOutcome.IS_BOUND)),
    "pod-of-a-daemon-set": (
        pod("a", of_daemon_set=True), "", alone(InjectionOutcome.OF_DAEMON_SET)),
    "pod-opted-out": (pod("a", opted_out=True), "", alone(InjectionOutcome.OPTED_OUT)),
    "claims-none": (pod(), "", NO_CLAIMS),
    "claims-none-and-asks": (pod(asks_for_extender=True), "", NO_CLAIMS),
    "pod-asks": (ASKING, "", ASKS),
    "pod-asks-of-the-only-scheduler": (replace(ASKING, scheduler=BY_DEFAULT), "", ASKS),
    "claim-decides": (pod("a"), SECOND, None),
    "claim-of-an-ephemeral-volume-decides": (ephemeral("local"), SECOND, None),
    # A pod that asks already would wait for ever at the default scheduler.
    "pod-asks-beside-a-second-scheduler": (replace(ASKING, scheduler=BY_DEFAULT), SECOND,
        Injection(outcome=InjectionOutcome.NEEDS_SCHEDULER, scheduler=SECOND)),
    "pod-asks-of-another-scheduler": (replace(ASKING, scheduler="volcano"), SECOND, ASKS),
    "pod-asks-of-the-second-scheduler": (replace(ASKING, scheduler=SECOND), SECOND, ASKS),
}  # fmt: skip


@pytest.mark.parametrize("name", PODS)
def test_pod_is_judged_before_its_claims(name):
    new, second, expected = PODS[name]

    assert judge_pod(new, second) == expected


OTHER = claim("a", storage_class="other")
TO_PV = claim("a", persistent_volume="pv")
OLD = bare_class("old", provisioner="rancher.io/longhorn")
UNREADABLE = read_as_unreadable(core_document("PersistentVolumeClaim", "a", spec=5))
CLAIMS: dict[str, tuple[list[AnyRecord | Unreadable], Injection]] = {
    "claim-of-longhorns-class": ([claim("a"), LONGHORNS], INJECTED),
    "claim-of-a-class-of-longhorns-first-releases": (
        [claim("a", storage_class="old"), OLD], INJECTED),
    "claim-bound-to-longhorns-volume": ([*bound(volume("a"))], INJECTED),
    "claim-bound-to-longhorns-volume-in-another-class": (
        [replace(OTHER, persistent_volume="pv"), persistent_volume(), OTHERS], INJECTED),
    "claim-not-known-yet": ([], INJECTED),
    "claim-of-a-class-that-is-not-known": ([claim("a")], INJECTED),
    "claim-bound-to-a-volume-that-is-not-known": ([TO_PV], INJECTED),
    "claim-unbound-and-of-no-class": ([claim("a", storage_class=None), OTHERS], INJECTED),
    "claim-not-readable": ([UNREADABLE], INJECTED),
    "claim-of-another-class": ([OTHER, OTHERS], LEFT_ALONE),
    "claim-bound-to-another-drivers-volume": (
        [TO_PV, persistent_volume(driver="nfs"), LONGHORNS], LEFT_ALONE),
    "claim-bound-to-a-volume-not-of-csi": (
        [TO_PV, persistent_volume(driver=None), LONGHORNS], LEFT_ALONE),
}  # fmt: skip


@pytest.mark.parametrize("name", CLAIMS)
def test_claim_is_judged(name):
    records, expected = CLAIMS[name]
    view = view_of(*records)

    assert judge_claims(pod("a"), "" if expected is INJECTED else SECOND, view) == expected
    if expected is INJECTED:
        assert judge_claims(pod("b", "a"), "", view) == INJECTED


def test_claim_of_longhorn_among_several_is_enough():
    view = view_of(OTHER, claim("b"), OTHERS, LONGHORNS)

    assert judge_claims(pod("a", "b"), "", view) == INJECTED
    assert judge_claims(pod("a"), "", view) == LEFT_ALONE


NAMED = [persistent_volume("ours"), persistent_volume("theirs", driver="nfs"), LONGHORNS]
EPHEMERAL: dict[str, tuple[NewPod, list[AnyRecord], Injection]] = {
    # A generic ephemeral volume counts by the class of its template, and may name a volume.
    "class-longhorns": (ephemeral("local"), [LONGHORNS], INJECTED),
    "class-another": (ephemeral("other"), [OTHERS], LEFT_ALONE),
    "class-that-is-not-known": (ephemeral("gone"), [OTHERS], INJECTED),
    "class-none-so-a-volume-made-by-hand": (ephemeral(""), [default(OTHERS)], INJECTED),
    "default-longhorns": (ephemeral(None), [default(LONGHORNS), OTHERS], INJECTED),
    "default-another": (ephemeral(None), [LONGHORNS, default(OTHERS)], LEFT_ALONE),
    "default-none": (ephemeral(None), [LONGHORNS, OTHERS], INJECTED),
    "default-twice": (ephemeral(None), [default(LONGHORNS), default(OTHERS)], INJECTED),
    "volume-longhorns": (ephemeral(None, persistent_volume="ours"), NAMED, INJECTED),
    "volume-of-another-driver": (ephemeral(None, persistent_volume="theirs"), NAMED, LEFT_ALONE),
}


@pytest.mark.parametrize("name", EPHEMERAL)
def test_volume_that_is_generic_and_ephemeral_is_judged(name):
    new, records, expected = EPHEMERAL[name]

    assert judge_claims(new, "", view_of(*records)) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [(BY_DEFAULT, SECOND), ("", SECOND), ("volcano", None), (SECOND, None)],
)
def test_scheduler_that_is_the_second_replaces_the_default_one_and_no_other(before, after):
    found = judge_claims(pod("a", scheduler=before), SECOND, view_of(claim("a"), LONGHORNS))

    assert found == replace(INJECTED, scheduler=after)
