"""`filter` of a claim or a volume: how it is, what it lacks, and why Longhorn places it nowhere.

The rows stand in `golden/volumes/rows.txt`: facts of the JSON, what there is, as `objects_of` reads
it, and the text.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from app.settings import Settings
from cli.explaining.explainer import Explainer
from cli.kube.cluster_objects import ClusterObjects
from cli.names import Named
from cli.schema import schema
from cli.volumes.command import explain_volume
from tests.builders import GIB, core_document, document, node_document, read, upgrade_document
from tests.unit.cli.plans import Run, objects_of, rows_of, write
from tests.unit.cli.situations import storage_class
from tests.unit.cli.volumes import claim, cluster, not_ready, pod, replica, setting, volume

Document = dict[str, Any]
Asked = Callable[[str, str], dict[str, Any]]
FAILED_AT = "2026-01-02T00:00:00Z"
TEXT = "precheck new replica failed: insufficient storage"
WORDS: dict[str, object] = {
    "TRUE": "true",
    "FALSE": "false",
    "BY_ENGINE": '{"v1":"true","v2":"false"}',
    "FAILED_AT": FAILED_AT,
    "NO_ROOM": {"status": "False", "reason": "ReplicaSchedulingFailure", "message": TEXT},
}
LARGE = {"size": str(95 * GIB), "dataLocality": "disabled", "numberOfReplicas": 1}
EBS = {"driver": "ebs.csi.aws.com", "volumeHandle": "vol"}


def lacking(**fields: Any) -> Document:
    """Build the volume with one replica too few."""
    return volume(on="a", robustness="degraded", **fields)


def strict(**fields: Any) -> Document:
    return volume(dataLocality="strict-local", numberOfReplicas=1, **fields)


def zone(node: str, name: str) -> Document:
    """Build a node in a zone."""
    return node_document(node, status={"zone": name}, disk_status={"diskUUID": f"uuid-{node}"})


def free(*nodes: str) -> list[Document]:
    return [zone(node, "") for node in nodes]


def full(*nodes: str) -> list[Document]:
    return [each for each in cluster(full=nodes) if each["apiVersion"] != "v1"]


def shard(name: str, on: str = "", state: str = "normal") -> Document:
    placed = {"nodeID": on, "diskUUID": f"uuid-{on}"} if on else {}
    spec = {"shardGroupName": "vol", "size": str(5 * GIB), **placed}
    return document("Shard", f"vol-s-{name}", spec=spec, status={"state": state})


def sharded() -> list[Document]:
    """Build three nodes for shards, and a volume of them."""
    layout = {"type": "sharded", "dataChunks": 2, "parityChunks": 1}
    nodes = [
        node_document(n, disk_spec={"diskType": "block"}, disk_status={"diskUUID": f"uuid-{n}"})
        for n in "abc"
    ]
    return [*nodes, volume(dataEngine="v2", numberOfReplicas=1, dataLayout=layout)]


NOT_BEGUN = replica("2", "b", healthyAt="")
NEW_SPEC = {"storageClassName": "fast", "resources": {"requests": {"storage": "10Gi"}}}
BUILDERS: dict[str, Any] = {
    each.__name__: each
    for each in (claim, free, full, lacking, not_ready, pod, replica, setting, shard, sharded,
                 storage_class, strict, upgrade_document, volume, zone)
} | {
    "one": replica("1", "a"),
    "two": replica("2", "b"),
    "not_begun": NOT_BEGUN,
    "begun": NOT_BEGUN | {"status": {"started": True}},
    "closed":
        node_document("a", spec={"allowScheduling": False}, disk_status={"diskUUID": "uuid-a"}),
    "room_for_another": document("Volume", "aaa", spec=LARGE, status={"state": "detached"}),
    # It has no volume yet.
    "new_claim":
        core_document("PersistentVolumeClaim", "data", metadata={"uid": "1"}, spec=NEW_SPEC),
    "claim_of_others": [claim()[0], core_document("PersistentVolume", "pv", spec={"csi": EBS})],
    "class_of_others": storage_class() | {"provisioner": "ebs.csi.aws.com"},
}  # fmt: skip
ROWS = rows_of("volumes/rows")


def there(text: str) -> list[Document]:
    """Read objects, with the Kubernetes Node of each of Longhorn's."""
    found = objects_of(text, BUILDERS, WORDS)
    names = [each["metadata"]["name"] for each in found if each["kind"] == "Node"]
    return [*(core_document("Node", name) for name in names), *found]


def subject(text: str) -> str:
    """Return what is asked about: the claim, if there is one."""
    return "pvc/data" if re.search(r"\b(claim|new_claim)", text) else "volume/vol"


@pytest.fixture
def asked(called: Run, tmp_path: Path) -> Asked:
    """Return the JSON; it obeys its schema, and the exit status says whether all is done."""

    def found(text: str, name: str) -> dict[str, Any]:
        file = write(tmp_path / "it.json", *there(text))
        status, out, _ = called("filter", name, "--cluster-file", file, "-o", "json")
        found: dict[str, Any] = json.loads(out)
        jsonschema.validate(found, schema("filter-volume"))
        assert status == (0 if found["done"] else 1)
        return found

    return found


def facts(found: dict[str, Any]) -> set[str]:
    """Return the codes in the JSON, a word for each fact."""
    return {
        *(found["state"], "done" if found["done"] else "open"),
        f"waits:{(found['waiting'] or {}).get('code')}",
        f"next:{','.join(found['next'])}",
        "nodes:" + ",".join(f"{each['node']}={each['code']}" for each in found["nodes"]),
        f"replicas:{','.join(each['state'] for each in found['replicas'])}",
        f"pods:{','.join(each['code'] for each in found['pods'])}",
        f"agrees:{(found['scheduled'] or {}).get('agrees')}",
    }


@pytest.mark.parametrize(("expected", "text"), ROWS.values(), ids=ROWS)
def test_volume_is_explained(asked, expected, text):
    assert facts(asked(text, subject(text))) >= set(expected.split())


def test_volume_is_told_in_these_lines(called, golden, tmp_path):
    told = list[str]()
    for name, (expected, text) in ROWS.items():
        file = write(tmp_path / "it.json", *there(text))
        told.append(f"# {name}: {expected}\n{text}\n")
        told[-1] += called("filter", subject(text), "--cluster-file", file)[1]

    golden("volumes/rows", "\n".join(told))


@pytest.mark.parametrize(
    ("minute", "code"), [(9, "failed_may_return"), (10, "due")], ids=["before", "after"]
)
def test_wait_for_a_failed_replica_is_over_after_the_interval(minute, code):
    objects = ClusterObjects()
    for each in there(ROWS["failed-replica-may-return"][1]):
        objects.add(read(each))
    utc = datetime(2026, 1, 2, 0, minute, 1, tzinfo=UTC)

    explainer = Explainer(objects, Settings(), utc, None)
    nodes = explainer.cluster.candidates()
    found = explain_volume(Named.VOLUME, "vol", "default", explainer, nodes)

    assert found.waiting is not None
    assert found.waiting.code == code


@pytest.mark.parametrize(
    "name",
    [
        *("pvc/data", "pvc/default/data", "pv/pv", "volume/vol"),
        *("PVC/data", "volumes.longhorn.io/vol", "persistentvolumeclaims/data"),
    ],
)
def test_volume_has_several_names(asked, name):
    found = asked("volume on=a + one + two + claim + free a b", name)

    assert (found["claim"], found["volume"]) == ("default/data", "vol")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pvc/dat", "there is no claim default/dat; is default/data meant?"),
        ("volume/vo", "there is no Longhorn volume vo; did you mean vol?"),
        ("pv/pw", "there is no PersistentVolume pw; there are pv"),
    ],
)
def test_unknown_name_brings_similar_ones(called, tmp_path, name, text):
    file = write(tmp_path / "it.json", *there("volume + claim + free a"))

    status, _, err = called("filter", name, "--cluster-file", file)

    assert (status, err.splitlines()[-1].endswith(text)) == (2, True)


def test_wide_text_names_replicas_and_groups_nodes_by_reason(shown):
    documents = there("lacking + one + claim + pod on=a + free a b + full c d")

    status, text = shown("volumes/wide", documents, "filter", "pvc/data", "-o", "wide")

    assert status == 1
    assert "a/disk-1 stopped (vol-r-1)" in text
    assert "c, d: no disk of the Longhorn node has room for a volume of 10 GiB" in text


def test_nodes_limits_what_is_shown_and_takes_names_as_kubectl_does(shown):
    words = ("filter", "volume/vol", "--nodes", "node/b,no/c")

    _, text = shown("volumes/limited", there("lacking + one + free a b c"), *words)

    assert "a: it has a replica" not in text
    assert "b, c: Longhorn places the next replica here" in text
