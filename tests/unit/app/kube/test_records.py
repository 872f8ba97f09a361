"""Objects as they stand in JSON become records; what is broken is named and never guessed."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import BrokenObjectError
from app.kube.longhorn.resources import NODES
from app.kube.records import read_item
from app.kube.resources import PERSISTENT_VOLUMES
from cli.kube.decoding import read_object
from cli.kube.pods import Pod
from cli.kube.resources import PLACED, PLANNED
from extender import PodRef
from extender.kubernetes import (
    Claim,
    ClaimKey,
    NodeTerm,
    PersistentVolume,
    PodStatus,
    Requirement,
    StorageClass,
)
from longhorn import (
    Condition,
    Disk,
    DiskId,
    DiskName,
    Locality,
    Node,
    NodeName,
    Replica,
    Setting,
    Unreadable,
    Volume,
)
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

DELETED = {"deletionTimestamp": "2026-08-20T09:10:12Z"}
STORAGE_CLASS = {"apiVersion": "storage.k8s.io/v1"}
CSI = {"driver": "d", "volumeHandle": "h"}


def read_disk(*, spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None) -> Disk:
    record = read(node_document(disk_spec=spec, disk_status=status))
    assert isinstance(record, Node)
    (only,) = record.disks
    return only


def read_volume(spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None) -> Volume:
    record = read(document("Volume", "vol", spec=spec, status=status))
    assert isinstance(record, Volume)
    return record


def read_claim(**spec: Any) -> Claim:
    record = read(core_document("PersistentVolumeClaim", "data", spec=spec))
    assert isinstance(record, Claim)
    return record


def test_node():
    written = node_document(
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
    )

    assert read(written) == node(
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
    )


def test_volume():
    written = document(
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
    )

    assert read(written) == volume(
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
    )


def test_replica():
    written = document(
        "Replica",
        "vol-r-1",
        spec={
            "volumeName": "vol",
            "volumeSize": "10737418240",
            "nodeID": "node-1",
            "diskID": "uuid-disk-1",
            "hardNodeAffinity": "",
            "healthyAt": "2026-08-20T09:10:12Z",
            "failedAt": "",
            "active": True,
            "evictionRequested": False,
            "rebuildRetryCount": 3,
        },
        status={"started": True},
    )

    assert read(written) == replica(started=True, rebuild_retries=3)


def test_replica_of_which_nothing_is_known_counts_for_nothing():
    failed = read(document("Replica", "r", spec={"failedAt": "2026-08-20T09:10:12Z"}))

    expected = replica(
        "r", of="", on="", size_bytes=0, active=False, healthy_once=False, failed=True
    )
    at = datetime(2026, 8, 20, 9, 10, 12, tzinfo=UTC)
    assert failed == msgspec.structs.replace(expected, failed_at=at)


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        ({"evictionRequested": True}, "evicting", True),
        ({"hardNodeAffinity": "node-2"}, "hard_node_affinity", "node-2"),
        ({"volumeSize": 7}, "size_bytes", 7),
    ],
)
def test_field_of_a_replica(spec, field, value):
    assert getattr(read(document("Replica", "r", spec=spec)), field) == value


@pytest.mark.parametrize(
    ("spec", "linked_to", "is_copying"),
    [
        ({"dataSource": "vol://other", "cloneMode": "linked-clone"}, "other", False),
        ({"dataSource": "snap://other/s", "cloneMode": "linked-clone"}, "other", False),
        ({"dataSource": "snap://other/s", "cloneMode": "full-copy"}, None, True),
        ({"dataSource": "vol://other"}, None, True),
        ({"dataSource": "", "cloneMode": "linked-clone"}, None, False),
        ({"cloneMode": "linked-clone"}, None, False),
        ({"dataSource": "s3://bucket/x", "cloneMode": "linked-clone"}, None, False),
    ],
)
def test_what_a_volume_is_made_from(spec, linked_to, *, is_copying):
    found = read(document("Volume", "v", spec=spec))

    assert isinstance(found, Volume)
    assert (found.linked_to, found.copying) == (linked_to, is_copying)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"linkedCloneSrcReplicaName": "other-r-1"}, "other-r-1", id="settled"),
        pytest.param({"linkedCloneSrcReplicaName": ""}, None, id="not-yet"),
        pytest.param({"linkedCloneSrcReplicaName": None}, None, id="null"),
        pytest.param({}, None, id="old-longhorn"),
    ],
)
def test_what_a_replica_of_a_linked_clone_shares_with(spec, expected):
    found = read(document("Replica", "r", spec=spec))

    assert isinstance(found, Replica)
    assert found.source == expected


@pytest.mark.parametrize(
    ("labels", "is_frozen"),
    [
        ({"longhorn.io/legacy-linked-clone": "true"}, True),
        ({"longhorn.io/legacy-linked-clone": "false"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_linked_clone_of_an_old_longhorn(labels, *, is_frozen):
    found = read(document("Volume", "v", metadata={"labels": labels}, spec={}))

    assert isinstance(found, Volume)
    assert found.is_frozen is is_frozen


def test_claim_bound():
    spec = {
        "volumeName": "pv",
        "storageClassName": "local",
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "10Gi"}},
    }
    written = core_document(
        "PersistentVolumeClaim", "data", metadata={"namespace": None}, spec=spec
    )

    assert read(written) == claim(uid="", persistent_volume="pv", read_write_many=True)


@pytest.mark.parametrize(
    ("source", "copy_of", "is_restored"),
    [
        ({"kind": "PersistentVolumeClaim", "name": "other"}, "team/other", False),
        (
            {"kind": "VolumeSnapshot", "name": "o", "apiGroup": "snapshot.storage.k8s.io"},
            None,
            True,
        ),
        ({"kind": "PersistentVolumeClaim"}, None, True),
        ({}, None, False),
        (None, None, False),
    ],
)
def test_what_the_data_of_a_claim_begin_with(source, copy_of, *, is_restored):
    written = core_document(
        "PersistentVolumeClaim",
        "data",
        metadata={"namespace": "team"},
        spec={"dataSource": source},
    )

    found = read(written)

    assert isinstance(found, Claim)
    assert (found.copy_of, found.is_restored) == (copy_of, is_restored)


def test_what_only_some_claims_have():
    owners = [{"kind": "App", "uid": "1"}, {"kind": "Pod", "uid": "2", "controller": True}]
    written = core_document(
        "PersistentVolumeClaim",
        "data",
        metadata={"ownerReferences": owners},
        spec={"volumeMode": "Block", "accessModes": ["ReadOnlyMany"]},
    )

    found = read(written)

    assert isinstance(found, Claim)
    assert (found.controller, found.is_block, found.read_only_many) == ("2", True, True)


@pytest.mark.parametrize(
    ("storage", "expected"), [("10Gi", 10 * GIB), (1024, 1024), (1.5, 2), (None, 0)]
)
def test_requested_size(storage, expected):
    found = read_claim(resources={"requests": {"storage": storage}})

    assert found.requested_bytes == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            core_document(
                "PersistentVolume", "p", spec={"csi": {"driver": "d", "volumeHandle": "h"}}
            ),
            PersistentVolume(name="p", driver="d", volume_handle="h", retained=True),
        ),
        (
            core_document("PersistentVolume", "p", spec={"nfs": {"server": "s"}}),
            PersistentVolume(name="p", driver=None, volume_handle=None, retained=True),
        ),
        (
            document(
                "StorageClass",
                "c",
                provisioner="d",
                parameters={"numberOfReplicas": "1", "dataLocality": None},
            )
            | STORAGE_CLASS,
            bare_class(
                "c", provisioner="d", parameters={"numberOfReplicas": "1", "dataLocality": ""}
            ),
        ),
        (
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
        (document("Setting", "s", value="100", novelty=[{}]), Setting(name="s", value="100")),
        (core_document("Node", "node-1"), KubernetesNode(name=NodeName("node-1"))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_small_objects(written, expected):
    assert read(written) == expected


@pytest.mark.parametrize(
    ("annotations", "is_default"),
    [
        (None, False),
        ({"storageclass.kubernetes.io/is-default-class": None}, False),
        ({"storageclass.kubernetes.io/is-default-class": "false"}, False),
        ({"storageclass.kubernetes.io/is-default-class": "true"}, True),
        ({"storageclass.beta.kubernetes.io/is-default-class": "true"}, True),
    ],
)
def test_a_class_is_the_default_by_its_annotation(annotations, *, is_default):
    written = document("StorageClass", metadata={"annotations": annotations}) | STORAGE_CLASS

    record = read(written)

    assert isinstance(record, StorageClass)
    assert record.is_default is is_default


def test_pod():
    written = core_document(
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
    )

    assert read(written) == Pod(
        ref=PodRef(
            namespace="shop",
            name="web-0",
            uid="1234",
            claims=tuple(map(ClaimKey, ("shop/data-web-0", "shop/web-0-scratch", "shop/"))),
        ),
        status=PodStatus(version=77),
        wishes=Wishes(),
        ephemeral=(ClaimKey("shop/web-0-scratch"),),
    )


def test_only_commands_read_what_conditions_say():
    """It changes all the time: the service would take each change for news of the node."""
    said = [{"type": "Ready", "status": "False", "reason": "Down", "message": "since 12:00"}]
    node_of = node_document(status={"conditions": said}, disk_status={"conditions": said})

    in_command, in_service = read(node_of), read_item(NODES, json.dumps(node_of).encode()).record

    assert isinstance(in_command, Node)
    assert in_command.ready == Condition("False", "Down", "since 12:00")
    assert in_command.disks[0].ready == in_command.ready
    assert isinstance(in_service, Node)
    assert in_service.ready == in_service.disks[0].ready == Condition("False", "Down")


def test_only_commands_read_where_a_volume_may_be_used():
    expression = {"key": "zone", "operator": "In", "values": ["a"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [expression], "matchFields": None}]}
    written = core_document("PersistentVolume", spec={"nodeAffinity": {"required": selector}})

    in_command = read(written)
    in_service = read_item(PERSISTENT_VOLUMES, json.dumps(written).encode()).record

    wanted = Requirement(key="zone", operator="In", values=("a",))
    assert isinstance(in_command, PersistentVolume)
    assert in_command.terms == (NodeTerm(labels=(wanted,)),)
    assert isinstance(in_service, PersistentVolume)
    assert in_service.terms is None


def test_node_of_which_nothing_is_known_takes_nothing():
    found = read(document("Node", "node-1"))

    assert isinstance(found, Node)
    assert (found.ready, found.schedulable) == (Condition(), Condition())
    assert not found.allow_scheduling
    assert found.disks == ()


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
        document("Volume", spec={"nodeSelector": None, "size": None, "topologyRequirement": None}),
        document("Volume", spec={"dataLayout": None, "migratable": None, "Standby": None}),
        document("Replica", spec={"volumeSize": None, "active": None, "rebuildRetryCount": None}),
        document("StorageClass", parameters=None, provisioner=None) | STORAGE_CLASS,
        core_document("PersistentVolumeClaim", spec={"resources": None, "accessModes": None}),
        core_document("PersistentVolume", spec={"csi": None}),
    ],
)
def test_nulls_are_read_as_absent(document):
    assert not isinstance(read(document), Unreadable)


@pytest.mark.parametrize("size", [107374182400, "107374182400"])
def test_sizes_are_numbers_or_strings(size):
    found = read_disk(
        spec={"storageReserved": size},
        status={
            "storageMaximum": size,
            "storageAvailable": size,
            "storageScheduled": size,
            "scheduledReplica": {"a": size},
        },
    )

    assert found == disk(maximum_bytes=100 * GIB, reserved_bytes=100 * GIB, listed={"a": 100 * GIB})
    assert read_volume({"size": size}, {"actualSize": size}) == volume(
        size_bytes=100 * GIB, actual_bytes=100 * GIB, locality=Locality.DISABLED, replicas=0
    )


@pytest.mark.parametrize(
    "size",
    [
        "10Gi",
        "-1",
        "1.0",
        "\N{ARABIC-INDIC DIGIT FIVE}",
        str(2**63),
        2**63,
        1.5,
        float("nan"),
        True,
    ],
)
def test_size_that_is_none_makes_the_object_unreadable(size):
    assert read_as_unreadable(document("Volume", "vol", spec={"size": size})).name == "vol"
    assert read_as_unreadable(node_document("n", disk_status={"storageMaximum": size})).name == "n"


@pytest.mark.parametrize("storage", ["lots", "", float("inf"), True, []])
def test_quantity_that_is_none_makes_the_claim_unreadable(storage):
    spec = {"resources": {"requests": {"storage": storage}}}

    found = read_as_unreadable(core_document("PersistentVolumeClaim", "data", spec=spec))

    assert found.name == "default/data"


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
    found = read(node_document(status={"conditions": listed}))

    assert isinstance(found, Node)
    assert found.ready.is_true is ready
    assert read_disk(status={"conditions": listed}).ready.is_true is ready


def test_disks_are_sorted_by_name_and_only_those_in_spec_and_status():
    usable = {"allowScheduling": True}
    written = node_document(
        spec={"disks": {"b": usable, "a": usable, "spec-only": usable}},
        status={"diskStatus": {"a": {"diskUUID": "1"}, "status-only": {}, "b": {"diskUUID": "2"}}},
    )

    found = read(written)

    assert isinstance(found, Node)
    assert [(d.name, d.id) for d in found.disks] == [
        (DiskName("a"), DiskId("1")),
        (DiskName("b"), DiskId("2")),
    ]


LAYOUT = {"type": "sharded", "dataChunks": 4, "parityChunks": 2, "stripSizeKB": 64}


@pytest.mark.parametrize(
    ("spec", "status", "field", "value"),
    [
        ({}, {}, "needs_local_replica", False),
        ({"size": str(2**63 - 1)}, {}, "size_bytes", 2**63 - 1),
        ({"accessMode": "rwx"}, {}, "shared", True),
        ({"accessMode": "rwx", "migratable": True}, {}, "shared", False),
        ({"accessMode": "rwo"}, {}, "shared", False),
        ({"Standby": True}, {}, "standby", True),
        ({"standby": True}, {}, "standby", False),  # Longhorn writes it with a capital
        ({}, {"isStandby": True}, "standby", True),
        ({"dataLayout": {"type": "sharded"}}, {}, "sharded", True),
        ({"dataLayout": {"type": "replicated"}}, {}, "sharded", False),
        ({"dataLayout": LAYOUT}, {}, "wanted_replicas", 6),
        ({"dataLayout": LAYOUT, "size": str(10 * GIB)}, {}, "shard_bytes", 2847932416),
        ({"dataLayout": LAYOUT, "nodeSelector": ["x"]}, {}, "node_selector", ()),
        (
            {"dataLayout": LAYOUT, "replicaSoftAntiAffinity": "enabled"},
            {},
            "soft_anti_affinity",
            False,
        ),
        ({"dataLocality": "best-effort"}, {}, "locality", Locality.BEST_EFFORT),
        ({"dataLocality": "disabled"}, {}, "locality", Locality.DISABLED),
        ({"dataLocality": ""}, {}, "locality", Locality.DISABLED),
        ({"dataEngine": "v1"}, {}, "disk_type", "filesystem"),
        ({"dataEngine": ""}, {}, "disk_type", "filesystem"),
    ],
)
def test_field_of_a_volume(spec, status, field, value):
    assert getattr(read_volume(spec, status), field) == value


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        (
            {"nodeID": "node-2", "diskUUID": "uuid-disk-1", "size": str(5 * GIB)},
            {"state": "normal"},
            msgspec.structs.replace(shard("vol-3", on="node-2"), started=True),
        ),
        (
            {"nodeID": "", "diskUUID": "", "size": "0"},
            {},
            msgspec.structs.replace(shard("vol-3", on=""), healthy_once=False, started=False),
        ),
        (
            {"nodeID": "node-2", "diskUUID": "uuid-disk-1", "size": str(5 * GIB)},
            {"state": "failed"},  # its disk is its own until it is rebuilt there or gone
            msgspec.structs.replace(shard("vol-3", on="node-2"), healthy_once=False, started=False),
        ),
    ],
    ids=["running", "not-placed", "failed"],
)
def test_shard(spec, status, expected):
    spec = {"shardGroupName": "vol", "slotIndex": 3, **spec}

    found = read(document("Shard", "vol-3", spec=spec, status=status))

    assert found == expected


@pytest.mark.parametrize(("type_", "expected"), [("", "filesystem"), ("block", "block")])
def test_disk_type(type_, expected):
    assert read_disk(spec={"diskType": type_}).type == expected


@pytest.mark.parametrize(
    "written",
    [
        core_document("PersistentVolumeClaim", metadata=DELETED),
        document("Volume", metadata=DELETED),
        document("Replica", metadata=DELETED),
        document("Node", metadata=DELETED),
    ],
    ids=lambda document: document["kind"],
)
def test_deletion_is_seen(written):
    record = read(written)

    assert isinstance(record, Claim | Volume | Replica | Node)
    assert record.deleting


@pytest.mark.parametrize(
    "written",
    [
        document("Setting", value="1") | {"apiVersion": "harvesterhci.io/v1beta1"},
        document("VolumeAttachment") | {"apiVersion": "storage.k8s.io/v1"},
        document("Volume") | {"apiVersion": "snapshot.example.com/v1"},
        core_document("ConfigMap"),
        core_document("Deployment") | {"apiVersion": "apps/v1"},
    ],
    ids=lambda document: f"{document['apiVersion']}-{document['kind']}",
)
def test_kinds_we_do_not_use_are_passed_over(written):
    assert read_object(written) is None


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


@pytest.mark.parametrize(
    ("spec", "labels", "nodes", "volume"),
    [
        ({"nodeID": "a", "volumeName": "vol"}, {}, ("a",), "vol"),
        ({"nodeID": "a", "hardNodeAffinity": "b", "volumeName": ""}, {}, ("a", "b"), "it"),
        ({"nodeID": "", "volumeName": None}, LABELS, ("c",), "v"),
        ({"nodeID": ["a"], "volumeName": ["vol"]}, {}, (), None),
        ("?", LABELS, ("c",), "v"),
    ],
)
def test_broken_replica_names_its_nodes_and_its_volume(spec, labels, nodes, volume):
    if isinstance(spec, dict):
        spec = {**spec, "volumeSize": "x"}

    broken = read_as_unreadable(
        document("Replica", "it-r-1", metadata={"labels": labels}, spec=spec)
    )

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

SAMPLES = [
    node_document(),
    document(
        "Volume", spec={"size": "1", "topologyRequirement": [{"zone": "a"}], "dataLayout": {}}
    ),
    document("Replica", spec={"nodeID": "n", "volumeSize": "1"}, status={"started": True}),
    document("Setting", value="1"),
    document("BackingImage", spec={"nodeSelector": []}),
    document("StorageClass", provisioner="p", parameters={"a": "b"}) | STORAGE_CLASS,
    core_document("PersistentVolumeClaim", spec={"resources": {"requests": {"storage": "1"}}}),
    core_document("PersistentVolume", spec={"csi": {"driver": "d"}}),
    core_document("Pod", spec={"volumes": [{"name": "v", "ephemeral": {}}]}),
]


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


def mutated(data: st.DataObject, samples: list[dict[str, Any]]) -> Any:
    sample = data.draw(st.sampled_from(samples))
    path = data.draw(st.sampled_from(list(paths(sample))))
    return replaced(sample, path, data.draw(json_values))


@settings(max_examples=examples(300))
@given(st.data())
def test_any_value_anywhere_is_read_or_refused(data):
    written = mutated(data, SAMPLES)

    with suppress(BrokenObjectError):  # nothing else may come of it
        read_object(written)


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
PLANNED_SAMPLES = [
    core_document("Pod", spec=TEMPLATE["spec"]),
    core_document("Node", status={"allocatable": {"cpu": "1", "pods": 110}}),
    core_document("PersistentVolume", spec={"nodeAffinity": {"required": {}}}),
    core_document("Service", spec={"selector": {"app": "db"}}),
    core_document("PodDisruptionBudget", spec={"minAvailable": "50%", "selector": {}})
    | {"apiVersion": "policy/v1"},
    core_document(
        "StatefulSet",
        spec={"replicas": 3, "template": TEMPLATE, "volumeClaimTemplates": [CLAIM_TEMPLATE]},
    )
    | {"apiVersion": "apps/v1"},
    core_document("Deployment", spec={"template": TEMPLATE}) | {"apiVersion": "apps/v1"},
    core_document("Job", spec={"parallelism": 2, "template": TEMPLATE})
    | {"apiVersion": "batch/v1"},
]


@settings(max_examples=examples(300))
@given(st.data(), st.sampled_from([PLANNED, PLACED]))
def test_any_value_anywhere_is_read_or_refused_for_plans(data, kinds):
    written = mutated(data, PLANNED_SAMPLES)

    with suppress(BrokenObjectError):  # nothing else may come of it
        read_object(written, kinds)


@pytest.mark.parametrize("kinds", [PLANNED, PLACED], ids=["planned", "placed"])
def test_the_samples_of_plans_can_be_read(kinds):
    records = [read_object(each, kinds) for each in PLANNED_SAMPLES]

    assert not [each for each in records if isinstance(each, Unreadable)]
