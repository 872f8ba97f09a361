"""Objects as they stand in JSON become records; what is broken is named and never guessed."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.errors import BrokenObjectError
from app.kube.longhorn.resources import NODES
from app.kube.records import read_item
from app.kube.resource import AnyRecord
from app.kube.resources import PERSISTENT_VOLUMES
from cli.kube.decoding import read_object
from cli.kube.pods import Pod
from cli.kube.resources import IN_FILES, PLACED, PLANNED
from extender import PodRef
from extender.kubernetes import ClaimKey, NodeTerm, PersistentVolume, PodStatus, Requirement
from longhorn import Condition, Locality, Node, NodeName, Setting, Unreadable
from planner.records import KubernetesNode, Wishes
from tests.builders import (
    GIB,
    backing_image,
    bare_class,
    claim,
    conditions,
    core_document,
    disk,
    document,
    node,
    node_document,
    read,
    read_as_unreadable,
    replica,
    shard,
    volume,
)
from tests.effort import examples

THEN = "2026-08-20T09:10:12Z"
DELETED = {"deletionTimestamp": THEN}
NOTHING = replica("r", of="", on="", size_bytes=0, active=False, healthy_once=False)
"""A replica of which nothing is known counts for nothing."""
SHARD = {"shardGroupName": "vol", "slotIndex": 3}
PLACED_SHARD = SHARD | {"nodeID": "node-2", "diskUUID": "uuid-disk-1", "size": str(5 * GIB)}


def volume_with(**spec: Any) -> dict[str, Any]:
    return document("Volume", "vol", spec=spec)


def replica_with(**spec: Any) -> dict[str, Any]:
    return document("Replica", "r", spec=spec)


def claim_with(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return core_document("PersistentVolumeClaim", "data", metadata=metadata or {}, spec=spec)


def class_document(**fields: Any) -> dict[str, Any]:
    return core_document("StorageClass", **fields) | {"apiVersion": "storage.k8s.io/v1"}


RECORDS: dict[str, tuple[dict[str, Any], AnyRecord]] = {
    "node": (
        node_document(
            "node-1",
            spec={"tags": ["storage"]},
            status={"zone": "a", "region": "r"},
            disk_spec={"tags": ["ssd"], "storageReserved": 5},
            disk_status={
                "storageMaximum": 100,
                "storageAvailable": 90,
                "storageScheduled": 35,
                "scheduledReplica": {"a": 10, "b": 20},
                "scheduledBackingImage": {"image": 5},
            },
        ),
        node(
            "node-1",
            disk(
                tags=["ssd"],
                reserved_bytes=5,
                maximum_bytes=100,
                available_bytes=90,
                listed={"a": 10, "b": 20},
                listed_images={"image": 5},
            ),
            zone="a",
            region="r",
            tags=["storage"],
        ),
    ),
    "disk-of-no-type": (node_document(disk_spec={"diskType": ""}), node()),
    "block-disk": (
        node_document(disk_spec={"diskType": "block"}),
        node("node-1", disk(type_="block")),
    ),
    "volume": (
        document(
            "Volume",
            "vol",
            spec={
                "size": "21474836480",
                "dataLocality": "strict-local",
                "dataEngine": "v2",
                "nodeSelector": ["storage"],
                "diskSelector": ["ssd"],
                "accessMode": "rwo",
                "backingImage": "image",
                "topologyRequirement": [{"zone": "a"}, {"region": "r", "zone": None}],
                "numberOfReplicas": 3,
                "nodeID": "node-1",
            },
            status={
                "actualSize": 42,
                "state": "attached",
                "currentNodeID": "node-2",
                "robustness": "healthy",
            },
        ),
        volume(
            size_bytes=20 * GIB,
            actual_bytes=42,
            locality=Locality.STRICT_LOCAL,
            disk_type="block",
            node_selector=["storage"],
            disk_selector=["ssd"],
            backing_image="image",
            topology=[("a", ""), ("", "r")],
            replicas=3,
            node="node-1",
            attached_to="node-2",
            healthy=True,
        ),
    ),
    "replica": (
        document(
            "Replica",
            "vol-r-1",
            spec={
                "volumeName": "vol",
                "volumeSize": "10737418240",
                "nodeID": "node-1",
                "diskID": "uuid-disk-1",
                "hardNodeAffinity": "",
                "healthyAt": THEN,
                "failedAt": "",
                "active": True,
                "evictionRequested": False,
                "rebuildRetryCount": 3,
            },
            status={"started": True},
        ),
        replica(started=True, rebuild_retries=3),
    ),
    "failed-replica": (
        replica_with(failedAt=THEN),
        replace(NOTHING, failed=True, failed_at=datetime(2026, 8, 20, 9, 10, 12, tzinfo=UTC)),
    ),
    "evicted-replica": (replica_with(evictionRequested=True), replace(NOTHING, evicting=True)),
    "pinned-replica": (
        replica_with(hardNodeAffinity="node-2"),
        replace(NOTHING, hard_node_affinity=NodeName("node-2")),
    ),
    "running-shard": (
        document("Shard", "vol-3", spec=PLACED_SHARD, status={"state": "normal"}),
        replace(shard("vol-3", on="node-2"), started=True),
    ),
    "unplaced-shard": (
        document("Shard", "vol-3", spec=SHARD | {"nodeID": "", "diskUUID": "", "size": "0"}),
        replace(shard("vol-3", on=""), healthy_once=False),
    ),
    "failed-shard": (  # its disk is its own until it is rebuilt there or gone
        document("Shard", "vol-3", spec=PLACED_SHARD, status={"state": "failed"}),
        replace(shard("vol-3", on="node-2"), healthy_once=False),
    ),
    "backing-image": (
        document(
            "BackingImage",
            "image",
            spec={"nodeSelector": ["a"], "diskSelector": ["b"], "dataEngine": "v2"},
            status={"realSize": 402653184, "size": 7, "virtualSize": 2 * GIB},
        ),
        backing_image(
            size_bytes=402653184,
            virtual_bytes=2 * GIB,
            engine="v2",
            node_selector=["a"],
            disk_selector=["b"],
        ),
    ),
    "setting": (
        document("Setting", "s", value="100", novelty=[{}]),
        Setting(name="s", value="100"),
    ),
    "bound-claim": (
        claim_with(
            {"namespace": None},
            volumeName="pv",
            storageClassName="local",
            accessModes=["ReadWriteMany"],
            resources={"requests": {"storage": "10Gi"}},
        ),
        claim(uid="", persistent_volume="pv", read_write_many=True),
    ),
    "csi-volume": (
        core_document("PersistentVolume", "p", spec={"csi": {"driver": "d", "volumeHandle": "h"}}),
        PersistentVolume(name="p", driver="d", volume_handle="h", retained=True),
    ),
    "nfs-volume": (
        core_document("PersistentVolume", "p", spec={"nfs": {"server": "s"}}),
        PersistentVolume(name="p", driver=None, volume_handle=None, retained=True),
    ),
    "storage-class": (
        class_document(provisioner="d", parameters={"numberOfReplicas": "1", "dataLocality": None}),
        bare_class("it", provisioner="d", parameters={"numberOfReplicas": "1", "dataLocality": ""}),
    ),
    "kubernetes-node": (core_document("Node", "node-1"), KubernetesNode(name=NodeName("node-1"))),
    "pod": (
        core_document(
            "Pod",
            "web-0",
            metadata={"uid": "1234", "resourceVersion": "77", "namespace": "shop"},
            spec={
                "volumes": [
                    {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}},
                    {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                    {"name": "config", "configMap": {"name": "web"}},
                    {"name": "again", "persistentVolumeClaim": {"claimName": "data-web-0"}},
                    {"name": "nameless", "persistentVolumeClaim": {}},
                ]
            },
        ),
        Pod(
            ref=PodRef(
                namespace="shop",
                name="web-0",
                uid="1234",
                claims=tuple(map(ClaimKey, ("shop/data-web-0", "shop/web-0-scratch", "shop/"))),
            ),
            status=PodStatus(version=77),
            wishes=Wishes(),
            ephemeral=(ClaimKey("shop/web-0-scratch"),),
        ),
    ),
}


@pytest.mark.parametrize(("written", "expected"), RECORDS.values(), ids=RECORDS)
def test_object_becomes_its_record(written, expected):
    assert read(written) == expected


CLONE = {"cloneMode": "linked-clone"}
LINKED, COPIED = {"linked_to": "other", "copying": False}, {"linked_to": None, "copying": True}
UNCLONED = {"linked_to": None, "copying": False}
LEGACY, DEFAULT = "longhorn.io/legacy-linked-clone", "storageclass.kubernetes.io/is-default-class"
OLD_DEFAULT = "storageclass.beta.kubernetes.io/is-default-class"
SHARDED = {"type": "sharded", "dataChunks": 4, "parityChunks": 2, "stripSizeKB": 64}
TEAM = {"namespace": "team"}
CLAIM = {"kind": "PersistentVolumeClaim"}
SNAPSHOT = {"kind": "VolumeSnapshot", "name": "o", "apiGroup": "snapshot.storage.k8s.io"}
EMPTY, RESTORED = {"copy_of": None, "is_restored": False}, {"copy_of": None, "is_restored": True}
OWNERS = [{"kind": "App", "uid": "1"}, {"kind": "Pod", "uid": "2", "controller": True}]


def labelled(labels: dict[str, str] | None) -> dict[str, Any]:
    return document("Volume", "v", metadata={"labels": labels}, spec={})


def asking(storage: object) -> dict[str, Any]:
    return claim_with(resources={"requests": {"storage": storage}})


def annotated(annotations: dict[str, Any] | None) -> dict[str, Any]:
    return class_document(metadata={"annotations": annotations})


FIELDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # An object, and some of the fields that its record has.
    "node-unknown": (
        document("Node", "node-1"),
        {"ready": Condition(), "schedulable": Condition(), "allow_scheduling": False, "disks": ()},
    ),
    "replica-size-as-a-number": (replica_with(volumeSize=7), {"size_bytes": 7}),
    "replica-linked": (replica_with(linkedCloneSrcReplicaName="o-r-1"), {"source": "o-r-1"}),
    "replica-linked-not-yet": (replica_with(linkedCloneSrcReplicaName=""), {"source": None}),
    "replica-linked-null": (replica_with(linkedCloneSrcReplicaName=None), {"source": None}),
    "replica-of-old-longhorn": (replica_with(), {"source": None}),
    "volume-linked-to-a-volume": (volume_with(dataSource="vol://other", **CLONE), LINKED),
    "volume-linked-to-a-snapshot": (volume_with(dataSource="snap://other/s", **CLONE), LINKED),
    "volume-copied": (volume_with(dataSource="snap://other/s", cloneMode="full-copy"), COPIED),
    "volume-copied-by-default": (volume_with(dataSource="vol://other"), COPIED),
    "volume-linked-to-nothing": (volume_with(dataSource="", **CLONE), UNCLONED),
    "volume-linked-to-no-source": (volume_with(**CLONE), UNCLONED),
    "volume-linked-to-a-bucket": (volume_with(dataSource="s3://bucket/x", **CLONE), UNCLONED),
    "legacy-clone": (labelled({LEGACY: "true"}), {"is_frozen": True}),
    "legacy-clone-denied": (labelled({LEGACY: "false"}), {"is_frozen": False}),
    "legacy-clone-unlabelled": (labelled({}), {"is_frozen": False}),
    "legacy-clone-null": (labelled(None), {"is_frozen": False}),
    "volume-of-nothing": (volume_with(), {"needs_local_replica": False}),
    "volume-of-the-largest-size": (volume_with(size=str(2**63 - 1)), {"size_bytes": 2**63 - 1}),
    "volume-rwx": (volume_with(accessMode="rwx"), {"shared": True}),
    "volume-rwx-migratable": (volume_with(accessMode="rwx", migratable=True), {"shared": False}),
    "volume-rwo": (volume_with(accessMode="rwo"), {"shared": False}),
    "volume-standby": (volume_with(Standby=True), {"standby": True}),
    "volume-standby-small": (volume_with(standby=True), {"standby": False}),  # not Longhorn's word
    "volume-standby-by-status": (document("Volume", status={"isStandby": True}), {"standby": True}),
    "volume-sharded": (volume_with(dataLayout={"type": "sharded"}), {"sharded": True}),
    "volume-replicated": (volume_with(dataLayout={"type": "replicated"}), {"sharded": False}),
    "volume-sharded-size": (
        volume_with(dataLayout=SHARDED, size=str(10 * GIB)),
        {"wanted_replicas": 6, "shard_bytes": 2847932416},
    ),
    "volume-sharded-elsewhere": (
        volume_with(dataLayout=SHARDED, nodeSelector=["x"], replicaSoftAntiAffinity="enabled"),
        {"node_selector": (), "soft_anti_affinity": False},
    ),
    "volume-local": (volume_with(dataLocality="best-effort"), {"locality": Locality.BEST_EFFORT}),
    "volume-anywhere": (volume_with(dataLocality="disabled"), {"locality": Locality.DISABLED}),
    "volume-of-no-locality": (volume_with(dataLocality=""), {"locality": Locality.DISABLED}),
    "volume-of-v1": (volume_with(dataEngine="v1"), {"disk_type": "filesystem"}),
    "volume-of-no-engine": (volume_with(dataEngine=""), {"disk_type": "filesystem"}),
    "claim-of-a-copy": (
        claim_with(TEAM, dataSource=CLAIM | {"name": "other"}),
        {"copy_of": "team/other", "is_restored": False},
    ),
    "claim-of-a-snapshot": (claim_with(TEAM, dataSource=SNAPSHOT), RESTORED),
    "claim-of-a-nameless-source": (claim_with(TEAM, dataSource=CLAIM), RESTORED),
    "claim-of-an-empty-source": (claim_with(TEAM, dataSource={}), EMPTY),
    "claim-of-no-source": (claim_with(TEAM, dataSource=None), EMPTY),
    "claim-of-a-controller": (claim_with({"ownerReferences": OWNERS}), {"controller": "2"}),
    "claim-of-a-block-device": (claim_with(volumeMode="Block"), {"is_block": True}),
    "claim-read-only": (claim_with(accessModes=["ReadOnlyMany"]), {"read_only_many": True}),
    "claim-size": (asking("10Gi"), {"requested_bytes": 10 * GIB}),
    "claim-size-as-a-number": (asking(1024), {"requested_bytes": 1024}),
    "claim-size-rounded-up": (asking(1.5), {"requested_bytes": 2}),
    "claim-size-null": (asking(None), {"requested_bytes": 0}),
    "class-unannotated": (annotated(None), {"is_default": False}),
    "class-annotated-null": (annotated({DEFAULT: None}), {"is_default": False}),
    "class-that-is-not-the-default": (annotated({DEFAULT: "false"}), {"is_default": False}),
    "class-that-is-the-default": (annotated({DEFAULT: "true"}), {"is_default": True}),
    "class-that-is-it-by-the-old-name": (annotated({OLD_DEFAULT: "true"}), {"is_default": True}),
    "claim-deleted": (claim_with(DELETED), {"deleting": True}),
    "volume-deleted": (document("Volume", metadata=DELETED), {"deleting": True}),
    "replica-deleted": (document("Replica", metadata=DELETED), {"deleting": True}),
    "node-deleted": (document("Node", metadata=DELETED), {"deleting": True}),
}


@pytest.mark.parametrize(("written", "expected"), FIELDS.values(), ids=FIELDS)
def test_fields_of_a_record(written, expected):
    record = read(written)

    assert {name: getattr(record, name) for name in expected} == expected


def test_only_commands_read_what_conditions_say():
    """It changes all the time: the service would take each change for news of the node."""
    said = [{"type": "Ready", "status": "False", "reason": "Down", "message": "since 12:00"}]
    written = node_document(status={"conditions": said}, disk_status={"conditions": said})

    found = [read(written), read_item(NODES, json.dumps(written).encode()).record]

    for each, message in zip(found, ("since 12:00", ""), strict=True):
        assert isinstance(each, Node)
        assert each.ready == each.disks[0].ready == Condition("False", "Down", message)


def test_only_commands_read_where_a_volume_may_be_used():
    expression = {"key": "zone", "operator": "In", "values": ["a"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [expression], "matchFields": None}]}
    written = core_document("PersistentVolume", spec={"nodeAffinity": {"required": selector}})

    found = [read(written), read_item(PERSISTENT_VOLUMES, json.dumps(written).encode()).record]

    zone_a = NodeTerm(labels=(Requirement(key="zone", operator="In", values=("a",)),))
    for each, terms in zip(found, ((zone_a,), None), strict=True):
        assert isinstance(each, PersistentVolume)
        assert each.terms == terms


@pytest.mark.parametrize(
    "document",
    [
        node_document(spec={"tags": None, "disks": None}),
        node_document(status={"conditions": None, "diskStatus": None, "zone": None}),
        node_document(disk_status={"conditions": None, "scheduledReplica": None, "diskUUID": None}),
        node_document(disk_spec={"tags": None, "storageReserved": None, "diskType": None}),
        node_document(disk_status={"scheduledReplica": {"a": None}}),
        node_document(disk_status={"scheduledBackingImage": {"a": None}}),
        node_document(disk_status={"scheduledBackingImage": None}),
        document("BackingImage", status={"realSize": None}),
        document("BackingImage", spec=None, status=None),
        volume_with(nodeSelector=None, size=None, topologyRequirement=None),
        volume_with(dataLayout=None, migratable=None, Standby=None),
        replica_with(volumeSize=None, active=None, rebuildRetryCount=None),
        class_document(parameters=None, provisioner=None),
        claim_with(resources=None, accessModes=None),
        core_document("PersistentVolumeClaim", spec=None),
        core_document("PersistentVolume", spec=None),
        core_document("PersistentVolume", spec={"csi": None}),
    ],
)
def test_nulls_are_read_as_absent(document):
    assert not isinstance(read(document), Unreadable)


@pytest.mark.parametrize("size", [107374182400, "107374182400"])
def test_sizes_are_numbers_or_strings(size):
    sizes = dict.fromkeys(("storageMaximum", "storageAvailable", "storageScheduled"), size)
    on_node = node_document(
        disk_spec={"storageReserved": size}, disk_status=sizes | {"scheduledReplica": {"a": size}}
    )
    of_volume = document("Volume", "vol", spec={"size": size}, status={"actualSize": size})

    read_bytes = 100 * GIB
    full = disk(maximum_bytes=read_bytes, reserved_bytes=read_bytes, listed={"a": read_bytes})
    assert read(on_node) == node("node-1", full)
    assert read(of_volume) == volume(
        size_bytes=read_bytes, actual_bytes=read_bytes, locality=Locality.DISABLED, replicas=0
    )


NO_SIZES = ["10Gi", "-1", "1.0", "\u0665", str(2**63), 2**63, 1.5, float("nan"), True]
"""U+0665 is the Arabic five."""
NO_QUANTITIES = ["lots", "", float("inf"), True, []]
UNREADABLE = {
    "vol": [volume_with(size=size) for size in NO_SIZES],
    "n": [node_document("n", disk_status={"storageMaximum": size}) for size in NO_SIZES],
    "default/data": [asking(storage) for storage in NO_QUANTITIES],
}


@pytest.mark.parametrize(
    ("name", "written"), [(name, each) for name, all_ in UNREADABLE.items() for each in all_]
)
def test_size_that_is_none_makes_the_object_unreadable(name, written):
    assert read_as_unreadable(written).name == name


@pytest.mark.parametrize(
    ("listed", "ready"),
    [
        (conditions(Ready="True"), True),
        (conditions(Ready="False"), False),
        (conditions(Ready="true"), False),
        (None, False),
        (conditions(Schedulable="True"), False),
        ([*conditions(Ready="False"), *conditions(Ready="True")], False),
    ],
)
def test_conditions(listed, *, ready):
    found = read(node_document(status={"conditions": listed}, disk_status={"conditions": listed}))

    assert isinstance(found, Node)
    assert (found.ready.is_true, found.disks[0].ready.is_true) == (ready, ready)


def test_disks_are_sorted_by_name_and_only_those_in_spec_and_status():
    usable = {"allowScheduling": True}
    found = read(
        node_document(
            spec={"disks": {"b": usable, "a": usable, "spec-only": usable}},
            status={"diskStatus": {"a": {"diskUUID": "1"}, "other": {}, "b": {"diskUUID": "2"}}},
        )
    )

    assert isinstance(found, Node)
    assert [(each.name, each.id) for each in found.disks] == [("a", "1"), ("b", "2")]


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("harvesterhci.io/v1beta1", "Setting"),
        ("storage.k8s.io/v1", "VolumeAttachment"),
        ("snapshot.example.com/v1", "Volume"),
        ("v1", "ConfigMap"),
        ("apps/v1", "Deployment"),
    ],
)
def test_kinds_we_do_not_use_are_passed_over(api_version, kind):
    assert read_object(document(kind) | {"apiVersion": api_version}) is None


@pytest.mark.parametrize(
    "api_version", ["longhorn.io/v1beta1", "longhorn.rancher.io/v1beta1", "longhorn.io/v1"]
)
@pytest.mark.parametrize("kind", ["Node", "Volume", "Replica", "Setting", "BackingImage"])
def test_other_versions_of_longhorns_kinds_are_refused_by_name(api_version, kind):
    found = read_as_unreadable(document(kind, "it") | {"apiVersion": api_version})

    assert (found.kind, found.name) == (kind, "it")
    assert found.why == f"apiVersion {api_version} is not supported, only longhorn.io/v1beta2"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (None, "is NoneType, not an object"),
        ([], "is list, not an object"),
        ({"kind": "Pod"}, "has no apiVersion or no kind"),
        ({"apiVersion": 1, "kind": []}, "has no apiVersion or no kind"),
        (document("Replica", ""), "is a Replica without a name"),
        (document("Node", metadata={"name": 5}), "is a Node without a name"),
    ],
)
def test_what_cannot_be_reported_by_name_is_broken(written, expected):
    with pytest.raises(BrokenObjectError) as caught:
        read_object(written)

    assert str(caught.value) == expected


LABELS = {"longhornvolume": "v", "longhornnode": "c"}
X = {"volumeSize": "x"}


@pytest.mark.parametrize(
    ("spec", "labels", "nodes", "volume"),
    [
        ({"nodeID": "a", "volumeName": "vol"} | X, {}, ("a",), "vol"),
        ({"nodeID": "a", "hardNodeAffinity": "b", "volumeName": ""} | X, {}, ("a", "b"), "it"),
        ({"nodeID": "", "volumeName": None} | X, LABELS, ("c",), "v"),
        ({"nodeID": ["a"], "volumeName": ["vol"]} | X, {}, (), None),
        ("?", LABELS, ("c",), "v"),
    ],
)
def test_broken_replica_names_its_nodes_and_its_volume(spec, labels, nodes, volume):
    written = document("Replica", "it-r-1", metadata={"labels": labels}, spec=spec)

    broken = read_as_unreadable(written)

    assert (broken.nodes, broken.volume) == (nodes, volume)


def test_broken_node_is_longhorns_or_kubernetes():
    old = node_document(status={"conditions": {"ready": {"status": "True"}}})

    assert read_as_unreadable(old).nodes == ("node-1",)
    assert read_as_unreadable(core_document("Node", "n" * 300)).nodes == ()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["True", "node-1", "disk-1"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=5,
)

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "db"}},
    "spec": {
        "containers": [
            {
                "ports": [{"hostPort": 80}],
                "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
            }
        ],
        "initContainers": [{"restartPolicy": "Always"}],
        "overhead": {"cpu": 1},
        "volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "b", "awsElasticBlockStore": {"volumeID": "x"}},
        ],
    },
}
CLAIM_TEMPLATE: dict[str, Any] = {
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
SAMPLES = [
    node_document(),
    volume_with(size="1", topologyRequirement=[{"zone": "a"}], dataLayout={}),
    document("Replica", spec={"nodeID": "n", "volumeSize": "1"}, status={"started": True}),
    document("Setting", value="1"),
    document("BackingImage", spec={"nodeSelector": []}),
    class_document(provisioner="p", parameters={"a": "b"}),
    asking("1"),
    core_document("PersistentVolume", spec={"csi": {"driver": "d"}}),
    core_document("Pod", spec={"volumes": [{"name": "v", "ephemeral": {}}]}),
]
WORKLOADS: dict[tuple[str, str], dict[str, Any]] = {
    ("apps/v1", "Deployment"): {"template": TEMPLATE},
    ("apps/v1", "StatefulSet"): {
        "replicas": 3,
        "template": TEMPLATE,
        "volumeClaimTemplates": [CLAIM_TEMPLATE],
    },
    ("batch/v1", "Job"): {"parallelism": 2, "template": TEMPLATE},
    ("policy/v1", "PodDisruptionBudget"): {"minAvailable": "50%", "selector": {}},
    ("v1", "Service"): {"selector": {"app": "db"}},
    ("v1", "Pod"): TEMPLATE["spec"],
    ("v1", "PersistentVolume"): {"nodeAffinity": {"required": {}}},
}
PLANNED_SAMPLES = [
    core_document("Node", status={"allocatable": {"cpu": "1", "pods": 110}}),
    *(
        core_document(kind, spec=spec) | {"apiVersion": api_version}
        for (api_version, kind), spec in WORKLOADS.items()
    ),
]
READERS = {"files": (SAMPLES, [IN_FILES]), "plans": (PLANNED_SAMPLES, [PLANNED, PLACED])}


def paths(value: object, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield prefix
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from paths(value[key], (*prefix, key))


def replaced(value: Any, path: tuple[Any, ...], by: object) -> Any:
    if not path:
        return by
    copied = value.copy()
    copied[path[0]] = replaced(value[path[0]], path[1:], by)
    return copied


@pytest.mark.parametrize(("samples", "readers"), READERS.values(), ids=READERS)
@settings(max_examples=examples(300))
@given(data=st.data())
def test_any_value_anywhere_is_read_or_refused(samples, readers, data):
    sample = data.draw(st.sampled_from(samples))
    path = data.draw(st.sampled_from(list(paths(sample))))
    written = replaced(sample, path, data.draw(json_values))

    with suppress(BrokenObjectError):  # nothing else may come of it
        read_object(written, data.draw(st.sampled_from(readers)))


@pytest.mark.parametrize(("samples", "readers"), READERS.values(), ids=READERS)
def test_samples_can_be_read(samples, readers):
    records = [read_object(each, kinds) for each in samples for kinds in readers]

    assert not [each for each in records if isinstance(each, Unreadable)]
