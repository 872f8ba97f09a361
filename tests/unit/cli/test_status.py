"""What `status` shows: a line for each part, as bad as what other commands find of it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.config import NAME, OWN_NAMESPACE
from app.settings import Settings
from cli.doctor.facts import ConfigMapSeen, InstanceSeen, LeaseSeen, SchedulerSeen, Unread
from cli.explaining.answering import Seen
from cli.explaining.explainer import Explainer
from cli.findings import Finding
from cli.kube.cluster_objects import ClusterObjects
from cli.status.status import status_of
from tests.builders import core_document, disk, node, node_document
from tests.unit.cli.live import put
from tests.unit.cli.plans import ROOT, Run
from tests.unit.cli.situations import storage_class
from tests.unit.cli.volumes import claim, cluster, not_ready, pod, replica, volume, write

Line = Callable[..., dict[str, Any]]
GOLDEN = Path(__file__).parent / "golden"
WHOLE = [volume(on="a"), replica("1", "a", currentState=""), replica("2", "b")]
NODES = {"free": ("a", "b")}


def attached(**status: Any) -> dict[str, Any]:
    found = volume(on="a")
    return {**found, "status": {**found["status"], **status}}


@pytest.fixture
def line(called: Run, tmp_path: Path) -> Line:
    """Return one line of the status of a cluster."""

    def shown(check: str, *documents: Any, **nodes: Any) -> dict[str, Any]:
        file = write(tmp_path, cluster(*documents, **{**NODES, **nodes}))
        _, out, _ = called("status", "--cluster-file", file, "-o", "json")
        [found] = [each for each in json.loads(out)["lines"] if each["check"] == check]
        return dict(found)

    return shown


def test_the_screen_of_an_example(called):
    words = ("status", "--cluster-file", str(ROOT / "examples" / "rich"), "-q")

    status, out, _ = called(*words)

    assert (status, out.splitlines()[0]) == (
        1,
        "5 things need attention: nodes, disks, volumes, pods, other risks",
    )
    assert out == (GOLDEN / "status-table.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("state", "severity", "text", "about", "command"),
    [
        pytest.param([*WHOLE, *claim()], "ok", "1: 1 healthy", [], [], id="healthy"),
        pytest.param([volume()], "ok", "1: 1 detached", [], [], id="new"),
        pytest.param([volume(), *WHOLE[1:]], "ok", "1: 1 detached", [], [], id="detached"),
        pytest.param([attached(restoreRequired=True), *WHOLE[1:]], "ok",
            "1: 1 being restored or copied", [], [], id="restored"),
        pytest.param([attached(restoreRequired=True, isStandby=True), *WHOLE[1:]], "ok",
            "1: 1 healthy", [], [], id="standby"),
        pytest.param([attached(cloneStatus={"state": "in-progress"}), *WHOLE[1:]], "ok",
            "1: 1 being restored or copied", [], [], id="copied"),
        pytest.param([*WHOLE[:2], *claim()], "warning", "1: 1 degraded",
            ["degraded default/data (1 of 2)"], ["`filter pvc/default/data`"], id="degraded"),
        pytest.param([volume(), replica("1", "a", failedAt="2026-11-26T10:00:00Z")], "error",
            "1: 1 faulted", ["faulted vol"], ["`filter volume/vol`"], id="faulted"),
        pytest.param([volume(), replica("1", "gone")], "error", "1: 1 lost", ["lost vol"],
            ["`filter volume/vol`"], id="lost"),
        pytest.param([volume(metadata={}), replica("1", "c")], "error", "1: 1 unreadable",
            ["unreadable vol (before disk c/disk-1 is ready)"], ["`filter volume/vol`"],
            id="unreadable"),
    ],
)  # fmt: skip
def test_each_state_of_volumes_is_counted_once(line, state, severity, text, about, command):
    away = {"conditions": [{"type": "Ready", "status": "False"}], "diskUUID": "uuid-c"}
    found = line("volumes", *state, nodes=[node_document("c", disk_status=away)])

    assert (found["severity"], found["text"]) == (severity, text)
    assert (found["objects"], found["remedies"]) == (about, command)


def test_nodes_that_take_nothing_are_named_with_the_reason(line):
    closed = node_document("c", disk_spec={"allowScheduling": False})

    found = line("nodes", nodes=[not_ready("b"), closed], free=("a",))

    assert (found["severity"], found["text"]) == ("warning", "1 of 3 take replicas")
    assert found["objects"] == [
        "b (Longhorn node is not ready)",
        "c (none of its disks does)",
    ]
    assert found["remedies"] == ["`filter node/b`"]


def test_disks_are_named_with_what_is_wrong(line):
    closed = node_document("c", disk_spec={"allowScheduling": False})

    found = line("disks", full=("b",), free=("a",), nodes=[closed])

    assert (found["severity"], found["text"]) == (
        "warning",
        "2 of 3 take replicas; 95.0 of 300.0 GiB scheduled",
    )
    assert found["objects"] == ["b/disk-1 (near limit)", "c/disk-1 (scheduling is disabled)"]
    assert found["remedies"] == ["`filter node/b`"]


@pytest.mark.parametrize(
    ("documents", "severity", "text", "commands"),
    [
        pytest.param([pod(of="gone")], "warning", "1 waiting for a node, 1 not to be judged",
            ["`filter`", "`filter pod/default/web`"], id="without-a-claim"),
        pytest.param([*WHOLE, *claim(), pod()], "info", "1 waiting for a node", [], id="fits"),
        pytest.param([*WHOLE, *claim(), pod(on="a")], "ok", "0 waiting for a node", [], id="none"),
        pytest.param([storage_class(dataLocality="strict-local"), core_document(
            "PersistentVolumeClaim", "data", spec={"storageClassName": "fast", "resources": {
                "requests": {"storage": "1Ti"}}}), pod()],
            "error", "1 waiting for a node, 1 fitting nowhere",
            ["`filter`", "`filter pod/default/web`"], id="fits-nowhere"),
        pytest.param([], "unknown", "no pod is known", ["`filter`"], id="not-known"),
    ],
)  # fmt: skip
def test_pods_that_wait(line, documents, severity, text, commands):
    found = line("pods", *documents)

    assert (found["severity"], found["text"]) == (severity, text)
    assert found["remedies"] == (commands if severity != "unknown" else [])


def test_pods_on_nodes_without_their_volume(line):
    attachment = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": "csi-1"},
        "spec": {"nodeName": "a", "source": {"persistentVolumeName": "pv"}},
    }

    found = line("held", *WHOLE, *claim(), attachment, pod("new", "b", phase="Pending"))

    assert (found["severity"], found["remedies"]) == ("warning", ["`filter pod/default/new`"])
    about = "default/new (volume of default/data: VolumeAttachment csi-1 holds it on a"
    assert found["objects"][0].startswith(about)


@pytest.mark.parametrize(
    ("documents", "text"),
    [
        (WHOLE, "no eviction, no expansion"),
        ([attached(expansionRequired=True), *WHOLE[1:]], "1 volume being expanded"),
        ([volume(on="a", size=str(2**40)), *WHOLE[1:]], "1 volume being expanded"),
        ([*WHOLE[:2], replica("2", "b", evictionRequested=True)], "1 replica to be moved away"),
    ],
    ids=["nothing", "the-engine", "the-replicas", "eviction"],
)  # fmt: skip
def test_what_is_under_way_needs_no_attention(line, documents, text):
    found = line("under way", *documents)

    assert found["text"] == text
    assert found["severity"] in ("ok", "info")


AT = datetime(2026, 1, 1, tzinfo=UTC)
LEADS = LeaseSeen(holder="extender-0_1", renewed=AT)
SECRET = Unread(what="get the Lease", why="403")
OFF = ConfigMapSeen(name=NAME, data={"scheduler-extender-enabled": "false"})
RUNS = SchedulerSeen(pods=[InstanceSeen(name="s-0")])


def extender(**seen: Any) -> Finding:
    objects = ClusterObjects()
    objects.add(node("a", disk()))
    explainer = Explainer(objects, Settings(), None, None)
    found = status_of(explainer, Seen(namespace=OWN_NAMESPACE, at=AT, **seen))
    return found.lines[0]


@pytest.mark.parametrize(
    ("seen", "severity", "text"),
    [
        ({}, "ok", "not installed"),
        ({"lease": LEADS}, "ok", "pod extender-0 leads; no second scheduler"),
        ({"lease": LEADS, "scheduler": RUNS}, "ok",
            "pod extender-0 leads; the second scheduler runs"),
        ({"lease": LeaseSeen()}, "error",
            f"no instance leads: nobody holds Lease {NAME} in {OWN_NAMESPACE}"),
        ({"lease": LeaseSeen(holder="x", renewed=AT - timedelta(hours=1))}, "error",
            f"no instance leads: Lease {NAME} in {OWN_NAMESPACE} was last renewed at "
            "2025-12-31 23:00:00 UTC"),
        ({"lease": LEADS, "scheduler": SchedulerSeen()}, "error",
            "the second scheduler does not run: no pod of Deployment longhorn-scheduler in "
            f"{OWN_NAMESPACE} is ready"),
        ({"scheduler": RUNS}, "error",
            f"no instance leads: there is no Lease {NAME} in {OWN_NAMESPACE}"),
        ({"lease": SECRET, "scheduler": RUNS}, "unknown", "not known: you cannot get the Lease"),
        ({"scheduler": SECRET}, "unknown", "not known: you cannot get the Lease"),
        ({"config_map": OFF}, "error", "no instance leads: scheduler-extender-enabled is false in "
            f"the ConfigMap {NAME}"),
        ({"elsewhere": ["shop"]}, "unknown", f"not in {OWN_NAMESPACE}; it is in shop: "
            "EXTENDER_NAMESPACE says where to look"),
    ],
)  # fmt: skip
def test_whether_the_extender_answers(seen, severity, text):
    found = extender(**seen)

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
