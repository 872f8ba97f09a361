"""What people complained of in public, as small clusters, and the answer that is right.

Each row is named by what was asked; the thread stands above it. It has a cluster, and what must be
in the answers to some commands, or not be there (`!...`); golden files have all of the answers.
"""

import json
from collections.abc import Mapping, Sequence
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
from tests.unit.cli.plans import write
from tests.unit.cli.volumes import attached_by_kubernetes, claim, pod, replica, setting, volume

Document = dict[str, Any]
DOWN = {"type": "Ready", "status": "False", "reason": "KubernetesNodeNotReady"}
PRESSED = [
    {"type": "Ready", "status": "True"},
    {"type": "Schedulable", "status": "False", "reason": "DiskPressure"},
]
FULL = {"storageScheduled": 95 * GIB, "scheduledReplica": {"other-r-1": 95 * GIB}}
FAILED = {"failedAt": "2026-11-26T10:00:00Z"}
VERSION = ("default-instance-manager-image", MANAGER_IMAGE)


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


def with_status(built: Document, **status: Any) -> Document:
    return {**built, "status": {**built["status"], **status}}


def wanted_by(kind: str) -> Document:
    """Build Longhorn's VolumeAttachment with one ticket, for n1."""
    tickets = {"a": {"type": kind, "nodeID": "n1"}}
    return document("VolumeAttachment", "vol", spec={"volume": "vol", "attachmentTickets": tickets})


def over_limit(second: Document) -> list[Document]:
    """Build a node whose disk has more scheduled than Longhorn salvages on, and two replicas."""
    listed = {"vol-r-1": 10 * GIB, "vol-r-2": 10 * GIB, "other-r-1": 220 * GIB}
    room = {"storageMaximum": 140 * GIB, "storageScheduled": 240 * GIB}
    full = node("n1", {"conditions": PRESSED, "scheduledReplica": listed, **room})
    there = [*full, volume(robustness="faulted"), *claim(), replica("1", "n1", **FAILED)]
    return [*there, second]


def closed(name: str) -> list[Document]:
    """Build a node that is to take no replicas, and to lose those that it has."""
    found = nodes(name)
    found[1]["spec"] |= {"allowScheduling": False, "evictionRequested": True}
    return found


def share_manager() -> Document:
    found = pod("share-manager-vol", on="n1", of="none")
    found["metadata"] |= {"ownerReferences": [{"kind": "ShareManager", "controller": True}]}
    found["spec"] |= {"nodeSelector": {"serves": "yes"}, "volumes": []}
    return found


def serving(name: str) -> list[Document]:
    host, *rest = node(name)
    return [{**host, "metadata": {**host["metadata"], "labels": {"serves": "yes"}}}, *rest]


def reserved(gib: int) -> list[Document]:
    found = node("n1", {"storageMaximum": 200 * GIB})
    found[1]["spec"]["disks"]["disk-1"]["storageReserved"] = gib * GIB
    return found


def going(built: Document) -> Document:
    metadata = {**built["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    return {**built, "metadata": metadata}


DATA, WEB = claim(), pod("web")
BOTH, TWO = [replica("1", "n1"), replica("2", "n2")], nodes("n1", "n2")
ONE: Document = {"numberOfReplicas": 1}
BEST_EFFORT, STRICT = ONE | {"dataLocality": "best-effort"}, ONE | {"dataLocality": "strict-local"}
ON_N1 = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
EXCLUDING = claim()
EXCLUDING[1]["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [ON_N1]}}
SMALL = {"conditions": PRESSED, "storageAvailable": 20 * GIB - 1}
HELD = [volume(on="n1"), *DATA, *BOTH]
MULTI_ATTACHED = [*TWO, *HELD, pod("web", on="n2"), attached_by_kubernetes("csi-1", "n1")]
DOWN_1 = node("n1", down=True)
REINSTALLED = [*nodes("n1", "n3"), *node("n2", uuid="another"), *DATA, WEB]
OLD, NEW = {"failedAt": "2026-10-01T10:00:00Z"}, {"failedAt": "2026-11-26T10:00:00Z"}
AGED = [*nodes("n1", "n2", "n3"), volume(), *DATA, WEB, replica("2", "n2", **OLD)]
CSI = [wanted_by("csi-attacher"), attached_by_kubernetes("csi-1", "n1")]
RUNNING = {"currentState": "running", "started": True}
LAGGING = [*conditions(Ready="False", Schedulable="True")]
CLAIM, POD, SURVEY = "filter pvc/data", "filter pod/web", "survey"
NOT_CALLED_LEFT_OVER = {CLAIM: ["!delete volumeattachment", "!ticket"]}
OF_NODE_1 = "VolumeAttachment csi-1 holds it on n1, where no pod is known that uses it"
ROWS: dict[str, tuple[Sequence[Document], Mapping[str, Sequence[str]]]] = {
    # longhorn/longhorn#8043: after a hard reboot of the only node all volumes are faulted.
    "disk-over-its-limit-keeps-longhorn-from-salvaging": (
        [*over_limit(replica("2", "n1", healthyAt="")), pod("web", on="n1")], {
        CLAIM: ["nothing is lost yet", "delete the replicas on it that never had data (vol-r-2)",
            "raise `storage-over-provisioning-percentage` to 172 or more", "!next replica"],
        SURVEY: ["1 volume of which all replicas with data have failed"],
        POD: ["-> Ask `filter pvc/default/data`, which says what its replicas wait for."]}),
    # longhorn/longhorn#8043, a variant: one of two replicas is on a node that was deleted.
    "node-with-the-only-replica-left": (
        [*nodes("n0", "n2"), volume(), replica("1", "n0"), replica("2", "n1")], {
        SURVEY: ["safe to lose, one at a time: n2 ",
            "with node n0 1 volume would lose all data"]}),
    # harvester/harvester#3918, longhorn/longhorn#8020: a node was reinstalled with an empty disk.
    "disk-emptied-under-the-only-replica": ([*REINSTALLED, volume(**ONE), replica("1", "n2")], {
        POD: ["0 of 3 nodes: 3 rejected, since the data of a volume are gone"],
        SURVEY: ["1 volume without any replica with data"]}),
    "disk-emptied-under-one-of-three": ([*REINSTALLED, volume(numberOfReplicas=3),
        *(replica(f"{n}", f"n{n}") for n in (1, 2, 3))], {POD: ["3 of 3 nodes will do"]}),
    # longhorn/longhorn#684, 7542, 4046: the only replica is on the node that is off.
    "node-with-the-only-replica-off": (
        [*DOWN_1, *nodes("n2", "n3"), *DATA, WEB, volume(**ONE), replica("1", "n1")], {
        POD: ["0 of 3 nodes", "can be read before node n1 is back"]}),
    # longhorn/longhorn#8323: drain of the node of a strict-local volume, which is to be moved.
    "strict-local-replica-to-be-moved": ([*node("n1", cordoned=True), *nodes("n2"), *DATA,
        volume(**STRICT), replica("1", "n1", evictionRequested=True, hardNodeAffinity="n1")], {
        CLAIM: ["a strict-local volume's goes nowhere else",
            "set the volume's `dataLocality` to `best-effort`", "!n2/disk-1"]}),
    # longhorn/longhorn#5345, 1985, 6804 and many more: Multi-Attach error, and no pod is left.
    "volume-held-by-an-attachment-without-pod": (MULTI_ATTACHED, {
        CLAIM: [OF_NODE_1, "kubectl delete volumeattachment csi-1"],
        POD: [OF_NODE_1, "kubectl delete volumeattachment csi-1",
            "pod default/web: it waits on its node for a volume; 2 of 2 nodes"],
        SURVEY: ["1 pod on nodes without the volume that they wait for",
            "default/web (volume of default/data: VolumeAttachment csi-1 holds it on n1"]}),
    "volume-held-by-a-pod-on-a-node-down": ([*DOWN_1, *nodes("n2"), *HELD, pod("old", on="n1"),
        pod("web", on="n2"), attached_by_kubernetes("csi-1", "n1")], {
        CLAIM: ["attached to node n1, which is down", "`node-down-pod-deletion-policy`",
            "pod default/old is on node n1, which is down"]}),
    # longhorn/longhorn#13335: a clone is complete, and its pod hangs.
    "copy-that-waits-to-be-healthy": ([*nodes("n1"), *DATA, replica("1", "n1"), with_status(
        volume(**ONE), cloneStatus={"state": "copy-completed-awaiting-healthy"}),
        pod("web", on="n1")], {CLAIM: ["Longhorn waits for the copy to be healthy"]}),
    # longhorn/longhorn#10839: a restore is stuck, and the pod waits.
    "restore-under-way": ([*nodes("n1"), *DATA, replica("1", "n1", healthyAt=""), with_status(
        volume(on="n1", robustness="degraded"), restoreRequired=True),
        wanted_by("volume-restore-controller")], {CLAIM: [
        "it is being restored from a backup, and no pod attaches it before that is done"]}),
    # longhorn/longhorn#12683: how much do the others take when a node is down, and is it enough?
    "plan-that-leaves-a-volume-degraded": ([*TWO, *node("n3", FULL), *HELD, pod("web", on="n1")], {
        "plan lose n2": ["not all of it works: 1 volume degraded"]}),
    # A control: before v1.10 Longhorn places all replicas of a best-effort volume anywhere.
    "best-effort-before-v1-10": ([*node("n1", FULL), *nodes("n2"), volume(**BEST_EFFORT), *DATA,
        WEB, setting("current-longhorn-version", "v1.9.1")], {
        f"{POD} --all": ["1 of 2 nodes fit: n2", "!find no place"]}),
    # longhorn/longhorn#11941: no node has the only replica and is allowed by the claim's volume.
    "strict-local-replica-where-the-claim-excludes-it": ([*TWO, *EXCLUDING, volume(**STRICT),
        replica("1", "n2"), WEB], {
        POD: ["its replica on n2, and PersistentVolume pv allows n1: no node will do",
            "-> Set the volume's `dataLocality` to `best-effort`"],
        CLAIM: ["held: it is strict-local with its replica on n2"]}),
    # longhorn/longhorn#2826, 3072: a pod is on a node without Longhorn.
    "pod-on-a-node-without-longhorn": ([*nodes("n4"), nodes("n2")[0], *DATA, volume(**ONE),
        replica("1", "n4"), pod(on="n2")], {
        POD: ["it waits on its node for a volume; 1 of 2 nodes would fit",
            "no Longhorn node of this name",
            "-> Have longhorn-manager and its CSI plugin run on that node"]}),
    # longhorn/longhorn#8008, 8842, 3423, 951, 3120, 2165: a disk is full of snapshots.
    "disk-full-of-snapshots": ([*node("n1", SMALL), *DATA, BOTH[0],
        with_status(volume(**ONE), actualSize=61 * GIB)], {
        "filter node/n1": ["more than its size: snapshots",
            "delete snapshots of what holds most (default/data 61.0 GiB)"],
        SURVEY: ["most is default/data"]}),
    # The rest are no public threads: an administrator's own odd clusters.
    # Room is no matter where a replica is already.
    "replica-on-a-full-disk": ([*node("n1", FULL), *node("n2", FULL), *closed("n3"), *DATA, *BOTH,
        pod(on="n1", phase="Running"),
        volume(on="n1", robustness="degraded", numberOfReplicas=3)], {
        "filter volume/vol": ["n1, n2: it has a replica of the volume n3: scheduling is disabled",
            "!node n1"]}),
    "volume-faulted-on-a-node-down": ([*nodes("n1"), *node("n2", down=True), *DATA, WEB,
        volume(robustness="faulted", **ONE), replica("1", "n2", **FAILED)], {
        CLAIM: ["Bring node n2 back. Then Longhorn salvages it"], POD: ["0 of 2 nodes"],
        SURVEY: ["safe to lose, one at a time: n1 "], "plan lose n2": ["1 volume lost"]}),
    "replica-lost-before-it-is-moved": ([*closed("n1"), *nodes("n2", "n3"), volume(), *DATA, WEB,
        replica("1", "n1", evictionRequested=True), BOTH[1]], {"plan lose n1 n2": [
        "default/data: its only replicas with data were on n1, n2",
        "default/data would not be lost once Longhorn has finished what is under way"]}),
    "volume-shared": ([*serving("n1"), *nodes("n2"), *serving("n3"), *DATA, BOTH[0],
        volume(on="n1", accessMode="rwx"), replica("2", "n3"), pod("web", on="n2"),
        share_manager()], {"plan drain n1": [
        "moved default/share-manager-vol from n1 to n3", "!rebuilt"]}),
    "volume-strict-local-of-one-replica": ([*TWO, *DATA, volume(on="n1", **STRICT),
        replica("1", "n1", hardNodeAffinity="n1")], {SURVEY: ["of locality strict-local"]}),
    "disk-with-more-reserved-than-it-has": (reserved(250), {SURVEY: [
        "disk n1/disk-1 has 250.0 GiB reserved, and 200.0 GiB in all",
        "Lower `storageReserved`", "!%"]}),
    "pod-that-waited-before": ([*node("n1", FULL), *node("n2", FULL), *DATA, WEB,
        volume(**STRICT)], {
        "plan cordon n2": ["all of it works: 1 pod waits as before",
            "what waits already, before all else"],
        "plan cordon n2 --ignore-waiting": ["all of it works: nothing moves"]}),
    "replica-failed-long-ago-beside-a-healthy-one": ([*AGED, BOTH[0]], {
        "plan lose n1": ["1 volume lost"], SURVEY: ["safe to lose, one at a time: n2, n3 "]}),
    "replica-failed-long-ago-beside-one-failed-last": ([*AGED, replica("1", "n1", **NEW)], {
        "plan lose n1": ["1 volume lost"], SURVEY: ["safe to lose, one at a time: n2, n3 "]}),
    "node-with-the-newest-data-down": ([*DOWN_1, *nodes("n2"), volume(robustness="faulted"), *DATA,
        replica("1", "n1", **NEW), replica("2", "n2", **OLD)], {
        CLAIM: ["Bring node n1 back. What n2/disk-1 has is older: do not salvage that."]}),
    "node-with-the-newest-data-gone": (
        [*nodes("n2"), volume(), *DATA, BOTH[0], replica("2", "n2", **OLD)], {
        CLAIM: ["node n1 is gone, and only failed replicas are left (n2/disk-1)",
            "salvages n2/disk-1, with its data until 2026-10-01 10:00:00 UTC"]}),
    "replica-second-on-a-node-down": (
        [*node("n1"), *node("n2", down=True), *nodes("n3"), volume(), *DATA, WEB, *BOTH], {
        "plan lose n1": ["not all of it works: 1 volume degraded",
            "cannot be read before node n2 is back"]}),
    "attachment-where-no-pod-is-known": ([*TWO, *HELD, *CSI], NOT_CALLED_LEFT_OVER),
    "attachment-where-a-pod-is-unreadable": (
        [*TWO, *HELD, *CSI, pod("web", on="n1") | {"spec": "?"}], NOT_CALLED_LEFT_OVER),
    "attachment-where-its-pod-is": (
        [*TWO, *HELD, *CSI, pod("web", on="n1")], NOT_CALLED_LEFT_OVER),
    "node-that-longhorn-does-not-know": ([*nodes("n2"), volume(on="n2"), *DATA, BOTH[0],
        pod("web", on="n1"), CSI[1]], {CLAIM: ["!which is down"]}),
    "replica-with-some-data": (
        over_limit(replica("2", "n1", healthyAt="", lastHealthyAt="2026-01-01T00:00:00Z")), {
        CLAIM: ["!delete the replicas", "raise `storage-over-provisioning-percentage` to 172"]}),
    "replicas-running-on-a-disk-that-lags": ([*node("n1", {"conditions": LAGGING}), *nodes("n2"),
        volume(on="n2"), *DATA, *({**each, "status": RUNNING} for each in BOTH)], {
        CLAIM: ["healthy: 2 of 2 replicas"], SURVEY: ["!nothing can read now"]}),
    "replica-being-deleted":
        ([*nodes("n1"), volume(), going(BOTH[0])], {SURVEY: ["!is lost here"]}),
    "volume-new-of-which-all-replicas-failed": ([*TWO, volume(robustness="faulted"), *DATA, WEB,
        *(replica(f"{n}", f"n{n}", healthyAt="", **FAILED) for n in (1, 2))], {
        POD: ["0 of 2 nodes"], CLAIM: ["Delete the claim, and make it again."]}),
    "node-unreadable": ([node_document("n1", status={"conditions": "?"}), volume(**ONE), *DATA,
        BOTH[0], WEB], {POD: ["web"]}),
}  # fmt: skip


# longhorn/longhorn#12683: nodes with auto-balance; how are their disks made evenly full?
SIZE_GIB, EVEN = 60, "plan rebalance --below 80"
EQUAL = [
    *DATA,
    volume(on="n1", size=str(SIZE_GIB * GIB), replicaAutoBalance="best-effort"),
    *(replica(each, f"n{each}", volumeSize=str(SIZE_GIB * GIB)) for each in ("1", "2")),
    *(each for name in ("n1", "n2") for each in node(name, {
        "scheduledReplica": {f"vol-r-{name[1]}": SIZE_GIB * GIB, "o": 30 * GIB},
        "storageScheduled": 90 * GIB})),
]  # fmt: skip
ROWS |= {
    "disks-that-no-move-makes-even": (EQUAL, {
        EVEN: ["Disk disk-1 on n1 stays 90 % full: of its replicas 1 with no better disk",
            "all disks together are 90 % full, so that no moves bring each to 80 %; add"]}),
    "disks-made-even": ([*EQUAL, *node("n3"), *node("n4")], {
        EVEN: ["move default/data from n1/disk-1 to n3/disk-1, copies 60.0 GiB, its size",
            '{"numberOfReplicas":3,"diskSelector":["rebalance"],"replicaAutoBalance":"dis',
            '"replicaAutoBalance":"best-effort"',
            "copies 120.0 GiB in all: 60.0 to n3, 60.0 to n4"]}),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_cluster_has_the_right_answer(called, golden, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    documents, questions = ROWS[name]
    file = write(Path("cluster.json"), *setting_documents(), setting(*VERSION), *documents)
    text = ""

    for question, facts in questions.items():
        status, out, err = called(*question.split(), "--cluster-file", file)
        text += f"$ {question}  # {status}\n{out}\n"
        told = " ".join([*out.split(), *err.split()])
        for fact in facts:
            assert (fact.removeprefix("!") in told) is not fact.startswith("!"), fact

    golden(f"complaints-of-people/{name}", text)


def test_programs_get_codes_and_figures_for_it(called, tmp_path):
    """A text may change, and what a program reads may not."""

    def asked(row: str, *command: str) -> Any:
        file = write(tmp_path / "cluster.json", *ROWS[row][0])
        return json.loads(called(*command, "--cluster-file", file, "-o", "json")[1])

    cut_off = "strict-local-replica-where-the-claim-excludes-it"
    assert "strict_local_cut_off" in codes(asked(cut_off, "filter", "pod/web"))
    assert asked(cut_off, "filter", "pvc/data")["done"] is False
    elsewhere = asked("pod-on-a-node-without-longhorn", "filter", "pod/web")
    assert "not_attachable" in codes(elsewhere)
    [disk] = asked("disk-full-of-snapshots", "filter", "node/n1")["disks"]
    [content] = disk["figures"]["contents"]
    assert (content["name"], content["written_bytes"]) == ("default/data", 61 * GIB)
    assert content["note"] == "more than its size: snapshots"
    full = asked("replica-on-a-full-disk", "filter", "volume/vol")
    texts = {each["node"]: each["text"] for each in full["nodes"]}
    assert texts["n1"] == texts["n2"] == "it has a replica of the volume"


def codes(answer: Mapping[str, Any]) -> list[str]:
    return [each["code"] for each in answer["notes"]]
