"""The definition of DiskSchedule is that of Longhorn's open implementation, but for its words.

What is compared is what an API server acts on. Source: longhorn-manager PR 4366 at c65c877,
k8s/crds.yaml and k8s/pkg/apis/longhorn/v1beta2/diskSchedule.go.
"""

from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.unit.manifests.rendered import MANIFESTS, Object, check

OLDEST = "1.26"

TEXT = {"type": "string"}
BYTES = {"type": "integer", "format": "int64"}
ENTRY = {
    "type": "object",
    "required": ["state"],
    "properties": {"state": TEXT, "scheduledSize": BYTES},
}
CONDITION_FIELDS = ("type", "status", "reason", "message", "lastProbeTime", "lastTransitionTime")
IMMUTABLE = {**TEXT, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
SPEC = {
    "type": "object",
    "required": ["name", "nodeID"],
    "properties": {
        "name": IMMUTABLE,
        "nodeID": IMMUTABLE,
        "replicas": {"type": "object", "additionalProperties": BYTES},
        "backingImages": {"type": "object", "additionalProperties": BYTES},
    },
}
STATUS = {
    "type": "object",
    "properties": {
        "replicas": {"type": "object", "additionalProperties": ENTRY},
        "backingImages": {"type": "object", "additionalProperties": ENTRY},
        "storageScheduled": BYTES,
        "conditions": {
            "type": "array",
            "nullable": True,
            "items": {"type": "object", "properties": dict.fromkeys(CONDITION_FIELDS, TEXT)},
        },
    },
}


@pytest.fixture(scope="module")
def definition() -> Object:
    path = MANIFESTS / "disk-schedule" / "crd.yaml"
    found: Object = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def without_words(value: Any) -> Any:
    """Leave out what only people read: descriptions, and the messages of rules."""
    if isinstance(value, list):
        return [without_words(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: without_words(each)
        for name, each in value.items()
        if isinstance(each, dict) or name not in ("description", "message")
    }


def test_it_is_served_as_longhorns_kind(definition):
    spec = definition["spec"]

    assert definition["metadata"]["name"] == "diskschedules.longhorn.io"
    assert (spec["group"], spec["scope"]) == ("longhorn.io", "Namespaced")
    assert spec["names"] == {
        "kind": "DiskSchedule",
        "listKind": "DiskScheduleList",
        "plural": "diskschedules",
        "singular": "diskschedule",
        "shortNames": ["lhds"],
    }
    [version] = spec["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1beta2", True, True)
    assert version["subresources"] == {"status": {}}


def test_it_shows_node_and_disk(definition):
    [version] = definition["spec"]["versions"]

    assert without_words(version["additionalPrinterColumns"]) == [
        {"name": "Node", "type": "string", "jsonPath": ".spec.nodeID"},
        {"name": "Disk", "type": "string", "jsonPath": ".spec.name"},
    ]


def test_it_has_longhorns_fields(definition):
    [version] = definition["spec"]["versions"]
    schema = without_words(version["schema"]["openAPIV3Schema"])

    assert schema == {
        "type": "object",
        "properties": {
            "apiVersion": TEXT,
            "kind": TEXT,
            "metadata": {"type": "object"},
            "spec": SPEC,
            "status": STATUS,
        },
    }


@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
def test_kubernetes_accepts_it(definition, version):
    check(definition, version)
