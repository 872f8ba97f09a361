"""What people complained of in public, as small clusters, and the answer that is right.

Each test is named by what was asked; the thread stands above it.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.builders import (
    GIB,
    MANAGER_IMAGE,
    conditions,
    core_document,
    document,
    instance_manager_document,
    node_document,
    setting_documents,
)
from tests.unit.cli.plans import Run
from tests.unit.cli.volumes import claim, pod, replica, setting, volume

Document = dict[str, Any]
DOWN = {"type": "Ready", "status": "False", "reason": "KubernetesNodeNotReady"}
PRESSED = [
    {"type": "Ready", "status": "True"},
    {"type": "Schedulable", "status": "False", "reason": "DiskPressure"},
]
FULL = {"storageScheduled": 95 * GIB, "scheduledReplica": {"other-r-1": 95 * GIB}}
FAILED = {"failedAt": "2026-11-26T10:00:00Z"}
VERSION = ("default-instance-manager-image", MANAGER_IMAGE)


class Told:
    """Runs commands on clusters.

    Attributes:
        status: The exit status of the last one.
    """

    def __init__(self, called: Run, folder: Path) -> None:
        self._called, self._folder, self.status = called, folder, 0

    def __call__(self, documents: Sequence[Document], *command: str) -> str:
        """Return what a command prints, warnings last, as one line."""
        file = self._folder / "cluster.json"
        items = [*setting_documents(), setting(*VERSION), *documents]
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        self.status, out, err = self._called(*command, "--cluster-file", str(file))
        return " ".join([*out.split(), *err.split()])


@pytest.fixture
def told(called: Run, tmp_path: Path) -> Told:
    """Run commands on clusters."""
    return Told(called, tmp_path)


def node(
    name: str,
    disk: Document | None = None,
    *,
    down: bool = False,
    cordoned: bool = False,
    uuid: str = "",
) -> list[Document]:
    """Build a node with its disk, its instance manager and its Kubernetes Node."""
    status = {"conditions": [DOWN, *conditions(Schedulable="True")]} if down else {}
    host = core_document("Node", name, spec={"unschedulable": cordoned})
    del host["metadata"]["namespace"]
    return [
        host,
        node_document(
            name, status=status, disk_status={"diskUUID": uuid or f"uuid-{name}", **(disk or {})}
        ),
        instance_manager_document(name, state="unknown" if down else "running"),
    ]


def nodes(*names: str) -> list[Document]:
    return [each for name in names for each in node(name)]


def attached_by_kubernetes(name: str, on: str) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": name},
        "spec": {
            "attacher": "driver.longhorn.io",
            "nodeName": on,
            "source": {"persistentVolumeName": "pv"},
        },
        "status": {"attached": True},
    }


# longhorn/longhorn#8043: after a hard reboot of the only node all volumes are faulted.
def test_what_keeps_longhorn_from_salvaging_is_a_disk_with_too_much_scheduled(told: Told) -> None:
    listed = {"vol-r-1": 10 * GIB, "vol-r-2": 10 * GIB, "other-r-1": 220 * GIB}
    room = {"storageMaximum": 140 * GIB, "storageScheduled": 240 * GIB}
    full = node("n1", {"conditions": PRESSED, "scheduledReplica": listed, **room})
    never = replica("2", "n1", healthyAt="")
    there = [*full, volume(robustness="faulted"), *claim(), replica("1", "n1", **FAILED), never]

    found = told(there, "filter", "pvc/data")

    assert "faulted" in found
    assert "nothing is lost yet" in found
    assert "delete the replicas on it that never had data (vol-r-2)" in found
    assert "raise `storage-over-provisioning-percentage` to 172 or more" in found
    assert "next replica" not in found
    assert "1 volume of which all replicas with data have failed" in told(there, "survey")

    found = told([*there, pod("web", on="n1")], "filter", "pod/web")
    assert "-> Ask `filter pvc/default/data`, which says what its replicas wait for." in found


# longhorn/longhorn#8043, a variant: one of two replicas is on a node that was deleted.
def test_the_node_with_the_only_replica_that_is_left_may_not_be_lost(told: Told) -> None:
    there = [*nodes("n0", "n2"), volume(), replica("1", "n0"), replica("2", "n1")]

    found = told(there, "survey")

    assert "safe to lose, one at a time: n2 " in found
    assert "with node n0 1 volume would lose all data" in found


# harvester/harvester#3918, longhorn/longhorn#8020: a node was reinstalled with an empty disk.
def test_what_was_on_the_old_disk_of_a_node_is_lost_and_others_start(told: Told) -> None:
    there = [*nodes("n1", "n3"), *node("n2", uuid="another"), *claim(), pod("web")]
    only = [*there, volume(numberOfReplicas=1), replica("1", "n2")]
    three = [*there, volume(numberOfReplicas=3), *(replica(f"{n}", f"n{n}") for n in (1, 2, 3))]

    assert "0 of 3 nodes: 3 rejected, since the data of a volume are gone" in told(
        only, "filter", "web"
    )
    assert "3 of 3 nodes will do" in told(three, "filter", "web")
    assert "1 volume without any replica with data" in told(only, "survey")


# longhorn/longhorn#684, 7542, 4046: the only replica is on the node that is off.
def test_no_node_will_do_before_the_node_with_the_only_replica_is_back(told: Told) -> None:
    there = [*node("n1", down=True), *nodes("n2", "n3"), *claim(), pod("web")]
    found = told([*there, volume(numberOfReplicas=1), replica("1", "n1")], "filter", "web")

    assert "0 of 3 nodes" in found
    assert "can be read before node n1 is back" in found


# longhorn/longhorn#8323: drain of the node of a strict-local volume, which is to be moved.
def test_a_strict_local_replica_is_moved_nowhere(told: Told) -> None:
    there = [
        *node("n1", cordoned=True),
        *nodes("n2"),
        *claim(),
        volume(numberOfReplicas=1, dataLocality="strict-local"),
        replica("1", "n1", evictionRequested=True, hardNodeAffinity="n1"),
    ]

    found = told(there, "filter", "pvc/data")

    assert "a strict-local volume's goes nowhere else" in found
    assert "set the volume's `dataLocality` to `best-effort`" in found
    assert "n2/disk-1" not in found


# longhorn/longhorn#5345, 1985, 6804 and many more: Multi-Attach error, and no pod is left there.
def test_a_volume_is_held_by_a_volume_attachment_of_a_node_without_its_pod(told: Told) -> None:
    there = [
        *nodes("n1", "n2"),
        volume(on="n1"),
        *claim(),
        *(replica(f"{n}", f"n{n}") for n in (1, 2)),
        pod("web", on="n2"),
        attached_by_kubernetes("csi-1", "n1"),
    ]

    for question in ("pvc/data", "pod/web"):
        found = told(there, "filter", question)

        assert "VolumeAttachment csi-1 holds it on n1, where no pod is known that uses it" in found
        assert "kubectl delete volumeattachment csi-1" in found

    assert "pod default/web: it waits on its node for a volume; 2 of 2 nodes" in found
    assert told.status == 1

    found = told(there, "survey")
    assert "1 pod on nodes without the volume that they wait for" in found
    assert "default/web (volume of default/data: VolumeAttachment csi-1 holds it on n1" in found


def test_a_pod_on_a_node_that_is_down_holds_its_volume(told: Told) -> None:
    there = [
        *node("n1", down=True),
        *nodes("n2"),
        volume(on="n1"),
        *claim(),
        *(replica(f"{n}", f"n{n}") for n in (1, 2)),
        pod("old", on="n1"),
        pod("web", on="n2"),
        attached_by_kubernetes("csi-1", "n1"),
    ]

    found = told(there, "filter", "pvc/data")

    assert "attached to node n1, which is down" in found
    assert "pod default/old is on node n1, which is down" in found
    assert "`node-down-pod-deletion-policy`" in found


# longhorn/longhorn#13335: a clone is complete, and its pod hangs.
def test_a_copy_that_waits_to_be_healthy_is_told(told: Told) -> None:
    copy = volume(numberOfReplicas=1)
    copy["status"]["cloneStatus"] = {"state": "copy-completed-awaiting-healthy"}
    there = [*nodes("n1"), copy, *claim(), replica("1", "n1"), pod("web", on="n1")]

    assert "Longhorn waits for the copy to be healthy" in told(there, "filter", "pvc/data")


# longhorn/longhorn#10839: a restore is stuck, and the pod waits.
def test_a_restore_under_way_is_told(told: Told) -> None:
    restored = volume(on="n1", robustness="degraded")
    restored["status"]["restoreRequired"] = True
    ticket = {"type": "volume-restore-controller", "nodeID": "n1"}
    wishes = document(
        "VolumeAttachment", "vol", spec={"volume": "vol", "attachmentTickets": {"a": ticket}}
    )
    there = [*nodes("n1"), restored, *claim(), replica("1", "n1", healthyAt=""), wishes]

    found = told(there, "filter", "pvc/data")

    assert "it is being restored from a backup, and no pod attaches it before that is done" in found


# longhorn/longhorn#12683: how much do the others take when a node is down, and is it enough?
def test_a_plan_that_leaves_a_volume_degraded_does_not_work(told: Told) -> None:
    full = node("n3", FULL)
    there = [*nodes("n1", "n2"), *full, volume(on="n1"), *claim(), pod("web", on="n1")]
    both = [replica("1", "n1"), replica("2", "n2")]

    found = told([*there, *both], "plan", "lose", "n2")

    assert found.startswith("not all of it works: 1 volume degraded")


# A control: before v1.10 Longhorn places all replicas of a best-effort volume anywhere.
def test_before_v1_10_the_one_replica_of_a_best_effort_volume_finds_its_place(told: Told) -> None:
    full = node("n1", FULL)
    new = volume(dataLocality="best-effort", numberOfReplicas=1)
    old = setting("current-longhorn-version", "v1.9.1")
    there = [*full, *nodes("n2"), new, *claim(), pod("web"), old]

    found = told(there, "filter", "web", "--all")

    assert "1 of 2 nodes fit: n2" in found
    assert "find no place" not in found


# The rest are no public threads: an administrator's own odd clusters.
def test_a_faulted_volume_on_a_node_that_is_down_is_no_matter_of_room(told: Told) -> None:
    there = [*nodes("n1"), *node("n2", down=True), *claim(), pod("web")]
    there += [volume(robustness="faulted", numberOfReplicas=1), replica("1", "n2", **FAILED)]

    assert "Bring node n2 back. Then Longhorn salvages it" in told(there, "filter", "pvc/data")
    assert "0 of 2 nodes" in told(there, "filter", "web")
    assert "safe to lose, one at a time: n1 " in told(there, "survey")
    assert "1 volume lost" in told(there, "plan", "lose", "n2")


def test_what_is_lost_now_is_not_moved_away_first(told: Told) -> None:
    there = [*nodes("n1", "n2", "n3"), volume(), *claim(), pod("web")]
    there += [replica("1", "n1", evictionRequested=True), replica("2", "n2")]
    there[1]["spec"] |= {"allowScheduling": False, "evictionRequested": True}

    found = told(there, "plan", "lose", "n1", "n2")

    assert "default/data: its only replicas with data were on n1, n2" in found
    assert "default/data would not be lost once Longhorn has finished what is under way" in found


def test_a_shared_volume_goes_with_its_share_manager(told: Told) -> None:
    there = [*nodes("n1", "n2", "n3"), volume(on="n1", accessMode="rwx"), *claim()]
    there += [replica("1", "n1"), replica("2", "n3"), pod("web", on="n2")]
    manager = pod("share-manager-vol", on="n1", of="none")
    manager["metadata"] |= {"ownerReferences": [{"kind": "ShareManager", "controller": True}]}
    manager["spec"] |= {"nodeSelector": {"serves": "yes"}, "volumes": []}
    there[6]["metadata"]["labels"] = there[0]["metadata"]["labels"] = {"serves": "yes"}

    found = told([*there, manager], "plan", "drain", "n1")

    assert "moved default/share-manager-vol from n1 to n3" in found
    assert "rebuilt" not in found


def test_one_replica_is_all_that_a_strict_local_volume_has(told: Told) -> None:
    there = [*nodes("n1", "n2"), *claim(), replica("1", "n1", hardNodeAffinity="n1")]
    there += [volume(on="n1", numberOfReplicas=1, dataLocality="strict-local")]

    assert "of locality strict-local" in told(there, "survey")


def test_a_disk_of_which_more_is_reserved_than_it_has_is_told_so(told: Told) -> None:
    there = node("n1", {"storageMaximum": 200 * GIB})
    there[1]["spec"]["disks"]["disk-1"]["storageReserved"] = 250 * GIB

    found = told(there, "survey")

    assert "disk n1/disk-1 has 250.0 GiB reserved, and 200.0 GiB in all" in found
    assert "Lower `storageReserved`" in found
    assert "%" not in found


def test_a_pod_that_waited_before_a_step_does_not_count_against_it(told: Told) -> None:
    there = [*node("n1", FULL), *node("n2", FULL), *claim(), pod("web")]
    there += [volume(dataLocality="strict-local", numberOfReplicas=1)]

    found = told(there, "plan", "cordon", "n2")
    without = told(there, "plan", "cordon", "n2", "--ignore-waiting")

    assert found.startswith("all of it works: 1 pod waits as before")
    assert found.index("1. cordon n2") < found.index("what waits already, before all else")
    assert without.startswith("all of it works: nothing moves")


OLD, NEW = {"failedAt": "2026-10-01T10:00:00Z"}, {"failedAt": "2026-11-26T10:00:00Z"}


@pytest.mark.parametrize("newest", [{}, NEW], ids=["has-not-failed", "failed-last"])
def test_an_older_failed_replica_does_not_make_up_for_the_newest_one(
    told: Told, newest: Document
) -> None:
    there = [*nodes("n1", "n2", "n3"), volume(), *claim(), pod("web")]
    there += [replica("1", "n1", **newest), replica("2", "n2", **OLD)]

    assert "1 volume lost" in told(there, "plan", "lose", "n1")
    assert "safe to lose, one at a time: n2, n3 " in told(there, "survey")


def test_that_the_node_with_the_newest_data_must_come_back_is_told_and_not_to_use_older_ones(
    told: Told,
) -> None:
    there = [*node("n1", down=True), *nodes("n2"), volume(robustness="faulted"), *claim()]
    there += [replica("1", "n1", **NEW), replica("2", "n2", **OLD)]

    found = told(there, "filter", "pvc/data")

    assert "Bring node n1 back. What n2/disk-1 has is older: do not salvage that." in found


def test_what_is_lost_with_a_node_that_is_gone_is_told_before_older_data_are_salvaged(
    told: Told,
) -> None:
    there = [*nodes("n2"), volume(), *claim()]
    there += [replica("1", "n1"), replica("2", "n2", **OLD)]

    found = told(there, "filter", "pvc/data")

    assert "node n1 is gone, and only failed replicas are left (n2/disk-1)" in found
    assert "salvages n2/disk-1, with its data until 2026-10-01 10:00:00 UTC" in found


def test_where_the_second_replica_is_on_a_node_that_is_down_a_plan_does_not_work(
    told: Told,
) -> None:
    there = [*node("n1"), *node("n2", down=True), *nodes("n3"), volume(), *claim(), pod("web")]
    there += [replica("1", "n1"), replica("2", "n2")]

    found = told(there, "plan", "lose", "n1")

    assert found.startswith("not all of it works: 1 volume degraded")
    assert "cannot be read before node n2 is back" in found


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="no-pod-is-known"),
        pytest.param([pod("web", on="n1") | {"spec": "?"}], id="a-pod-cannot-be-read"),
        pytest.param([pod("web", on="n1")], id="its-pod-is-there"),
    ],
)
def test_a_volume_attachment_is_not_called_left_over_where_a_pod_may_use_it(
    told: Told, pods: list[Document]
) -> None:
    there = [*nodes("n1", "n2"), volume(on="n1"), *claim(), replica("1", "n1"), replica("2", "n2")]

    ticket = {"type": "csi-attacher", "nodeID": "n1"}
    wishes = document(
        "VolumeAttachment", "vol", spec={"volume": "vol", "attachmentTickets": {"a": ticket}}
    )
    there += [wishes, attached_by_kubernetes("csi-1", "n1")]

    found = told([*there, *pods], "filter", "pvc/data")

    assert "delete volumeattachment" not in found
    assert "ticket" not in found


def test_a_node_that_longhorn_does_not_know_is_not_called_down(told: Told) -> None:
    there = [*nodes("n2"), volume(on="n2"), *claim(), replica("1", "n2"), pod("web", on="n1")]

    found = told([*there, attached_by_kubernetes("csi-1", "n1")], "filter", "pvc/data")

    assert "which is down" not in found


def test_no_replica_that_has_some_data_is_to_be_deleted(told: Told) -> None:
    listed = {"vol-r-1": 10 * GIB, "vol-r-2": 10 * GIB, "other-r-1": 220 * GIB}
    room = {"storageMaximum": 140 * GIB, "storageScheduled": 240 * GIB}
    full = node("n1", {"conditions": PRESSED, "scheduledReplica": listed, **room})
    some = replica("2", "n1", healthyAt="", lastHealthyAt="2026-01-01T00:00:00Z")
    there = [*full, volume(robustness="faulted"), *claim(), replica("1", "n1", **FAILED), some]

    found = told(there, "filter", "pvc/data")

    assert "delete the replicas" not in found
    assert "raise `storage-over-provisioning-percentage` to 172" in found


def test_replicas_that_run_are_read_whatever_lagging_conditions_say(told: Told) -> None:
    odd = [*conditions(Ready="False", Schedulable="True")]
    there = [*node("n1", {"conditions": odd}), *nodes("n2"), volume(on="n2"), *claim()]
    there += [replica("1", "n1"), replica("2", "n2")]
    for each in there[-2:]:
        each["status"] = {"currentState": "running", "started": True}

    assert "healthy: 2 of 2 replicas" in told(there, "filter", "pvc/data")
    assert "nothing can read now" not in told(there, "survey")


def test_a_replica_that_is_being_deleted_makes_no_volume_lost(told: Told) -> None:
    going = replica("1", "n1")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert "is lost here" not in told([*nodes("n1"), volume(), going], "survey")


def test_a_new_volume_of_which_all_replicas_failed_is_to_be_made_again(told: Told) -> None:
    there = [*nodes("n1", "n2"), volume(robustness="faulted"), *claim(), pod("web")]
    there += [replica(f"{n}", f"n{n}", healthyAt="", **FAILED) for n in (1, 2)]

    assert "0 of 2 nodes" in told(there, "filter", "web")
    assert "Delete the claim, and make it again." in told(there, "filter", "pvc/data")


def test_a_node_that_cannot_be_read_stops_no_answer(told: Told) -> None:
    broken = node_document("n1", status={"conditions": "?"})
    there = [broken, volume(numberOfReplicas=1), *claim(), replica("1", "n1"), pod("web")]

    assert "web" in told(there, "filter", "web")


# longhorn/longhorn#12683: four nodes with auto-balance; how are their disks made evenly full?
def test_moves_empty_the_fullest_disk_or_are_said_to_be_no_help(told: Told) -> None:
    held = (
        replica("1", "n1", volumeSize=str(60 * GIB)),
        replica("2", "n2", volumeSize=str(60 * GIB)),
    )
    of = volume(on="n1", size=str(60 * GIB), replicaAutoBalance="best-effort")
    full = [
        node(name, {"scheduledReplica": {f"vol-r-{name[1]}": 60 * GIB, "o": 30 * GIB},
                    "storageScheduled": 90 * GIB}) for name in ("n1", "n2")
    ]  # fmt: skip
    there = [*claim(), of, *held, *full[0], *full[1]]

    found = told(there, "plan", "rebalance", "--below", "80")
    assert told.status == 1
    assert "Disk disk-1 on n1 stays 90 % full: of its replicas 1 with no better disk" in found
    assert "all disks together are 90 % full, so that no moves bring each to 80 %; add" in found

    found = told([*there, *node("n3"), *node("n4")], "plan", "rebalance", "--below", "80")
    assert told.status == 0
    assert "move default/data from n1/disk-1 to n3/disk-1, copies 60.0 GiB, its size" in found
    assert '{"numberOfReplicas":3,"diskSelector":["rebalance"],"replicaAutoBalance":"dis' in found
    assert '"replicaAutoBalance":"best-effort"' in found
    assert "copies 120.0 GiB in all: 60.0 to n3, 60.0 to n4" in found
