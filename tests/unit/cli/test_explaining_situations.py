"""Why is my pod Pending? Twelve situations that users report, each asked of the command as a whole.

The output must name the cause, the object and the remedy.
"""

import json
from typing import Any

import pytest

from app.config import RESOURCE
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
    replica,
    schedule,
    scheduled,
    storage_class,
    volume,
)


def test_room_in_sum_but_not_on_one_disk(ask: Ask) -> None:
    node = node_document("node-1", disk_status=scheduled(60))
    for part in ("spec", "status"):
        disks = node[part]["disks" if part == "spec" else "diskStatus"]
        disks["disk-2"] = dict(disks["disk-1"])
    node["status"]["diskStatus"]["disk-2"]["diskUUID"] = "uuid-disk-2"

    status, shown = ask(host(), node, pod(), claim(gib=50), storage_class())

    assert status == 1
    assert not has_all(
        shown,
        "pod default/web: 0 of 1 nodes: 1 without room on one disk",
        "nearest: 10.0 GiB short on node-1/disk-1",
        "web 50.0 GiB, class fast, new volume, 1 replica, locality best-effort",
        "node-1: no disk of the Longhorn node has room for a volume of 50 GiB",
        ADD_A_DISK,
    )
    assert "1234-web" not in shown


def test_disk_pressure(ask: Ask) -> None:
    message = "disk-1 has 20.0 GiB available"
    pressure = {"type": "Schedulable", "status": "False", "reason": "DiskPressure"}
    full = {
        "storageAvailable": 20 * GIB,
        "conditions": [{"type": "Ready", "status": "True"}, {**pressure, "message": message}],
    }

    status, shown = ask(
        host(), node_document("node-1", disk_status=full), pod(), claim(), storage_class()
    )

    assert status == 1
    assert not has_all(
        shown,
        "1 without a disk that takes replicas",
        f"disk-1 is not schedulable; DiskPressure: {message}",
        "20.0 GiB available, and more than 25.0 GiB are needed",
        "(storage-minimal-available-percentage 25)",
        "-> Free 5.1 GiB of disk disk-1 of node node-1.",
    )


def test_over_provisioning(ask: Ask) -> None:
    node = node_document("node-1", disk_status=scheduled(95))

    status, shown = ask(host(), node, pod(), claim(gib=20), storage_class(), *bound_claim("db"))

    assert status == 1
    assert not has_all(
        shown,
        "most of it: claim default/db 95.0 GiB",
        "15.0 GiB short on disk-1: 95.0 of 100.0 GiB are scheduled",
        "(storage-over-provisioning-percentage 100)",
        "Raise `storage-over-provisioning-percentage` from 100 to 115",
    )


def test_what_a_disk_schedule_says_is_told_by_name(ask: Ask) -> None:
    found = schedule(
        {"vol-db-r-1": 70, "vol-new-r-1": 15, "vol-big-r-1": 60, "vol-small-r-1": 10},
        {
            "vol-db-r-1": ("scheduled", 70),
            "vol-big-r-1": ("rejected", 0),
            "vol-small-r-1": ("rejected", 0),
        },
    )

    status, shown = ask(
        host(), node_document(), found, pod(), claim(gib=20), storage_class(), *bound_claim("db")
    )

    assert status == 1
    assert not has_all(
        shown,
        "15.0 GiB short on disk-1: 95.0 of 100.0 GiB are scheduled",
        "most of it: claim default/db 70.0 GiB, replica vol-new-r-1 15.0 GiB",
        "by its DiskSchedule: granted 70.0 GiB; pending 15.0 GiB (replica vol-new-r-1 15.0 GiB); "
        "refused 70.0 GiB (replica vol-big-r-1 60.0 GiB, replica vol-small-r-1 10.0 GiB); of what "
        "was refused 10.0 GiB would fit now, and count",
    )


def test_a_replica_that_its_disk_refused_is_told(ask: Ask) -> None:
    refused = replica("web", gib=10)
    refused["spec"]["healthyAt"] = ""

    _, shown = ask(
        host(),
        node_document(),
        schedule(
            {"vol-db-r-1": 95, "vol-web-r-1": 10},
            {"vol-db-r-1": ("scheduled", 95), "vol-web-r-1": ("rejected", 0)},
        ),
        pod(),
        *bound_claim(),
        volume(),
        refused,
    )

    assert "replicas: not granted by its disk on node-1, not placed yet" in shown


def test_copies_of_backing_images_take_room(ask: Ask) -> None:
    images = {"storageScheduled": 95 * GIB, "scheduledBackingImage": {"ubuntu": 95 * GIB}}
    node = node_document("node-1", disk_status=images)

    status, shown = ask(host(), node, pod(), claim(gib=20), storage_class())

    assert status == 1
    assert "most of it: backing image ubuntu 95.0 GiB" in shown


def test_cordoned_node_and_new_volume(ask: Ask) -> None:
    status, shown = ask(
        host(unschedulable=True), node_document("node-1"), pod(), claim(), storage_class()
    )

    assert status == 1
    assert not has_all(
        shown,
        "0 of 1 nodes: 1 excluded by kube-scheduler",
        "node-1: excluded by kube-scheduler: Kubernetes node is cordoned",
        "-> `kubectl uncordon` the node",
    )


def test_cordoned_node_with_the_only_replica(ask: Ask) -> None:
    documents = [
        *(host(unschedulable=True), node_document("node-1"), host("node-2")),
        node_document("node-2", disk_status=scheduled(95)),
        *(pod(), *bound_claim(), volume(), replica()),
    ]
    status, shown = ask(*documents)
    report = json.loads(ask(*documents, options=("-o", "json"))[1])

    assert status == 1
    assert (report["excluded"].keys(), report["nodes"].keys()) == ({"node-1"}, {"node-2"})
    assert not has_all(
        shown,
        "0 of 2 nodes: 1 without room on one disk, 1 excluded by kube-scheduler",
        "replicas: node-1 usable",
        "node-1: excluded by kube-scheduler: Kubernetes node is cordoned",
        "-> `kubectl uncordon` the node",
    )


def test_tag_in_other_case_of_a_new_volume(ask: Ask) -> None:
    node = node_document("node-1", disk_spec={"tags": ["ssd"]})

    status, shown = ask(host(), node, pod(), claim(), storage_class(diskSelector="SSD"))

    assert status == 3
    assert not has_all(
        shown,
        "StorageClass fast has diskSelector 'SSD'",
        "no disk has tag 'SSD'; is 'ssd' meant? case counts",
        "-> Create a StorageClass with another value, or tag nodes or disks.",
    )


def test_misspelt_tag_of_an_existing_volume(ask: Ask) -> None:
    node = node_document("node-1", spec={"tags": ["storage"]})

    status, shown = ask(host(), node, pod(), *bound_claim(), volume(nodeSelector=["storrage"]))

    assert status == 1
    assert not has_all(
        shown,
        "no node has tag 'storrage'; is 'storage' meant?",
        "tags of the node: storage",
        "node tags storrage (nodeSelector of Volume vol-web)",
        "-> Tag the node, or change the selector.",
    )


def test_immediate_binding(ask: Ask) -> None:
    status, shown = ask(host(), node_document("node-1"), pod(), claim(), storage_class("Immediate"))

    assert status == 1
    assert not has_all(
        shown,
        "pod default/web: kube-scheduler refuses the pod; 1 of 1 nodes would fit",
        "claim default/web is not bound, and StorageClass fast has volumeBindingMode: Immediate",
        "-> Use a StorageClass with `volumeBindingMode: WaitForFirstConsumer`",
    )


@pytest.mark.parametrize(
    ("parameters", "node_1_is_left_out"),
    [({}, True), ({"storageCapacityMode": "zone"}, False)],
    ids=["node", "zone"],
)
def test_capacity_tracking_leaves_out_a_node_that_only_uses_the_volume(
    ask: Ask, parameters: dict[str, str], *, node_1_is_left_out: bool
) -> None:
    setting = document("Setting", "csi-storage-capacity-tracking", value="true")

    status, shown = ask(
        *map(host, ("node-1", "node-2")),
        node_document("node-1", disk_status=scheduled(95)),
        node_document("node-2"),
        *(setting, pod(), claim()),
        storage_class(dataLocality="disabled", **parameters),
    )

    text = "kube-scheduler leaves out node-1: claim default/web is larger than what Longhorn tells"
    assert status == 0
    assert has_all(shown, text) == ([text] if not node_1_is_left_out else [])


def told(gib: int | None, *names: str, **fields: Any) -> dict[str, Any]:
    """Build the CSIStorageCapacity of some nodes."""
    topology = {"matchLabels": {"kubernetes.io/hostname": names[0]}} if names else None
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"csisc-{'-'.join(names)}", "namespace": "longhorn-system"},
        "storageClassName": "fast",
        "maximumVolumeSize": None if gib is None else f"{gib}Gi",
        "nodeTopology": topology,
        **fields,
    }


def csi_driver(*, tracks: bool = True) -> dict[str, Any]:
    metadata = {"name": "driver.longhorn.io"}
    spec = {"storageCapacity": tracks}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": metadata,
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("driver", "capacities", "left_out"),
    [
        pytest.param(csi_driver(), [told(50, "node-1"), told(5, "node-2")], "node-2", id="small"),
        pytest.param(
            csi_driver(), [told(5, "node-1"), told(5, "node-2")], "node-1, node-2", id="both"
        ),
        pytest.param(csi_driver(), [told(50, "node-1")], "node-2", id="not-told"),
        pytest.param(csi_driver(), [told(50, "node-1"), told(None, "node-2")], "node-2", id="null"),
        pytest.param(
            csi_driver(),
            [told(50, "node-1"), told(50, "node-2", storageClassName="slow")],
            "node-2",
            id="another-class",
        ),
        pytest.param(
            csi_driver(),
            [told(50, "node-1"), told(None, "node-2", capacity="50Gi")],
            "",
            id="capacity-alone",
        ),
        pytest.param(
            csi_driver(),
            [told(50, "node-1"), told(50, "node-2"), told(90)],
            "",
            id="enough",
        ),
        pytest.param(csi_driver(tracks=False), [told(5, "node-1")], "", id="not-tracked"),
        pytest.param(csi_driver(), [], "", id="none-known"),
    ],
)
def test_what_kubernetes_is_told_of_room_leaves_nodes_out(
    ask: Ask, driver: dict[str, Any], capacities: list[dict[str, Any]], left_out: str
) -> None:
    nodes = ("node-1", "node-2")

    status, shown = ask(
        *(host(name, metadata=labels(name)) for name in nodes),
        *map(node_document, nodes),
        *(driver, *capacities, pod(), claim(), storage_class()),
    )

    is_refused = left_out == "node-1, node-2"
    assert status == (1 if is_refused else 0)
    assert ("kube-scheduler refuses the pod; 2 of 2 nodes would fit" in shown) is is_refused
    text = f"kube-scheduler leaves out {left_out}: claim default/web is larger than what"
    assert (text in shown) is bool(left_out)


def test_capacity_tracking_says_nothing_of_a_claim_that_is_bound(ask: Ask) -> None:
    setting = document("Setting", "csi-storage-capacity-tracking", value="true")

    status, shown = ask(
        *(host(), node_document("node-1", disk_status=scheduled(95)), setting, pod()),
        *bound_claim(),
        volume(dataLocality="disabled"),
        replica(),
    )

    assert status == 0
    assert "leaves out" not in shown


def test_three_replicas_on_two_nodes(ask: Ask) -> None:
    status, shown = ask(
        *(each for n in ("node-1", "node-2") for each in (host(n), node_document(n))),
        pod(),
        claim(),
        storage_class(numberOfReplicas="3"),
    )

    assert status == 0
    assert not has_all(
        shown,
        "web replicas would go to node-1 (the pod's node), node-2; 1 find no place",
        "web: 1 of 3 replicas find no place: each needs a node of its own",
        "only node-1, node-2 have room",
        "set `replica-soft-anti-affinity` to `true`",
    )


def test_strict_local_volume_elsewhere(ask: Ask) -> None:
    status, shown = ask(
        *(each for n in ("node-1", "node-2") for each in (host(n), node_document(n))),
        pod(),
        *bound_claim(),
        volume(dataLocality="strict-local"),
        replica(on="node-1"),
        options=("--nodes", "node-2"),
    )

    assert status == 1
    assert not has_all(
        shown,
        "note: web is strict-local, and its replica is on node-1",
        "node-2: a strict-local volume of the pod has its replica on another node",
        "-> Let the pod run there",
    )


def test_pod_that_does_not_ask(ask: Ask) -> None:
    status, shown = ask(host(), node_document("node-1"), pod(asks=False), claim(), storage_class())

    assert status == 0
    assert not has_all(
        shown,
        f"note: no container asks for {RESOURCE}, so kube-scheduler does not ask the extender",
        "-> Turn injection on and create the pod again",
    )


def test_room_held_for_another_pod(ask: Ask) -> None:
    other = pod("other", status={"phase": "Pending"})
    other["spec"]["nodeName"] = "node-1"

    documents = [
        *(host(), node_document("node-1"), other, *bound_claim("other"), volume("other", gib=80)),
        *(pod(), claim(gib=30), storage_class()),
    ]
    status, shown = ask(*documents)
    _, report = ask(*documents, options=("-o", "json"))

    assert status == 1
    assert json.loads(report)["nodes"]["node-1"]["holds"] == [
        {"pod": "default/other", "state": "chosen", "volume_bytes": {"vol-other": 80 * GIB}}
    ]
    assert not has_all(
        shown,
        "1 with room that is held for other pods",
        "80.0 GiB more are held for pod default/other (chosen)",
        "10.0 GiB short on disk-1",
        "-> Nothing: holds end within seconds",
    )


def test_selectors_of_a_backing_image(ask: Ask) -> None:
    node = node_document("node-1", disk_spec={"tags": ["ssd"]})
    elsewhere = node_document("node-2", disk_spec={"tags": ["nvme"]})
    image = document("BackingImage", "ubuntu", spec={"diskSelector": ["nvme"]})

    status, shown = ask(
        *(host(), host("node-2", unschedulable=True), node, elsewhere, image),
        *(pod(), claim(), storage_class(backingImage="ubuntu")),
    )

    assert status == 1
    assert not has_all(
        shown,
        "backing image ubuntu",
        "disk tags nvme (diskSelector of BackingImage ubuntu)",
        "tags of its disks: disk-1 ssd",
        "-> Give disk disk-1 of node node-1 the tags nvme in Longhorn.",
    )


def test_volume_of_locality_disabled_without_room_anywhere(ask: Ask) -> None:
    status, shown = ask(
        host(),
        node_document("node-1", disk_status=scheduled(95)),
        pod(),
        claim(gib=20),
        storage_class(dataLocality="disabled"),
    )

    assert status == 1
    assert not has_all(
        shown,
        "0 of 1 nodes: 1 rejected, since no disk anywhere takes a replica",
        "no disk of any Longhorn node takes a replica of a volume of 20 GiB",
        "15.0 GiB short on disk-1: 95.0 of 100.0 GiB are scheduled",
        "most of it: replica vol-db-r-1 95.0 GiB",
        "web: 1 of 1 replicas find no place: no disk has room for one",
        ADD_A_DISK,
    )
    assert "note: no volume of the pod needs" not in shown


def test_a_claim_that_names_no_class_is_of_the_default_one(ask: Ask) -> None:
    """As the API server would have it: in files it may still be open."""
    unnamed, fast = claim(gib=50), storage_class()
    del unnamed["spec"]["storageClassName"]
    fast["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}

    status, shown = ask(host(), node_document("node-1"), pod(), unnamed, fast)

    assert status == 0
    assert not has_all(shown, "web 50.0 GiB, class fast, new volume, 1 replica")


def test_a_claim_of_no_class_has_no_volume(ask: Ask) -> None:
    unnamed = claim()
    unnamed["spec"]["storageClassName"] = ""

    status, shown = ask(host(), node_document("node-1"), pod(), unnamed, storage_class())

    assert status == 3
    assert not has_all(shown, "has no StorageClass and no PersistentVolume; name a StorageClass")


def test_without_longhorns_nodes_nothing_is_said_of_nodes(ask: Ask) -> None:
    """Files may lack them: that is no fact about the cluster."""
    status, shown = ask(host(), pod(), claim(), storage_class())

    assert status == 1
    assert shown.startswith("pod default/web: not judged: none of Longhorn's Nodes is known ")
