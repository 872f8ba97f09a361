"""Objects that tests put into a cluster, what Longhorn makes of them, and accounts over them."""

from typing import Any

import msgspec
import pytest

from longhorn import Node
from tests.actors.api import Object
from tests.actors.longhorn import (
    DiskSpec,
    Overcommitted,
    disk_uuid,
    longhorn_node,
    nodes_with_replicas,
    overcommitted,
)
from tests.actors.longhorn.creation import volume_object
from tests.actors.longhorn.nodes import Situation, node_status
from tests.actors.longhorn.records import recorded

GIB, MIB = 2**30, 2**20


def replica(name: str, node: str, disk: str, gib: int, **spec: Any) -> Object:
    fields = {
        "volumeName": name.rpartition("-r-")[0],
        "volumeSize": str(gib * GIB),
        "nodeID": node,
        "diskID": disk_uuid(node, disk) if node else "",
    }
    return {"metadata": {"name": name}, "spec": {**fields, **spec}}


def situation(**changes: Any) -> Situation:
    fields = {"is_cordoned": False, "not_ready": "", "settings": {}, "now": "later"}
    return msgspec.convert({**fields, **changes}, Situation)


def conditions(status: Object) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}


def test_a_new_node_is_one_that_takes_replicas():
    node = longhorn_node("node-1", {"disk-1": 100 * GIB + 1, "disk-2": 50 * GIB}, zone="a")

    read = recorded(node, Node)
    uuids = {disk_uuid("node-1", name) for name in ("disk-1", "disk-2")}
    assert {disk.id for disk in read.disks} == uuids
    assert [disk.maximum_bytes for disk in read.disks] == [100 * GIB + 1, 50 * GIB]
    assert [disk.available_bytes % (100 * MIB) for disk in read.disks] == [0, 0]
    assert read.zone == "a"


def test_a_disk_counts_every_replica_that_is_assigned_to_it():
    node = longhorn_node("node-1", {"disk-1": 100 * GIB})
    replicas = [
        replica("a-r-1", "node-1", "disk-1", 10),
        replica("b-r-1", "node-1", "disk-1", 20, failedAt="2026-01-01T00:00:00Z"),
        replica("c-r-1", "node-2", "disk-1", 30),
        replica("d-r-1", "", "", 40),
    ]

    [disk] = node_status(node, replicas, situation())["diskStatus"].values()

    assert disk["scheduledReplica"] == {"a-r-1": 10 * GIB, "b-r-1": 20 * GIB}
    assert disk["storageScheduled"] == 30 * GIB
    assert conditions(disk)["Schedulable"] == ("True", "")


PRESSURE: dict[str, tuple[dict[str, int], int, bool]] = {
    "exactly full": ({}, 100, True),
    "beyond the limit": ({}, 101, False),
    "little left": ({"available_bytes": 25 * GIB}, 0, False),
    "reserved": ({"reserved_bytes": 20 * GIB}, 81, False),
}


@pytest.mark.parametrize(("sizes", "scheduled_gib", "schedulable"), PRESSURE.values(), ids=PRESSURE)
def test_disk_pressure(sizes, scheduled_gib, schedulable):
    node = longhorn_node("node-1", {"disk-1": DiskSpec(size_bytes=100 * GIB, **sizes)})
    replicas = [replica("a-r-1", "node-1", "disk-1", scheduled_gib)]

    [status] = node_status(node, replicas, situation())["diskStatus"].values()

    expected = ("True", "") if schedulable else ("False", "DiskPressure")
    assert conditions(status)["Schedulable"] == expected


def test_a_cordon_counts_only_if_the_setting_says_so():
    node = longhorn_node("node-1", {})
    off = {"disable-scheduling-on-cordoned-node": "false"}

    found = [
        conditions(node_status(node, [], situation(is_cordoned=True, settings=settings)))
        for settings in ({}, off)
    ]

    cordoned = ("False", "KubernetesNodeCordoned")
    assert [each["Schedulable"] for each in found] == [cordoned, ("True", "")]


def test_nothing_changes_without_a_cause():
    node = longhorn_node("node-1", {"disk-1": GIB})
    published = {**node, "status": node_status(node, [], situation())}

    assert node_status(published, [], situation(now="even later")) == published["status"]


def test_overcommitted_disks_are_found_by_replicas_alone():
    node = longhorn_node("node-1", {"disk-1": 100 * GIB, "disk-2": 100 * GIB})
    replicas = [
        replica("a-r-1", "node-1", "disk-1", 60),
        replica("b-r-1", "node-1", "disk-1", 60),
        replica("c-r-1", "node-1", "disk-2", 100),
    ]

    [over] = overcommitted([node], replicas, {})

    assert over == Overcommitted(
        node="node-1",
        disk="disk-1",
        limit_bytes=100 * GIB,
        assigned_bytes=120 * GIB,
        replicas=("a-r-1", "b-r-1"),
    )
    assert over.excess_bytes == 20 * GIB
    assert overcommitted([node], replicas, {"storage-over-provisioning-percentage": "120"}) == ()


def test_copies_are_where_replicas_are_assigned_and_did_not_fail():
    replicas = [
        replica("a-r-1", "node-1", "disk-1", 1),
        replica("a-r-2", "node-2", "disk-1", 1, failedAt="2026-01-01T00:00:00Z"),
        replica("b-r-1", "", "", 1),
    ]

    assert nodes_with_replicas(replicas) == {"a": frozenset({"node-1"}), "b": frozenset()}


SPECS: dict[str, tuple[dict[str, str], dict[str, str], dict[str, Any]]] = {
    "settings fill in": (
        {},
        {"default-data-locality": "best-effort", "default-replica-count": '{"v1":"2"}'},
        {"numberOfReplicas": 2, "dataLocality": "best-effort", "nodeSelector": [],
         "diskSelector": [], "accessMode": "rwo"},
    ),
    "the class says": (
        {"numberOfReplicas": "3", "dataLocality": "disabled", "nodeSelector": "storage,fast",
         "diskSelector": "ssd", "share": "true", "replicaSoftAntiAffinity": "enabled"},
        {},
        {"numberOfReplicas": 3, "dataLocality": "disabled", "nodeSelector": ["fast", "storage"],
         "diskSelector": ["ssd"], "accessMode": "rwx", "replicaSoftAntiAffinity": "enabled"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("parameters", "settings", "expected"), SPECS.values(), ids=SPECS)
def test_a_volume_is_as_its_class_says_and_settings_fill_in_the_rest(
    parameters, settings, expected
):
    spec = volume_object("data", GIB, parameters, settings, namespace="n", owner="node-1")["spec"]

    assert {name: spec[name] for name in expected} == expected
