"""The shipped rules allow every call, and grant nothing that is not called."""

import asyncio
import json
from datetime import UTC, datetime

import pytest

from app.config import NAME
from app.kube.connection import Connection
from app.kube.pods import WOKEN_AT
from app.settings import Settings
from cli.doctor.inspection import inspect
from cli.kube.snapshot import read_snapshot
from tests.fakes import DISK_SCHEDULES, Call, Object
from tests.fakes.installed import LONGHORN, NAMESPACE
from tests.integration.instances import NODES, SLICES, VIRTUAL_TIME, Processes, filter_request
from tests.integration.rbac import shipped
from tests.integration.test_doctor import second_scheduler

pytestmark = VIRTUAL_TIME


def stray(name: str, address: str, address_type: str) -> Object:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": NAME},
        },
        "addressType": address_type,
        "endpoints": [{"addresses": [address]}],
    }


async def reject_and_wake(processes: Processes) -> None:
    """Find no room for a pod, and then some."""
    server = processes.server
    pod = server.put(json.loads(filter_request("quad"))["Pod"])
    node = server.get("nodes.longhorn.io", "node-4", LONGHORN)
    assert node is not None

    def patched() -> bool:
        found = server.get("pods", "quad", "default")
        return found is not None and WOKEN_AT in found["metadata"].get("annotations", {})

    server.put({**node, "spec": {**node["spec"], "allowScheduling": False}})
    request = json.dumps({"Pod": pod, "Nodes": None, "NodeNames": NODES}).encode()
    await asyncio.sleep(1)
    answer = await processes.leader.filter(body=request)
    assert answer is not None
    assert answer.accepted == []
    server.put(node)
    await processes.until(patched, within=3)


async def live(processes: Processes) -> None:
    """Start, lead, publish, reject, wake, hold, explain, repair, be replaced and end."""
    processes.server.add_resource(DISK_SCHEDULES)
    await processes.start_all(2)
    await reject_and_wake(processes)
    await processes.leader.filter(body=processes.request("pair"))
    await asyncio.sleep(1)
    connection = Connection(processes.server.client("extender-1"))
    await read_snapshot(connection, Settings())
    for each in second_scheduler():
        processes.server.put(each)
    await inspect(connection, Settings(), is_in_pod=True, now=datetime(2026, 1, 1, tzinfo=UTC))
    processes.server.put(stray("stray", "10.9.9.9", "IPv4"))
    processes.server.delete(SLICES, f"{NAME}-ipv4", NAMESPACE)
    processes.server.put(stray(f"{NAME}-ipv4", "fd00::9:9", "IPv6"))
    await processes.until(lambda: processes.points_at(processes.leader), within=11)
    processes.server.outage().end()
    processes.server.compact()
    await asyncio.sleep(10)
    first = processes.leader
    first.terminate()
    await processes.until(lambda: processes.leaders not in ([], [first]), within=2)
    await processes.until(processes.is_answered, within=2)
    last = processes.leader
    last.terminate()
    await processes.until(last.ended.done, within=2)
    assert (processes.holder, processes.addresses()) == ("", [])


@pytest.mark.parametrize("streaming_lists", [False, True], ids=["lists", "streamed"])
async def test_every_call_of_a_whole_life_is_granted(*, streaming_lists):
    async with Processes(streaming_lists=streaming_lists) as processes:
        await live(processes)

    assert processes.refused == []


async def test_every_grant_is_used_in_a_whole_life():
    async with Processes(streaming_lists=False) as processes:
        await live(processes)

    assert [grant for grant, uses in processes.rules.used.items() if not uses] == []


def test_nothing_of_storage_is_written_and_no_secret_is_read():
    grants = [*shipped().used]
    reading = {"list", "watch", "get"}
    written = {each.resource for each in grants if each.verb not in reading}

    assert written == {"leases", "endpointslices", "pods"}
    assert "secrets" not in {each.resource for each in grants}


def test_everywhere_is_granted_what_is_in_any_namespace_or_in_none():
    everywhere = {each.resource for each in shipped().used if not each.namespace}

    assert everywhere == {
        *("persistentvolumeclaims", "pods"),
        *("persistentvolumes", "storageclasses", "csinodes", "nodes"),
        *("csidrivers", "csistoragecapacities", "volumeattachments"),
        # Of these, only what injects.
        *("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
        "mutatingwebhookconfigurations",
    }


@pytest.mark.parametrize(
    ("verb", "name", "namespace", "allowed"),
    [
        pytest.param("update", NAME, NAMESPACE, True, id="ours"),
        pytest.param("update", "other", NAMESPACE, False, id="other-lease"),
        pytest.param("update", NAME, "default", False, id="other-namespace"),
        pytest.param("delete", NAME, NAMESPACE, False, id="other-verb"),
        pytest.param("get", "", NAMESPACE, False, id="no-name"),
        pytest.param("create", "", NAMESPACE, True, id="create-has-no-name"),
    ],
)
def test_rules_for_the_lease_are_narrow(verb, name, namespace, *, allowed):
    call = Call(
        verb=verb,
        group="coordination.k8s.io",
        resource="leases",
        namespace=namespace,
        name=name,
        client="us",
        at=0.0,
    )

    assert shipped().allow(call) is allowed
