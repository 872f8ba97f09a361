"""Why is my pod Pending? Eight situations from the issues of Longhorn, TopoLVM and OpenEBS.

Each is told with Longhorn's objects and asked of the command as a whole. The output must name the
cause, the object and the remedy. What the issue says is in the docstring of its test.
"""

from typing import Any

from tests.builders import GIB, document, node_document
from tests.unit.cli.situations import (
    ADD_A_DISK,
    Ask,
    bound_claim,
    claim,
    has_all,
    host,
    labels,
    pod,
    scheduled,
    storage_class,
    volume,
)


def only_on(name: str) -> dict[str, Any]:
    """Build a node selector that one node meets, by the label that every kubelet sets."""
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def test_volumes_that_fit_singly_and_not_together(ask: Ask) -> None:
    """longhorn/longhorn#8450.

    [BUG] Disks become over provisioned when Storage Over Provisioning Percentage is set to 100:
    best-effort volumes of one virtual machine, too large together for a disk of its node.
    """
    status, shown = ask(
        *(host(), node_document("node-1", disk_status=scheduled(30))),
        *(pod(claims=("root", "data")), claim("root", 40), claim("data", 40), storage_class()),
    )

    assert status == 1
    assert not has_all(
        shown,
        "0 of 1 nodes: 1 without room for all volumes together",
        "root 40.0 GiB",
        "data 40.0 GiB",
        "node-1: the 2 volumes the pod needs here (80 GiB in all) do not fit together",
        "10.0 GiB short on disk-1: 30.0 of 100.0 GiB are scheduled",
        "or give some of the volumes another StorageClass, or locality `disabled`",
    )


def test_volume_that_is_limited_to_a_node_that_is_gone(ask: Ask) -> None:
    """topolvm/topolvm#194.

    Pods stuck on "node affinity conflict": the PersistentVolume names one node.
    """
    claim_of_it, persistent_volume = bound_claim()
    persistent_volume["spec"]["nodeAffinity"] = {"required": only_on("node-9")}

    status, shown = ask(
        *(host(metadata=labels("node-1")), node_document("node-1")),
        *(pod(), claim_of_it, persistent_volume, volume()),
    )

    assert status == 1
    assert not has_all(
        shown,
        "0 of 1 nodes: 1 excluded by kube-scheduler",
        "node-1: excluded by kube-scheduler: PersistentVolume pv-web of claim default/web is "
        "limited to nodes with kubernetes.io/hostname In node-9",
        "-> Let the pod run on one of these nodes",
        "restore the volume from a backup",
    )


def test_node_without_longhorn(ask: Ask) -> None:
    """longhorn/longhorn#12261.

    [FEATURE] Support StorageClass allowedTopologies for Longhorn volumes: the pod got a node where
    Longhorn does not run, and hung.
    """
    status, shown = ask(
        *(host(), host("node-2"), node_document("node-1")),
        *(pod(), claim(), storage_class(dataLocality="disabled")),
    )

    assert status == 0
    assert not has_all(
        shown,
        "1 of 2 nodes will do, as no volume has to be on the pod's node; 1 without Longhorn",
        "node-2: no Longhorn node of this name",
        "-> Nothing, if Longhorn is not to be there.",
    )


def test_nodes_that_are_disabled_in_longhorn_alone(ask: Ask) -> None:
    """longhorn/longhorn#7727.

    [BUG] Persistent Volumes are created on nodes that are disabled/unschedulable: for kubectl
    these nodes are like all others, and volumes are strict-local.
    """
    status, shown = ask(
        *(host(), node_document("node-1", spec={"allowScheduling": False})),
        *(host("node-2"), node_document("node-2", disk_status=scheduled(95))),
        *(pod(), claim(), storage_class(dataLocality="strict-local")),
    )

    assert status == 1
    assert not has_all(
        shown,
        "1 with scheduling disabled in Longhorn, 1 without room on one disk",
        "node-1: scheduling is disabled on the Longhorn node",
        "-> Allow scheduling on the node in Longhorn.",
        "nearest: 5.0 GiB short on node-2/disk-1",
    )


def test_disk_that_was_replaced(ask: Ask) -> None:
    """longhorn/longhorn#3477.

    [QUESTION] replaced LH disk with empty on one node. It now sits in Unschedulable instead of
    recovering.
    """
    message = "record diskUUID doesn't match the one on the disk"
    replaced = {
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "DiskFilesystemChanged",
                "message": message,
            },
            {"type": "Schedulable", "status": "False", "reason": "DiskNotReady"},
        ]
    }

    status, shown = ask(
        *(host(), node_document("node-1", disk_status=replaced)),
        *(pod(), claim(), storage_class()),
    )

    assert status == 1
    assert not has_all(
        shown,
        "0 of 1 nodes: 1 without a disk that takes replicas",
        f"disk-1 is not ready; DiskFilesystemChanged: {message}",
        "-> Remove disk disk-1 from Longhorn Node node-1 and add it again",
        "web: 1 of 1 replicas find no place: no disk of any node takes new replicas",
    )
    assert "tags" not in shown


def test_what_is_reserved_on_the_default_disk(ask: Ask) -> None:
    """longhorn/longhorn#2966.

    [Question] Node volume storage reserved: default too high? ability to set default?
    """
    reserved = node_document("node-1", disk_spec={"storageReserved": 30 * GIB})

    status, shown = ask(host(), reserved, pod(), claim(gib=80), storage_class())

    assert status == 1
    assert not has_all(
        shown,
        "10.0 GiB short on disk-1: 0.0 of 70.0 GiB are scheduled",
        "30.0 of the disk's 100.0 GiB are reserved",
        "-> Lower `storageReserved` of disk disk-1 of node node-1 from 30.0 GiB to 20.0 GiB.",
        ADD_A_DISK,
    )


def test_volume_that_holds_more_than_its_size(ask: Ask) -> None:
    """longhorn/longhorn#784.

    Actual size of the volume is bigger than max size: 37.6 GiB of 8. A new replica gets all of it.
    """
    grown = document(
        "Volume",
        "vol-web",
        spec={"size": str(8 * GIB), "dataLocality": "best-effort", "numberOfReplicas": 1},
        status={"actualSize": str(376 * GIB // 10)},
    )
    half_full = node_document("node-1", disk_status={"storageAvailable": 50 * GIB})

    status, shown = ask(host(), half_full, pod(), *bound_claim(), grown)

    assert status == 1
    assert not has_all(
        shown,
        "web 8.0 GiB",
        "holds 37.6 GiB with its snapshots",
        "12.7 GiB short on disk-1: 50.0 GiB are available, of which 25.0 GiB must stay free "
        "(storage-minimal-available-percentage 25)",
        "-> Delete snapshots of volume vol-web, which holds 37.6 GiB with them, until",
    )
    assert "0.0 of 100.0 GiB are scheduled" not in shown


def test_each_node_for_a_reason_of_its_own(ask: Ask) -> None:
    """openebs/lvm-localpv#265.

    example lvm deployment fails with storage class definition "volumeBindingMode:
    WaitForFirstConsumer" set: of four nodes one has too little free storage, one has a taint, two
    are outside the pod's node affinity.
    """
    taint = {"key": "k3s-controlplane", "value": "true", "effect": "NoExecute"}
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": only_on("node-4")}
    }
    status, shown = ask(
        *(host("node-1", taints=[taint]), node_document("node-1")),
        *(host("node-2", metadata=labels("node-2")), node_document("node-2")),
        *(host("node-3", metadata=labels("node-3")), node_document("node-3")),
        *(host("node-4", metadata=labels("node-4")),),
        node_document("node-4", disk_status=scheduled(95)),
        *(pod(spec={"affinity": affinity}), claim(gib=20), storage_class()),
    )

    assert status == 1
    assert not has_all(
        shown,
        "0 of 4 nodes: 1 without room on one disk, 3 excluded by kube-scheduler",
        "nearest: 15.0 GiB short on node-4/disk-1",
        "node-1: excluded by kube-scheduler: the pod does not tolerate taint "
        "k3s-controlplane=true:NoExecute",
        "-> Take the taint away, or give the pod a toleration.",
        "node-2, node-3: excluded by kube-scheduler: it does not meet the pod's node affinity: "
        "kubernetes.io/hostname In node-4",
        "-> Label the node, or change the pod's `affinity`.",
        ADD_A_DISK,
    )
