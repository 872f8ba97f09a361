"""Longhorn's JSON is read as it stands."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from simulator import BackingImage, Node, Replica, Settings, Volume
from simulator.objects import condition, is_true, read_time
from tests.builders import GIB, document, node_document
from tests.unit.simulator.longhorn import disks_for, volume


def convert(given: Any, type_: Any) -> Any:
    return msgspec.convert(given, type_, strict=False)


@pytest.mark.parametrize("type_", [Node, Volume, Replica, BackingImage])
def test_an_object_may_have_nothing_but_a_name(type_: Any) -> None:
    read = convert(document(type_.__name__, "it"), type_)

    assert read == type_(metadata=read.metadata)
    assert read.metadata.name == "it"


def test_a_node_of_nulls_takes_nothing() -> None:
    nulls = document(
        "Node",
        spec={"allowScheduling": True, "tags": None, "disks": None},
        status={"conditions": None, "diskStatus": None},
    )

    assert disks_for(volume(), convert(nulls, Node)) == []


def test_a_disk_of_nulls_is_empty() -> None:
    nulls = node_document(disk_spec={"tags": None}, disk_status={"scheduledReplica": None})

    assert disks_for(volume(), convert(nulls, Node)) == ["uuid-disk-1"]


def test_a_disk_type_left_empty_is_a_file_system() -> None:
    found = disks_for(volume(), convert(node_document(disk_spec={"diskType": ""}), Node))

    assert found == ["uuid-disk-1"]


def test_a_volume_of_nulls_is_unconstrained() -> None:
    nulls = volume(nodeSelector=None, diskSelector=None, topologyRequirement=None)

    assert disks_for(nulls, convert(node_document(), Node), settings=Settings()) == ["uuid-disk-1"]


def test_sizes_may_be_strings_or_numbers() -> None:
    for size in (GIB, str(GIB)):
        status = {"actualSize": size}
        read = convert(document("Volume", spec={"size": size}, status=status), Volume)
        assert (read.spec.size, read.status.actual_size) == (GIB, GIB)
        assert (
            convert(document("Replica", spec={"volumeSize": size}), Replica).spec.volume_size == GIB
        )
        counted = {"storageScheduled": size, "scheduledReplica": {"r": size}}
        [disk] = convert(node_document(disk_status=counted), Node).disks()
        assert (disk.status.storage_scheduled, disk.status.scheduled_replica) == (GIB, {"r": GIB})


def test_longhorns_own_spelling_of_ids() -> None:
    spec = {"nodeID": "a", "diskID": "a1"}
    replica = convert(document("Replica", spec=spec), Replica)

    assert (replica.spec.node_id, replica.spec.disk_id) == ("a", "a1")
    assert convert(document("Volume", spec=spec), Volume).spec.node_id == "a"


def test_the_first_condition_of_a_type_counts() -> None:
    listed = [
        {"type": "Ready", "status": "False", "reason": "ManagerPodDown"},
        {"type": "Ready", "status": "True"},
    ]
    conditions = convert(node_document(status={"conditions": listed}), Node).status.conditions

    assert condition(conditions, "Ready").reason == "ManagerPodDown"
    assert not is_true(conditions, "Ready")
    assert condition(conditions, "Schedulable").status == "Unknown"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-08-20T09:10:12Z", datetime(2026, 8, 20, 9, 10, 12, tzinfo=UTC)),
        ("2026-08-20T11:10:12+02:00", datetime(2026, 8, 20, 9, 10, 12, tzinfo=UTC)),
        ("2026-08-20T09:10:12", None),
        ("", None),
        ("soon", None),
    ],
)
def test_times(text: str, expected: datetime | None) -> None:
    assert read_time(text) == expected
