"""What helps where people asked in public: the first remedies are those that the thread ended with.

Each row is named by what is wrong; the thread stands above it.
"""

import json
from collections.abc import Mapping
from typing import Any

from cli.catalogue import REMEDIES
from tests.builders import GIB, MANAGER_IMAGE, instance_manager_document, node_document
from tests.unit.cli.plans import write
from tests.unit.cli.volumes import claim, pod, replica, setting, volume

Document = Mapping[str, Any]
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
    name: str, *, spec: Document | None = None, disk_spec: Document | None = None, **status: Any
) -> list[Document]:
    """Build a node with one disk of 100 GiB and its instance manager."""
    disk = {"diskUUID": f"uuid-{name}", **status}
    return [
        node_document(name, spec=spec, disk_spec=disk_spec, disk_status=disk),
        instance_manager_document(name),
    ]


def with_two(*others: Document, **fields: Any) -> list[Document]:
    """Build an attached volume with running replicas on n1 and n2, and what is beside it."""
    there = [*node("n1"), *node("n2"), *others, *claim(), pod(on="n1", phase="Running")]
    there += [volume(on="n1", robustness="degraded", numberOfReplicas=3, **fields)]
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


def test_first_remedy_of_a_volume_is_the_one_that_helps(called, golden, tmp_path):
    text = ""
    for name, (first, documents) in VOLUMES.items():
        file = write(tmp_path / "cluster.json", VERSION, *documents)
        _, out, _ = called("filter", "volume/vol", "--cluster-file", file, "-o", "json")
        found = [each["text"] for each in json.loads(out)["remedies"]]
        assert found[0].startswith(first), name
        text += "".join(f"{line}\n" for line in [f"# {name}", *found])

    golden("remedies", text)


def test_every_remedy_stands_before_what_costs_more():
    codes = [*REMEDIES]

    assert codes.index("allow_node") < codes.index("delete_replica") < codes.index("fewer_replicas")
    assert codes[-2:] == ["add_disk", "add_node"]
