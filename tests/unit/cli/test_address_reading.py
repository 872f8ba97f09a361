"""What is read of a cluster's Service addresses, from the API server in memory."""

from ipaddress import ip_address, ip_network

import pytest

from app.kube.connection import Connection
from app.kube.errors import ApiError
from cli.address.command import make_proposal
from cli.address.reading import Seen, read_addresses
from tests.builders import conditions, core_document
from tests.fakes import Answer, CutAnswer, FakeApiServer, Fault, Hang, Object, Refused

pytestmark = pytest.mark.looptime


def service(name: str, *addresses: str, namespace: str = "default") -> Object:
    spec = {"clusterIP": addresses[0], "clusterIPs": [*addresses]} if addresses else {}
    return core_document("Service", name, metadata={"namespace": namespace}, spec=spec)


def service_cidr(name: str, *cidrs: str, ready: str = "True", **metadata: str) -> Object:
    return {
        **{"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR"},
        "metadata": {"name": name, **metadata},
        "spec": {"cidrs": [*cidrs]},
        "status": {"conditions": conditions(Ready=ready) if ready else []},
    }


async def read(server: FakeApiServer, *objects: Object) -> Seen:
    for each in objects:
        server.put(each)
    async with server.client("admin") as client:
        return await read_addresses(Connection(client))


async def refusal(server: FakeApiServer, *objects: Object) -> str:
    with pytest.raises(ApiError) as error:
        await read(server, *objects)
    return str(error.value)


async def test_ranges_are_those_of_service_cidrs_and_the_default_one_comes_first(server):
    seen = await read(
        server,
        service_cidr("added", "10.97.0.0/24"),
        service_cidr("kubernetes", "fd00::/112", "10.96.0.0/16"),
        service_cidr("new", "10.98.0.0/24", ready=""),
        service_cidr("refused", "10.99.0.0/24", ready="False"),
        service_cidr("going", "10.99.1.0/24", deletionTimestamp="2026-01-01T00:00:00Z"),
        service("kubernetes", "10.96.0.1"),
    )

    expected = ("fd00::/112", "10.96.0.0/16", "10.97.0.0/24", "10.98.0.0/24")
    assert seen.ranges == [ip_network(each) for each in expected]
    assert seen.is_told


async def test_every_address_of_every_service_is_taken(server):
    """Of all pages, too."""
    many = {f"10.96.{1 + n // 250}.{n % 250}": f"s-{n}" for n in range(501)}
    seen = await read(
        server,
        service_cidr("kubernetes", "10.96.0.0/12", "fd00::/112"),
        service("kubernetes", "10.96.0.1"),
        service("both", "10.96.0.7", "fd00::7", namespace="a"),
        service("headless", "None"),
        service("elsewhere"),
        *(service(name, address) for address, name in many.items()),
    )

    assert seen.taken == {
        ip_address("10.96.0.1"): "default/kubernetes",
        ip_address("10.96.0.7"): "a/both",
        ip_address("fd00::7"): "a/both",
        **{ip_address(address): f"default/{name}" for address, name in many.items()},
    }


@pytest.mark.parametrize("served", [True, False])
async def test_without_service_cidrs_the_api_server_s_address_says_where_the_range_begins(
    server, *, served
):
    """There are none also where they are served and not used."""
    if not served:
        server.remove_resource("networking.k8s.io", "servicecidrs")

    seen = await read(server, service("kubernetes", "10.43.0.1", "fd43::1"))

    assert seen.ranges == [ip_network("10.43.0.0/20"), ip_network("fd43::/116")]
    assert not seen.is_told
    assert make_proposal(seen, "longhorn-system/ours").addresses == ["10.43.0.95", "fd43::5f"]


CANNOT = "cannot list services in all namespaces: "
FAULTS = {
    "hangs": (Hang(), f"{CANNOT}the API server did not answer within 10 s"),
    "refuses": (Refused(), f"{CANNOT}the API server cannot be reached"),
    "status-500": (Answer(500, b"no"), f"{CANNOT}500: no"),
    "status-404": (Answer(404, b"no"), f"{CANNOT}404: no"),
    "no-json": (Answer(200, b"<html>"), f"{CANNOT}the answer cannot be decoded"),
    "cut-off": (CutAnswer(), f"{CANNOT}the API server cannot be reached"),
}


@pytest.mark.parametrize(("kind", "expected"), FAULTS.values(), ids=FAULTS)
async def test_what_cannot_be_listed_is_said(server, kind, expected):
    server.faults.append(Fault(kind, lambda call: call.resource == "services"))

    assert (await refusal(server, service("kubernetes", "10.43.0.1"))).startswith(expected)


FORBIDDEN = {
    "services": "not allowed to list services in all namespaces; run this as a user who may",
    "servicecidrs": "not allowed to list servicecidrs.networking.k8s.io; run this as a user",
}


@pytest.mark.parametrize(("forbidden", "expected"), FORBIDDEN.items())
async def test_a_right_that_is_missing_is_named(server, forbidden, expected):
    server.authorize = lambda call: call.resource != forbidden

    assert (await refusal(server, service("kubernetes", "10.43.0.1"))).startswith(expected)


ODD = {
    "address": (service("odd", "somewhere"),
        "Service default/odd: 'somewhere' does not appear to be an"),
    "range": (service_cidr("odd", "10.96.0.1/16"),
        "ServiceCIDR odd: 10.96.0.1/16 has host bits set"),
    "range-missing": (service("other", "10.96.0.7"), "there is no ServiceCIDR and no Service "
        "default/kubernetes with an address, so the range of Services is not known; see "
        "--service-cluster-ip-range of kube-apiserver"),
}  # fmt: skip


@pytest.mark.parametrize(("odd", "expected"), ODD.values(), ids=ODD)
async def test_a_cluster_whose_addresses_cannot_be_used_is_an_error(server, odd, expected):
    assert (await refusal(server, odd)).startswith(expected)
