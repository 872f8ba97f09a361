"""What an EndpointSlice may hold."""

import uuid
from typing import Any

import pytest

from leader.endpointslice import SERVICE_LABEL, Backend, Replace, desired_slices, repairs
from tests.actors.api import SERVICES
from tests.contract.exchange import Folder, named


def endpoint_slice(*addresses: str, address_type: str = "IPv4") -> dict[str, Any]:
    return named(
        "a",
        addressType=address_type,
        endpoints=[{"addresses": list(addresses), "conditions": {"ready": True}}],
        ports=[{"name": "http", "protocol": "TCP", "port": 9504}],
    )


@pytest.mark.parametrize("address", ["10.0.0.7", None], ids=["an-address", "none"])
async def test_what_the_publisher_writes_needs_no_repair(slices, api_client, namespace, address):
    ports = [{"name": "http", "port": 80}, {"name": "metrics", "port": 81}]
    services = Folder(api_client, SERVICES.path(namespace))
    service = await services.create(spec={"ipFamilies": ["IPv4"], "ports": ports})
    addresses = {"IPv4": address} if address else {}
    backend = Backend(pod="a-0", uid=str(uuid.UUID(int=1)), node="node-1", addresses=addresses)
    desired = desired_slices(service.json, backend, 9504)
    created = await slices.post(desired[0])

    listed = await slices.list(labelSelector=f"{SERVICE_LABEL}=a")

    assert created.status == 201
    assert len(listed.json["items"]) == 1
    assert repairs(desired, listed.json["items"]) == []


async def test_a_repair_takes_a_slice_over_once(slices, namespace):
    desired = endpoint_slice("10.0.0.7")
    desired["metadata"] |= {"namespace": namespace, "labels": {SERVICE_LABEL: "a"}}
    old = endpoint_slice("10.0.0.8")
    old["metadata"] |= {"labels": {SERVICE_LABEL: "a", "other": "x"}}
    created = await slices.post(old)

    [repair] = repairs([desired], [created.json])
    assert isinstance(repair, Replace)
    taken = await slices.put(repair.body)
    again = await slices.put(repair.body)

    assert taken.status == 200
    assert taken.json["endpoints"] == desired["endpoints"]
    assert taken.json["metadata"]["labels"] == {SERVICE_LABEL: "a", "other": "x"}
    assert again.refusal == (409, "Conflict")


async def test_what_is_left_out_reads_back_with_its_default(slices):
    endpoints = [{"addresses": ["10.0.0.7"]}]

    created = await slices.create(addressType="IPv4", endpoints=endpoints, ports=[{"port": 9504}])

    assert created.json["endpoints"] == [{"addresses": ["10.0.0.7"], "conditions": {}}]
    assert created.json["ports"] == [{"name": "", "protocol": "TCP", "port": 9504}]


async def test_the_address_type_is_required_and_stays(slices):
    without = await slices.post(named("a", endpoints=[]))
    await slices.post(endpoint_slice("10.0.0.7"))

    changed = await slices.put(endpoint_slice("fd00::7", address_type="IPv6"))

    assert without.refusal == changed.refusal == (422, "Invalid")
    assert without.wrong_fields == changed.wrong_fields == {"addressType"}


WRONG_ADDRESSES = {
    "loopback": ("127.0.0.1", "IPv4"),
    "link-local": ("169.254.1.1", "IPv4"),
    "unspecified": ("0.0.0.0", "IPv4"),  # noqa: S104 (not listened on)
    "loopback-6": ("::1", "IPv6"),
    "link-local-6": ("fe80::1", "IPv6"),
    "other family": ("10.0.0.7", "IPv6"),
    "a name": ("node-1", "IPv4"),
}


@pytest.mark.parametrize(("address", "address_type"), WRONG_ADDRESSES.values(), ids=WRONG_ADDRESSES)
async def test_an_address_can_be_reached_from_elsewhere(slices, address, address_type):
    refused = await slices.post(endpoint_slice(address, address_type=address_type))

    assert refused.refusal == (422, "Invalid")
    wrong = {field.removesuffix("[0]") for field in refused.wrong_fields}
    assert wrong == {"endpoints[0].addresses"}


async def test_a_slice_is_overwritten_without_a_version_and_never_created_by_put(slices):
    missing = await slices.put(endpoint_slice("10.0.0.7"))
    await slices.post(endpoint_slice("10.0.0.7"))

    updated = await slices.put(endpoint_slice("10.0.0.8"))

    assert missing.refusal == (404, "NotFound")
    assert updated.status == 200
    assert updated.json["endpoints"][0]["addresses"] == ["10.0.0.8"]
