"""Why is my pod Pending? Situations that users report, each asked of the command as a whole.

The output must name the cause, the object and the remedy. Those with a number are from the issues
of Longhorn, TopoLVM and OpenEBS; the comment has what they are about.
"""

import json
from typing import Any

import pytest

from app.config import RESOURCE
from tests.builders import GIB, document, node_document
from tests.unit.cli.situations import (
    bound_claim,
    claim,
    csi_driver,
    host,
    labels,
    new,
    node,
    old,
    pod,
    replica,
    schedule,
    scheduled,
    storage_class,
    volume,
)

CORDONED = (host(unschedulable=True), node_document())
DB, FULL, BOTH = bound_claim("db"), node(taken_gib=95), [*node(), *node("node-2")]
TRACKING = document("Setting", "csi-storage-capacity-tracking", value="true")


def condition(kind: str, reason: str, message: str = "") -> dict[str, str]:
    return {"type": kind, "status": "False", "reason": reason, "message": message}


def changed(built: dict[str, Any], part: str, **fields: Any) -> dict[str, Any]:
    """Return a document with other fields in one part of it."""
    return {**built, part: {**built[part], **fields}}


def two_disks(gib: int) -> dict[str, Any]:
    """Build a node of two disks, each with so much scheduled."""
    built = node_document(disk_status=scheduled(gib))
    for disks in (built["spec"]["disks"], built["status"]["diskStatus"]):
        disks["disk-2"] = dict(disks["disk-1"])
    built["status"]["diskStatus"]["disk-2"]["diskUUID"] = "uuid-disk-2"
    return built


def only_on(name: str) -> dict[str, Any]:
    """Build a node selector that one node meets, by the label that every kubelet sets."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def gone_node() -> list[Any]:
    claim_, persistent_volume = bound_claim()
    limited = changed(persistent_volume, "spec", nodeAffinity={"required": only_on("node-9")})
    return [*node(), pod(), claim_, limited, volume()]


ONLY_REPLICA_CORDONED = [*CORDONED, *node("node-2", 95), *old(), replica()]
BOUND = pod("other", status={"phase": "Pending"}, spec={"nodeName": "node-1"})
NEVER_HEALTHY = changed(replica(), "spec", healthyAt="")
HELD = [*node(), BOUND, *bound_claim("other"), volume("other", 80), *new(30)]
FULL_DISK = {
    "storageAvailable": 20 * GIB,
    "conditions": [{"type": "Ready", "status": "True"}, condition("Schedulable", "DiskPressure",
        "disk-1 has 20.0 GiB available")],
}  # fmt: skip
REPLACED_DISK = {
    "conditions": [condition("Ready", "DiskFilesystemChanged", "record diskUUID doesn't match the "
        "disk's"), condition("Schedulable", "DiskNotReady")],
}  # fmt: skip
OF_IMAGE = {"storageScheduled": 95 * GIB, "scheduledBackingImage": {"ubuntu": 95 * GIB}}
TAINT = {"key": "k3s-controlplane", "value": "true", "effect": "NoExecute"}
AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": only_on("node-4")}}
DEFAULT_CLASS = storage_class()
DEFAULT_CLASS["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}

ROWS: dict[int, dict[str, tuple[Any, ...]]] = {
    1: {
        "room-on-no-single-disk": ("nearest: 10.0 GiB short on node-1/disk-1",
            host(), two_disks(60), *new(50)),
        "disk-pressure": ("-> Free 5.1 GiB of disk disk-1 of node node-1.",
            *node(disk_status=FULL_DISK), *new()),
        "over-provisioning": ("Raise `storage-over-provisioning-percentage` from 100 to 115",
            *FULL, *new(20), *DB),
        "disk-schedule": (
            "refused 70.0 GiB (replica vol-big-r-1 60.0 GiB, replica vol-small-r-1 10.0 GiB)",
            *node(), schedule("db:70:S70 new:15 big:60:R0 small:10:R0"), *new(20), *DB),
        "replica-that-its-disk-refused": (
            "replicas: not granted by its disk on node-1, not placed yet",
            *node(), schedule("db:95:S95 web:10:R0"), *old(), NEVER_HEALTHY),
        "copies-of-backing-images": ("most of it: backing image ubuntu 95.0 GiB",
            *node(disk_status=OF_IMAGE), *new(20)),
        "cordoned-node-and-new-volume": ("-> `kubectl uncordon` the node", *CORDONED, *new()),
        "cordoned-node-with-the-only-replica": (
            "0 of 2 nodes: 1 without room on one disk, 1 excluded by kube-scheduler",
            *ONLY_REPLICA_CORDONED),
        "misspelt-tag-of-a-volume": ("no node has tag 'storrage'; is 'storage' meant?",
            *node(spec={"tags": ["storage"]}), *old(nodeSelector=["storrage"])),
        "immediate-binding": (
            "default/web is not bound, and StorageClass fast has volumeBindingMode: Immediate",
            *node(), pod(), claim(), storage_class("Immediate")),
        "room-held-for-another-pod": ("80.0 GiB more are held for pod default/other (chosen)",
            *HELD),
        "selectors-of-a-backing-image": ("disk tags nvme (diskSelector of BackingImage ubuntu)",
            *node(disk_spec={"tags": ["ssd"]}), host("node-2", unschedulable=True),
            node_document("node-2", disk_spec={"tags": ["nvme"]}),
            document("BackingImage", "ubuntu", spec={"diskSelector": ["nvme"]}),
            *new(backingImage="ubuntu")),
        "locality-disabled-and-room-nowhere": (
            "web: 1 of 1 replicas find no place: no disk has room for one",
            *FULL, *new(20, dataLocality="disabled")),
        # Files may lack Longhorn's nodes: that is no fact about the cluster.
        "longhorns-nodes-unknown": ("none of Longhorn's Nodes is known", host(), *new()),
        # longhorn/longhorn#8450: Disks become over provisioned; volumes of one virtual machine.
        "volumes-that-fit-only-singly": (
            "node-1: the 2 volumes the pod needs here (80 GiB in all) do not fit together",
            *node(taken_gib=30), pod(claims=("root", "data")),
            claim("root", 40), claim("data", 40), storage_class()),
        # topolvm/topolvm#194: Pods stuck on "node affinity conflict".
        "volume-limited-to-a-gone-node": ("limited to nodes with kubernetes.io/hostname In node-9",
            *gone_node()),
        # longhorn/longhorn#7727: Volumes are created on disabled nodes; kubectl does not show that.
        "node-disabled-in-longhorn-alone": ("node-1: scheduling is disabled on the Longhorn node",
            *node(spec={"allowScheduling": False}), *node("node-2", 95),
            *new(dataLocality="strict-local")),
        # longhorn/longhorn#3477: replaced LH disk with empty on one node; now Unschedulable.
        "disk-that-was-replaced": (
            "-> Remove disk disk-1 from Longhorn Node node-1 and add it again",
            *node(disk_status=REPLACED_DISK), *new()),
        # longhorn/longhorn#2966: Node volume storage reserved: default too high?
        "reserved-on-the-default-disk": (
            "-> Lower `storageReserved` of disk disk-1 of node node-1 from 30.0 GiB to 20.0 GiB.",
            *node(disk_spec={"storageReserved": 30 * GIB}), *new(80)),
        # longhorn/longhorn#784: Actual size is bigger than max size; a new replica gets all of it.
        "volume-that-holds-more-than-its-size": (
            "-> Delete snapshots of volume vol-web, which holds 37.6 GiB with them, until",
            *node(disk_status={"storageAvailable": 50 * GIB}), pod(), *bound_claim(),
            {**volume(gib=8), "status": {"actualSize": str(376 * GIB // 10)}}),
        # openebs/lvm-localpv#265: example lvm deployment fails with WaitForFirstConsumer.
        "each-node-for-a-reason-of-its-own": (
            "0 of 4 nodes: 1 without room on one disk, 3 excluded by kube-scheduler",
            host("node-1", taints=[TAINT]), node_document("node-1"),
            *node("node-2"), *node("node-3"), *node("node-4", 95),
            pod(spec={"affinity": AFFINITY}), claim(gib=20), storage_class()),
    },
    0: {
        "capacity-tracking-of-nodes": (
            "leaves out node-1: claim default/web is larger than what Longhorn tells",
            *FULL, *node("node-2"), TRACKING, *new(dataLocality="disabled")),
        "capacity-tracking-of-zones": ("2 of 2 nodes will do", *FULL, *node("node-2"), TRACKING,
            *new(dataLocality="disabled", storageCapacityMode="zone")),
        "capacity-tracking-of-a-bound-claim": ("1 of 1 nodes will do",
            *FULL, TRACKING, *old(dataLocality="disabled"), replica()),
        "three-replicas-on-two-nodes": (
            "web: 1 of 3 replicas find no place: each needs a node of its own",
            *BOTH, *new(numberOfReplicas="3")),
        "pod-that-does-not-ask": (
            f"note: no container asks for {RESOURCE}, so kube-scheduler does not ask the extender",
            *node(), pod(asks=False), claim(), storage_class()),
        # As the API server would have it: in files the class may still be open.
        "claim-of-the-default-class": ("web 50.0 GiB, class fast, new volume, 1 replica",
            *node(), pod(), changed(claim(gib=50), "spec", storageClassName=None), DEFAULT_CLASS),
        # longhorn/longhorn#12261: a pod got a node where Longhorn does not run, and hung.
        "node-without-longhorn": ("node-2: no Longhorn node of this name",
            *node(), host("node-2"), *new(dataLocality="disabled")),
    },
    3: {
        "tag-in-other-case": ("no disk has tag 'SSD'; is 'ssd' meant? case counts",
            *node(disk_spec={"tags": ["ssd"]}), *new(diskSelector="SSD")),
        "claim-of-no-class": ("has no StorageClass and no PersistentVolume; name a StorageClass",
            *node(), pod(), changed(claim(), "spec", storageClassName=""), storage_class()),
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("status", "name"), [(s, name) for s, rows in ROWS.items() for name in rows]
)
def test_pod_is_told_why_it_is_pending(shown, status, name):
    fact, *documents = ROWS[status][name]

    found, text = shown(f"situations/{name}", documents, "filter", "pod/web")

    assert found == status
    assert fact in text


def test_strict_local_volume_keeps_the_pod_on_its_node(shown):
    documents = [*BOTH, *old(dataLocality="strict-local"), replica()]
    words = ("filter", "pod/web", "--nodes", "node-2")

    status, text = shown("situations/strict-local-elsewhere", documents, *words)

    assert status == 1
    assert "note: web is strict-local, and its replica is on node-1" in text


def test_excluded_node_is_no_rejected_one(ask):
    report = json.loads(ask(*ONLY_REPLICA_CORDONED, options=("-o", "json"))[1])

    assert (report["excluded"].keys(), report["nodes"].keys()) == ({"node-1"}, {"node-2"})


def test_hold_has_its_pod_and_volumes(ask):
    report = json.loads(ask(*HELD, options=("-o", "json"))[1])

    assert report["nodes"]["node-1"]["holds"] == [
        {"pod": "default/other", "state": "chosen", "volume_bytes": {"vol-other": 80 * GIB}}
    ]


def told(gib: int | None, name: str, **fields: Any) -> dict[str, Any]:
    """Build the CSIStorageCapacity of a node; of all nodes, if there is no name."""
    return {
        **{"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity"},
        "metadata": {"name": f"csisc-{name}", "namespace": "longhorn-system"},
        "storageClassName": "fast",
        "maximumVolumeSize": None if gib is None else f"{gib}Gi",
        "nodeTopology": {"matchLabels": labels(name)["labels"]} if name else None,
        **fields,
    }


ROOMY = told(50, "node-1")
CAPACITIES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "small": ("node-2", [ROOMY, told(5, "node-2")]),
    "both": ("node-1, node-2", [told(5, "node-1"), told(5, "node-2")]),
    "not-told": ("node-2", [ROOMY]),
    "null": ("node-2", [ROOMY, told(None, "node-2")]),
    "another-class": ("node-2", [ROOMY, told(50, "node-2", storageClassName="x")]),
    "capacity-alone": ("", [ROOMY, told(None, "node-2", capacity="50Gi")]),
    "enough": ("", [ROOMY, told(50, "node-2"), told(90, "")]),
    "not-tracked": ("", [told(5, "node-1")]),
    "none-known": ("", []),
}


@pytest.mark.parametrize("name", CAPACITIES)
def test_room_that_kubernetes_is_told_of_leaves_nodes_out(ask, name):
    left_out, capacities = CAPACITIES[name]
    driver = csi_driver(tracks=name != "not-tracked")

    status, text = ask(*BOTH, driver, *capacities, *new())

    is_refused = left_out == "node-1, node-2"
    assert status == (1 if is_refused else 0)
    assert ("kube-scheduler refuses the pod; 2 of 2 nodes would fit" in text) is is_refused
    told_of = f"kube-scheduler leaves out {left_out}: claim default/web is larger than what"
    assert (told_of in text) is bool(left_out)
