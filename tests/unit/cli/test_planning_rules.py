"""What pods ask of kube-scheduler: what counts in a plan, and what is told as not planned."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import document
from tests.unit.cli.plans import WIKI

ZONE = "topology.kubernetes.io/zone"
SPREAD = {
    "topologyKey": ZONE,
    "maxSkew": 1,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "wiki"}},
}
Wiki = Callable[..., str]


@pytest.fixture
def wiki(tmp_path: Path) -> Wiki:
    """Write the StatefulSet of the examples with other fields of its pods; return the path."""

    def written(class_: str = "longhorn-local", **spec: Any) -> str:
        given, *others = yaml.safe_load_all(Path(WIKI).read_text())
        given["spec"]["template"]["spec"] |= spec
        given["spec"]["volumeClaimTemplates"][0]["spec"]["storageClassName"] = class_
        path = tmp_path / "wiki.yaml"
        path.write_text(yaml.safe_dump_all([given, *others]))
        return str(path)

    return written


LATER = {"schedulingGates": [{"name": "later"}]}
UNPLANNED = {"resourceClaims": [{"name": "gpu"}], **LATER, "nodeName": "node-6",
             "runtimeClassName": "kata"}  # fmt: skip
ROWS: dict[str, tuple[dict[str, Any], str, int, str, str]] = {
    # With four domains to come, and three zones, no zone gets a second pod.
    "spread": ({"topologySpreadConstraints": [SPREAD | {"minDomains": 4}]}, "place --replicas 4",
        1, "not all of it works: 1 pod pending; 3 pods placed",
        f"all 6 nodes: by maxSkew 1 over {ZONE}, no pod more may come to its domain now"),
    **{f"unplanned-{field}": ({field: value}, "place --replicas 1", 0,
        "it works as far as it can be planned: 1 pod placed\n",
        f"warning: not planned: {field} ( ... , of default/wiki-0")
        for field, value in UNPLANNED.items()},
    "unplanned-capacity": (LATER, "capacity", 0,
        "4 more pods fit, as far as it can be planned; the next one does not\n", ""),
    # Without a PersistentVolume.
    "class-none": ({"class_": ""}, "place --replicas 1", 1,
        "not all of it works: 1 pod pending\n",
        "default/data-wiki-0 has no StorageClass and no PersistentVolume; name"),
    "class-none-and-capacity": ({"class_": ""}, "capacity", 2, "",
        "claim data of StatefulSet default/wiki has no StorageClass"),
    "priority-that-might-help": ({"priorityClassName": "high"}, "place --replicas 5", 1, "not all",
        "warning: not planned: priority high (nothing is evicted to make room), of default/wiki-4"),
}  # fmt: skip
"""Fields of the pods, the step, its exit status, how the answer begins, and what else is told."""


@pytest.mark.parametrize(("spec", "words", "status", "first", "told"), ROWS.values(), ids=ROWS)
def test_rules_count_or_are_told(run, wiki, spec, words, status, first, told):
    step, *options = words.split()

    found, out, err = run(step, wiki(**spec), *options)

    assert (found, out.startswith(first)) == (status, True)
    assert [each for each in told.split(" ... ") if each not in " ".join((out + err).split())] == []


def test_a_priority_is_not_named_where_it_would_not_help(run, wiki):
    _, out, err = run("place", wiki(priorityClassName="high"))

    assert (out.splitlines()[0], "priority" in err) == ("all of it works: 3 pods placed", False)


def test_capacity_tracking_of_new_volumes_is_told(run, wiki, tmp_path):
    setting = tmp_path / "setting.json"
    name = "csi-storage-capacity-tracking"
    setting.write_text(json.dumps(document("Setting", name, value="true")))
    tracked = ["--also", str(setting)]

    _, out, err = run("place", wiki(), "--replicas", "1", *tracked)
    _, moved, of_moved = run("drain", "node-3", *tracked)

    assert out.startswith("it works as far as it can be planned: 1 pod placed")
    assert "not planned: capacity tracking for StorageClass" in err
    assert "capacity tracking" not in moved + of_moved  # no volume is new
