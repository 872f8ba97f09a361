"""The definition of DiskSchedule is that of Longhorn's open implementation, but for its words.

What is compared is what an API server acts on. Source: longhorn-manager PR 4366 at c65c877,
k8s/crds.yaml and k8s/pkg/apis/longhorn/v1beta2/diskSchedule.go; its schema is in tests/data.
"""

import json
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.unit.manifests.rendered import MANIFESTS, ROOT, check

OLDEST = "1.26"
LONGHORNS: Any = json.loads(
    (ROOT / "tests/data/longhorn-crds/diskschedules.json").read_text(encoding="utf-8")
)
DEFINITION: Any = yaml.safe_load(
    (MANIFESTS / "disk-schedule" / "crd.yaml").read_text(encoding="utf-8")
)
[VERSION] = DEFINITION["spec"]["versions"]


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


def test_it_is_served_as_longhorns_kind():
    spec = DEFINITION["spec"]

    assert DEFINITION["metadata"]["name"] == f"{LONGHORNS['plural']}.{LONGHORNS['group']}"
    assert (spec["group"], spec["scope"]) == (LONGHORNS["group"], LONGHORNS["scope"])
    assert spec["names"] == {
        "kind": LONGHORNS["kind"],
        "listKind": "DiskScheduleList",
        "plural": LONGHORNS["plural"],
        "singular": "diskschedule",
        "shortNames": ["lhds"],
    }
    served = (VERSION["name"], VERSION["served"], VERSION["storage"])
    assert served == (LONGHORNS["version"], True, True)
    assert VERSION["subresources"] == {"status": {}}


def test_it_shows_node_and_disk():
    assert without_words(VERSION["additionalPrinterColumns"]) == [
        {"name": "Node", "type": "string", "jsonPath": ".spec.nodeID"},
        {"name": "Disk", "type": "string", "jsonPath": ".spec.name"},
    ]


def test_it_has_longhorns_fields():
    schema = without_words(VERSION["schema"]["openAPIV3Schema"])

    assert schema == without_words(LONGHORNS["schema"])
    immutable = [{"rule": "self == oldSelf"}]
    for field in ("name", "nodeID"):
        rules = schema["properties"]["spec"]["properties"][field]["x-kubernetes-validations"]
        assert rules == immutable


@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
def test_kubernetes_accepts_it(version):
    check(DEFINITION, version)
