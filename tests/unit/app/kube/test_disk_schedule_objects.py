"""DiskSchedules as the API server sends them."""

from typing import Any

import pytest

from longhorn import DiskId, DiskName, DiskSchedule, Entry, EntryState, NodeName, ReplicaName
from tests.builders import conditions, document, read, read_as_unreadable

UUID = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"


def schedule(**fields: Any) -> DiskSchedule:
    found = read(document("DiskSchedule", UUID, **fields))
    assert isinstance(found, DiskSchedule)
    return found


def test_all_fields_are_read():
    found = schedule(
        metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"},
        spec={
            "name": "disk-1",
            "nodeID": "node-1",
            "replicas": {"a": 10, "b": 20, "c": 0},
            "backingImages": {"i": 5},
        },
        status={
            "replicas": {
                "a": {"state": "scheduled", "scheduledSize": 10},
                "b": {"state": "rejected", "scheduledSize": 0},
                "c": {"state": "new-word"},
            },
            "backingImages": {"i": {"state": "scheduled", "scheduledSize": 5}},
            "storageScheduled": 15,
            "conditions": conditions(Ready="True"),
        },
    )

    assert found == DiskSchedule(
        name=DiskId(UUID),
        node=NodeName("node-1"),
        disk=DiskName("disk-1"),
        replicas={ReplicaName("a"): 10, ReplicaName("b"): 20, ReplicaName("c"): 0},
        images={"i": 5},
        held_replicas={
            ReplicaName("a"): Entry(EntryState.SCHEDULED, 10),
            ReplicaName("b"): Entry(EntryState.REJECTED, 0),
            ReplicaName("c"): Entry(EntryState.REJECTED, 0),
        },
        held_images={"i": Entry(EntryState.SCHEDULED, 5)},
        scheduled_bytes=15,
        ready=True,
        deleting=True,
    )


@pytest.mark.parametrize(
    "fields",
    [{}, {"spec": None, "status": None}, {"spec": {}, "status": {"conditions": None}}],
    ids=["absent", "null", "empty"],
)
def test_a_new_one_has_nothing_yet(fields):
    assert schedule(**fields) == DiskSchedule(
        name=DiskId(UUID), node=NodeName(""), disk=DiskName("")
    )


@pytest.mark.parametrize(
    ("status", "expected"), [("True", True), ("False", False), ("Unknown", None), ("?", None)]
)
def test_whether_it_is_ready(status, *, expected):
    assert schedule(status={"conditions": conditions(Ready=status)}).ready is expected


def test_another_condition_does_not_make_it_ready():
    assert schedule(status={"conditions": conditions(Schedulable="True")}).ready is None


@pytest.mark.parametrize(
    ("fields", "nodes"),
    [
        ({"spec": {"nodeID": "node-1", "replicas": {"a": "many"}}}, ("node-1",)),
        (
            {"spec": {"nodeID": 5}, "metadata": {"labels": {"longhornnode": "node-2"}}},
            ("node-2",),
        ),
    ],
    ids=["by-its-spec", "by-its-label"],
)
def test_what_is_left_on_the_node_of_a_broken_one_is_unknown(fields, nodes):
    found = read_as_unreadable(document("DiskSchedule", UUID, **fields))

    assert (found.kind, found.name, found.nodes) == ("DiskSchedule", UUID, nodes)
