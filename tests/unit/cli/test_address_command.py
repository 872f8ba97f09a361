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


ROWS = {
    "address-given-out-last": ("10.96.0.95", seen("10.96.0.0/16")),
    "address-given-to-any": ("10.96.0.2", seen(SMALL)),
    "family-without-an-address": ("fd00::5f", seen(SMALL, "fd00::/112", taken=full(SMALL))),
    "range-not-told": ("10.43.0.95", seen("10.43.0.0/20", is_told=False)),
    "service-with-an-address": ("10.96.0.96", seen("10.96.0.0/16", taken={"10.96.0.95": OURS})),
}


def test_notes_on_an_address(golden):
    text = ""
    for name, (address, found) in ROWS.items():
        proposal = make_proposal(found, OURS)
        assert proposal.addresses == [address], name
        text += f"# {name}: {address}\n" + "".join(f"{note}\n" for note in proposal.notes)

    golden("addresses", text)


def test_nothing_free_is_an_error():
    with pytest.raises(InputError, match=r"^No address of 10.96.0.0/29 is free: delete"):
        make_proposal(seen(SMALL, taken=full(SMALL)), OURS)


def test_the_example_of_the_documentation_is_what_is_printed():
    proposal = make_proposal(seen("10.43.0.0/16"), OURS)

    lines = "\n".join([*proposal.notes, *proposal.addresses])
    assert f"```text\n{lines}\n```" in DOCS
