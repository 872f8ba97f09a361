"""The embedded example clusters are what a Longhorn cluster could hold: valid and consistent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
CRDS = ROOT / "tests" / "data" / "longhorn-crds"
LONGHORN = "longhorn.io/v1beta2"
FILESYSTEM_STEP_BYTES = 100 * 2**20  # Longhorn rounds storageAvailable down to this
QUANTITY_BYTES = {"Gi": 2**30}  # the only unit bound example claims use

Object = dict[str, Any]
ALL_FILES = sorted(path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.glob("*/*.yaml"))
ALL_CLUSTERS = sorted(path.parent.name for path in EXAMPLES.glob("*/cluster.yaml"))
LONGHORN_KINDS = {
    "BackingImage": "backingimages",
    "EngineImage": "engineimages",
    "InstanceManager": "instancemanagers",
    "Node": "nodes",
    "Replica": "replicas",
    "Setting": "settings",
    "Volume": "volumes",
}


class Disk(NamedTuple):
    """One entry of a Longhorn Node's diskStatus, with the node and the entry of the spec."""

    node: Object
    name: str
    status: Object

    @property
    def spec(self) -> Object:
        spec: Object = self.node["spec"]["disks"][self.name]
        return spec

    @property
    def is_ready(self) -> bool:
        return is_true(self.status["conditions"], "Ready")


@cache
def load(file: str) -> tuple[Object, ...]:
    return tuple(yaml.safe_load_all((EXAMPLES / file).read_text(encoding="utf-8")))


def objects(example: str, kind: str, *, api_version: str = LONGHORN) -> dict[str, Object]:
    return {
        obj["metadata"]["name"]: obj
        for obj in load(f"{example}/cluster.yaml")
        if (obj["kind"], obj["apiVersion"]) == (kind, api_version)
    }


def disks(example: str) -> Iterator[Disk]:
    for node in objects(example, "Node").values():
        for name, status in node["status"]["diskStatus"].items():
            yield Disk(node, name, status)


def is_true(conditions: list[Object] | None, kind: str) -> bool:
    return any(item["type"] == kind and item["status"] == "True" for item in conditions or [])


def scheduled(example: str) -> Iterator[Object]:
    """Replicas that have a disk."""
    return (obj for obj in objects(example, "Replica").values() if obj["spec"]["nodeID"])


def unlisted(example: str) -> list[str]:
    """Replicas that have a Ready disk which does not list them yet."""
    on_disk = {disk.status["diskUUID"]: disk for disk in disks(example)}
    return [
        obj["metadata"]["name"]
        for obj in scheduled(example)
        if on_disk[obj["spec"]["diskID"]].is_ready
        and obj["metadata"]["name"] not in on_disk[obj["spec"]["diskID"]].status["scheduledReplica"]
    ]


def json_schema(structural: Any) -> Any:
    """Translate an OpenAPI v3 structural schema: only `nullable` means something else there.

    Properties a schema does not name are refused, because the API server would drop them.
    """
    if isinstance(structural, list):
        return [json_schema(item) for item in structural]
    if not isinstance(structural, dict):
        return structural
    schema = {key: json_schema(value) for key, value in structural.items() if key != "nullable"}
    if "properties" in schema and "type" in schema:
        schema.setdefault("additionalProperties", False)
    if structural.get("nullable") is True:
        schema["type"] = [schema["type"], "null"]
    return schema


@cache
def validator(kind: str) -> Draft202012Validator:
    crd = json.loads((CRDS / f"{LONGHORN_KINDS[kind]}.json").read_text(encoding="utf-8"))
    assert (crd["kind"], f"{crd['group']}/{crd['version']}") == (kind, LONGHORN)
    schema = json_schema(crd["schema"])
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_longhorn_objects_satisfy_their_schema(example: str) -> None:
    found = [obj for obj in load(f"{example}/cluster.yaml") if obj["apiVersion"] == LONGHORN]

    problems = [
        f"{obj['kind']} {obj['metadata']['name']}: {error.json_path}: {error.message}"
        for obj in found
        for error in validator(obj["kind"]).iter_errors(obj)
    ]

    assert problems == []
    assert len(found) > 0


@pytest.mark.parametrize("kind", LONGHORN_KINDS)
def test_rich_has_every_kind(kind: str) -> None:
    assert objects("rich", kind)


def test_schema_check_refuses_a_number_where_longhorn_wants_a_string() -> None:
    volume = next(iter(objects("rich", "Volume").values()))
    broken = volume | {"spec": volume["spec"] | {"size": int(volume["spec"]["size"])}}

    assert not validator("Volume").is_valid(broken)


@pytest.mark.parametrize("file", ALL_FILES)
def test_every_object_has_an_identity_of_its_own(file: str) -> None:
    metadata = [obj["metadata"] for obj in load(file)]
    keys = [
        (obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"])
        for obj in load(file)
    ]

    assert len(set(keys)) == len(keys) > 0
    assert len({item["uid"] for item in metadata}) == len(metadata)


@pytest.mark.parametrize("file", ALL_FILES)
def test_timestamps_are_strings(file: str) -> None:
    def leaves(value: Any) -> Iterator[Any]:
        if isinstance(value, dict | list):
            for item in value.values() if isinstance(value, dict) else value:
                yield from leaves(item)
        else:
            yield value

    kinds = {type(leaf) for obj in load(file) for leaf in leaves(obj)}

    assert kinds <= {str, int, bool, type(None)}


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_longhorn_nodes_are_kubernetes_nodes(example: str) -> None:
    kubernetes = objects(example, "Node", api_version="v1")
    longhorn = objects(example, "Node")

    assert set(longhorn) <= set(kubernetes)
    for name, node in longhorn.items():
        labels = kubernetes[name]["metadata"]["labels"]
        assert node["spec"]["name"] == name
        assert node["status"]["zone"] == labels.get("topology.kubernetes.io/zone", "")
        assert node["status"]["region"] == labels.get("topology.kubernetes.io/region", "")


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_eviction_is_only_requested_where_scheduling_is_not_allowed(example: str) -> None:
    nodes = [node["spec"] for node in objects(example, "Node").values()]

    closable = nodes + [disk for node in nodes for disk in node["disks"].values()]

    assert not [spec for spec in closable if spec["evictionRequested"] and spec["allowScheduling"]]


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_disk_uuids_are_unique(example: str) -> None:
    counts = Counter(uuid for disk in disks(example) if (uuid := disk.status["diskUUID"]))

    assert set(counts.values()) == {1}


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_disk_status_repeats_the_disk_spec(example: str) -> None:
    for disk in disks(example):
        if not disk.status["diskUUID"]:
            continue
        assert disk.status["diskName"] == disk.name
        assert disk.status["diskPath"] == disk.spec["path"]
        assert disk.status["diskType"] == disk.spec["diskType"]


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_storage_scheduled_is_the_sum_of_what_is_listed(example: str) -> None:
    ready = [disk.status for disk in disks(example) if disk.is_ready]

    assert ready
    for status in ready:
        listed = (*status["scheduledReplica"].values(), *status["scheduledBackingImage"].values())
        assert status["storageScheduled"] == sum(listed)


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_available_bytes_of_a_filesystem_are_rounded_down(example: str) -> None:
    for disk in disks(example):
        available_bytes = disk.status["storageAvailable"]
        assert 0 <= available_bytes <= disk.status["storageMaximum"]
        if disk.status["diskType"] == "filesystem":
            assert available_bytes % FILESYSTEM_STEP_BYTES == 0


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_a_ready_disk_is_schedulable_when_longhorn_says_it_has_room(example: str) -> None:
    settings = objects(example, "Setting")
    over_provisioning = float(settings["storage-over-provisioning-percentage"]["value"])
    minimal_available = float(settings["storage-minimal-available-percentage"]["value"])

    for disk in disks(example):
        if not disk.is_ready:
            continue
        maximum_bytes = disk.status["storageMaximum"]
        usable_bytes = maximum_bytes - disk.spec["storageReserved"]
        has_room = disk.status["storageAvailable"] > int(
            maximum_bytes * minimal_available / 100
        ) and disk.status["storageScheduled"] <= int(usable_bytes * over_provisioning / 100)
        assert is_true(disk.status["conditions"], "Schedulable") == has_room


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_disks_list_the_replicas_and_images_that_are_on_them(example: str) -> None:
    replicas = objects(example, "Replica")
    images = objects(example, "BackingImage")

    for disk in disks(example):
        for name, size_bytes in (disk.status["scheduledReplica"] or {}).items():
            spec = replicas[name]["spec"]
            assert (spec["nodeID"], spec["diskID"], int(spec["volumeSize"])) == (
                disk.node["metadata"]["name"],
                disk.status["diskUUID"],
                size_bytes,
            )
        for name, size_bytes in (disk.status["scheduledBackingImage"] or {}).items():
            assert disk.status["diskUUID"] in images[name]["spec"]["diskFileSpecMap"]
            assert images[name]["status"]["realSize"] == size_bytes


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_replicas_agree_with_their_volume_labels_and_disk(example: str) -> None:
    volumes = objects(example, "Volume")
    on_disk = {
        (disk.node["metadata"]["name"], disk.status["diskUUID"]): disk for disk in disks(example)
    }

    for name, replica in objects(example, "Replica").items():
        spec, labels = replica["spec"], replica["metadata"]["labels"]
        volume = volumes[spec["volumeName"]]
        assert name.startswith(f"{spec['volumeName']}-r-")
        assert replica["metadata"]["ownerReferences"][0]["uid"] == volume["metadata"]["uid"]
        assert spec["volumeSize"] == volume["spec"]["size"]
        assert spec["dataEngine"] == volume["spec"]["dataEngine"]
        assert spec["backingImage"] == volume["spec"]["backingImage"]
        assert labels == {
            "longhornvolume": spec["volumeName"],
            "longhornnode": spec["nodeID"],
            "longhorndiskuuid": spec["diskID"],
        }
        if spec["nodeID"]:
            disk = on_disk[spec["nodeID"], spec["diskID"]]
            assert spec["diskPath"] == disk.spec["path"]
            assert (spec["dataEngine"] == "v2") == (disk.spec["diskType"] == "block")
            assert set(volume["spec"]["diskSelector"]) <= set(disk.spec["tags"])


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_claim_persistent_volume_and_volume_agree(example: str) -> None:
    claims = objects(example, "PersistentVolumeClaim", api_version="v1")
    persistent_volumes = objects(example, "PersistentVolume", api_version="v1")
    volumes = objects(example, "Volume")
    handles = set()

    for name, pv in persistent_volumes.items():
        claim = claims[pv["spec"]["claimRef"]["name"]]
        assert pv["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
        assert claim["spec"]["volumeName"] == name
        assert claim["status"]["capacity"] == pv["spec"]["capacity"]
        assert claim["spec"]["storageClassName"] == pv["spec"]["storageClassName"]
        if "csi" not in pv["spec"]:
            continue
        volume = volumes[pv["spec"]["csi"]["volumeHandle"]]
        handles.add(volume["metadata"]["name"])
        assert int(volume["spec"]["size"]) == quantity_bytes(pv["spec"]["capacity"]["storage"])
        assert volume["status"]["kubernetesStatus"]["pvName"] == name
        assert volume["status"]["kubernetesStatus"]["pvcName"] == claim["metadata"]["name"]

    bound = [claim["spec"] for claim in claims.values() if "volumeName" in claim["spec"]]
    assert handles == set(volumes)
    assert {claim["volumeName"] for claim in bound} == set(persistent_volumes)


def quantity_bytes(quantity: str) -> int:
    return int(quantity[:-2]) * QUANTITY_BYTES[quantity[-2:]]


@pytest.mark.parametrize("example", sorted(set(ALL_CLUSTERS) - {"goal3b"}))  # all bound there
def test_unbound_claims_have_their_storage_class_and_wait_for_a_pod(example: str) -> None:
    classes = objects(example, "StorageClass", api_version="storage.k8s.io/v1")
    claims = objects(example, "PersistentVolumeClaim", api_version="v1").values()

    unbound = [claim for claim in claims if "volumeName" not in claim["spec"]]

    assert unbound
    for claim in unbound:
        storage_class = classes[claim["spec"]["storageClassName"]]
        assert storage_class["volumeBindingMode"] == "WaitForFirstConsumer"


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_pods_are_pending_and_ask_for_the_extender(example: str) -> None:
    extender = ("longhorn.io/scheduler-extender", "1")

    for pod in load(f"{example}/pods.yaml"):
        resources = pod["spec"]["containers"][0]["resources"]
        assert (pod["kind"], pod["status"]["phase"]) == ("Pod", "Pending")
        assert "nodeName" not in pod["spec"]
        assert extender in resources["requests"].items()
        assert extender in resources["limits"].items()


@pytest.mark.parametrize("example", ALL_CLUSTERS)
def test_every_claim_of_a_pod_exists(example: str) -> None:
    claims = objects(example, "PersistentVolumeClaim", api_version="v1")

    for pod in load(f"{example}/pods.yaml"):
        for volume in pod["spec"]["volumes"]:
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
            if "ephemeral" in volume:
                claim = claims[f"{pod['metadata']['name']}-{volume['name']}"]
                assert claim["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]


@pytest.mark.parametrize("example", [name for name in ALL_CLUSTERS if name != "rich"])
def test_longhorn_has_caught_up_with_every_replica(example: str) -> None:
    assert unlisted(example) == []


def test_some_replicas_of_rich_are_not_listed_yet() -> None:
    assert len(unlisted("rich")) >= 2


def test_a_disk_of_rich_that_is_not_ready_forgets_its_replicas() -> None:
    forgotten = [
        disk.status["scheduledReplica"]
        for disk in disks("rich")
        if disk.status["storageMaximum"] == 0
        and any(obj["spec"]["diskID"] == disk.status["diskUUID"] for obj in scheduled("rich"))
    ]

    assert forgotten == [{}]


def on_ready_node(replica: Mapping[str, Any]) -> bool:
    node = objects("rich", "Node")[replica["spec"]["nodeID"]]
    return is_true(node["status"]["conditions"], "Ready")


def was_started(replica: Mapping[str, Any]) -> bool:
    started: bool = replica["status"]["started"]
    return started


def is_settled(replica: Mapping[str, Any]) -> bool:
    """Active, neither failed nor leaving, on a node that is Ready."""
    spec = replica["spec"]
    leaving = "deletionTimestamp" in replica["metadata"] or spec["evictionRequested"]
    return (
        bool(spec["nodeID"])
        and spec["active"]
        and not spec["failedAt"]
        and not leaving
        and on_ready_node(replica)
    )


REPLICA_STATES: dict[str, Callable[[Object], bool]] = {
    "unscheduled": lambda r: not r["spec"]["nodeID"] and not r["spec"]["hardNodeAffinity"],
    "unscheduled, pinned": lambda r: (
        not r["spec"]["nodeID"] and bool(r["spec"]["hardNodeAffinity"])
    ),
    "scheduled, never started": lambda r: (
        is_settled(r) and not r["spec"]["healthyAt"] and not was_started(r)
    ),
    "healthy, running": lambda r: (
        is_settled(r) and bool(r["spec"]["healthyAt"]) and r["status"]["currentState"] == "running"
    ),
    "healthy, stopped": lambda r: (
        is_settled(r) and bool(r["spec"]["healthyAt"]) and r["status"]["currentState"] == "stopped"
    ),
    "rebuilding": lambda r: (
        is_settled(r) and not r["spec"]["healthyAt"] and r["status"]["currentState"] == "running"
    ),
    "failed, reusable": lambda r: (
        bool(r["spec"]["failedAt"]) and r["spec"]["rebuildRetryCount"] < 5
    ),
    "failed, dead": lambda r: bool(r["spec"]["failedAt"]) and r["spec"]["rebuildRetryCount"] >= 5,
    "evicting": lambda r: r["spec"]["evictionRequested"],
    "deleting": lambda r: "deletionTimestamp" in r["metadata"],
    "inactive duplicate": lambda r: not r["spec"]["active"],
    "on a down node": lambda r: (
        bool(r["spec"]["nodeID"])
        and not on_ready_node(r)
        and r["status"]["currentState"] == "unknown"
    ),
}


@pytest.mark.parametrize("state", REPLICA_STATES)
def test_rich_has_a_replica_in_every_state(state: str) -> None:
    matches = REPLICA_STATES[state]

    assert [name for name, obj in objects("rich", "Replica").items() if matches(obj)]


def test_an_inactive_duplicate_shares_disk_and_directory_with_an_active_replica() -> None:
    replicas = objects("rich", "Replica").values()

    def place(replica: Object) -> tuple[str, str]:
        return replica["spec"]["diskID"], replica["spec"]["dataDirectoryName"]

    active = {place(replica) for replica in replicas if replica["spec"]["active"]}
    inactive = {place(replica) for replica in replicas if not replica["spec"]["active"]}

    assert inactive
    assert inactive <= active
