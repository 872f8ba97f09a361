"""The Service leads to the leader and to nobody else, whatever others do to its slices."""

import asyncio

import pytest

from app.config import NAME
from tests.fakes import Object
from tests.fakes.installed import NAMESPACE, instance_pod, ipv4, ipv6, service
from tests.integration.instances import SLICES, VIRTUAL_TIME, Processes

pytestmark = VIRTUAL_TIME

VERIFY_SECONDS = 10.5
"""Between two looks at the slices, requests included."""
RETRY_SECONDS = 1.5
ELSEWHERE = "10.9.9.9"


def endpoint(address: str) -> Object:
    return {"addresses": [address], "conditions": {"ready": True}}


def slice_object(name: str, address: str) -> Object:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": NAME},
        },
        "addressType": "IPv4",
        "endpoints": [endpoint(address)],
        "ports": [{"name": "http", "port": 9504, "protocol": "TCP"}],
    }


def change(processes: Processes, **fields: object) -> None:
    found = processes.slice()
    assert found is not None
    processes.server.put({**found, **fields})


def point_elsewhere(processes: Processes) -> None:
    change(processes, endpoints=[endpoint(ELSEWHERE)])


def empty(processes: Processes) -> None:
    change(processes, endpoints=[])


def delete(processes: Processes) -> None:
    processes.server.delete(SLICES, f"{NAME}-ipv4", NAMESPACE)


def add_a_stray(processes: Processes) -> None:
    processes.server.put(slice_object("mirrored", ELSEWHERE))


def is_published(processes: Processes) -> bool:
    """Whether the slice is as it was first written, and leads to the only instance alone."""
    found = processes.slice()
    return (
        found is not None
        and bool(found["ports"])
        and found["addressType"] == "IPv4"
        and processes.addresses() == [ipv4(0)]
    )


@pytest.mark.parametrize(
    "edit",
    [
        point_elsewhere,
        empty,
        delete,
        add_a_stray,
    ],
)
async def test_edits_of_others_are_repaired(edit):
    async with Processes() as processes:
        await processes.start_all(1)

        edit(processes)
        assert not is_published(processes)

        await processes.until(lambda: is_published(processes), within=VERIFY_SECONDS)


async def test_a_pod_without_an_address_is_published_once_it_has_one():
    async with Processes() as processes:
        processes.server.put(instance_pod(0, addresses=()))
        processes.start(0)
        await asyncio.sleep(20)
        assert processes.addresses() == []

        processes.server.put(instance_pod(0))

        await processes.until(processes.is_answered, within=RETRY_SECONDS)


async def test_both_families_follow_the_leader():
    async with Processes() as processes:
        processes.server.put(service("IPv4", "IPv6"))
        await processes.start_all(2)

        first = processes.leader
        first.terminate()
        await processes.until(lambda: processes.leaders not in ([], [first]), within=2)
        [number] = [int(each.pod[-1]) for each in processes.leaders]
        both = [ipv4(number), ipv6(number)]
        await processes.until(lambda: processes.addresses() == both, within=2)
