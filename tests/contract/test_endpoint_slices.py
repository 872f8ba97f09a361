"""What an EndpointSlice may hold."""

import uuid
from typing import Any

import pytest

from leader.endpointslice import SERVICE_LABEL, Backend, Replace, desired_slices, repairs
from tests.actors.api import ENDPOINT_SLICES, SERVICES
from tests.contract.exchange import ask, named


def endpoint_slice(*addresses: str, address_type: str = "IPv4") -> dict[str, Any]:
    return named(
        "a",
        addressType=address_type,
        endpoints=[{"addresses": list(addresses), "conditions": {"ready": True}}],
        ports=[{"name": "http", "protocol": "TCP", "port": 9504}],
    )


@pytest.mark.parametrize("address", ["10.0.0.7", None], ids=["an-address", "none"])
async def test_what_the_publisher_writes_needs_no_repair(api_client, namespace, address):
    path = ENDPOINT_SLICES.path(namespace)
    ports = [{"name": "http", "port": 80}, {"name": "metrics", "port": 81}]
    body = named("a", spec={"ipFamilies": ["IPv4"], "ports": ports})
    service = await ask(api_client, "POST", SERVICES.path(namespace), body=body)
    addresses = {"IPv4": address} if address else {}
    backend = Backend(pod="a-0", uid=str(uuid.UUID(int=1)), node="node-1", addresses=addresses)
    desired = desired_slices(service.json, backend, 9504)
    created = await ask(api_client, "POST", path, body=desired[0])

    query = {"labelSelector": f"{SERVICE_LABEL}=a"}
    listed = await ask(api_client, "GET", path, query=query)

    assert created.status == 201
    assert len(listed.json["items"]) == 1
    assert repairs(desired, listed.json["items"]) == []


async def test_a_repair_takes_a_slice_over_once(api_client, namespace):
    path = ENDPOINT_SLICES.path(namespace)
    desired = endpoint_slice("10.0.0.7")
    desired["metadata"] |= {"namespace": namespace, "labels": {SERVICE_LABEL: "a"}}
    old = endpoint_slice("10.0.0.8")
    old["metadata"] |= {"labels": {SERVICE_LABEL: "a", "other": "x"}}
    created = await ask(api_client, "POST", path, body=old)

    [repair] = repairs([desired], [created.json])
    assert isinstance(repair, Replace)
    taken = await ask(api_client, "PUT", f"{path}/a", body=repair.body)
    again = await ask(api_client, "PUT", f"{path}/a", body=repair.body)

    assert taken.status == 200
    assert taken.json["endpoints"] == desired["endpoints"]
    assert taken.json["metadata"]["labels"] == {SERVICE_LABEL: "a", "other": "x"}
    assert again.refusal == (409, "Conflict")


async def test_what_is_left_out_reads_back_with_its_default(api_client, namespace):
    endpoints = [{"addresses": ["10.0.0.7"]}]
    body = named("a", addressType="IPv4", endpoints=endpoints, ports=[{"port": 9504}])

    created = await ask(api_client, "POST", ENDPOINT_SLICES.path(namespace), body=body)

    assert created.json["endpoints"] == [{"addresses": ["10.0.0.7"], "conditions": {}}]
    assert created.json["ports"] == [{"name": "", "protocol": "TCP", "port": 9504}]


async def test_the_address_type_is_required_and_stays(api_client, namespace):
    path = ENDPOINT_SLICES.path(namespace)
    without = await ask(api_client, "POST", path, body=named("a", endpoints=[]))
    await ask(api_client, "POST", path, body=endpoint_slice("10.0.0.7"))

    changed = await ask(
        api_client, "PUT", f"{path}/a", body=endpoint_slice("fd00::7", address_type="IPv6")
    )

    assert without.refusal == changed.refusal == (422, "Invalid")
    assert without.wrong_fields == changed.wrong_fields == {"addressType"}


@pytest.mark.parametrize(
    ("address", "address_type"),
    [
        pytest.param("127.0.0.1", "IPv4", id="loopback"),
        pytest.param("169.254.1.1", "IPv4", id="link-local"),
        pytest.param("0.0.0.0", "IPv4", id="unspecified"),  # noqa: S104 (not listened on)
        pytest.param("::1", "IPv6", id="loopback-6"),
        pytest.param("fe80::1", "IPv6", id="link-local-6"),
        pytest.param("10.0.0.7", "IPv6", id="other-family"),
        pytest.param("node-1", "IPv4", id="a-name"),
    ],
)
async def test_an_address_can_be_reached_from_elsewhere(
    api_client, namespace, address, address_type
):
    body = endpoint_slice(address, address_type=address_type)

    refused = await ask(api_client, "POST", ENDPOINT_SLICES.path(namespace), body=body)

    assert refused.refusal == (422, "Invalid")
    assert {field.removesuffix("[0]") for field in refused.wrong_fields} == {
        "endpoints[0].addresses"
    }


async def test_a_slice_is_overwritten_without_a_version_and_never_created_by_put(
    api_client, namespace
):
    path = ENDPOINT_SLICES.path(namespace)
    missing = await ask(api_client, "PUT", f"{path}/a", body=endpoint_slice("10.0.0.7"))
    await ask(api_client, "POST", path, body=endpoint_slice("10.0.0.7"))

    updated = await ask(api_client, "PUT", f"{path}/a", body=endpoint_slice("10.0.0.8"))

    assert missing.refusal == (404, "NotFound")
    assert updated.status == 200
    assert updated.json["endpoints"][0]["addresses"] == ["10.0.0.8"]
