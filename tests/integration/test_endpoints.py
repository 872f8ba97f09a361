"""The Service leads to the leader and to nobody else, whatever others do to its slices."""

import asyncio

from tests.fakes.installed import instance_pod, ipv4, ipv6, service
from tests.integration.instances import VIRTUAL_TIME, Processes

pytestmark = VIRTUAL_TIME

VERIFY_SECONDS = 10.5
"""Between two looks at the slices, requests included."""
RETRY_SECONDS = 1.5
ELSEWHERE = "10.9.9.9"


async def test_edits_of_others_are_repaired():
    """Each edit there is a row in unit/leader/test_publisher."""
    async with Processes() as processes:
        await processes.start_all(1)
        published = processes.slice()
        assert published is not None

        endpoints = [{"addresses": [ELSEWHERE], "conditions": {"ready": True}}]
        processes.server.put({**published, "endpoints": endpoints})
        assert processes.addresses() == [ELSEWHERE]

        await processes.until(lambda: processes.addresses() == [ipv4(0)], within=VERIFY_SECONDS)


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
