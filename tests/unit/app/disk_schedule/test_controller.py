"""What is decided is written once, for one version, and after a fault again."""

import asyncio
from collections import Counter
from random import Random

import pytest

from tests.builders import GIB, document, node_document
from tests.fakes import Answer, Fault, LostAnswer
from tests.unit.app.disk_schedule.bench import (
    DISK,
    NAMESPACE,
    PLURAL,
    SETTLED_SECONDS,
    ask_for,
    put_replica,
    put_schedule,
    running,
    server_with,
    sums_of,
)

pytestmark = pytest.mark.looptime

REPLICAS = "replicas.longhorn.io"
HOSTILE = "../../../../../api/v1/pods"
"""Who may change a DiskSchedule may write any text there, also one that leads elsewhere."""


async def test_what_fits_is_granted_with_one_request():
    server = server_with("a:30 image:20")

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
    server = server_with("a:60 b:60")

    async with running(server) as bench:
        before = len(bench.writes())
        bench.controller.look_at_all()
        server.put(node_document())  # nothing has changed
        await bench.settle()
        after = len(bench.writes())

    assert before == after == 1
    assert sorted(bench.status().values()) == ["R0", "S60"]


async def test_what_was_written_is_not_decided_on_again_when_the_watch_shows_it():
    server = server_with(held="", owners="a")
    server.watch_delay = lambda call: 0.5 if call.resource == "diskschedules" else 0.0

    async with running(server) as bench:
        before = len(bench.decisions)
        bench.ask(a=5)
        await bench.settle()

    assert bench.status() == {"a": "S5"}
    assert len(bench.decisions) == before + 1


async def test_only_the_entries_that_change_are_sent():
    server = server_with("a:30 b:10", held="a:30 b:10", owners="c")

    async with running(server) as bench:
        bench.ask(b=None, c=5)
        await bench.settle()
        [write] = bench.writes()

    assert write.body["status"] == {
        "replicas": {"b": None, "c": {"state": "scheduled", "scheduledSize": 5 * GIB}},
        "backingImages": {},
        "storageScheduled": 35 * GIB,
    }


async def test_conditions_of_other_types_stay():
    server = server_with()
    put_schedule(server, status={"conditions": [{"type": "Other", "status": "False"}]})

    async with running(server) as bench:
        conditions = bench.object()["status"]["conditions"]

    assert [each["type"] for each in conditions] == ["Other", "Ready"]


async def test_what_was_asked_meanwhile_is_a_conflict_and_decided_anew():
    """The watch is late, so the first decision is made on what was asked before."""
    server = server_with("a:60", held="a:60", owners="b c")

    async with running(server) as bench:
        server.watch_delay = lambda call: 0.5 if call.resource == "diskschedules" else 0.0
        bench.ask(b=60)
        await asyncio.sleep(0.4)
        bench.ask(a=None, c=10)
        await bench.settle()

    assert bench.conflicts == 1
    assert bench.status() == {"b": "S60", "c": "S10"}


@pytest.mark.parametrize("gone", ["a:60", f"{HOSTILE}:60 ..:20"], ids=["name", "impossible-name"])
async def test_owners_that_are_gone_are_purged_and_their_room_granted(gone):
    server = server_with(f"{gone} b:60", held=gone)

    async with running(server) as bench:
        for each in gone.split():
            server.delete(REPLICAS, each.partition(":")[0], NAMESPACE)
        await bench.settle()
        asked = bench.object()["spec"]["replicas"]

    assert asked == {"b": 60 * GIB}
    assert bench.status() == {"b": "S60"}
    assert (bench.conflicts, bench.failures) == (0, 0)


async def test_an_owner_that_the_watch_does_not_show_yet_is_not_purged():
    server = server_with(held="")

    async with running(server) as bench:
        server.watch_delay = lambda call: 60.0 if call.resource == "replicas" else 0.0
        put_replica(server, "new")
        bench.ask(new=10)
        await bench.settle()

    assert bench.status() == {"new": "S10"}


@pytest.mark.parametrize("body", [b"404 page not found\n", b"{}"])
async def test_not_found_is_believed_only_of_the_object(body):
    """As a proxy answers, or a server that has just started and does not know the kind yet."""
    server = server_with("a:60", held="a:60", owners="b")
    server.delete(REPLICAS, "a", NAMESPACE)
    server.faults = [
        Fault(
            Answer(404, body),
            lambda call: (call.verb, call.resource) == ("get", "replicas"),
            times=None,
        )
    ]

    async with running(server) as bench:
        unsure = bench.status()
        server.faults = []
        await asyncio.sleep(10 * SETTLED_SECONDS)

    assert (unsure, bench.status()) == ({"a": "S60"}, {})


@pytest.mark.parametrize("is_told", [True, False], ids=["told", "untold"])
async def test_what_became_due_is_written_when_writing_is_allowed_again(is_told):
    """Also if nobody says so: a lease may run out and be renewed before anybody notices."""
    server = server_with(held="", owners="a")

    async with running(server) as bench:
        bench.may_write = False
        bench.ask(a=30)
        await bench.settle()
        before = bench.status()
        bench.may_write = True
        if is_told:
            bench.controller.look_at_all()
        await bench.settle()

    assert (before, bench.status()) == ({}, {"a": "S30"})


@pytest.mark.parametrize("subresource", ["", "status"])
async def test_beside_longhorns_own_controller_nothing_is_written(subresource):
    server = server_with("a:5")
    others = {"managedFields": [{"manager": "longhorn-manager", "subresource": subresource}]}
    of_disk = {"name": "disk-2", "nodeID": "node-1"}
    server.put(document("DiskSchedule", "uuid-other", metadata=others, spec=of_disk))

    async with running(server) as bench:
        before = bench.writes()
        server.delete(PLURAL, "uuid-other", NAMESPACE)
        await bench.settle()

    assert (before, bench.status()) == ([], {"a": "S5"})


async def test_many_who_ask_at_once_share_what_there_is():
    """Of 30 that ask for 5 GiB each 20 fit; what one gives back, a refused one gets."""
    names = [f"r-{number}" for number in range(30)]
    server = server_with(held="", owners=" ".join(names))
    server.latency = lambda _: (0.01, 0.01)
    server.watch_delay = lambda _: 0.05
    sums: list[int] = []
    server.observers.append(lambda _, change: sums.extend(sums_of(change)))
    random = Random(5)

    async with running(server) as bench:
        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(ask_for(server, name, 5, random))
        await bench.settle()
        entries = bench.status()
        bench.ask(**{next(name for name, each in entries.items() if each == "S5"): None})
        await bench.settle()

    assert Counter(entries.values()) == {"S5": 20, "R0": 10}
    assert Counter(bench.status().values()) == {"S5": 20, "R0": 9}
    assert max(sums) == 100 * GIB
    assert bench.conflicts > 0


async def test_what_is_on_the_disk_is_taken_over():
    server = server_with()
    on_disk = {"nodeID": "node-1", "diskID": DISK, "healthyAt": "2026-01-01T00:00:00Z"}
    for name in "ab":
        put_replica(server, name, volumeSize=str(80 * GIB), **on_disk)
    image = {"diskFileSpecMap": {DISK: {}}, "dataEngine": "v1"}
    server.put(document("BackingImage", "image", spec=image, status={"size": 5 * GIB}))

    async with running(server) as bench:
        spec = bench.object()["spec"]
        subresources = ["status" in (call.body or {}) for call in bench.writes()]

    assert spec["replicas"] == {"a": 80 * GIB, "b": 80 * GIB}
    assert spec["backingImages"] == {"image": 5 * GIB}
    assert bench.status() == {"a": "S80", "b": "S80", "image": "S5"}
    assert subresources == [False, True]


async def test_what_cannot_be_read_keeps_a_disk_from_being_taken_over():
    """Its room would be given away."""
    server = server_with()
    put_replica(server, "a", nodeID="node-1", diskID=DISK, volumeSize="much")

    async with running(server) as bench:
        before = bench.object().get("status")
        put_replica(server, "a", nodeID="node-1", diskID=DISK, volumeSize=str(5 * GIB))
        await bench.settle()

    assert (before, bench.status()) == (None, {"a": "S5"})


CLOSED = node_document(disk_spec={"allowScheduling": False})
SINGLE, DOUBLE = (
    document("Setting", "storage-over-provisioning-percentage", value=value)
    for value in ("100", "200")
)


@pytest.mark.parametrize(
    ("asked", "first", "then", "before", "after"),
    [
        pytest.param("a:5", CLOSED, node_document(), {}, {"a": "S5"}, id="disk-opens"),
        pytest.param("a:150", SINGLE, DOUBLE, {"a": "R0"}, {"a": "S150"}, id="percentage-rises"),
    ],
)
async def test_room_is_granted_as_soon_as_there_is_some(asked, first, then, before, after):
    server = server_with(asked, held="")
    server.put(first)

    async with running(server) as bench:
        assert bench.status() == before
        server.put(then)
        await asyncio.sleep(0.1)

    assert bench.status() == after


@pytest.mark.parametrize("kind", [LostAnswer(), *map(Answer, (403, 429, 500, 503))], ids=repr)
async def test_write_that_failed_is_tried_again_and_is_no_second_grant(kind):
    """A lost answer is that of a write that the server has taken."""
    server = server_with(held="", owners="a")
    times = 1 if isinstance(kind, LostAnswer) else 3

    async with running(server) as bench:
        server.faults = [Fault(kind, lambda call: call.verb == "patch", times=times)]
        bench.ask(a=60)
        await asyncio.sleep(10 * SETTLED_SECONDS)

    assert bench.status() == {"a": "S60"}
    assert bench.object()["status"]["storageScheduled"] == 60 * GIB
    assert (bench.conflicts, bench.failures) == (0, times)


async def test_without_its_node_nothing_is_written():
    server = server_with(held="a:30")
    server.delete("nodes.longhorn.io", "node-1", NAMESPACE)

    async with running(server) as bench:
        before = bench.status()
        server.put(node_document())
        await bench.settle()

    assert (before, bench.status()) == ({"a": "S30"}, {})


async def test_an_object_being_deleted_loses_its_finalizer_alone():
    server = server_with()
    finalizers = ["longhorn.io", "of.another/one"]
    put_schedule(server, {"a": 5}, finalizers=finalizers, deletionTimestamp="2026-10-01T00:00:00Z")

    async with running(server) as bench:
        stored = bench.object()

    assert stored["metadata"]["finalizers"] == ["of.another/one"]
    assert "status" not in stored


async def test_an_object_that_is_gone_is_forgotten():
    server = server_with("a:5")

    async with running(server) as bench:
        server.delete(PLURAL, DISK, NAMESPACE)
        await bench.settle()
        bench.controller.look_at_all()
        await bench.settle()

    assert bench.known.schedules == {}


async def test_a_late_answer_does_not_hide_what_the_watch_has_shown():
    server = server_with(held="", owners="a b")

    async with running(server) as bench:
        server.latency = lambda call: (0.0, 1.0 if call.verb == "patch" else 0.0)
        bench.ask(a=10)
        await asyncio.sleep(0.5)
        bench.ask(b=20)
        await bench.settle()

    assert bench.status() == {"a": "S10", "b": "S20"}
    assert bench.conflicts == 0
