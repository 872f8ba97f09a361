"""What `propose-address` says of its proposals."""

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from app.errors import InputError
from cli.address.command import make_proposal
from cli.address.reading import Seen

DOCS = (Path(__file__).parents[3] / "docs" / "doctor.md").read_text(encoding="utf-8")
OURS = "longhorn-system/longhorn-scheduler-extender"
SMALL = "10.96.0.0/29"


def seen(*ranges: str, taken: Mapping[str, str] | None = None, is_told: bool = True) -> Seen:
    return Seen(
        ranges=[ip_network(each) for each in ranges],
        is_told=is_told,
        taken={ip_address(address): name for address, name in (taken or {}).items()},
    )


def full(range_: str) -> dict[str, str]:
    return {str(each): "a/b" for each in ip_network(range_)}


def test_it_is_said_why_an_address_stays_free() -> None:
    proposal = make_proposal(seen("10.96.0.0/16"), OURS)

    assert proposal.addresses == ["10.96.0.95"]
    assert proposal.notes == [
        "10.96.0.95 is free: number 95 of 10.96.0.0/16, of which Kubernetes gives out 1 to 256 by "
        "itself only when all others are taken."
    ]


def test_it_is_said_if_kubernetes_may_give_it_to_another_service() -> None:
    proposal = make_proposal(seen(SMALL), OURS)

    assert proposal.addresses == ["10.96.0.2"]
    assert proposal.notes == [
        "10.96.0.2 is free now. Kubernetes may give it to any new Service by itself, so create the "
        "Service soon: nothing is left in the part of 10.96.0.0/29 that it gives out last."
    ]


def test_a_family_without_an_address_is_said_and_the_other_one_is_proposed() -> None:
    proposal = make_proposal(seen(SMALL, "fd00::/112", taken=full(SMALL)), OURS)

    assert proposal.addresses == ["fd00::5f"]
    assert proposal.notes[0] == (
        "No address of 10.96.0.0/29 is free: delete a Service, or add a ServiceCIDR."
    )


def test_nothing_free_is_an_error() -> None:
    with pytest.raises(InputError, match=r"^No address of 10.96.0.0/29 is free: delete"):
        make_proposal(seen(SMALL, taken=full(SMALL)), OURS)


def test_it_is_said_if_the_range_is_not_known() -> None:
    proposal = make_proposal(seen("10.43.0.0/20", is_told=False), OURS)

    assert proposal.notes[0] == (
        "The cluster does not tell its Service range, as Kubernetes does from 1.33 on. It is taken "
        "for 10.43.0.0/20: the beginning is certain, the end is not. kube-apiserver's flag "
        "--service-cluster-ip-range says it."
    )


def test_it_is_said_if_the_service_has_an_address() -> None:
    proposal = make_proposal(seen("10.96.0.0/16", taken={"10.96.0.95": OURS}), OURS)

    assert proposal.addresses == ["10.96.0.96"]
    assert proposal.notes[0] == (
        f"Service {OURS} has 10.96.0.95 already. That cannot be changed: to take another address, "
        f"delete the Service."
    )


def test_the_example_of_the_documentation_is_what_is_printed() -> None:
    proposal = make_proposal(seen("10.43.0.0/16"), OURS)

    lines = "\n".join([*proposal.notes, *proposal.addresses])
    assert f"```text\n{lines}\n```" in DOCS
