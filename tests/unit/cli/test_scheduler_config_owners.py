"""Whose an entry of extenders is, and what is done with it; for entries of all in any order."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

from app.errors import InputError
from cli.scheduler_config import (
    Distribution,
    Given,
    Namespaces,
    Owner,
    flaws,
    make_wanted,
    merged,
    owned_entries,
    read_given,
    removed,
)
from tests.effort import examples
from tests.scheduler_configurations import KUBEADM, LONGHORNS_URL, NAMESPACES

URL = "http://10.96.0.95:9504"
WANTED = make_wanted(Distribution.KUBEADM, URL)
NAME = "longhorn-scheduler-extender"
RESOURCE = "longhorn.io/scheduler-extender"
MANAGED = {"managedResources": [{"name": RESOURCE, "ignoredByScheduler": True}]}


def at(url: str, server_name: str | None = None) -> dict[str, Any]:
    tls = {} if server_name is None else {"tlsConfig": {"serverName": server_name}}
    return {"urlPrefix": url, "filterVerb": "filter", **tls, **MANAGED}


OURS: dict[str, dict[str, Any]] = {
    "at-the-url": at(URL),
    "with-a-slash": at(f"{URL}/"),
    "other-scheme": at("https://10.96.0.95:9504", f"{NAME}.longhorn-system.svc"),
    "without-the-resource": {"urlPrefix": URL},
    "by-name": at(f"http://{NAME}.longhorn-scheduler.svc:9504"),
    "server-name": at("https://10.0.0.1:9504", f"{NAME}.longhorn-scheduler.svc"),
}
LONGHORNS: dict[str, dict[str, Any]] = {
    "by-name": at(LONGHORNS_URL),
    "with-a-path": at(f"{LONGHORNS_URL}/v1/extender"),
    "whole-name": at(f"http://{NAME}.longhorn-system.svc.cluster.local.:9504"),
    "short-name-in-capitals": at(f"http://{NAME.upper()}.Longhorn-System:9504"),
    "without-a-port": at(f"https://{NAME}.longhorn-system.svc"),
    "server-name": at("https://10.0.0.1:9504", f"{NAME}.longhorn-system.svc"),
    "without-the-resource": {"urlPrefix": LONGHORNS_URL},
}
UNKNOWN: dict[str, dict[str, Any]] = {
    "another-address": at("http://10.96.0.7:9504"),
    "another-port": at("http://10.96.0.95:9505"),
    "another-namespace": at(f"http://{NAME}.elsewhere.svc:9504"),
    "no-namespace": at(f"http://{NAME}:9504"),
    "no-service": at(f"http://{NAME}.longhorn-system.example.org:9504"),
    "name-unchecked": at("http://10.0.0.1:9504", f"{NAME}.longhorn-system.svc"),
}
WITHOUT_URL: dict[str, dict[str, Any]] = {
    "no-url": MANAGED,
    "empty": {"urlPrefix": "", **MANAGED},
    "a-number": {"urlPrefix": 5, **MANAGED},
}
NOBODYS: dict[str, dict[str, Any]] = {
    "another": {"urlPrefix": "http://127.0.0.1:9251"},
    "another-resource": {
        "urlPrefix": "http://x:1",
        "managedResources": [{"name": "topolvm.io/capacity"}, None],
    },
    "no-list": {"urlPrefix": "http://x:1", "managedResources": RESOURCE},
    "odd-tls": {"urlPrefix": "https://x:1", "tlsConfig": {"serverName": 5}},
    "empty": {},
}


def owners(*entries: dict[str, Any], url: str | None = URL) -> list[Owner]:
    return [each.owner for each in owned_entries(entries, url, NAMESPACES)]


OWNERS = {
    Owner.OURS: OURS,
    Owner.LONGHORNS: LONGHORNS,
    Owner.UNKNOWN: UNKNOWN | WITHOUT_URL,  # the resource alone says nothing
    None: NOBODYS,
}


@pytest.mark.parametrize("owner", OWNERS)
def test_an_entry_is_of_the_service_that_it_leads_to(owner):
    for name, entry in OWNERS[owner].items():
        assert owners(entry) == ([] if owner is None else [owner]), name


def test_in_one_namespace_the_name_says_nothing():
    shared = Namespaces(ours="longhorn-system", longhorns="longhorn-system")

    [each] = owned_entries([at(LONGHORNS_URL)], None, shared)

    assert each.owner is Owner.UNKNOWN
    assert "where both have that name" in each.reason


URLS: dict[str, tuple[dict[str, Any], str | None, list[Owner]]] = {
    # Without a URL an address is not known to be ours.
    "not-known": (at(URL), None, [Owner.UNKNOWN]),
    "not-known-without-the-resource": ({"urlPrefix": URL}, None, []),
    # It says that this service still stands there.
    "in-longhorns-namespace": (at(LONGHORNS_URL), LONGHORNS_URL, [Owner.OURS]),
    # One address can be written in several ways.
    "ipv6": (at("http://[fd00::1]:9504"), "http://[FD00:0::0:1]:9504/", [Owner.OURS]),
    "capitals": (at("http://Extender.example:9504"), "http://extender.example.:9504", [Owner.OURS]),
    "port-of-https": (at("https://x"), "https://x:443", [Owner.OURS]),
    "port-of-http": (at("http://x:80"), "http://x", [Owner.OURS]),
}


@pytest.mark.parametrize(("entry", "url", "expected"), URLS.values(), ids=URLS)
def test_the_url_says_which_address_is_ours(entry, url, expected):
    assert owners(entry, url=url) == expected


@hypothesis.given(st.text() | st.sampled_from(["http://[::1", "http://x:99999", "//", "\x00"]))
def test_no_text_is_taken_for_anybodys(text):
    assert owners(at(text), at(f"http://{text}:9504"), url=None) == [Owner.UNKNOWN] * 2


class Piece(NamedTuple):
    """An entry as it is written, with what stands above and below it, and whose it is."""

    text: str
    owner: Owner | None
    url: str


def pieces(entries: Iterable[dict[str, Any]], owner: Owner | None) -> list[Piece]:
    """Write each entry in three ways."""
    return [
        Piece(write(entry), owner, entry.get("urlPrefix", ""))
        for entry in entries
        for write in WAYS
    ]


def in_a_block(entry: dict[str, Any]) -> str:
    lines = yaml.safe_dump([entry], sort_keys=False).splitlines()
    return "".join(f"  {line}\n" for line in lines)


def in_braces(entry: dict[str, Any]) -> str:
    return f"  - {yaml.safe_dump(entry, default_flow_style=True, width=10**6)}"


def commented(entry: dict[str, Any]) -> str:
    first, rest = in_a_block(entry).split("\n", 1)
    return f"{first}   # Grüße\n{rest}"


WAYS: list[Callable[[dict[str, Any]], str]] = [in_a_block, in_braces, commented]
PIECES = [
    *pieces(OURS.values(), Owner.OURS),
    *pieces(LONGHORNS.values(), Owner.LONGHORNS),
    *pieces(UNKNOWN.values(), Owner.UNKNOWN),
    *pieces([*NOBODYS.values()][:-1], None),
]
CONFIGURATIONS = st.lists(st.sampled_from(PIECES), max_size=5)


def text_of(written: list[Piece]) -> str:
    return f"{KUBEADM}extenders:\n{''.join(piece.text for piece in written)}"


def without(written: list[Piece], *owners: Owner) -> str:
    """Return the text without the entries of these; no field without an entry."""
    left = [piece for piece in written if piece.owner not in owners]
    return text_of(left) if left or not written else KUBEADM


def read(text: str) -> Given:
    return read_given("FILE", text.encode(), Distribution.KUBEADM)


def managing(text: str) -> int:
    entries = read(text).entries
    resources = [each.get("managedResources") for each in entries]
    return sum(RESOURCE in str(each) for each in resources if isinstance(each, list))


@hypothesis.settings(max_examples=examples(300))
@hypothesis.given(CONFIGURATIONS)
def test_a_merge_keeps_what_is_not_known_to_be_ours_or_is_refused(written):
    others = [piece for piece in written if piece.owner in (Owner.LONGHORNS, Owner.UNKNOWN)]
    found = read(text_of(written))

    if others:
        with pytest.raises(InputError) as error:
            merged(found, WANTED, NAMESPACES)
        assert all(f" --replace {piece.url}" in str(error.value) for piece in others)
    else:
        text = merged(found, WANTED, NAMESPACES)
        assert removed(read(text), URL, NAMESPACES) == without(written, Owner.OURS)


@hypothesis.settings(max_examples=examples(300))
@hypothesis.given(CONFIGURATIONS)
def test_what_is_merged_is_right_and_only_what_may_go_is_gone(written):
    named = [piece.url for piece in written if piece.owner is not None]

    text = merged(read(text_of(written)), WANTED, NAMESPACES, named)

    given = read(text)
    owned = owned_entries(given.entries, URL, NAMESPACES)
    assert [each.owner for each in owned] == [Owner.OURS]
    assert flaws(given, Distribution.KUBEADM, URL, owned) == []
    assert managing(text) == 1
    assert merged(given, WANTED, NAMESPACES) == text
    assert removed(given, URL, NAMESPACES) == without(written, *Owner)


@hypothesis.settings(max_examples=examples(300))
@hypothesis.given(CONFIGURATIONS)
def test_ours_alone_is_removed(written):
    found = {piece.owner for piece in written}
    given = read(text_of(written))

    if Owner.UNKNOWN in found and Owner.OURS not in found:
        with pytest.raises(InputError, match="If it leads to this service, give --url "):
            removed(given, URL, NAMESPACES)
    else:
        assert removed(given, URL, NAMESPACES) == without(written, Owner.OURS)


@pytest.mark.parametrize("entry", WITHOUT_URL.values(), ids=WITHOUT_URL)
def test_what_has_no_url_is_left_to_whoever_wrote_it(entry):
    given = read(f"{KUBEADM}extenders:\n{in_a_block(entry)}")

    with pytest.raises(InputError, match="remove what has no URL by hand"):
        merged(given, WANTED, NAMESPACES, [""])
    with pytest.raises(InputError, match="If it leads to this service, remove it by hand"):
        removed(given, URL, NAMESPACES)


def test_two_that_manage_the_resource_are_found():
    given = read(text_of([PIECES[0], *pieces([LONGHORNS["by-name"]], Owner.LONGHORNS)[:1]]))
    owned = owned_entries(given.entries, URL, NAMESPACES)

    texts = [flaw.text for flaw in flaws(given, Distribution.KUBEADM, URL, owned)]

    [twice] = [text for text in texts if "kube-scheduler refuses that twice" in text]
    assert twice.startswith(f"extenders[0], extenders[1] all manage {RESOURCE}")
