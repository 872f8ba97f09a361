"""What helps where people asked in public: the first remedies are those that the thread ended with.

Each row is named by what is wrong; the thread stands above it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.catalogue import REMEDIES
from tests.builders import GIB, MANAGER_IMAGE, instance_manager_document, node_document
from tests.unit.cli.plans import Run, write
from tests.unit.cli.volumes import claim, pod, replica, setting, volume

Document = Mapping[str, Any]
Ask = Callable[..., Any]
FAILED = {"failedAt": "2026-11-26T09:00:00Z"}
PRESSED = [
    {"type": "Ready", "status": "True"},
    {"type": "Schedulable", "status": "False", "reason": "DiskPressure"},
]
SWAPPED = [
    {"type": "Ready", "status": "False", "reason": "DiskFilesystemChanged"},
    {"type": "Schedulable", "status": "False", "reason": "DiskNotReady"},
]
VERSION = setting("default-instance-manager-image", MANAGER_IMAGE)


def node(
    name: str,
    *,
    spec: Document | None = None,
    disk_spec: Document | None = None,
    **status: Any,
) -> list[Document]:
    """Build a node with one disk of 100 GiB and its instance manager."""
    disk = {"diskUUID": f"uuid-{name}", **status}
    return [
        node_document(name, spec=spec, disk_spec=disk_spec, disk_status=disk),
        instance_manager_document(name),
    ]


def hosts(*names: str) -> list[Document]:
    """Build Kubernetes Nodes."""
    return [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in names]


def with_two(*others: Document, wanted: int = 3, **fields: Any) -> list[Document]:
    """Build an attached volume with running replicas on n1 and n2, and what is beside it."""
    there = [*node("n1"), *node("n2"), *others, *claim(), pod(on="n1", phase="Running")]
    there += [volume(on="n1", robustness="degraded", numberOfReplicas=wanted, **fields)]
    return [*there, replica("1", "n1"), replica("2", "n2")]


OTHER = replica("r-other", "n3", volumeName="other", volumeSize=str(30 * GIB), **FAILED)
OF_OTHER = [
    volume(numberOfReplicas=2) | {"metadata": {"name": "other", "namespace": "longhorn-system"}},
    OTHER,
    replica("other-2", "n1", volumeName="other", volumeSize=str(30 * GIB)),
]
OVER: dict[str, Any] = {
    "conditions": PRESSED,
    "storageScheduled": 105 * GIB,
    "scheduledReplica": {"vol-r-r-other": 30 * GIB, "x-r-1": 75 * GIB},
}
TAGGED = {"disk_spec": {"tags": ["ssd"]}}
SMALL: dict[str, Any] = {"conditions": PRESSED, "storageAvailable": 20 * GIB - 1}

CLOSED: dict[str, Any] = {"allowScheduling": False}
VOLUMES: Mapping[str, tuple[str, list[Document]]] = {
    # longhorn/longhorn#12897, 2682, 10553, 3187
    "replica-failed-of-another-volume": ("Delete Replica vol-r-r-other, which has failed and takes "
        "30.0 GiB of disk disk-1", with_two(*node("n3", **OVER), *OF_OTHER)),
    # longhorn/longhorn#10210
    "disk-of-a-failed-replica-below-the-minimum": ("Free 5.1 GiB of", [
        *(*node("n1", **TAGGED), *node("n2", **TAGGED, **SMALL), *claim()),
        volume(on="n1", robustness="degraded", diskSelector=["ssd"]),
        *(replica("1", "n1"), replica("2", "n2", **FAILED))]),
    # longhorn/longhorn#12677, 12700, 8020, 626, 849
    "disk-swapped-and-empty": ("Remove disk disk-1 from Longhorn Node n3 and add it again (no "
        "replica is on it",
        with_two(*node("n3", conditions=SWAPPED, storageMaximum=0, storageAvailable=0))),
    # harvester/harvester#3918, longhorn/longhorn#8020
    "disk-of-a-replica-gone": ("Delete Replica vol-r-3, whose disk on node n3 is gone",
        [*with_two(*node("n3")), replica("3", "n3", diskID="uuid-of-before")]),
    # harvester/harvester#7923, 4716, 798, longhorn/longhorn#2805, 9151
    "nodes-fewer-than-replicas": ("Set `numberOfReplicas` of volume vol to 2", with_two()),
    # longhorn/longhorn#1949, 3683
    "node-closed": ("Allow scheduling on node n3 in Longhorn", with_two(*node("n3", spec=CLOSED))),
    "node-being-evicted":
        ("End the eviction of node n3 in Longhorn, and allow scheduling there",
        with_two(*node("n3", spec=CLOSED | {"evictionRequested": True}))),
    "node-and-disk-closed": ("Allow scheduling on node n3 in Longhorn; and allow scheduling on "
        "disk disk-1 of", with_two(*node("n3", spec=CLOSED, disk_spec=CLOSED))),
    "replicas-kept-apart-by-the-volume":
        ("Set `numberOfReplicas`", with_two(replicaSoftAntiAffinity="disabled")),
}  # fmt: skip


@pytest.fixture
def ask(called: Run, tmp_path: Path) -> Ask:
    """Run a command on a cluster; return its answer."""

    def asked(documents: Sequence[Document], *command: str) -> Any:
        file = write(tmp_path / "cluster.json", VERSION, *documents)
        _, out, _ = called(*command, "--cluster-file", file, "-o", "json")
        return json.loads(out)

    return asked


@pytest.mark.parametrize("name", VOLUMES)
def test_first_remedy_of_a_volume_is_the_one_that_helps(name, ask):
    first, documents = VOLUMES[name]

    found = ask(documents, "filter", "volume/vol")["remedies"]

    assert found[0]["text"].startswith(first), found


def test_remedies_of_volumes_in_their_order(ask, golden):
    text = ""
    for name, (_, documents) in VOLUMES.items():
        found = ask(documents, "filter", "volume/vol")["remedies"]
        text += f"# {name}\n" + "".join(f"{each['text']}\n" for each in found)

    golden("remedies", text)


def test_room_is_no_matter_where_a_replica_is_already(ask):
    full: dict[str, Any] = {"storageScheduled": 95 * GIB, "scheduledReplica": {"x-r-1": 95 * GIB}}
    closed = node("n3", spec={"allowScheduling": False})
    documents = [*node("n1", **full), *node("n2", **full), *with_two(*closed)[4:]]

    found = ask(documents, "filter", "volume/vol")

    texts = {each["node"]: each["text"] for each in found["nodes"]}
    assert texts["n1"] == texts["n2"] == "it has a replica of the volume"
    assert texts["n3"] == "scheduling is disabled on the Longhorn node"
    assert not any("n1" in each["text"] for each in found["remedies"])


# longhorn/longhorn#11941
def test_strict_local_volume_whose_claim_excludes_its_node_is_told(ask):
    claimed, persistent = claim()
    only = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    persistent["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [only]}}
    strict = volume(dataLocality="strict-local", numberOfReplicas=1)
    there = [*node("n1"), *node("n2"), *hosts("n1", "n2"), claimed, persistent, strict]
    there += [replica("1", "n2"), pod()]

    found = ask(there, "filter", "pod/web")

    [note] = [each for each in found["notes"] if each["code"] == "strict_local_cut_off"]
    assert "its replica on n2, and PersistentVolume pv allows n1: no node will do" in note["text"]
    assert note["action"].startswith("Set the volume's `dataLocality` to `best-effort`")
    assert ask(there, "filter", "pvc/data")["done"] is False


# longhorn/longhorn#2826, 3072
def test_pod_on_a_node_without_longhorn_is_told_to_go_elsewhere(ask):
    there = [*node("n4"), *claim(), volume(numberOfReplicas=1), replica("1", "n4")]

    found = ask([*there, *hosts("n2", "n4"), pod(on="n2")], "filter", "pod/web")

    assert found["answer"].startswith("it waits on its node for a volume; 1 of 2 nodes would fit")
    [note] = [each for each in found["notes"] if each["code"] == "not_attachable"]
    assert note["text"].endswith("no Longhorn node of this name")
    assert note["action"].startswith("Have longhorn-manager and its CSI plugin run on that node")


# longhorn/longhorn#8008, 8842, 3423, 951, 3120, 2165
def test_what_fills_a_disk_is_named_with_its_snapshots(ask):
    large = volume(numberOfReplicas=1)
    large["status"]["actualSize"] = 61 * GIB
    there = [*node("n1", **SMALL), *claim(), large, replica("1", "n1")]

    [disk] = ask(there, "filter", "node/n1")["disks"]

    [content] = disk["figures"]["contents"]
    assert content["name"] == "default/data"
    assert content["written_bytes"] == 61 * GIB
    assert content["note"] == "more than its size: snapshots"
    assert "delete snapshots of what holds most (default/data 61.0 GiB)" in str(disk["remedies"])
    texts = [each["text"] for each in ask(there, "survey")["findings"]]
    assert any("most is default/data" in each for each in texts)


def test_every_remedy_stands_before_what_costs_more():
    codes = [*REMEDIES]

    assert codes.index("allow_node") < codes.index("delete_replica") < codes.index("fewer_replicas")
    assert codes[-2:] == ["add_disk", "add_node"]
