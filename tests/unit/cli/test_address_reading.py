"""What is read of a cluster's Service addresses, from the API server in memory."""

import random
from ipaddress import ip_address, ip_network

import pytest

from app.kube.connection import Connection
from app.kube.errors import ApiError
from cli.address.command import make_proposal
from cli.address.reading import Seen, read_addresses
from tests.builders import conditions, core_document
from tests.fakes import Answer, CutAnswer, FakeApiServer, Fault, Hang, Object, Refused
from tests.fakes.resources import RESOURCES, Resource

pytestmark = pytest.mark.looptime

SERVICE_CIDRS = Resource("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", namespaced=False)


def server(*objects: Object, served: bool = True) -> FakeApiServer:
    """Return a server with these objects; *served* says whether it knows ServiceCIDRs."""
    kinds = (*RESOURCES, SERVICE_CIDRS) if served else RESOURCES
    server = FakeApiServer(random.Random(0), resources=kinds)
    for each in objects:
        server.put(each)
    return server


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


async def read(*objects: Object, **how: bool) -> Seen:
    return await read_of(server(*objects, **how))


async def read_of(server: FakeApiServer) -> Seen:
    async with server.client("admin") as client:
        return await read_addresses(Connection(client))


async def refusal(server: FakeApiServer) -> str:
    with pytest.raises(ApiError) as error:
        await read_of(server)
    return str(error.value)


async def test_ranges_are_those_of_service_cidrs_and_the_default_one_comes_first():
    seen = await read(
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


async def test_every_address_of_every_service_is_taken():
    seen = await read(
        service_cidr("kubernetes", "10.96.0.0/16", "fd00::/112"),
        service("kubernetes", "10.96.0.1"),
        service("both", "10.96.0.7", "fd00::7", namespace="a"),
        service("headless", "None"),
        service("elsewhere"),
    )

    assert seen.taken == {
        ip_address("10.96.0.1"): "default/kubernetes",
        ip_address("10.96.0.7"): "a/both",
        ip_address("fd00::7"): "a/both",
    }


async def test_services_of_all_pages_are_known():
    many = [service(f"s-{n}", f"10.96.{n // 250}.{n % 250}") for n in range(501)]

    seen = await read(service_cidr("kubernetes", "10.96.0.0/12"), *many)

    assert len(seen.taken) == len(many)


@pytest.mark.parametrize("served", [True, False])
async def test_without_service_cidrs_the_api_server_s_address_says_where_the_range_begins(
    *, served
):
    """There are none also where they are served and not used."""
    seen = await read(service("kubernetes", "10.43.0.1", "fd43::1"), served=served)

    assert seen.ranges == [ip_network("10.43.0.0/20"), ip_network("fd43::/116")]
    assert not seen.is_told
    assert make_proposal(seen, "longhorn-system/ours").addresses == ["10.43.0.95", "fd43::5f"]


@pytest.mark.parametrize(
    ("forbidden", "expected"),
    [
        ("services", "not allowed to list services in all namespaces; run this as a user who may"),
        ("servicecidrs", "not allowed to list servicecidrs.networking.k8s.io; run this as a user"),
    ],
)
async def test_a_right_that_is_missing_is_named(forbidden, expected):
    cluster = server(service("kubernetes", "10.43.0.1"))
    cluster.authorize = lambda call: call.resource != forbidden

    assert (await refusal(cluster)).startswith(expected)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Hang(), "the API server did not answer within 10 s"),
        (Refused(), "the API server cannot be reached"),
        (Answer(500, b"no"), "500: no"),
        (Answer(404, b"no"), "404: no"),
        (Answer(200, b"<html>"), "the answer cannot be decoded"),
        (CutAnswer(), "the API server cannot be reached"),
    ],
)
async def test_what_cannot_be_listed_is_said(kind, expected):
    cluster = server(service("kubernetes", "10.43.0.1"))
    cluster.faults.append(Fault(kind, lambda call: call.resource == "services"))

    said = await refusal(cluster)

    assert said.startswith(f"cannot list services in all namespaces: {expected}")


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (service("odd", "somewhere"), "Service default/odd: 'somewhere' does not appear to be an"),
        (service_cidr("odd", "10.96.0.1/16"), "ServiceCIDR odd: 10.96.0.1/16 has host bits set"),
    ],
)
async def test_an_address_that_is_none_is_said(broken, expected):
    assert (await refusal(server(broken))).startswith(expected)


async def test_a_cluster_that_tells_no_range_is_an_error():
    with pytest.raises(ApiError, match="see --service-cluster-ip-range of kube-apiserver"):
        await read(service("other", "10.96.0.7"))
