"""What the API server makes of a Lease or an EndpointSlice before it stores it.

Sources: kubernetes `pkg/apis/coordination/validation`, `pkg/apis/discovery/validation`,
`pkg/apis/discovery/v1/defaults.go`, `pkg/apis/core/validation` (`ValidateEndpointIP`, formerly
`ValidateNonSpecialIP`), apimachinery `MicroTime.UnmarshalJSON`. Only the rules that the code under
test can run into are here; custom resources have none, as if their schema allowed everything.
"""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tests.fakes.resources import Object, Resource
from tests.fakes.status import (
    Cause,
    StatusError,
    bad_request,
    invalid,
    invalid_value,
    required,
)

MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
VERSIONS = {"IPv4": 4, "IPv6": 6}
ADDRESS_TYPES = (*VERSIONS, "FQDN")


def normalise(resource: Resource, obj: Object) -> Object:
    """Give back *obj* as it would be read: typed, with defaults, without unset fields.

    Raises:
        StatusError: 400 if a field cannot be decoded into its Go type.
    """
    if resource.key == "leases.coordination.k8s.io":
        return {**obj, "spec": _lease_spec(resource, obj.get("spec") or {})}
    if resource.key == "endpointslices.discovery.k8s.io":
        return _endpoint_slice(obj)
    return obj


def validate(resource: Resource, obj: Object, old: Object | None) -> None:
    """Check a normalised object against the rules of its kind, and against the one it replaces.

    Raises:
        StatusError: 422, with a cause for each field that is wrong.
    """
    causes: list[Cause] = []
    if resource.key == "leases.coordination.k8s.io":
        causes += _lease_causes(obj["spec"])
    if resource.key == "endpointslices.discovery.k8s.io":
        causes += _slice_causes(obj, old)
    if causes:
        raise invalid(resource.kind_key, obj["metadata"].get("name", ""), causes)


def _lease_spec(resource: Resource, spec: Mapping[str, Any]) -> Object:
    kept = {key: value for key, value in spec.items() if value is not None}
    for field in ("acquireTime", "renewTime"):
        if field in kept:
            kept[field] = _micro_time(resource, kept[field])
    for field in ("leaseDurationSeconds", "leaseTransitions"):
        if field in kept and type(kept[field]) is not int:
            raise _undecodable(resource, f"cannot unmarshal into LeaseSpec.{field} of type int32")
    return kept


def _micro_time(resource: Resource, value: object) -> str:
    """Read a time as Go's `time.Parse` does with six zeros in the layout; UTC is written."""
    text = str(value)
    if not MICRO_TIME.fullmatch(text):
        raise _undecodable(resource, f'parsing time "{text}" as "{LAYOUT}": cannot parse')
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except ValueError as error:
        raise _undecodable(resource, f'parsing time "{text}": out of range') from error
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _undecodable(resource: Resource, why: str) -> StatusError:
    head = f'{resource.kind} in version "{resource.version}" cannot be handled as a'
    return bad_request(f"{head} {resource.kind}: {why}")


def _lease_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        yield invalid_value("spec.leaseDurationSeconds", duration, "must be greater than 0")
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        why = "must be greater than or equal to 0"
        yield invalid_value("spec.leaseTransitions", transitions, why)


def _endpoint_slice(obj: Object) -> Object:
    endpoints = [{"conditions": {}, **endpoint} for endpoint in obj.get("endpoints") or ()]
    ports = [{"name": "", "protocol": "TCP", **port} for port in obj.get("ports") or ()]
    return {**obj, "endpoints": endpoints or None, "ports": ports or None}


def _slice_causes(obj: Object, old: Object | None) -> Iterator[Cause]:
    address_type = obj.get("addressType", "")
    if not address_type:
        yield required("addressType")
    elif address_type not in ADDRESS_TYPES:
        supported = ", ".join(f'"{each}"' for each in sorted(ADDRESS_TYPES))
        text = f'Unsupported value: "{address_type}": supported values: {supported}'
        yield Cause("addressType", "FieldValueNotSupported", text)
    if old is not None and old["addressType"] != address_type:
        yield invalid_value("addressType", address_type, "field is immutable")
    for index, endpoint in enumerate(obj["endpoints"] or ()):
        field = f"endpoints[{index}].addresses"
        yield from _address_causes(field, endpoint.get("addresses") or [], address_type)


def _address_causes(field: str, addresses: list[str], address_type: str) -> Iterator[Cause]:
    if not addresses:
        yield required(field, "must contain at least 1 endpoint")
    for index, address in enumerate(addresses):
        why = _wrong_address(address, VERSIONS.get(address_type))
        if why:
            yield invalid_value(f"{field}[{index}]", address, why)


def _wrong_address(text: str, version: int | None) -> str:
    if version is None:
        return ""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "must be a valid IP address"
    if address.version != version:
        return f"must be an IPv{version} address"
    if address.is_unspecified:
        return f"may not be unspecified ({text})"
    if address.is_loopback:
        return "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    if address.is_link_local:
        return "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    return ""
