"""The Service leads to the leader and to nobody else, whatever others do to its slices."""

import asyncio
from collections.abc import Callable

import pytest

from app.config import NAME
from tests.fakes import Object
from tests.integration.instances import (
    NAMESPACE,
    SLICES,
    VIRTUAL_TIME,
    Replicas,
    ipv4,
    ipv6,
    pod_object,
    service,
)

pytestmark = VIRTUAL_TIME

VERIFY_SECONDS = 10.5
"""Between two looks at the slices, requests included."""
RETRY_SECONDS = 1.5
ELSEWHERE = "10.9.9.9"


def endpoint(address: str) -> Object:
    return {"addresses": [address], "conditions": {"ready": True}}


def slice_object(name: str, address: str, *, address_type: str = "IPv4", **labels: str) -> Object:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": NAME, **labels},
        },
        "addressType": address_type,
        "endpoints": [endpoint(address)],
        "ports": [{"name": "http", "port": 9504, "protocol": "TCP"}],
    }


def change(replicas: Replicas, **fields: object) -> None:
    found = replicas.slice()
    assert found is not None
    replicas.server.put({**found, **fields})


def point_elsewhere(replicas: Replicas) -> None:
    change(replicas, endpoints=[endpoint(ELSEWHERE)])


def add_an_endpoint(replicas: Replicas) -> None:
    found = replicas.slice()
    assert found is not None
    change(replicas, endpoints=[*found["endpoints"], endpoint(ELSEWHERE)])


def empty(replicas: Replicas) -> None:
    change(replicas, endpoints=[])


def take_the_ports(replicas: Replicas) -> None:
    change(replicas, ports=[])


def delete(replicas: Replicas) -> None:
    replicas.server.delete(SLICES, f"{NAME}-ipv4", NAMESPACE)


def add_a_stray(replicas: Replicas) -> None:
    replicas.server.put(slice_object("mirrored", ELSEWHERE))


def add_a_stray_of_another_family(replicas: Replicas) -> None:
    replicas.server.put(slice_object(f"{NAME}-ipv6", "fd00::9:9", address_type="IPv6"))


def replace_by_the_wrong_family(replicas: Replicas) -> None:
    delete(replicas)
    replicas.server.put(slice_object(f"{NAME}-ipv4", "fd00::9:9", address_type="IPv6"))


def is_published(replicas: Replicas) -> bool:
    """Whether the slice is as it was first written, and leads to the only replica alone."""
    found = replicas.slice()
    return (
        found is not None
        and bool(found["ports"])
        and found["addressType"] == "IPv4"
        and replicas.addresses() == [ipv4(0)]
    )


@pytest.mark.parametrize(
    "edit",
    [
        point_elsewhere,
        add_an_endpoint,
        empty,
        take_the_ports,
        delete,
        add_a_stray,
        add_a_stray_of_another_family,
        replace_by_the_wrong_family,
    ],
)
async def test_edits_of_others_are_repaired(edit: Callable[[Replicas], None]) -> None:
    async with Replicas() as replicas:
        await replicas.start_all(1)

        edit(replicas)
        assert not is_published(replicas)

        await replicas.until(lambda: is_published(replicas), within=VERIFY_SECONDS)


async def test_a_new_leader_empties_strays_before_it_is_published() -> None:
    async with Replicas() as replicas:
        add_a_stray(replicas)
        replicas.start(0)

        await replicas.until(lambda: is_published(replicas), within=2)


async def test_slices_of_other_services_are_left_alone() -> None:
    async with Replicas() as replicas:
        other = slice_object("other", ELSEWHERE)
        other["metadata"]["labels"]["kubernetes.io/service-name"] = "longhorn-frontend"
        stored = replicas.server.put(other)
        await replicas.start_all(1)
        await asyncio.sleep(VERIFY_SECONDS)

        assert replicas.server.get(SLICES, "other", NAMESPACE) == stored


async def test_what_others_noted_on_a_slice_stays() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(1)
        found = replicas.slice()
        assert found is not None
        found["metadata"]["labels"]["team"] = "storage"
        replicas.server.put({**found, "endpoints": []})

        await replicas.until(lambda: is_published(replicas), within=VERIFY_SECONDS)

        found = replicas.slice()
        assert found is not None
        assert found["metadata"]["labels"]["team"] == "storage"


async def test_slices_as_they_should_be_are_not_written_again() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(2)
        before = replicas.slice()

        await asyncio.sleep(60)

        assert replicas.slice() == before


async def test_a_service_that_is_missing_at_first_is_served_once_it_is_there() -> None:
    async with Replicas() as replicas:
        replicas.server.delete("services", NAME, NAMESPACE)
        replicas.start(0)
        await asyncio.sleep(20)
        assert replicas.addresses() == []

        replicas.server.put(service())

        await replicas.until(replicas.is_answered, within=RETRY_SECONDS)


async def test_a_service_with_a_selector_gets_no_slices_until_it_has_none() -> None:
    async with Replicas() as replicas:
        replicas.server.put(service(selector={"app": NAME}))
        replicas.start(0)
        await asyncio.sleep(20)
        assert replicas.addresses() == []

        replicas.server.put(service())

        await replicas.until(replicas.is_answered, within=RETRY_SECONDS)


async def test_a_pod_without_an_address_is_published_once_it_has_one() -> None:
    async with Replicas() as replicas:
        replicas.server.put(pod_object(0, addresses=()))
        replicas.start(0)
        await asyncio.sleep(20)
        assert replicas.addresses() == []

        replicas.server.put(pod_object(0))

        await replicas.until(replicas.is_answered, within=RETRY_SECONDS)


@pytest.mark.parametrize(
    ("families", "addresses"),
    [
        pytest.param(("IPv4",), [ipv4(0)], id="ipv4"),
        pytest.param(("IPv6",), [ipv6(0)], id="ipv6"),
        pytest.param(("IPv4", "IPv6"), [ipv4(0), ipv6(0)], id="dual-stack"),
    ],
)
async def test_every_family_of_the_service_leads_to_the_leader(
    families: tuple[str, ...], addresses: list[str]
) -> None:
    async with Replicas() as replicas:
        replicas.server.put(service(*families))
        replicas.start(0)

        await replicas.until(lambda: replicas.addresses() == addresses, within=2)


async def test_a_service_that_becomes_dual_stack_gets_the_other_slice() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(1)

        replicas.server.put(service("IPv4", "IPv6"))

        await replicas.until(
            lambda: replicas.addresses() == [ipv4(0), ipv6(0)], within=VERIFY_SECONDS
        )


async def test_a_service_that_loses_a_family_has_its_slice_emptied() -> None:
    async with Replicas() as replicas:
        replicas.server.put(service("IPv4", "IPv6"))
        await replicas.start_all(1)

        replicas.server.put(service("IPv4"))

        await replicas.until(lambda: replicas.addresses() == [ipv4(0)], within=VERIFY_SECONDS)


async def test_both_families_follow_the_leader() -> None:
    async with Replicas() as replicas:
        replicas.server.put(service("IPv4", "IPv6"))
        await replicas.start_all(2)

        first = replicas.leader
        first.terminate()
        await replicas.until(lambda: replicas.leaders not in ([], [first]), within=2)
        [number] = [int(each.pod[-1]) for each in replicas.leaders]
        both = [ipv4(number), ipv6(number)]
        await replicas.until(lambda: replicas.addresses() == both, within=2)
