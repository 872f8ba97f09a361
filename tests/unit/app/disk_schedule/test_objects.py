"""Which DiskSchedules there should be, for every state that a node's disks can be in."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from app.disk_schedule.objects import KnownNode, deletion_patch, difference, known_node, new_object
from app.disk_schedule.stored import StoredObject, StoredSchedule, stored_schedule_record
from app.kube.longhorn.objects import LonghornNode
from longhorn import DiskId, DiskName, NodeName
from tests.builders import document, node_document


def read(node: Mapping[str, Any]) -> KnownNode:
    return known_node(msgspec.convert(node, LonghornNode))


def stored(uuid: str, *, disk: str = "disk-1", node: str = "node-1", **more: Any) -> StoredSchedule:
    made = document("DiskSchedule", uuid, metadata=more, spec={"name": disk, "nodeID": node})
    return stored_schedule_record(msgspec.convert(made, StoredObject))


def names(disks: Mapping[str, str | None], *schedules: StoredSchedule) -> tuple[set[str], set[str]]:
    """Return what is missing, and what is stale, by name."""
    known = {DiskName(name): DiskId(uuid) if uuid else None for name, uuid in disks.items()}
    of_node = [each for each in schedules if each.schedule.node == "node-1"]
    missing, stale = difference(known, of_node, {each.name: each for each in schedules})
    return {*missing}, {each.name for each in stale}


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param({}, {}, {"disk-1": "uuid-disk-1"}, id="as-a-rule"),
        pytest.param({}, {"diskStatus": {}}, {"disk-1": None}, id="no-status"),
        pytest.param({}, {"diskStatus": {"disk-1": None}}, {"disk-1": None}, id="empty-status"),
        pytest.param(
            {}, {"diskStatus": {"disk-1": {"diskUUID": ""}}}, {"disk-1": None}, id="no-uuid"
        ),
        pytest.param({"disks": {}}, {}, {}, id="removed-from-the-spec"),
    ],
)
def test_the_disks_of_a_node_are_those_of_its_spec(spec, status, expected):
    node = read(node_document(spec=spec, status=status))

    assert (node.name, node.disks) == ("node-1", expected)


@pytest.mark.parametrize(
    ("disks", "schedules", "missing", "stale"),
    [
        pytest.param({"disk-1": "u1"}, [stored("u1")], set(), set(), id="as-it-should-be"),
        pytest.param({"disk-1": "u1"}, [], {"u1"}, set(), id="none-yet"),
        pytest.param({"disk-1": None}, [], set(), set(), id="no-uuid-yet"),
        pytest.param({"disk-1": "u2"}, [stored("u1")], {"u2"}, {"u1"}, id="replaced"),
        pytest.param({"disk-1": None}, [stored("u1")], set(), set(), id="the-uuid-is-not-told"),
        pytest.param({}, [stored("u1")], set(), {"u1"}, id="removed"),
        pytest.param(
            {"renamed": "u1"},
            [stored("u1")],
            set(),  # its name is taken until the old one is gone
            {"u1"},
            id="renamed",
        ),
        pytest.param(
            {},
            [stored("u1", deletionTimestamp="2026-01-01T00:00:00Z")],
            set(),
            set(),
            id="being-deleted",
        ),
        pytest.param(
            {"disk-1": "u1"}, [stored("u1", node="node-2")], set(), set(), id="moved-to-this-node"
        ),
    ],
)
def test_what_should_be_and_what_should_not(disks, schedules, missing, stale):
    assert names(disks, *schedules) == (missing, stale)


def test_a_new_object_is_longhorns():
    node = KnownNode(NodeName("node-1"), "uid-of-node-1", {})

    made = new_object(node, DiskName("disk-1"), DiskId("uuid-disk-1"), "longhorn-system")

    assert made == {
        "apiVersion": "longhorn.io/v1beta2",
        "kind": "DiskSchedule",
        "metadata": {
            "name": "uuid-disk-1",
            "namespace": "longhorn-system",
            "labels": {"longhornnode": "node-1"},
            "ownerReferences": [
                {
                    "apiVersion": "longhorn.io/v1beta2",
                    "kind": "Node",
                    "name": "node-1",
                    "uid": "uid-of-node-1",
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"name": "disk-1", "nodeID": "node-1", "replicas": {}, "backingImages": {}},
    }


def test_who_deletes_an_object_says_so_first():
    assert deletion_patch("7") == {
        "metadata": {
            "resourceVersion": "7",
            "annotations": {"longhorn.io/delete-disk-from-longhorn": ""},
        }
    }
