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

    def written(**spec: Any) -> str:
        given, *others = yaml.safe_load_all(Path(WIKI).read_text())
        given["spec"]["template"]["spec"] |= spec
        path = tmp_path / "wiki.yaml"
        path.write_text(yaml.safe_dump_all([given, *others]))
        return str(path)

    return written


def test_a_required_topology_spread_counts(run, wiki):
    """With four domains to come, and three zones, no zone gets a second pod."""
    tight = wiki(topologySpreadConstraints=[SPREAD | {"minDomains": 4}])

    status, out, _ = run("place", tight, "--replicas", "4")

    assert status == 1
    assert out.startswith("not all of it works: 1 pod pending; 3 pods placed")
    text = f"all 6 nodes: by maxSkew 1 over {ZONE}, no pod more may come to its domain now"
    assert text in " ".join(out.split())


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"resourceClaims": [{"name": "gpu"}]}, "resourceClaims"),
        ({"schedulingGates": [{"name": "later"}]}, "schedulingGates"),
        ({"nodeName": "node-6"}, "nodeName"),
        ({"runtimeClassName": "kata"}, "runtimeClassName"),
    ],
)
def test_what_is_not_planned_is_told_and_never_said_to_work(run, wiki, spec, told):
    status, out, err = run("place", wiki(**spec), "--replicas", "1")

    assert (status, out.splitlines()[0]) == (
        0,
        "it works as far as it can be planned: 1 pod placed",
    )
    assert f"warning: not planned: {told} (" in err
    assert "of default/wiki-0" in err


def test_pods_that_fit_do_so_as_far_as_it_can_be_planned(run, wiki):
    _, out, _ = run("capacity", wiki(schedulingGates=[{"name": "later"}]))

    assert out.startswith("4 more pods fit, as far as it can be planned; the next one does not\n")


def without_class(path: str, class_: str | None) -> str:
    """Have the claims of a StatefulSet name another class, or none."""
    given, *others = yaml.safe_load_all(Path(path).read_text())
    claim = given["spec"]["volumeClaimTemplates"][0]["spec"]
    claim["storageClassName"] = class_
    Path(path).write_text(yaml.safe_dump_all([given, *others]))
    return path


def test_a_claim_of_no_class_without_a_volume_is_not_placed(run, wiki):
    """`storageClassName: ""` without a PersistentVolume."""
    path = without_class(wiki(), "")

    status, out, _ = run("place", path, "--replicas", "1")

    assert (status, out.splitlines()[0]) == (1, "not all of it works: 1 pod pending")
    assert "default/data-wiki-0 has no StorageClass and no PersistentVolume; name" in " ".join(
        out.split()
    )


def test_no_capacity_is_counted_for_a_claim_of_no_class(run, wiki):
    status, _, err = run("capacity", without_class(wiki(), ""))

    assert status == 2
    assert "claim data of StatefulSet default/wiki has no StorageClass" in err


def test_a_priority_is_named_where_it_might_help(run, wiki):
    high = wiki(priorityClassName="high")

    _, out, err = run("place", high)
    assert (out.splitlines()[0], "priority" in err) == ("all of it works: 3 pods placed", False)

    _, _, err = run("place", high, "--replicas", "5")
    assert (
        "warning: not planned: priority high (nothing is evicted to make room), of default/wiki-4\n"
    ) in err


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
