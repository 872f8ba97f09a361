"""The embedded example clusters are what a Longhorn cluster could hold: valid and consistent."""

from __future__ import annotations

import json
from collections.abc import Iterator
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

Object = dict[str, Any]
ALL_FILES = sorted(
    path.relative_to(EXAMPLES).as_posix()
    for name in ("cluster.yaml", "pods.yaml")
    for path in EXAMPLES.glob(f"*/{name}")
)
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

every_cluster = pytest.mark.parametrize("example", ALL_CLUSTERS)


class Disk(NamedTuple):
    """One entry of a Longhorn Node's diskStatus, with the node and the entry of the spec."""

    node: Object
    spec: Object
    status: Object

    @property
    def is_ready(self) -> bool:
        return is_true(self.status["conditions"], "Ready")

    @property
    def place(self) -> tuple[str, str]:
        return self.node["metadata"]["name"], self.status["diskUUID"]


@cache
def load(file: str) -> tuple[Object, ...]:
    return tuple(yaml.safe_load_all((EXAMPLES / file).read_text(encoding="utf-8")))


def objects(example: str, kind: str, *, api_version: str = LONGHORN) -> dict[str, Object]:
    return {
        obj["metadata"]["name"]: obj
        for obj in load(f"{example}/cluster.yaml")
        if (obj["kind"], obj["apiVersion"]) == (kind, api_version)
    }


def disks(example: str) -> list[Disk]:
    return [
        Disk(node, node["spec"]["disks"][name], status)
        for node in objects(example, "Node").values()
        for name, status in node["status"]["diskStatus"].items()
    ]


def is_true(conditions: list[Object] | None, kind: str) -> bool:
    return any(item["type"] == kind and item["status"] == "True" for item in conditions or [])


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


@every_cluster
def test_longhorn_objects_satisfy_their_schema(example):
    found = [obj for obj in load(f"{example}/cluster.yaml") if obj["apiVersion"] == LONGHORN]

    problems = [
        f"{obj['kind']} {obj['metadata']['name']}: {error.json_path}: {error.message}"
        for obj in found
        for error in validator(obj["kind"]).iter_errors(obj)
    ]

    assert problems == []
    assert len(found) > 0


@pytest.mark.parametrize("file", ALL_FILES)
def test_every_object_has_an_identity_of_its_own(file):
    keys = [
        (obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"])
        for obj in load(file)
    ]

    assert len({*keys}) == len({obj["metadata"]["uid"] for obj in load(file)}) == len(keys) > 0


@pytest.mark.parametrize("file", ALL_FILES)
def test_timestamps_are_strings(file):
    def leaves(value: Any) -> Iterator[Any]:
        if isinstance(value, dict | list):
            for item in value.values() if isinstance(value, dict) else value:
                yield from leaves(item)
        else:
            yield value

    assert {type(leaf) for obj in load(file) for leaf in leaves(obj)} <= {
        str,
        int,
        bool,
        type(None),
    }


@every_cluster
def test_disks_count_the_replicas_and_images_that_are_on_them(example):
    replicas, images = objects(example, "Replica"), objects(example, "BackingImage")

    for disk in disks(example):
        listed = disk.status["scheduledReplica"] or {}
        listed_images = disk.status["scheduledBackingImage"] or {}
        for name, size_bytes in listed.items():
            spec = replicas[name]["spec"]
            assert (spec["nodeID"], spec["diskID"]) == disk.place
            assert int(spec["volumeSize"]) == size_bytes
        for name, size_bytes in listed_images.items():
            assert disk.status["diskUUID"] in images[name]["spec"]["diskFileSpecMap"]
            assert images[name]["status"]["realSize"] == size_bytes
        if disk.is_ready:
            counted = sum([*listed.values(), *listed_images.values()])
            assert disk.status["storageScheduled"] == counted


@every_cluster
def test_replicas_agree_with_their_volume_and_disk(example):
    volumes = objects(example, "Volume")
    on_disk = {disk.place: disk for disk in disks(example)}

    for replica in objects(example, "Replica").values():
        spec = replica["spec"]
        volume = volumes[spec["volumeName"]]
        assert replica["metadata"]["ownerReferences"][0]["uid"] == volume["metadata"]["uid"]
        assert spec["volumeSize"] == volume["spec"]["size"]
        assert spec["dataEngine"] == volume["spec"]["dataEngine"]
        if spec["nodeID"]:
            disk = on_disk[spec["nodeID"], spec["diskID"]]
            assert (spec["dataEngine"] == "v2") == (disk.spec["diskType"] == "block")
            assert {*volume["spec"]["diskSelector"]} <= {*disk.spec["tags"]}


@every_cluster
def test_claim_persistent_volume_and_volume_agree(example):
    claims = objects(example, "PersistentVolumeClaim", api_version="v1")
    persistent_volumes = objects(example, "PersistentVolume", api_version="v1")
    volumes = objects(example, "Volume")

    for name, pv in persistent_volumes.items():
        claim = claims[pv["spec"]["claimRef"]["name"]]
        assert pv["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
        assert claim["spec"]["volumeName"] == name
        if "csi" in pv["spec"]:
            volume = volumes.pop(pv["spec"]["csi"]["volumeHandle"])
            gib = int(volume["spec"]["size"]) // 2**30
            assert pv["spec"]["capacity"]["storage"] == f"{gib}Gi"
            assert volume["status"]["kubernetesStatus"]["pvName"] == name

    assert volumes == {}


def state_of(replica: Object) -> str:
    """Name the state of a replica in its life."""
    spec, status = replica["spec"], replica["status"]
    if not spec["nodeID"]:
        return "unscheduled, pinned" if spec["hardNodeAffinity"] else "unscheduled"
    if not is_true(objects("rich", "Node")[spec["nodeID"]]["status"]["conditions"], "Ready"):
        return "on a down node"
    if "deletionTimestamp" in replica["metadata"]:
        return "deleting"
    if not spec["active"]:
        return "inactive duplicate"
    if spec["evictionRequested"]:
        return "evicting"
    if spec["failedAt"]:
        return "failed, reusable" if spec["rebuildRetryCount"] < 5 else "failed, dead"
    if spec["healthyAt"]:
        return f"healthy, {status['currentState']}"
    return "rebuilding" if status["currentState"] == "running" else "never started"


def test_rich_has_every_kind_and_a_replica_in_every_state():
    assert all(objects("rich", kind) for kind in LONGHORN_KINDS)
    assert {state_of(replica) for replica in objects("rich", "Replica").values()} == {
        "unscheduled",
        "unscheduled, pinned",
        "on a down node",
        "deleting",
        "inactive duplicate",
        "evicting",
        "failed, reusable",
        "failed, dead",
        "healthy, running",
        "healthy, stopped",
        "rebuilding",
        "never started",
    }


def test_some_replicas_of_rich_are_not_listed_yet():
    listed = {name for disk in disks("rich") for name in disk.status["scheduledReplica"] or ()}
    ready = {disk.place for disk in disks("rich") if disk.is_ready}

    late = [
        name
        for name, replica in objects("rich", "Replica").items()
        if (replica["spec"]["nodeID"], replica["spec"]["diskID"]) in ready and name not in listed
    ]

    assert len(late) >= 2
