"""`filter` of a claim or a volume: how it is, what it lacks, and why Longhorn places it nowhere."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from app.settings import Settings
from cli.commands import run_command
from cli.explaining.explainer import Explainer
from cli.kube.cluster_objects import ClusterObjects
from cli.names import Named
from cli.schema import schema
from cli.volumes.command import explain_volume
from tests.builders import GIB, core_document, document, node_document, read, upgrade_document
from tests.unit.cli.situations import has_all, storage_class
from tests.unit.cli.volumes import (
    claim,
    cluster,
    not_ready,
    pod,
    replica,
    setting,
    volume,
    write,
)


class Asked:
    """What was printed of a volume."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._path, self._capsys = path, capsys

    def of(self, documents: Sequence[Any], name: str = "volume/vol") -> dict[str, Any]:
        """Return the JSON, which obeys its schema, with the exit status."""
        file = write(self._path, documents)
        status = run_command(["filter", name, "--cluster-file", file, "-o", "json"])
        found: dict[str, Any] = json.loads(self._capsys.readouterr().out)
        jsonschema.validate(found, schema("filter-volume"))
        assert status == (0 if found["done"] else 1)
        return found

    def text(self, documents: Sequence[Any], name: str = "volume/vol", *more: str) -> str:
        """Return the text on one line."""
        run_command(["filter", name, "--cluster-file", write(self._path, documents), *more])
        return " ".join(self._capsys.readouterr().out.split())

    def error(self, documents: Sequence[Any], name: str) -> str:
        """Return what is wrong with the question."""
        assert run_command(["filter", name, "--cluster-file", write(self._path, documents)]) == 2
        return self._capsys.readouterr().err.splitlines()[-1]


@pytest.fixture
def asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Asked:
    return Asked(tmp_path, capsys)


def codes(found: dict[str, Any]) -> dict[str, str]:
    return {each["node"]: each["code"] for each in found["nodes"]}


def test_a_healthy_volume_lacks_nothing(asked: Asked) -> None:
    there = [volume(on="a"), replica("1", "a"), replica("2", "b")]

    found = asked.of(cluster(*there, free=["a", "b", "c"]))

    assert found["answer"] == "healthy: 2 of 2 replicas, attached to a"
    assert (found["done"], found["waiting"], found["nodes"]) == (True, None, [])


def test_a_replica_that_is_due_names_the_node_that_takes_it_and_why_others_do_not(
    asked: Asked,
) -> None:
    there = [volume(on="a", robustness="degraded"), replica("1", "a")]

    found = asked.of(cluster(*there, free=["a", "b"], full=["c"], nodes=[not_ready("d")]))

    assert found["state"] == "degraded"
    assert found["waiting"]["code"] == "due"
    assert found["next"] == ["b/disk-1"]
    assert codes(found) == {
        "a": "replica_on_node",
        "b": "next",
        "c": "insufficient_storage",
        "d": "node_not_ready",
    }
    [short] = [each for each in found["nodes"] if each["node"] == "c"]
    assert "5.0 GiB short on disk-1: 95.0 of 100.0 GiB are scheduled" in short["details"][0]


@pytest.mark.parametrize(
    ("name", "value", "zones", "spec", "expected"),
    [
        ("replica-soft-anti-affinity", "true", "xx", {}, {"a": "less_preferred", "b": "next"}),
        (
            "replica-zone-soft-anti-affinity",
            "false",
            "xx",
            {},
            {"a": "replica_on_node", "b": "replica_in_zone"},
        ),
        (
            "replica-zone-soft-anti-affinity",
            "false",
            "xy",
            {},
            {"a": "replica_on_node", "b": "next"},
        ),
        (
            "replica-disk-soft-anti-affinity",
            "false",
            "xx",
            {"replicaSoftAntiAffinity": "enabled"},
            {"a": "replica_on_disk", "b": "next"},
        ),
    ],
)
def test_a_replica_keeps_others_off_its_node_its_zone_and_its_disk(
    asked: Asked, name: str, value: str, zones: str, spec: Any, expected: dict[str, str]
) -> None:
    there = [volume(on="a", robustness="degraded", **spec), replica("1", "a")]
    nodes = [
        node_document(node, status={"zone": zone}, disk_status={"diskUUID": f"uuid-{node}"})
        for node, zone in zip("ab", zones, strict=True)
    ]

    found = asked.of(cluster(*there, setting(name, value), nodes=nodes))

    assert codes(found) == expected


def test_a_failed_replica_is_waited_for_as_long_as_the_setting_says(asked: Asked) -> None:
    there = [
        volume(on="a", robustness="degraded", degraded_at="2026-01-02T00:00:00Z"),
        replica("1", "a"),
        replica("2", "d", failedAt="2026-01-02T00:00:00Z"),
    ]

    found = asked.of(cluster(*there, free=["a", "b"], nodes=[not_ready("d")]))

    assert found["waiting"]["code"] == "failed_may_return"
    assert found["waiting"]["text"].startswith("until 2026-01-02 00:10:00 UTC")
    assert found["next"] == ["b/disk-1"]
    assert [each["state"] for each in found["replicas"]] == ["stopped", "failed"]
    assert found["replicas"][1]["text"] == (
        "failed since 2026-01-02 00:00:00 UTC, may come back; its node is not ready in Longhorn"
    )


def test_a_failed_replica_whose_disk_is_back_is_rebuilt_in_place(asked: Asked) -> None:
    there = [
        volume(on="a", robustness="degraded", degraded_at="2026-01-02T00:00:00Z"),
        replica("1", "a"),
        replica("2", "b", failedAt="2026-01-02T00:00:00Z"),
    ]

    found = asked.of(cluster(*there, free=["a", "b"]))

    assert found["waiting"]["code"] == "reuse"
    assert found["waiting"]["text"] == "the failed one on b is to be rebuilt in place"


@pytest.mark.parametrize(
    ("value", "own", "code"),
    [
        ("false", "ignored", "detached"),
        ("true", "ignored", "offline"),
        ("true", "disabled", "detached"),
        ("false", "enabled", "offline"),
        ('{"v1":"true","v2":"false"}', "ignored", "offline"),
        ("perhaps", "ignored", "detached"),
    ],
)
def test_a_detached_volume_is_repaired_when_attached_or_offline(
    asked: Asked, value: str, own: str, code: str
) -> None:
    there = [volume(offlineRebuilding=own), replica("1", "a")]

    found = asked.of(cluster(*there, setting("offline-replica-rebuilding", value), free=["a", "b"]))

    assert found["answer"] == "detached: 1 of 2 replicas placed"
    assert found["waiting"]["code"] == code
    assert found["done"] is False


@pytest.mark.parametrize(
    ("others", "more", "code"),
    [
        ([replica("2", "b", healthyAt="")], {"numberOfReplicas": 3}, "one_at_a_time"),
        ([setting("concurrent-replica-rebuild-per-node-limit", "0")], {}, "rebuilding_off"),
        ([replica("2", "a", active=False)], {}, "migrating"),
        ([upgrade_document("waiting-for-source-im")], {"dataEngine": "v2"}, "upgrading"),
        ([upgrade_document("waiting-for-healthy-volumes")], {"dataEngine": "v2"}, "due"),
        ([upgrade_document("waiting-for-source-im")], {}, "due"),
    ],
)
def test_what_is_missing_waits_for_what_is_under_way(
    asked: Asked, others: list[Any], more: dict[str, Any], code: str
) -> None:
    there = [volume(on="a", robustness="degraded", **more), replica("1", "a"), *others]

    found = asked.of(cluster(*there, free=["a", "b", "c"]))

    assert found["waiting"]["code"] == code


@pytest.mark.parametrize(
    ("started", "text"),
    [(True, "being rebuilt"), (False, "to be rebuilt, by 5 at a time on a node")],
)
def test_a_replica_says_whether_its_rebuild_has_begun(
    asked: Asked, started: object, text: str
) -> None:
    rebuilt = replica("2", "b", healthyAt="") | {"status": {"started": started}}
    there = [volume(on="a", robustness="degraded"), replica("1", "a"), rebuilt]

    found = asked.of(cluster(*there, free=["a", "b"]))

    assert found["answer"] == "degraded: 1 of 2 replicas, attached to a; 1 being rebuilt"
    assert found["replicas"][1]["text"] == text
    assert found["done"] is False


def test_a_volume_that_was_never_attached_gets_its_replicas_at_attach(asked: Asked) -> None:
    there = [volume(dataLocality="best-effort"), replica("1"), replica("2")]

    found = asked.of(cluster(*there, free=["a", "b"]))

    assert found["waiting"]["code"] == "at_attach"
    assert [each["state"] for each in found["replicas"]] == ["not_placed", "not_placed"]


def test_a_local_replica_goes_to_the_node_of_its_volume_alone(asked: Asked) -> None:
    there = [
        volume(on="c", dataLocality="best-effort"),
        replica("1", "a"),
        replica("2", "b"),
    ]

    found = asked.of(cluster(*there, free=["a", "b"], full=["c"]))

    assert found["waiting"]["code"] == "local"
    assert codes(found) == {"a": "other_node", "b": "other_node", "c": "insufficient_storage"}
    assert found["done"] is False


@pytest.mark.parametrize(
    ("on", "code"), [("", "at_attach"), ("b", "due")], ids=["detached", "attaching"]
)
def test_a_strict_local_replica_is_placed_when_its_volume_is_to_be_attached(
    asked: Asked, on: str, code: str
) -> None:
    strict: dict[str, Any] = {"dataLocality": "strict-local", "numberOfReplicas": 1}
    there = [volume(**strict, nodeID=on), replica("1", hardNodeAffinity="b")]

    found = asked.of(cluster(*there, free=["a", "b"]))

    assert found["waiting"]["code"] == code
    assert codes(found) == {"a": "other_node", "b": "next"}


def shard(name: str, on: str = "", state: str = "normal") -> dict[str, Any]:
    placed = {"nodeID": on, "diskUUID": f"uuid-{on}"} if on else {}
    spec = {"shardGroupName": "vol", "size": str(5 * GIB), **placed}
    return document("Shard", f"vol-s-{name}", spec=spec, status={"state": state})


def test_shards_are_counted_and_each_has_a_node_of_its_own(asked: Asked) -> None:
    layout = {"type": "sharded", "dataChunks": 2, "parityChunks": 1}
    there = [
        volume(dataEngine="v2", numberOfReplicas=1, dataLayout=layout),
        shard("1", "a"),
        shard("2", "b", state="failed"),
        shard("3", state=""),
    ]
    blocks = [
        node_document(
            name, disk_spec={"diskType": "block"}, disk_status={"diskUUID": f"uuid-{name}"}
        )
        for name in "abc"
    ]

    found = asked.of(cluster(*there, nodes=blocks))

    assert found["answer"] == "detached: 1 of 3 shards placed"
    assert [each["state"] for each in found["replicas"]] == ["normal", "rebuilding", "not_placed"]
    assert codes(found) == {"a": "replica_on_node", "b": "replica_on_node", "c": "next"}


@pytest.mark.parametrize(
    ("minute", "code"), [(9, "failed_may_return"), (10, "due")], ids=["before", "after"]
)
def test_the_wait_for_a_failed_replica_is_over_after_the_interval(minute: int, code: str) -> None:
    objects = ClusterObjects()
    failed = replica("2", "d", failedAt="2026-01-02T00:00:00Z")
    down = [not_ready("d")]
    degraded = volume(on="a", robustness="degraded", degraded_at="2026-01-02T00:00:00Z")
    for each in cluster(degraded, replica("1", "a"), failed, free=["a", "b"], nodes=down):
        objects.add(read(each))
    utc = datetime(2026, 1, 2, 0, minute, 1, tzinfo=UTC)

    explainer = Explainer(objects, Settings(), utc, None)
    found = explain_volume(
        Named.VOLUME, "vol", "default", explainer, explainer.cluster.candidates()
    )

    assert found.waiting is not None
    assert found.waiting.code == code


def test_a_volume_without_any_disk_is_faulted_and_nothing_is_lost(asked: Asked) -> None:
    said = {
        "status": "False",
        "reason": "ReplicaSchedulingFailure",
        "message": "precheck new replica failed: insufficient storage",
    }

    found = asked.of(cluster(volume(robustness="faulted", scheduled=said), full=["a", "b"]))

    assert found["answer"] == (
        "faulted: no disk was found for any of its replicas; nothing is lost"
    )
    assert found["scheduled"]["meaning"] == ["insufficient storage: some disk has too little room"]
    assert found["scheduled"]["agrees"] is True


@pytest.mark.parametrize(
    ("status", "free", "agrees", "text"),
    [
        ("False", ["a", "b"], False, "by the figures known here a replica fits"),
        ("False", ["a"], True, ""),
        ("True", ["a", "b"], True, ""),
        ("True", ["a"], False, "the next replica fits on no disk"),
    ],
)
def test_the_condition_is_held_against_the_figures(
    asked: Asked, status: str, free: list[str], agrees: object, text: str
) -> None:
    there = [
        volume(on="a", robustness="degraded", scheduled={"status": status}),
        replica("1", "a"),
    ]

    found = asked.of(cluster(*there, free=free))

    assert found["scheduled"]["agrees"] is agrees
    assert text in found["scheduled"]["judgement"]


@pytest.mark.parametrize(
    ("documents", "where", "code", "done"),
    [
        ([volume(on="a"), pod(on="a")], ["a", "b"], "attached", True),
        ([volume(on="a"), pod(on="b")], ["a", "b"], "attached_elsewhere", False),
        ([volume(), pod()], ["a", "b"], "no_node", True),
        ([volume(), pod(on="b")], ["a", "b"], "on_its_way", False),
        ([volume(), pod(on="e")], ["a", "b"], "unknown_node", False),
        ([volume(robustness="faulted"), pod(on="b")], ["a", "b"], "faulted", False),
        (
            [volume(on="a", accessMode="rwx"), pod(on="b")],
            ["a", "b"],
            "shared",
            True,
        ),
        ([volume(), pod(on="b"), not_ready("b")], ["a"], "node_not_ready", False),
        (
            [volume(dataLocality="strict-local", numberOfReplicas=1), pod(on="c")],
            ["a", "b", "c"],
            "strict_local_elsewhere",
            False,
        ),
    ],
)
def test_each_pod_says_whether_the_volume_is_on_its_node(
    asked: Asked, documents: list[Any], where: list[str], code: str, done: object
) -> None:
    there = [*documents, *claim(), replica("1", "a")]
    wanted = documents[0]["spec"]["numberOfReplicas"]
    there += [replica("2", "b")] if wanted == 2 else []

    found = asked.of(cluster(*there, free=where), "pvc/data")

    [told] = found["pods"]
    assert (told["code"], found["done"]) == (code, done)


def test_pods_that_have_ended_do_not_count(asked: Asked) -> None:
    there = [volume(), replica("1", "a"), replica("2", "b"), *claim()]

    found = asked.of(cluster(*there, pod(on="b", phase="Succeeded"), free=["a", "b"]), "pvc/data")

    assert found["pods"] == []


@pytest.mark.parametrize(
    "name",
    [
        "pvc/data",
        "pvc/default/data",
        "pv/pv",
        "volume/vol",
        "PVC/data",
        "volumes.longhorn.io/vol",
        "persistentvolumeclaims/data",
    ],
)
def test_a_volume_has_several_names(asked: Asked, name: str) -> None:
    there = [volume(on="a"), replica("1", "a"), replica("2", "b"), *claim()]

    found = asked.of(cluster(*there, free=["a", "b"]), name)

    assert (found["claim"], found["volume"]) == ("default/data", "vol")


def test_names_that_are_not_there_bring_similar_ones(asked: Asked) -> None:
    there = cluster(volume(), *claim(), free=["a"])

    assert asked.error(there, "pvc/dat").endswith(
        "there is no claim default/dat; is default/data meant?"
    )
    assert asked.error(there, "volume/vo").endswith(
        "there is no Longhorn volume vo; did you mean vol?"
    )
    assert asked.error(there, "pv/pw").endswith("there is no PersistentVolume pw; there are pv")


def waiting_claim(**spec: Any) -> dict[str, Any]:
    requested = {"resources": {"requests": {"storage": "10Gi"}}}
    return core_document(
        "PersistentVolumeClaim",
        "data",
        metadata={"uid": "1"},
        spec={"storageClassName": "fast", **requested, **spec},
    )


@pytest.mark.parametrize(
    ("documents", "answer"),
    [
        ([storage_class()], "WaitForFirstConsumer, and no pod uses the claim"),
        ([storage_class(), pod()], "its pod default/web has no node yet"),
        (
            [storage_class(), pod(on="a")],
            "the pod has its node by spec.nodeName, and not by kube-scheduler",
        ),
        ([storage_class("Immediate")], "Longhorn's provisioner is to make it"),
        ([storage_class(numberOfReplicas="none")], "not created yet: "),
        ([], "StorageClass fast"),
    ],
)
def test_a_claim_without_a_volume_says_what_it_waits_for(
    asked: Asked, documents: list[Any], answer: str
) -> None:
    found = asked.of(cluster(waiting_claim(), *documents, free=["a"]), "pvc/data")

    assert found["answer"].startswith("not created yet: ")
    assert answer in found["answer"]
    assert found["state"] == "not_created"
    assert found["done"] is False


def test_longhorn_looks_nowhere_while_it_cannot_read_the_time(asked: Asked) -> None:
    there = [volume(on="a", robustness="degraded", degraded_at="?"), replica("1", "a")]

    found = asked.of(cluster(*there, free=["a", "b"]))

    assert codes(found) == {"a": "not_looked_at", "b": "not_looked_at"}


def test_storage_of_others_is_not_judged(asked: Asked) -> None:
    csi = {"driver": "ebs.csi.aws.com", "volumeHandle": "vol"}
    bound = core_document("PersistentVolumeClaim", "data", spec={"volumeName": "pv"})
    theirs = core_document("PersistentVolume", "pv", spec={"csi": csi})
    other_class = storage_class() | {"provisioner": "ebs.csi.aws.com"}

    found = asked.of(cluster(bound, theirs, free=["a"]), "pvc/data")
    unbound = asked.of(cluster(waiting_claim(), other_class, free=["a"]), "pvc/data")

    assert found["answer"] == "not Longhorn's: its storage driver is ebs.csi.aws.com"
    assert unbound["answer"] == "not Longhorn's: class fast is of ebs.csi.aws.com"


def test_room_that_other_replicas_may_take_first_is_said(asked: Asked) -> None:
    other = document(
        "Volume",
        "aaa",
        spec={"size": str(95 * GIB), "dataLocality": "disabled", "numberOfReplicas": 1},
        status={"state": "detached"},
    )
    there = [volume(on="a", robustness="degraded"), replica("1", "a"), other]

    found = asked.of(cluster(*there, free=["b"], full=["a"]))

    assert found["next"] == ["b/disk-1"]
    assert "beside them 1 of this volume find none" in found["in_the_way"]


def test_the_text_says_the_same_by_node_and_by_reason(asked: Asked) -> None:
    there = [volume(on="a", robustness="degraded"), replica("1", "a"), *claim(), pod(on="a")]

    shown = asked.text(cluster(*there, free=["a", "b"], full=["c", "d"]), "pvc/data", "-o", "wide")

    assert not has_all(
        shown,
        "claim default/data: degraded: 1 of 2 replicas, attached to a; 1 replica is to be placed",
        "a/disk-1 stopped (vol-r-1)",
        "it would go to b/disk-1",
        "b: Longhorn places the next replica here",
        "c, d: no disk of the Longhorn node has room for a volume of 10 GiB",
        "5.0 GiB short on disk-1",
        "pod default/web on a: the volume is attached there",
        "Longhorn says: Scheduled True",
    )


def test_nodes_limits_what_is_shown_and_takes_names_as_kubectl_does(asked: Asked) -> None:
    there = [volume(on="a", robustness="degraded"), replica("1", "a")]

    shown = asked.text(
        cluster(*there, free=["a", "b", "c"]), "volume/vol", "--nodes", "node/b,no/c"
    )

    assert "a: it has a replica" not in shown
    assert "b, c: Longhorn places the next replica here" in shown
