"""What `status` shows: a line for each part, as bad as what other commands find of it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.config import NAME, OWN_NAMESPACE
from app.settings import Settings
from cli.doctor.facts import ConfigMapSeen, InstanceSeen, LeaseSeen, SchedulerSeen, Unread
from cli.explaining.answering import Seen
from cli.explaining.explainer import Explainer
from cli.kube.cluster_objects import ClusterObjects
from cli.status.status import status_of
from tests.builders import conditions, core_document, disk, node, node_document
from tests.unit.cli.live import put
from tests.unit.cli.plans import ROOT, write
from tests.unit.cli.situations import storage_class
from tests.unit.cli.volumes import (
    attached_by_kubernetes,
    claim,
    cluster,
    not_ready,
    pod,
    replica,
    volume,
)

WHOLE = [volume(on="a"), replica("1", "a", currentState=""), replica("2", "b")]


def attached(**status: Any) -> dict[str, Any]:
    found = volume(on="a")
    return {**found, "status": {**found["status"], **status}}


def test_the_screen_of_an_example(called, golden):
    status, out, _ = called("status", "--cluster-file", str(ROOT / "examples" / "rich"), "-q")

    first = "5 things need attention: nodes, disks, volumes, pods, other risks"
    assert (status, out.splitlines()[0]) == (1, first)
    golden("status-table", out)


AWAY = {"conditions": conditions(Ready="False"), "diskUUID": "uuid-c"}
CLOSED = node_document("c", disk_spec={"allowScheduling": False})
FAILED, MOVING = {"failedAt": "2026-11-26T10:00:00Z"}, {"evictionRequested": True}
REQUEST = {"storageClassName": "fast", "resources": {"requests": {"storage": "1Ti"}}}
STRICT = storage_class(dataLocality="strict-local")
LARGE = core_document("PersistentVolumeClaim", "data", spec=REQUEST)
ASKED = "`filter` `filter pod/default/web`"
ROWS: dict[str, dict[str, tuple[str, list[Any], dict[str, Any]]]] = {
    "volumes": {
        "healthy": ("ok 1: 1 healthy", [*WHOLE, *claim()], {}),
        "new": ("ok 1: 1 detached", [volume()], {}),
        "detached": ("ok 1: 1 detached", [volume(), *WHOLE[1:]], {}),
        "restored": ("ok 1: 1 being restored or copied",
            [attached(restoreRequired=True), *WHOLE[1:]], {}),
        "standby": ("ok 1: 1 healthy",
            [attached(restoreRequired=True, isStandby=True), *WHOLE[1:]], {}),
        "copied": ("ok 1: 1 being restored or copied",
            [attached(cloneStatus={"state": "in-progress"}), *WHOLE[1:]], {}),
        "degraded": ("warning 1: 1 degraded | degraded default/data (1 of 2) | "
            "`filter pvc/default/data`", [*WHOLE[:2], *claim()], {}),
        "faulted": ("error 1: 1 faulted | faulted vol | `filter volume/vol`",
            [volume(), replica("1", "a", **FAILED)], {}),
        "lost": ("error 1: 1 lost | lost vol | `filter volume/vol`",
            [volume(), replica("1", "gone")], {}),
        "unreadable": ("error 1: 1 unreadable | unreadable vol (before disk c/disk-1 is ready) | "
            "`filter volume/vol`", [volume(metadata={}), replica("1", "c")],
            {"nodes": [node_document("c", disk_status=AWAY)]}),
    },
    "nodes": {
        "closed": ("warning 1 of 3 take replicas | b (Longhorn node is not ready); "
            "c (none of its disks does) | `filter node/b`", [],
            {"nodes": [not_ready("b"), CLOSED], "free": ("a",)}),
    },
    "disks": {
        "closed": ("warning 2 of 3 take replicas; 95.0 of 300.0 GiB scheduled | "
            "b/disk-1 (near limit); c/disk-1 (scheduling is disabled) | `filter node/b`", [],
            {"full": ("b",), "free": ("a",), "nodes": [CLOSED]}),
    },
    "pods": {
        "without-a-claim": ("warning 1 waiting for a node, 1 not to be judged | default/web "
            "(PersistentVolumeClaim default/gone is not in it.json; create it, or if the cluster "
            "has it: kubectl get --all-namespaces -o json persistentvolumeclaims > more.json, then "
            f"add --also more.json) | {ASKED}", [pod(of="gone")], {}),
        "fits": ("info 1 waiting for a node", [*WHOLE, *claim(), pod()], {}),
        "none": ("ok 0 waiting for a node", [*WHOLE, *claim(), pod(on="a")], {}),
        "fits-nowhere": ("error 1 waiting for a node, 1 fitting nowhere | default/web (0 of 2 "
            f"nodes: 2 without room on one disk) | {ASKED}", [STRICT, LARGE, pod()], {}),
        "not-known": ("unknown no pod is known", [], {}),
    },
    "under way": {
        "nothing": ("ok no eviction, no expansion", WHOLE, {}),
        "the-engine": ("info 1 volume being expanded | vol to 10.0 GiB",
            [attached(expansionRequired=True), *WHOLE[1:]], {}),
        "the-replicas": ("info 1 volume being expanded | vol to 1024.0 GiB",
            [volume(on="a", size=str(2**40)), *WHOLE[1:]], {}),
        "eviction": ("info 1 replica to be moved away | vol on b",
            [*WHOLE[:2], replica("2", "b", **MOVING)], {}),
    },
    "held": {
        "elsewhere": ("warning 1 pod on nodes without the volume that they wait for | default/new "
            "(volume of default/data: VolumeAttachment csi-1 holds it on a, where no pod is known "
            "that uses it) | `filter pod/default/new`", [*WHOLE, *claim(),
            attached_by_kubernetes("csi-1", "a"), pod("new", "b", phase="Pending")], {}),
    },
}  # fmt: skip
"""By the part: how it is, its objects, and what to ask; what there is, and which nodes."""


@pytest.mark.parametrize(("check", "row"), [(check, row) for check in ROWS for row in ROWS[check]])
def test_a_part_is_as_bad_as_what_is_found_of_it(called, tmp_path, monkeypatch, check, row):
    expected, documents, nodes = ROWS[check][row]
    monkeypatch.chdir(tmp_path)
    file = write(Path("it.json"), *cluster(*documents, **{"free": ("a", "b"), **nodes}))

    _, out, _ = called("status", "--cluster-file", file, "-o", "json")

    [found] = [each for each in json.loads(out)["lines"] if each["check"] == check]
    parts = [f"{found['severity']} {found['text']}"]
    parts += ["; ".join(found["objects"]), " ".join(found["remedies"])]
    assert " | ".join(filter(None, parts)) == expected


AT = datetime(2026, 1, 1, tzinfo=UTC)
LEADS = LeaseSeen(holder="extender-0_1", renewed=AT)
SECRET = Unread(what="get the Lease", why="403")
OFF = ConfigMapSeen(name=NAME, data={"scheduler-extender-enabled": "false"})
RUNS = SchedulerSeen(pods=[InstanceSeen(name="s-0")])


NONE_LEADS = "no instance leads: "
IN_OURS = f"{NAME} in {OWN_NAMESPACE}"
OLD = LeaseSeen(holder="x", renewed=AT - timedelta(hours=1))
SEEN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "nothing": ("ok", "not installed", {}),
    "leader": ("ok", "pod extender-0 leads; no second scheduler", {"lease": LEADS}),
    "leader-and-scheduler": ("ok", "pod extender-0 leads; the second scheduler runs",
        {"lease": LEADS, "scheduler": RUNS}),
    "lease-free":
        ("error", f"{NONE_LEADS}nobody holds Lease {IN_OURS}", {"lease": LeaseSeen()}),
    "lease-old": ("error", f"{NONE_LEADS}Lease {IN_OURS} was last renewed at 2025-12-31 23:00:00 "
        "UTC", {"lease": OLD}),
    "scheduler-without-pod": ("error", "the second scheduler does not run: no pod of Deployment "
        f"longhorn-scheduler in {OWN_NAMESPACE} is ready",
        {"lease": LEADS, "scheduler": SchedulerSeen()}),
    "scheduler-alone":
        ("error", f"{NONE_LEADS}there is no Lease {IN_OURS}", {"scheduler": RUNS}),
    "lease-unread": ("unknown", "not known: you cannot get the Lease",
        {"lease": SECRET, "scheduler": RUNS}),
    "scheduler-unread":
        ("unknown", "not known: you cannot get the Lease", {"scheduler": SECRET}),
    "extender-off": ("error", f"{NONE_LEADS}scheduler-extender-enabled is false in the ConfigMap "
        f"{NAME}", {"config_map": OFF}),
    "extender-elsewhere": ("unknown", f"not in {OWN_NAMESPACE}; it is in shop: EXTENDER_NAMESPACE "
        "says where to look", {"elsewhere": ["shop"]}),
}  # fmt: skip


@pytest.mark.parametrize(("severity", "text", "seen"), SEEN.values(), ids=SEEN)
def test_whether_the_extender_answers(severity, text, seen):
    objects = ClusterObjects()
    objects.add(node("a", disk()))
    explainer = Explainer(objects, Settings(), None, None)

    found = status_of(explainer, Seen(namespace=OWN_NAMESPACE, at=AT, **seen)).lines[0]

    assert (found.check, found.severity, found.text) == ("extender", severity, text)
    assert [*found.remedies] == (["`doctor`"] if severity in ("error", "unknown") else [])


@pytest.mark.parametrize("more", [(), ("--watch", "--timeout", "0")], ids=["once", "watched"])
def test_a_live_cluster_without_the_extender_may_be_well(server, config, called, more):
    whole = {"kind": "Pod", **pod(on="a", phase="Running")}
    put(server, [*cluster(*WHOLE, *claim(), free=("a", "b")), whole])

    status, out, _ = called("status", "--kubeconfig", config, *more)

    first, second = out.splitlines()[:2]
    assert (status, first) == (0, "all is well")
    assert second.split(maxsplit=2) == ["ok", "extender", "not installed"]
