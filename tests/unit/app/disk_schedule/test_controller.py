"""What is decided is written once, for one version, and after a fault again."""

import asyncio
from collections import Counter
from random import Random

import pytest

from app.disk_schedule.stored import READY
from tests.builders import GIB, document, node_document
from tests.fakes import Answer, Call, Fault, LostAnswer
from tests.unit.app.disk_schedule.bench import (
    DISK,
    NAMESPACE,
    PLURAL,
    SETTLED_SECONDS,
    ask_for,
    put_replica,
    put_schedule,
    running,
    server_with_a_disk,
    sums_of,
)

pytestmark = pytest.mark.looptime

READY_STATUS = {
    "replicas": {},
    "backingImages": {},
    "storageScheduled": 0,
    "conditions": [{"type": READY, "status": "True"}],
}


def held(**sizes: int) -> dict[str, object]:
    """Build the status of a disk that holds replicas."""
    entries = {
        name: {"state": "scheduled", "scheduledSize": size * GIB} for name, size in sizes.items()
    }
    total = sum(sizes.values()) * GIB
    return {**READY_STATUS, "replicas": entries, "storageScheduled": total}


def is_patch(call: Call) -> bool:
    return call.verb == "patch"


async def settle() -> None:
    await asyncio.sleep(SETTLED_SECONDS)


async def test_what_fits_is_granted_with_one_request():
    server = server_with_a_disk()
    put_schedule(server, {"a": 30, "image": 20})

    async with running(server) as bench:
        [write] = bench.writes()
        status = bench.object()["status"]

    assert (write.query, bench.conflicts) == ({"fieldManager": "longhorn-scheduler-extender"}, 0)
    assert status == {
        "replicas": {"a": {"state": "scheduled", "scheduledSize": 30 * GIB}},
        "backingImages": {"image": {"state": "scheduled", "scheduledSize": 20 * GIB}},
        "storageScheduled": 50 * GIB,
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "",
                "message": "",
                "lastProbeTime": "",
                "lastTransitionTime": "2026-10-01T12:00:00Z",
            }
        ],
    }


async def test_what_is_settled_is_not_written_again():
    server = server_with_a_disk()
    put_schedule(server, {"a": 60, "b": 60})

    async with running(server) as bench:
        before = len(bench.writes())
        bench.controller.look_at_all()
        server.put(node_document())  # nothing has changed
        await settle()
        after = len(bench.writes())

    assert before == after == 1
    assert sorted(bench.status().values()) == ["R0", "S60"]


async def test_what_was_written_is_not_decided_on_again_when_the_watch_shows_it():
    server = server_with_a_disk()
    server.watch_delay = lambda call: 0.5 if call.resource == "diskschedules" else 0.0
    put_schedule(server, {}, READY_STATUS)
    put_replica(server, "a")

    async with running(server) as bench:
        before = len(bench.decisions)
        bench.ask(a=5)
        await settle()

    assert bench.status() == {"a": "S5"}
    assert len(bench.decisions) == before + 1


async def test_only_the_entries_that_change_are_sent():
    server = server_with_a_disk()
    put_schedule(server, {"a": 30, "b": 10}, held(a=30, b=10))
    put_replica(server, "c")

    async with running(server) as bench:
        bench.ask(b=None, c=5)
        await settle()
        [write] = bench.writes()

    assert write.body["status"] == {
        "replicas": {"b": None, "c": {"state": "scheduled", "scheduledSize": 5 * GIB}},
        "backingImages": {},
        "storageScheduled": 35 * GIB,
    }


async def test_conditions_of_other_types_stay():
    server = server_with_a_disk()
    put_schedule(server, status={"conditions": [{"type": "Other", "status": "False"}]})

    async with running(server) as bench:
        conditions = bench.object()["status"]["conditions"]

    assert [each["type"] for each in conditions] == ["Other", "Ready"]


async def test_what_was_asked_meanwhile_is_a_conflict_and_decided_anew():
    """The watch is late, so the first decision is made on what was asked before."""
    server = server_with_a_disk()
    put_schedule(server, {"a": 60}, held(a=60))
    for name in "bc":
        put_replica(server, name)

    async with running(server) as bench:
        server.watch_delay = lambda call: 0.5 if call.resource == "diskschedules" else 0.0
        bench.ask(b=60)
        await asyncio.sleep(0.4)
        bench.ask(a=None, c=10)
        await settle()

    assert bench.conflicts == 1
    assert bench.status() == {"b": "S60", "c": "S10"}


async def test_an_owner_that_is_gone_is_purged_and_its_room_granted():
    server = server_with_a_disk()
    put_schedule(server, {"a": 60, "b": 60}, held(a=60))

    async with running(server) as bench:
        server.delete("replicas.longhorn.io", "a", NAMESPACE)
        await settle()
        asked = bench.object()["spec"]["replicas"]

    assert asked == {"b": 60 * GIB}
    assert bench.status() == {"b": "S60"}
    assert bench.conflicts == 0


async def test_an_owner_of_a_name_that_nothing_can_have_is_purged_without_a_request():
    """Who may change a DiskSchedule may write any text there, also one that leads elsewhere."""
    server = server_with_a_disk()
    hostile = "../../../../../api/v1/pods"
    put_schedule(server, {hostile: 60, "..": 20, "b": 60}, held(**{hostile: 60, "..": 20}))

    async with running(server) as bench:
        for name in (hostile, ".."):
            server.delete("replicas.longhorn.io", name, NAMESPACE)
        await settle()
        asked = bench.object()["spec"]["replicas"]

    assert asked == {"b": 60 * GIB}
    assert bench.failures == 0


async def test_an_owner_that_the_watch_does_not_show_yet_is_not_purged():
    server = server_with_a_disk()
    put_schedule(server, {}, READY_STATUS)

    async with running(server) as bench:
        server.watch_delay = lambda call: 60.0 if call.resource == "replicas" else 0.0
        put_replica(server, "new")
        bench.ask(new=10)
        await settle()

    assert bench.status() == {"new": "S10"}


@pytest.mark.parametrize("body", [b"404 page not found\n", b"{}"])
async def test_not_found_is_believed_only_of_the_object(body):
    """As a proxy answers, or a server that has just started and does not know the kind yet."""
    server = server_with_a_disk()
    put_schedule(server, {"a": 60}, held(a=60))
    server.delete("replicas.longhorn.io", "a", NAMESPACE)
    put_replica(server, "b")

    def asks_for_it(call: Call) -> bool:
        return (call.verb, call.resource) == ("get", "replicas")

    server.faults = [Fault(Answer(404, body), asks_for_it, times=None)]
    async with running(server) as bench:
        unsure = bench.status()
        server.faults = []
        await asyncio.sleep(10 * SETTLED_SECONDS)
        sure = bench.status()

    assert (unsure, sure) == ({"a": "S60"}, {})


async def test_who_does_not_lead_writes_nothing():
    server = server_with_a_disk()
    put_schedule(server, {}, READY_STATUS)
    put_replica(server, "a")

    async with running(server) as bench:
        bench.may_write = False
        bench.ask(a=30)
        await settle()
        before = bench.status()
        bench.may_write = True
        bench.controller.look_at_all()
        await settle()

    assert before == {}
    assert bench.status() == {"a": "S30"}


async def test_what_became_due_meanwhile_is_looked_at_when_writing_is_allowed_again():
    """Also if nobody says so: a lease may run out and be renewed before anybody notices."""
    server = server_with_a_disk()
    put_schedule(server, {}, READY_STATUS)
    put_replica(server, "a")

    async with running(server) as bench:
        bench.may_write = False
        bench.ask(a=30)
        await settle()
        bench.may_write = True
        await settle()

    assert bench.status() == {"a": "S30"}


@pytest.mark.parametrize("subresource", ["", "status"])
async def test_beside_longhorns_own_controller_nothing_is_written(subresource):
    server = server_with_a_disk()
    others = {"managedFields": [{"manager": "longhorn-manager", "subresource": subresource}]}
    server.put(
        document(
            "DiskSchedule",
            "uuid-other",
            metadata=others,
            spec={"name": "disk-2", "nodeID": "node-1"},
        )
    )
    put_schedule(server, {"a": 5})

    async with running(server) as bench:
        before = bench.writes()
        server.delete(PLURAL, "uuid-other", NAMESPACE)
        await settle()

    assert (before, bench.status()) == ([], {"a": "S5"})


async def test_many_who_ask_at_once_share_what_there_is():
    """Of 30 that ask for 5 GiB each 20 fit; what one gives back, a refused one gets."""
    server = server_with_a_disk()
    put_schedule(server, {}, READY_STATUS)
    server.latency = lambda _: (0.01, 0.01)
    server.watch_delay = lambda _: 0.05
    sums: list[int] = []
    server.observers.append(lambda _, change: sums.extend(sums_of(change)))
    random = Random(5)

    async with running(server) as bench:
        async with asyncio.TaskGroup() as tasks:
            for number in range(30):
                put_replica(server, f"r-{number}")
                tasks.create_task(ask_for(server, f"r-{number}", 5, random))
        await settle()
        entries = bench.status()
        bench.ask(**{next(name for name, each in entries.items() if each == "S5"): None})
        await settle()

    assert Counter(entries.values()) == {"S5": 20, "R0": 10}
    assert Counter(bench.status().values()) == {"S5": 20, "R0": 9}
    assert max(sums) == 100 * GIB
    assert bench.conflicts > 0


async def test_what_is_on_the_disk_is_taken_over():
    server = server_with_a_disk()
    on_disk = {"nodeID": "node-1", "diskID": DISK, "healthyAt": "2026-01-01T00:00:00Z"}
    for name in "ab":
        put_replica(server, name, volumeSize=str(80 * GIB), **on_disk)
    server.put(
        document(
            "BackingImage",
            "image",
            spec={"diskFileSpecMap": {DISK: {}}, "dataEngine": "v1"},
            status={"size": 5 * GIB},
        )
    )
    put_schedule(server)

    async with running(server) as bench:
        spec = bench.object()["spec"]
        subresources = ["status" in (call.body or {}) for call in bench.writes()]

    assert spec["replicas"] == {"a": 80 * GIB, "b": 80 * GIB}
    assert spec["backingImages"] == {"image": 5 * GIB}
    assert bench.status() == {"a": "S80", "b": "S80", "image": "S5"}
    assert subresources == [False, True]


async def test_what_cannot_be_read_keeps_a_disk_from_being_taken_over():
    """Its room would be given away."""
    server = server_with_a_disk()
    put_replica(server, "a", nodeID="node-1", diskID=DISK, volumeSize="much")
    put_schedule(server)

    async with running(server) as bench:
        before = bench.object().get("status")
        put_replica(server, "a", nodeID="node-1", diskID=DISK, volumeSize=str(5 * GIB))
        await settle()

    assert before is None
    assert bench.status() == {"a": "S5"}


async def test_a_disk_that_opens_grants_at_once():
    server = server_with_a_disk()
    server.put(node_document(disk_spec={"allowScheduling": False}))
    put_schedule(server, {"a": 5}, READY_STATUS)

    async with running(server) as bench:
        before = bench.status()
        server.put(node_document())
        await asyncio.sleep(0.1)

    assert (before, bench.status()) == ({}, {"a": "S5"})


async def test_a_percentage_that_rises_grants_at_once():
    server = server_with_a_disk()
    put_schedule(server, {"a": 150}, READY_STATUS)

    async with running(server) as bench:
        before = bench.status()
        name = "storage-over-provisioning-percentage"
        server.put(document("Setting", name, value="200"))
        await asyncio.sleep(0.1)

    assert (before, bench.status()) == ({"a": "R0"}, {"a": "S150"})


async def test_a_lost_answer_is_no_second_grant():
    server = server_with_a_disk()
    put_schedule(server, {}, READY_STATUS)
    put_replica(server, "a")

    async with running(server) as bench:
        server.faults = [Fault(LostAnswer(), is_patch)]
        bench.ask(a=60)
        await asyncio.sleep(10 * SETTLED_SECONDS)

    assert bench.status() == {"a": "S60"}
    assert bench.object()["status"]["storageScheduled"] == 60 * GIB


@pytest.mark.parametrize("status", [403, 429, 500, 503])
async def test_what_was_not_written_is_tried_again(status):
    server = server_with_a_disk()
    put_schedule(server, {}, READY_STATUS)
    put_replica(server, "a")

    async with running(server) as bench:
        server.faults = [Fault(Answer(status), is_patch, times=3)]
        bench.ask(a=60)
        await asyncio.sleep(10 * SETTLED_SECONDS)

    assert bench.status() == {"a": "S60"}
    assert (bench.conflicts, bench.failures) == (0, 3)


async def test_without_its_node_nothing_is_written():
    server = server_with_a_disk()
    put_schedule(server, {}, held(a=30))
    server.delete("nodes.longhorn.io", "node-1", NAMESPACE)

    async with running(server) as bench:
        before = bench.status()
        server.put(node_document())
        await settle()

    assert (before, bench.status()) == ({"a": "S30"}, {})


async def test_an_object_being_deleted_loses_its_finalizer_alone():
    server = server_with_a_disk()
    put_schedule(
        server,
        {"a": 5},
        finalizers=["longhorn.io", "of.another/one"],
        deletionTimestamp="2026-10-01T00:00:00Z",
    )

    async with running(server) as bench:
        stored = bench.object()

    assert stored["metadata"]["finalizers"] == ["of.another/one"]
    assert "status" not in stored


async def test_an_object_that_is_gone_is_forgotten():
    server = server_with_a_disk()
    put_schedule(server, {"a": 5})

    async with running(server) as bench:
        server.delete(PLURAL, DISK, NAMESPACE)
        await settle()
        bench.controller.look_at_all()
        await settle()

    assert bench.known.schedules == {}


async def test_a_late_answer_does_not_hide_what_the_watch_has_shown():
    server = server_with_a_disk()
    put_schedule(server, {}, READY_STATUS)
    for name in "ab":
        put_replica(server, name)

    async with running(server) as bench:
        server.latency = lambda call: (0.0, 1.0 if call.verb == "patch" else 0.0)
        bench.ask(a=10)
        await asyncio.sleep(0.5)
        bench.ask(b=20)
        await settle()

    assert bench.status() == {"a": "S10", "b": "S20"}
    assert bench.conflicts == 0
