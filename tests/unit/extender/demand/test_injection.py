"""Which new pods get the resource: those that may have a Longhorn volume, as far as is known."""

from typing import Any

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender.demand import Injection, InjectionOutcome, judge_claims, judge_pod
from extender.kubernetes import ClaimKey, ClaimTemplate, NewPod
from tests.builders import (
    bare_class,
    bound,
    claim,
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


def default(of: Any, *, is_default: bool = True) -> Any:
    return replace(of, is_default=is_default)


@pytest.mark.parametrize(
    ("new", "outcome"),
    [
        pytest.param(pod("a", is_bound=True), InjectionOutcome.IS_BOUND, id="bound"),
        pytest.param(pod("a", of_daemon_set=True), InjectionOutcome.OF_DAEMON_SET, id="daemon set"),
        pytest.param(pod("a", opted_out=True), InjectionOutcome.OPTED_OUT, id="opted out"),
        pytest.param(pod(), InjectionOutcome.NO_CLAIMS, id="no claims"),
        pytest.param(
            pod(asks_for_extender=True), InjectionOutcome.NO_CLAIMS, id="asks without claims"
        ),
        pytest.param(pod("a", asks_for_extender=True), InjectionOutcome.ASKS_ALREADY, id="asks"),
        pytest.param(
            pod("a", asks_for_extender=True, scheduler="default-scheduler"),
            InjectionOutcome.ASKS_ALREADY,
            id="asks, of the only scheduler",
        ),
    ],
)
def test_these_are_left_alone_whatever_their_claims_are(
    new: NewPod, outcome: InjectionOutcome
) -> None:
    assert judge_pod(new, "") == Injection(outcome=outcome)


@pytest.mark.parametrize("new", [pod("a"), ephemeral("local")], ids=["claim", "ephemeral"])
def test_of_all_others_it_depends_on_their_claims(new: NewPod) -> None:
    assert judge_pod(new, SECOND) is None


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([claim("a"), LONGHORNS], id="of Longhorn's class"),
        pytest.param(
            [claim("a", storage_class="old"), bare_class("old", provisioner="rancher.io/longhorn")],
            id="of a class of Longhorn's first releases",
        ),
        pytest.param(bound(volume("a")), id="bound to Longhorn's volume"),
        pytest.param(
            [
                claim("a", storage_class="other", persistent_volume="pv"),
                persistent_volume(),
                OTHERS,
            ],
            id="bound to Longhorn's volume in another class",
        ),
        pytest.param([], id="not known yet"),
        pytest.param([claim("a")], id="of a class that is not known"),
        pytest.param([claim("a", persistent_volume="pv")], id="bound to what is not known"),
        pytest.param([claim("a", storage_class=None), OTHERS], id="unbound and of no class"),
        pytest.param(
            [
                read_as_unreadable(
                    {
                        "apiVersion": "v1",
                        "kind": "PersistentVolumeClaim",
                        "metadata": {"name": "a", "namespace": "default"},
                        "spec": 5,
                    }
                )
            ],
            id="not readable",
        ),
    ],
)
def test_a_claim_that_is_or_may_be_longhorns(records: list[AnyRecord]) -> None:
    view = view_of(*records)

    assert judge_claims(pod("a"), "", view) == INJECTED
    assert judge_claims(pod("b", "a"), "", view) == INJECTED


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([claim("a", storage_class="other"), OTHERS], id="of another class"),
        pytest.param(
            [claim("a", persistent_volume="pv"), persistent_volume(driver="nfs"), LONGHORNS],
            id="bound to another driver's volume",
        ),
        pytest.param(
            [claim("a", persistent_volume="pv"), persistent_volume(driver=None), LONGHORNS],
            id="bound to a volume that is not of CSI",
        ),
    ],
)
def test_a_claim_that_is_known_not_to_be(records: list[AnyRecord]) -> None:
    assert judge_claims(pod("a"), SECOND, view_of(*records)) == LEFT_ALONE


def test_one_longhorn_claim_of_several_is_enough() -> None:
    view = view_of(claim("a", storage_class="other"), claim("b"), OTHERS, LONGHORNS)

    assert judge_claims(pod("a", "b"), "", view) == INJECTED
    assert judge_claims(pod("a"), "", view) == LEFT_ALONE


@pytest.mark.parametrize(
    ("storage_class", "records", "expected"),
    [
        pytest.param("local", [LONGHORNS], INJECTED, id="Longhorn's class"),
        pytest.param("other", [OTHERS], LEFT_ALONE, id="another class"),
        pytest.param("gone", [OTHERS], INJECTED, id="a class that is not known"),
        pytest.param("", [default(OTHERS)], INJECTED, id="no class, so a volume made by hand"),
        pytest.param(None, [default(LONGHORNS), OTHERS], INJECTED, id="Longhorn's is the default"),
        pytest.param(None, [LONGHORNS, default(OTHERS)], LEFT_ALONE, id="another is the default"),
        pytest.param(None, [LONGHORNS, OTHERS], INJECTED, id="no default"),
        pytest.param(
            None, [default(LONGHORNS), default(OTHERS)], INJECTED, id="one default is Longhorn's"
        ),
    ],
)
def test_a_generic_ephemeral_volume_counts_by_the_class_of_its_template(
    storage_class: str | None, records: list[AnyRecord], expected: Injection
) -> None:
    assert judge_claims(ephemeral(storage_class), "", view_of(*records)) == expected


def test_a_generic_ephemeral_volume_may_name_the_volume_itself() -> None:
    view = view_of(persistent_volume("ours"), persistent_volume("theirs", driver="nfs"), LONGHORNS)

    ours, theirs = (ephemeral(None, persistent_volume=name) for name in ("ours", "theirs"))
    assert judge_claims(ours, "", view) == INJECTED
    assert judge_claims(theirs, "", view) == LEFT_ALONE


@pytest.mark.parametrize(
    ("before", "after"),
    [("default-scheduler", SECOND), ("", SECOND), ("volcano", None), (SECOND, None)],
)
def test_a_second_scheduler_replaces_the_default_one_and_no_other(
    before: str, after: str | None
) -> None:
    view = view_of(claim("a"), LONGHORNS)

    assert judge_claims(pod("a", scheduler=before), SECOND, view) == replace(
        INJECTED, scheduler=after
    )


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (
            "default-scheduler",
            Injection(outcome=InjectionOutcome.NEEDS_SCHEDULER, scheduler=SECOND),
        ),
        ("volcano", Injection(outcome=InjectionOutcome.ASKS_ALREADY)),
        (SECOND, Injection(outcome=InjectionOutcome.ASKS_ALREADY)),
    ],
)
def test_a_pod_that_asks_already_would_wait_for_ever_at_the_default_scheduler(
    before: str, expected: Injection
) -> None:
    asking = pod("a", asks_for_extender=True, scheduler=before)

    assert judge_pod(asking, SECOND) == expected
