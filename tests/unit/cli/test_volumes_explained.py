"""`filter` of a claim or a volume: how it is, what it lacks, and why Longhorn places it nowhere."""

import json
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
from tests.unit.cli.plans import Run, write
from tests.unit.cli.situations import storage_class
from tests.unit.cli.volumes import claim, cluster, not_ready, pod, replica, setting, volume

Asked = Callable[[list[Any], str], dict[str, Any]]
ONE, TWO = replica("1", "a"), replica("2", "b")
AB: dict[str, Any] = {"free": "ab"}
FAILED_AT = "2026-01-02T00:00:00Z"
FAILED = replica("2", "d", failedAt=FAILED_AT)
NOT_BEGUN = replica("2", "b", healthyAt="")
BEGUN = NOT_BEGUN | {"status": {"started": True}}
CLOSED = node_document("a", spec={"allowScheduling": False}, disk_status={"diskUUID": "uuid-a"})
STRICT: dict[str, Any] = {"dataLocality": "strict-local", "numberOfReplicas": 1}


def lacking(**fields: Any) -> dict[str, Any]:
    """Build the volume with one replica too few."""
    return volume(on="a", robustness="degraded", **fields)


FAILED_ONCE = lacking(degraded_at=FAILED_AT)


def apart(what: str, is_soft: str, zones: str = "xx", **spec: Any) -> list[Any]:
    """Build a cluster of two nodes in zones, with one setting of anti-affinity."""
    nodes = [
        node_document(node, status={"zone": zone}, disk_status={"diskUUID": f"uuid-{node}"})
        for node, zone in zip("ab", zones, strict=True)
    ]
    return cluster(
        lacking(**spec), ONE, setting(f"replica-{what}soft-anti-affinity", is_soft), nodes=nodes
    )


def offline(value: str, own: str) -> list[Any]:
    of = setting("offline-replica-rebuilding", value)
    return cluster(volume(offlineRebuilding=own), ONE, of, **AB)


def shard(name: str, on: str = "", state: str = "normal") -> dict[str, Any]:
    placed = {"nodeID": on, "diskUUID": f"uuid-{on}"} if on else {}
    spec = {"shardGroupName": "vol", "size": str(5 * GIB), **placed}
    return document("Shard", f"vol-s-{name}", spec=spec, status={"state": state})


def sharded() -> list[Any]:
    layout = {"type": "sharded", "dataChunks": 2, "parityChunks": 1}
    blocks = [
        node_document(n, disk_spec={"diskType": "block"}, disk_status={"diskUUID": f"uuid-{n}"})
        for n in "abc"
    ]
    return cluster(
        volume(dataEngine="v2", numberOfReplicas=1, dataLayout=layout),
        *(shard("1", "a"), shard("2", "b", state="failed"), shard("3", state="")),
        nodes=blocks,
    )


def under_way(*others: Any, **spec: Any) -> list[Any]:
    return cluster(lacking(**spec), ONE, *others, free="abc")


def said(status: str, free: str) -> list[Any]:
    return cluster(lacking(scheduled={"status": status}), ONE, free=free)


def used(of: dict[str, Any], by: dict[str, Any], *more: Any, free: str = "ab") -> list[Any]:
    """Build a volume that a pod uses, with all its replicas."""
    replicas = [ONE, TWO][: of["spec"]["numberOfReplicas"]]
    return cluster(of, by, *more, *claim(), *replicas, free=free)


def unbound(*documents: Any) -> list[Any]:
    """Build a claim that has no volume yet."""
    requests = {"resources": {"requests": {"storage": "10Gi"}}}
    spec = {"storageClassName": "fast", **requests}
    waiting = core_document("PersistentVolumeClaim", "data", metadata={"uid": "1"}, spec=spec)
    return cluster(waiting, *documents, free="a")


TEXT = "precheck new replica failed: insufficient storage"
NO_ROOM = {"status": "False", "reason": "ReplicaSchedulingFailure", "message": TEXT}
LARGE = {"size": str(95 * GIB), "dataLocality": "disabled", "numberOfReplicas": 1}
ROOM_FOR_ANOTHER = document("Volume", "aaa", spec=LARGE, status={"state": "detached"})
EBS = {"driver": "ebs.csi.aws.com", "volumeHandle": "vol"}
EBS_CLAIM = [claim()[0], core_document("PersistentVolume", "pv", spec={"csi": EBS})]
UPGRADE = upgrade_document("waiting-for-source-im")
UPGRADE_WAITS = upgrade_document("waiting-for-healthy-volumes")

ROWS: dict[str, tuple[str, list[Any]]] = {
    "healthy": ("healthy done nodes:", cluster(volume(on="a"), ONE, TWO, free="abc")),
    "due": ("degraded waits:due next:b/disk-1 "
        "nodes:a=replica_on_node,b=next,c=insufficient_storage,d=node_not_ready",
        cluster(lacking(), ONE, full="c", nodes=[not_ready("d")], **AB)),
    "node-that-two-things-keep-out": ("nodes:a=node_scheduling_disabled,b=next",
        cluster(lacking(), ONE, nodes=[CLOSED], free="b")),
    "node-shared-if-need-be": ("nodes:a=less_preferred,b=next", apart("", "true")),
    "zone-kept-free": ("nodes:a=replica_on_node,b=replica_in_zone", apart("zone-", "false")),
    "other-zone": ("nodes:a=replica_on_node,b=next", apart("zone-", "false", "xy")),
    "disk-kept-free": ("nodes:a=replica_on_disk,b=next",
        apart("disk-", "false", replicaSoftAntiAffinity="enabled")),
    "failed-replica-may-return": ("waits:failed_may_return next:b/disk-1 replicas:stopped,failed",
        cluster(FAILED_ONCE, ONE, FAILED, nodes=[not_ready("d")], **AB)),
    "failed-replica-rebuilt-in-place": ("waits:reuse",
        cluster(FAILED_ONCE, ONE, replica("2", "b", failedAt=FAILED_AT), **AB)),
    "offline-off": ("detached waits:detached open", offline("false", "ignored")),
    "offline-on": ("detached waits:offline open", offline("true", "ignored")),
    "offline-off-for-it": ("detached waits:detached open", offline("true", "disabled")),
    "offline-on-for-it": ("detached waits:offline open", offline("false", "enabled")),
    "offline-by-engine": ("waits:offline", offline('{"v1":"true","v2":"false"}', "ignored")),
    "offline-unreadable": ("waits:detached", offline("perhaps", "ignored")),
    "one-rebuild-at-a-time": ("waits:one_at_a_time", under_way(NOT_BEGUN, numberOfReplicas=3)),
    "rebuilding-off": ("waits:rebuilding_off",
        under_way(setting("concurrent-replica-rebuild-per-node-limit", "0"))),
    "migrating": ("waits:migrating", under_way(replica("2", "a", active=False))),
    "upgrading": ("waits:upgrading", under_way(UPGRADE, dataEngine="v2")),
    "upgrade-waits": ("waits:due", under_way(UPGRADE_WAITS, dataEngine="v2")),
    "upgrade-of-the-other-engine": ("waits:due", under_way(UPGRADE)),
    "rebuild-begun": ("open replicas:stopped,rebuilding", under_way(BEGUN)),
    "rebuild-not-begun": ("open replicas:stopped,rebuilding", under_way(NOT_BEGUN)),
    "never-attached": ("waits:at_attach replicas:not_placed,not_placed",
        cluster(volume(dataLocality="best-effort"), replica("1"), replica("2"), **AB)),
    "local-replica-missing": (
        "waits:local open nodes:a=other_node,b=other_node,c=insufficient_storage",
        cluster(volume(on="c", dataLocality="best-effort"), ONE, TWO, full="c", **AB)),
    "strict-local-detached": ("waits:at_attach nodes:a=other_node,b=next",
        cluster(volume(**STRICT, nodeID=""), replica("1", hardNodeAffinity="b"), **AB)),
    "strict-local-attaching": ("waits:due nodes:a=other_node,b=next",
        cluster(volume(**STRICT, nodeID="b"), replica("1", hardNodeAffinity="b"), **AB)),
    "shards": (
        "replicas:normal,rebuilding,not_placed nodes:a=replica_on_node,b=replica_on_node,c=next",
        sharded()),
    "no-disk-for-any-replica": ("faulted agrees:True",
        cluster(volume(robustness="faulted", scheduled=NO_ROOM), full="ab")),
    "unscheduled-with-room": ("agrees:False", said("False", "ab")),
    "unscheduled-without-room": ("agrees:True", said("False", "a")),
    "scheduled-with-room": ("agrees:True", said("True", "ab")),
    "scheduled-without-room": ("agrees:False", said("True", "a")),
    "time-unreadable": ("nodes:a=not_looked_at,b=not_looked_at",
        cluster(lacking(degraded_at="?"), ONE, **AB)),
    "room-that-others-may-take": ("next:b/disk-1",
        cluster(lacking(), ONE, ROOM_FOR_ANOTHER, free="b", full="a")),
    "pod-on-its-node": ("pods:attached done", used(volume(on="a"), pod(on="a"))),
    "pod-on-another-node": ("pods:attached_elsewhere open", used(volume(on="a"), pod(on="b"))),
    "pod-without-node": ("pods:no_node done", used(volume(), pod())),
    "pod-just-bound": ("pods:on_its_way open", used(volume(), pod(on="b"))),
    "pod-on-unknown-node": ("pods:unknown_node open", used(volume(), pod(on="e"))),
    "pod-of-a-faulted-volume": ("pods:faulted open",
        used(volume(robustness="faulted"), pod(on="b"))),
    "pod-of-a-shared-volume": ("pods:shared done",
        used(volume(on="a", accessMode="rwx"), pod(on="b"))),
    "pod-on-a-node-not-ready": ("pods:node_not_ready open",
        used(volume(), pod(on="b"), not_ready("b"), free="a")),
    "pod-away-from-strict-local": ("pods:strict_local_elsewhere open",
        used(volume(**STRICT), pod(on="c"), free="abc")),
    "pod-that-has-ended": ("pods: done", used(volume(), pod(on="b", phase="Succeeded"))),
    "claim-without-pod": ("not_created open", unbound(storage_class())),
    "claim-of-a-waiting-pod": ("not_created open", unbound(storage_class(), pod())),
    "claim-of-a-pod-with-a-node": ("not_created open", unbound(storage_class(), pod(on="a"))),
    "claim-of-an-immediate-class": ("not_created open", unbound(storage_class("Immediate"))),
    "claim-of-a-broken-class": ("not_created open",
        unbound(storage_class(numberOfReplicas="none"))),
    "claim-of-no-class": ("not_created open", unbound()),
    "storage-of-others": ("other_storage", cluster(*EBS_CLAIM, free="a")),
    "class-of-others": ("other_storage",
        unbound(storage_class() | {"provisioner": "ebs.csi.aws.com"})),
}  # fmt: skip


@pytest.fixture
def asked(called: Run, tmp_path: Path) -> Asked:
    """Return the JSON; it obeys its schema, and the exit status says whether all is done."""

    def found(documents: list[Any], name: str) -> dict[str, Any]:
        file = write(tmp_path / "it.json", *documents)
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


@pytest.mark.parametrize("name", ROWS)
def test_volume_is_explained(asked, shown, name):
    expected, documents = ROWS[name]
    is_claim = any(each["kind"] == "PersistentVolumeClaim" for each in documents)
    subject = "pvc/data" if is_claim else "volume/vol"

    found = asked(documents, subject)
    status, text = shown(f"volumes/{name}", documents, "filter", subject)

    assert facts(found) >= set(expected.split())
    assert status == (0 if found["done"] else 1)
    assert found["answer"] in text


@pytest.mark.parametrize(
    ("minute", "code"), [(9, "failed_may_return"), (10, "due")], ids=["before", "after"]
)
def test_wait_for_a_failed_replica_is_over_after_the_interval(minute, code):
    objects = ClusterObjects()
    for each in cluster(FAILED_ONCE, ONE, FAILED, nodes=[not_ready("d")], **AB):
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
    found = asked(cluster(volume(on="a"), ONE, TWO, *claim(), **AB), name)

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
    file = write(tmp_path / "it.json", *cluster(volume(), *claim(), free="a"))

    status, _, err = called("filter", name, "--cluster-file", file)

    assert (status, err.splitlines()[-1].endswith(text)) == (2, True)


def test_wide_text_names_replicas_and_groups_nodes_by_reason(shown):
    there = cluster(lacking(), ONE, *claim(), pod(on="a"), full="cd", **AB)

    status, text = shown("volumes/wide", there, "filter", "pvc/data", "-o", "wide")

    assert status == 1
    assert "a/disk-1 stopped (vol-r-1)" in text
    assert "c, d: no disk of the Longhorn node has room for a volume of 10 GiB" in text


def test_nodes_limits_what_is_shown_and_takes_names_as_kubectl_does(shown):
    words = ("filter", "volume/vol", "--nodes", "node/b,no/c")

    _, text = shown("volumes/limited", cluster(lacking(), ONE, free="abc"), *words)

    assert "a: it has a replica" not in text
    assert "b, c: Longhorn places the next replica here" in text
