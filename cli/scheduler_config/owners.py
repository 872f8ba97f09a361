"""Whose an entry of extenders is: this service's, or that of Longhorn's own extender; pure.

Longhorn 1.13 has an extender whose Service, port and resource have the names of ours; only the
namespace differs (longhorn/longhorn enhancements/20260209-scheduler-extender.md). So an entry is
known by where it leads, and never by its resource.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from app.config import NAME, RESOURCE

_SERVICE = re.compile(rf"{NAME}\.([^.]+)(\.svc(\..+)?)?")
_PORTS = {"https": 443}
_UNREADABLE = urlsplit("")


class Owner(StrEnum):
    """Whose extender an entry leads to."""

    OURS = "ours"
    LONGHORNS = "longhorns"
    UNKNOWN = "unknown"


_LEADS = {
    Owner.OURS: "leads to this service",
    Owner.LONGHORNS: "leads to Longhorn's own extender",
    Owner.UNKNOWN: f"manages {RESOURCE}, and it is not known to whom it leads",
}


class Namespaces(msgspec.Struct, frozen=True, kw_only=True):
    """Where the two extenders are, each by its own setting of that namespace."""

    ours: str
    longhorns: str


class OwnedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that leads to one of the two extenders, or manages the resource."""

    index: int
    """In the list of extenders."""
    url: str | None
    owner: Owner
    reason: str

    @property
    def name(self) -> str:
        """The entry, as a path in the configuration."""
        return f"extenders[{self.index}]"

    def __str__(self) -> str:
        url = "" if self.url is None else f" ({self.url})"
        return f"{self.name}{url} {_LEADS[self.owner]}: {self.reason}"


def owned_entries(
    entries: Sequence[Mapping[str, Any]], url: str | None, namespaces: Namespaces
) -> list[OwnedEntry]:
    """Return what of *entries* concerns one of the two extenders, and whose each is.

    Args:
        entries: All extenders of a configuration.
        url: The address of our service, if it is known.
        namespaces: Where the two Services are.
    """
    found = []
    for index, entry in enumerate(entries):
        owner, reason = _owner(entry, url, namespaces)
        if owner is not Owner.UNKNOWN or manages(entry):
            found.append(OwnedEntry(index=index, url=_text(entry), owner=owner, reason=reason))
    return found


def manages(entry: Mapping[str, Any]) -> bool:
    """Say whether pods that ask for the resource are sent there."""
    resources = entry.get("managedResources")
    listed = resources if isinstance(resources, list) else []
    return any(isinstance(each, dict) and each.get("name") == RESOURCE for each in listed)


def leads_to(url: str | None, places: Collection[str]) -> bool:
    """Say whether a URL has host and port of one of *places*; the scheme may be another one."""
    return url is not None and _place(url) in map(_place, places)


def split(url: object) -> SplitResult:
    """Split a URL; without host and scheme if it is none."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        _ = parts.port
    except ValueError:
        return _UNREADABLE
    return parts


def _owner(entry: Mapping[str, Any], url: str | None, namespaces: Namespaces) -> tuple[Owner, str]:
    prefix = _text(entry)
    if prefix is None:
        return Owner.UNKNOWN, "it has no URL"
    if url is not None and leads_to(prefix, [url]):
        return Owner.OURS, "it is at the address of --url"
    parts, tls = split(prefix), entry.get("tlsConfig")
    names = {"its host": parts.hostname}
    if parts.scheme == "https" and isinstance(tls, dict):  # else no name is checked
        names["its serverName"] = tls.get("serverName")
    for field, name in names.items():
        service = _SERVICE.fullmatch(_bare(name)) if isinstance(name, str) else None
        if service is not None:
            return _in_namespace(f"{field} names a Service", service[1], namespaces)
    return Owner.UNKNOWN, (
        "the address may be that of either Service, which `kubectl get services "
        "--all-namespaces` shows"
    )


def _in_namespace(found: str, namespace: str, namespaces: Namespaces) -> tuple[Owner, str]:
    """Judge by the namespace of a Service with the name that both have."""
    where = f"{found} in namespace {namespace}"
    match namespace == namespaces.ours, namespace == namespaces.longhorns:
        case True, False:
            return Owner.OURS, where
        case False, True:
            return Owner.LONGHORNS, f"{where}, in which an older install of this one may stand, too"
        case True, True:
            return Owner.UNKNOWN, f"{where}, where both have that name"
    return Owner.UNKNOWN, (
        f"{where}, and this one is in {namespaces.ours}, Longhorn's in {namespaces.longhorns}"
    )


def _text(entry: Mapping[str, Any]) -> str | None:
    prefix = entry.get("urlPrefix")
    return prefix if isinstance(prefix, str) and prefix else None


def _place(url: str) -> tuple[str, int] | str:
    """Return host and port of a URL, in one way of writing; the text if it is none."""
    parts = split(url)
    if not parts.hostname:
        return url
    host, port = _bare(parts.hostname), parts.port
    with suppress(ValueError):  # it is no address but a name
        host = str(ip_address(host))
    return host, _PORTS.get(parts.scheme, 80) if port is None else port


def _bare(host: str) -> str:
    return host.lower().removesuffix(".")
