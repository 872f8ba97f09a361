"""Findings on what connects kube-scheduler to the leader: the Service and its EndpointSlices."""

from collections.abc import Iterator, Sequence
from typing import Any

from app.config import NAME
from cli.doctor.facts import Facts, Unread
from cli.doctor.problems import Check
from cli.doctor.seen import fine, unknown, unread, wrong
from cli.findings import Finding
from leader import Body
from leader.endpointslice import backend_of, desired_slices, repairs

_FIELDS = ("addressType", "ports", "endpoints")
_OURS = frozenset({f"{NAME}-ipv4", f"{NAME}-ipv6"})


def address(facts: Facts) -> Iterator[Finding]:
    """Judge the Service, whose address kube-scheduler calls."""
    body, name = facts.service, f"Service {NAME} in {facts.settings.namespace}"
    if isinstance(body, Unread):
        yield unread(Check.SERVICE, body)
        return
    if body is None:
        yield wrong("service-absent", f"there is no {name}")
        return
    spec = _spec(body)
    ip, ports = spec.get("clusterIP"), _tcp_ports(body)
    if spec.get("selector"):
        yield wrong("service-selects", f"{name} has a selector")
    if not ports:
        yield wrong("service-without-port", f"{name} has no TCP port")
    if ip in (None, "", "None"):
        yield wrong("service-without-address", f"{name} has no address")
    else:
        shown = f"[{ip}]" if ":" in str(ip) else ip
        at = " or ".join(f"{shown}:{port.get('port')}" for port in ports)
        text = f"kube-scheduler must call {at} (its urlPrefix)"
        if facts.second_scheduler is not None:
            text = f"it is at {at}; the second scheduler calls it by its name"
        yield fine(Check.SERVICE, text)


def endpoints(facts: Facts) -> Iterator[Finding]:
    """Judge the EndpointSlices: only the leader's may exist, with its address."""
    slices = facts.slices
    if isinstance(slices, Unread):
        yield unread(Check.ENDPOINTS, slices)
        return
    yield from _strays(slices)
    ours = [body for body in slices if _name(body) in _OURS]
    if not any(body.get("endpoints") for body in ours):
        yield wrong(
            "endpoints-absent",
            f"no EndpointSlice leads kube-scheduler from Service {NAME} to an instance",
        )
        return
    service, holder = facts.service, facts.holder
    if isinstance(service, Unread):
        yield unread(Check.ENDPOINTS, service)
    elif isinstance(holder, Unread):
        yield unread(Check.ENDPOINTS, holder)
    elif service is None or holder is None:
        why = "there is no Service" if service is None else "no pod holds the Lease"
        yield unknown(Check.ENDPOINTS, f"they lead to {_addresses(ours)}, and {why}")
    else:
        yield from _compared(service, holder, ours)
        where = _addresses(ours)
        yield fine(Check.ENDPOINTS, f"they lead to {where}, the leader, and nowhere else")


def _strays(slices: Sequence[Body]) -> Iterator[Finding]:
    for body in slices:
        if _name(body) in _OURS:
            continue
        if body.get("endpoints"):
            yield wrong(
                "endpoints-foreign",
                f"EndpointSlice {_name(body)} leads the Service to {_addresses([body])}",
            )
        else:
            yield wrong(
                "endpoints-left-over",
                f"EndpointSlice {_name(body)} belongs to the Service and is empty",
            )


def _compared(service: Body, holder: Body, ours: Sequence[Body]) -> Iterator[Finding]:
    """Compare with what the leader would publish."""
    backend = backend_of(holder)
    desired = desired_slices(service, backend, _port(service, holder, ours))
    for body in desired:
        if not body["endpoints"]:
            yield wrong(
                "family-unserved",
                f"the Service has an address of {body['addressType']}, and pod {backend.pod} none",
            )
    found = {_name(body): body for body in ours}
    wanted = {_name(body): body for body in desired}
    for name in sorted({_name(step.body) for step in repairs(desired, ours)}):
        how = _difference(found.get(name), wanted.get(name), backend.pod)
        yield wrong("endpoints-wrong", f"EndpointSlice {name} {how}")


def _difference(found: Body | None, wanted: Body | None, pod: str) -> str:
    """Say how a slice differs from the one that the leader would write, of which there is one."""
    if found is None:
        return f"is missing: the leader, pod {pod}, has not written it"
    leads = _addresses([found]) or "nobody"
    if wanted is None:
        return f"leads to {leads}, and the Service has no such family"
    at = _addresses([wanted]) or "no address of the family"
    if leads != at:
        return f"leads to {leads}, and the leader, pod {pod}, is at {at}"
    fields = [field for field in _FIELDS if found.get(field) != wanted.get(field)]
    # Beside what the leader writes there is more in the metadata of every object.
    field = (fields or ["metadata"])[0]
    return f"differs in {field} from what the leader, pod {pod}, writes"


def _port(service: Body, holder: Body, ours: Sequence[Body]) -> int:
    """Return the port that the pod says it listens on, else the one that is published."""
    containers = _spec(holder).get("containers") or ()
    declared = [port for each in containers for port in each.get("ports") or ()]
    names = {port.get("name") for port in _tcp_ports(service)}
    listening = [port.get("containerPort") for port in declared if port.get("name") in names]
    published = [port.get("port") for body in ours for port in body.get("ports") or ()]
    return next((int(port) for port in (*listening, *published) if port), 0)


def _tcp_ports(service: Body) -> list[dict[str, Any]]:
    ports = _spec(service).get("ports") or ()
    return [port for port in ports if (port.get("protocol") or "TCP") == "TCP"]


def _addresses(slices: Sequence[Body]) -> str:
    """Write where slices lead: addresses, each with its port."""
    return ", ".join(
        f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        for body in slices
        for endpoint in body.get("endpoints") or ()
        for address in endpoint.get("addresses") or ()
        for port in [entry.get("port") for entry in body.get("ports") or ()] or ["no port"]
    )


def _name(body: Body) -> str:
    return str(body["metadata"]["name"])


def _spec(body: Body) -> dict[str, Any]:
    return body.get("spec") or {}
