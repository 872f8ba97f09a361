"""Objects as they stand in JSON become records; what is broken is named and never guessed."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import BrokenObjectError
from app.kube.records import Unreadable, read_object
from app.kube.translate import KubernetesNode, Pod, Setting
from extender import Claim, ClaimKey, PersistentVolume, PodRef, PodStatus, StorageClass
from longhorn import Disk, DiskId, DiskName, Locality, Node, NodeName, Replica, Volume
from tests.builders import (
    GIB,
    backing_image,
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
    storage_class,
    volume,
)

DELETED = {"deletionTimestamp": "2026-08-20T09:10:12Z"}
STORAGE_CLASS = {"apiVersion": "storage.k8s.io/v1"}


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


def test_node() -> None:
    written = node_document(
        "node-1",
        spec={"tags": ["storage"]},
        status={"zone": "a", "region": "r"},
        disk_spec={"tags": ["ssd"], "storageReserved": 5},
        disk_status={
            "storageMaximum": 100,
            "storageAvailable": 90,
            "storageScheduled": 30,
            "scheduledReplica": {"a": 10, "b": 20},
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
        ),
        zone="a",
        region="r",
        tags=["storage"],
    )


def test_volume() -> None:
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
        },
        status={"actualSize": 42},
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
    )


def test_replica() -> None:
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


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        ({"failedAt": "2026-08-20T09:10:12Z"}, "failed", True),
        ({"failedAt": None}, "failed", False),
        ({"healthyAt": ""}, "healthy_once", False),
        ({"healthyAt": "2026-08-20T09:10:12Z"}, "healthy_once", True),
        ({"evictionRequested": True}, "evicting", True),
        ({"active": False}, "active", False),
        ({}, "active", False),
        ({"hardNodeAffinity": "node-2"}, "hard_node_affinity", "node-2"),
        ({"volumeSize": 7}, "size_bytes", 7),
    ],
)
def test_replica_states(spec: dict[str, Any], field: str, value: object) -> None:
    record = read(document("Replica", "vol-r-1", spec=spec))

    assert getattr(record, field) == value


def test_claim_bound() -> None:
    found = read_claim(
        volumeName="pv",
        storageClassName="local",
        accessModes=["ReadWriteMany"],
        resources={"requests": {"storage": "10Gi"}},
    )

    assert found == claim(uid="", persistent_volume="pv", read_write_many=True)


@pytest.mark.parametrize(
    ("storage", "expected"),
    [
        pytest.param("10Gi", 10 * GIB, id="gibibytes"),
        pytest.param("5G", 5 * 10**9, id="gigabytes"),
        pytest.param("1.5Gi", 3 * GIB // 2, id="fraction"),
        pytest.param("1e3", 1000, id="exponent"),
        pytest.param(1024, 1024, id="number"),
        pytest.param(1.5, 2, id="fraction-of-a-byte-rounded-up"),
        pytest.param("1500m", 2, id="thousandths-rounded-up"),
        pytest.param(None, 0, id="null"),
        pytest.param("99999999999Ei", 2**63 - 1, id="capped-at-64-bit"),
    ],
)
def test_requested_size(storage: object, expected: int) -> None:
    found = read_claim(resources={"requests": {"storage": storage}})

    assert found.requested_bytes == expected


def test_persistent_volume() -> None:
    written = core_document(
        "PersistentVolume", "pv", spec={"csi": {"driver": "d", "volumeHandle": "h"}}
    )

    assert read(written) == PersistentVolume(name="pv", driver="d", volume_handle="h")


def test_persistent_volume_that_is_not_csi() -> None:
    written = core_document("PersistentVolume", "pv", spec={"nfs": {"server": "s"}})

    assert read(written) == PersistentVolume(name="pv", driver=None, volume_handle=None)


def test_storage_class() -> None:
    written = document(
        "StorageClass",
        "local",
        provisioner="driver.longhorn.io",
        parameters={"numberOfReplicas": "1", "dataLocality": "best-effort"},
    )

    assert read(written | STORAGE_CLASS) == storage_class()


def test_backing_image() -> None:
    written = document("BackingImage", "image", spec={"nodeSelector": ["a"], "diskSelector": ["b"]})

    assert read(written) == backing_image(node_selector=["a"], disk_selector=["b"])


def test_setting() -> None:
    assert read(document("Setting", "name", value="100")) == Setting(name="name", value="100")


def test_kubernetes_node() -> None:
    assert read(core_document("Node", "node-1")) == KubernetesNode(name=NodeName("node-1"))


def test_pod() -> None:
    written = core_document(
        "Pod",
        "web-0",
        metadata={"uid": "1234", "resourceVersion": "77"},
        spec={
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}},
                {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                {"name": "config", "configMap": {"name": "web"}},
                {"name": "again", "persistentVolumeClaim": {"claimName": "data-web-0"}},
            ]
        },
    )

    assert read(written) == Pod(
        ref=PodRef(
            namespace="default",
            name="web-0",
            uid="1234",
            claims=(ClaimKey("default/data-web-0"), ClaimKey("default/web-0-scratch")),
        ),
        status=PodStatus(version=77),
    )


@pytest.mark.parametrize(
    "spec", [None, {}, {"volumes": None}, {"volumes": []}, {"volumes": [{"name": "x"}]}]
)
def test_pod_without_claims(spec: object) -> None:
    found = read(core_document("Pod", "web-0", spec=spec))

    assert isinstance(found, Pod)
    assert found.ref.claims == ()


@pytest.mark.parametrize("kind", ["Node", "Volume", "Replica", "BackingImage"])
@pytest.mark.parametrize("missing", [None, {}], ids=["null", "empty"])
def test_longhorn_object_may_lack_spec_and_status(kind: str, missing: object) -> None:
    record = read(document(kind, "x", spec=missing, status=missing))

    assert not isinstance(record, Unreadable)
    assert record == read(document(kind, "x"))


def test_node_of_which_nothing_is_known_takes_nothing() -> None:
    found = read(document("Node", "node-1"))

    assert isinstance(found, Node)
    assert (found.ready, found.schedulable, found.allow_scheduling) == (False, False, False)
    assert found.disks == ()


def test_volume_of_which_nothing_is_known_is_not_local() -> None:
    assert not read_volume().needs_local_replica


@pytest.mark.parametrize(
    "document",
    [
        node_document(spec={"tags": None, "disks": None}),
        node_document(status={"conditions": None, "diskStatus": None, "zone": None}),
        node_document(disk_status={"conditions": None, "scheduledReplica": None, "diskUUID": None}),
        node_document(disk_spec={"tags": None, "storageReserved": None, "diskType": None}),
        node_document(spec={"disks": {"disk-1": None}}),
        node_document(status={"diskStatus": {"disk-1": None}}),
        node_document(disk_status={"scheduledReplica": {"a": None}}),
        document("Volume", spec={"nodeSelector": None, "size": None, "topologyRequirement": None}),
        document("Volume", spec={"dataLayout": None, "migratable": None, "Standby": None}),
        document("Replica", spec={"volumeSize": None, "active": None, "rebuildRetryCount": None}),
        document("BackingImage", spec={"nodeSelector": None}),
        document("Setting", value=None),
        document("StorageClass", parameters=None, provisioner=None) | STORAGE_CLASS,
        core_document("PersistentVolumeClaim", spec={"resources": None, "accessModes": None}),
        core_document("PersistentVolumeClaim", spec={"resources": {"requests": None}}),
        core_document("PersistentVolume", spec={"csi": None}),
    ],
)
def test_nulls_are_read_as_absent(document: dict[str, Any]) -> None:
    assert not isinstance(read(document), Unreadable)


def test_unknown_fields_are_passed_over() -> None:
    written = document("Setting", "name", value="1", status={"applied": True}, novelty=[{}])

    assert read(written) == Setting(name="name", value="1")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"diskType": ""}, "filesystem"),
        ({"diskType": "filesystem"}, "filesystem"),
        ({"diskType": "block"}, "block"),
    ],
)
def test_disk_type(spec: dict[str, Any], expected: str) -> None:
    assert read_disk(spec=spec).type == expected


@pytest.mark.parametrize(
    "size", [pytest.param(107374182400, id="number"), pytest.param("107374182400", id="string")]
)
def test_sizes_are_numbers_or_strings(size: object) -> None:
    found = read_disk(
        spec={"storageReserved": size},
        status={
            "storageMaximum": size,
            "storageAvailable": size,
            "storageScheduled": size,
            "scheduledReplica": {"a": size},
        },
    )

    assert found == disk(
        maximum_bytes=100 * GIB,
        reserved_bytes=100 * GIB,
        listed={"a": 100 * GIB},
    )
    assert read_volume({"size": size}, {"actualSize": size}) == volume(
        size_bytes=100 * GIB, actual_bytes=100 * GIB, locality=Locality.DISABLED
    )


def test_the_largest_size_is_read() -> None:
    assert read_volume({"size": str(2**63 - 1)}).size_bytes == 2**63 - 1


@pytest.mark.parametrize(
    "size",
    [
        pytest.param("large", id="word"),
        pytest.param("10Gi", id="quantity"),
        pytest.param("-1", id="negative-string"),
        pytest.param(-1, id="negative-number"),
        pytest.param(" 1", id="space"),
        pytest.param("1.0", id="fraction"),
        pytest.param("\N{ARABIC-INDIC DIGIT FIVE}", id="other-digits"),
        pytest.param(str(2**63), id="beyond-64-bit-string"),
        pytest.param(2**63, id="beyond-64-bit-number"),
        pytest.param(10**400, id="huge-number"),
        pytest.param("9" * 5000, id="huge-string"),
        pytest.param(1.5, id="float"),
        pytest.param(float("nan"), id="nan"),
        pytest.param(True, id="bool"),
        pytest.param([], id="list"),
    ],
)
def test_size_that_is_none_makes_the_object_unreadable(size: object) -> None:
    assert read_as_unreadable(document("Volume", "vol", spec={"size": size})).name == "vol"
    assert read_as_unreadable(node_document("n", disk_status={"storageMaximum": size})).name == "n"


@pytest.mark.parametrize("storage", ["lots", "", "1Qi", "nan", float("inf"), True, [], "--1"])
def test_quantity_that_is_none_makes_the_claim_unreadable(storage: object) -> None:
    spec = {"resources": {"requests": {"storage": storage}}}

    found = read_as_unreadable(core_document("PersistentVolumeClaim", "data", spec=spec))

    assert found.name == "default/data"


@pytest.mark.parametrize(
    ("listed", "ready"),
    [
        pytest.param(conditions(Ready="True"), True, id="true"),
        pytest.param(conditions(Ready="False"), False, id="false"),
        pytest.param(conditions(Ready="Unknown"), False, id="unknown"),
        pytest.param(conditions(Ready="true"), False, id="another-case"),
        pytest.param([], False, id="none"),
        pytest.param(None, False, id="null"),
        pytest.param(conditions(Schedulable="True"), False, id="others-only"),
        pytest.param(
            [*conditions(Ready="False"), *conditions(Ready="True")], False, id="the-first-counts"
        ),
    ],
)
def test_conditions(listed: object, *, ready: bool) -> None:
    found = read(node_document(status={"conditions": listed}))

    assert isinstance(found, Node)
    assert found.ready is ready
    assert read_disk(status={"conditions": listed}).ready is ready


def test_disks_are_sorted_by_name_and_only_those_in_spec_and_status() -> None:
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


@pytest.mark.parametrize(
    ("spec", "status", "field"),
    [
        ({"accessMode": "rwx"}, {}, "shared"),
        ({"Standby": True}, {}, "standby"),
        ({}, {"isStandby": True}, "standby"),
        ({"dataLayout": {"type": "sharded"}}, {}, "sharded"),
    ],
)
def test_volume_kinds(spec: dict[str, Any], status: dict[str, Any], field: str) -> None:
    assert getattr(read_volume(spec, status), field) is True


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"accessMode": "rwx", "migratable": True}, "shared"),
        ({"accessMode": "rwo"}, "shared"),
        ({"accessMode": "rwop"}, "shared"),
        ({"standby": True}, "standby"),  # Longhorn writes it with a capital
        ({"dataLayout": {"type": "replicated"}}, "sharded"),
    ],
)
def test_what_looks_like_a_volume_kind(spec: dict[str, Any], field: str) -> None:
    assert getattr(read_volume(spec), field) is False


@pytest.mark.parametrize(
    ("written", "locality"),
    [
        ("disabled", Locality.DISABLED),
        ("best-effort", Locality.BEST_EFFORT),
        ("strict-local", Locality.STRICT_LOCAL),
        ("", Locality.DISABLED),
        (None, Locality.DISABLED),
    ],
)
def test_locality(written: object, locality: Locality) -> None:
    assert read_volume({"dataLocality": written}).locality is locality


@pytest.mark.parametrize(
    ("engine", "disk_type"),
    [("v1", "filesystem"), ("v2", "block"), ("", "filesystem"), (None, "filesystem")],
)
def test_data_engine(engine: object, disk_type: str) -> None:
    assert read_volume({"dataEngine": engine}).disk_type == disk_type


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
def test_deletion_is_seen(written: dict[str, Any]) -> None:
    record = read(written)

    assert isinstance(record, Claim | Volume | Replica | Node)
    assert record.deleting


@pytest.mark.parametrize(
    "written",
    [
        document("Setting", value="1") | {"apiVersion": "harvesterhci.io/v1beta1"},
        document("VolumeAttachment"),
        document("VolumeAttachment") | {"apiVersion": "storage.k8s.io/v1"},
        document("Volume") | {"apiVersion": "snapshot.example.com/v1"},
        document("Node") | {"apiVersion": "metrics.k8s.io/v1beta1"},
        document("EngineImage"),
        document("InstanceManager"),
        core_document("Secret"),
        core_document("ConfigMap"),
        core_document("Deployment") | {"apiVersion": "apps/v1"},
    ],
    ids=lambda document: f"{document['apiVersion']}-{document['kind']}",
)
def test_kinds_we_do_not_use_are_passed_over(written: dict[str, Any]) -> None:
    assert read_object(written) is None


@pytest.mark.parametrize(
    "api_version", ["longhorn.io/v1beta1", "longhorn.rancher.io/v1beta1", "longhorn.io/v1"]
)
@pytest.mark.parametrize("kind", ["Node", "Volume", "Replica", "Setting", "BackingImage"])
def test_other_versions_of_longhorns_kinds_are_refused_by_name(api_version: str, kind: str) -> None:
    found = read_as_unreadable(document(kind, "it") | {"apiVersion": api_version})

    assert (found.kind, found.name) == (kind, "it")
    assert found.why == f"apiVersion {api_version} is not supported, only longhorn.io/v1beta2"


def test_conditions_as_a_map_are_refused_by_name() -> None:
    old = node_document(status={"conditions": {"ready": {"status": "True"}}})

    assert read_as_unreadable(old).nodes == ("node-1",)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(None, "is NoneType, not an object", id="null"),
        pytest.param([], "is list, not an object", id="list"),
        pytest.param("text", "is str, not an object", id="text"),
        pytest.param({}, "has no apiVersion or no kind", id="empty"),
        pytest.param({"kind": "Pod"}, "has no apiVersion or no kind", id="no-version"),
        pytest.param({"apiVersion": "v1"}, "has no apiVersion or no kind", id="no-kind"),
        pytest.param(
            {"apiVersion": 1, "kind": []}, "has no apiVersion or no kind", id="not-strings"
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Pod"}, "is a Pod without a name", id="no-metadata"
        ),
        pytest.param(document("Replica", ""), "is a Replica without a name", id="empty-name"),
        pytest.param(
            document("Node", metadata={"name": 5}),
            "is a Node without a name",
            id="name-is-a-number",
        ),
        pytest.param(
            document("Node") | {"metadata": "x"}, "is a Node without a name", id="metadata-is-text"
        ),
    ],
)
def test_what_cannot_be_reported_by_name_is_broken(written: object, expected: str) -> None:
    with pytest.raises(BrokenObjectError) as caught:
        read_object(written)

    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        pytest.param({"nodeID": "a", "volumeSize": "x"}, ("a",), id="placed"),
        pytest.param({"hardNodeAffinity": "a", "volumeSize": "x"}, ("a",), id="bound"),
        pytest.param(
            {"nodeID": "a", "hardNodeAffinity": "b", "volumeSize": "x"}, ("a", "b"), id="both"
        ),
        pytest.param({"nodeID": "", "volumeSize": "x"}, (), id="nowhere"),
        pytest.param({"nodeID": ["a"], "volumeSize": "x"}, (), id="node-is-no-text"),
    ],
)
def test_broken_replica_names_its_nodes(spec: dict[str, Any], nodes: tuple[str, ...]) -> None:
    assert read_as_unreadable(document("Replica", "r", spec=spec)).nodes == nodes


@pytest.mark.parametrize(
    ("written", "volume"), [("vol", "vol"), ("", None), (None, None), (["v"], None)]
)
def test_broken_replica_names_its_volume(written: object, volume: str | None) -> None:
    spec = {"volumeName": written, "volumeSize": "x"}

    assert read_as_unreadable(document("Replica", "r", spec=spec)).volume == volume


def test_parameter_that_is_null_is_read_as_empty() -> None:
    written = document("StorageClass", "local", provisioner="p", parameters={"dataLocality": None})

    found = read(written | STORAGE_CLASS)

    assert isinstance(found, StorageClass)
    assert found.parameters == {"dataLocality": ""}


def test_broken_kubernetes_node_leaves_the_longhorn_node_readable() -> None:
    broken = core_document("Node", "n" * 300)

    assert read_as_unreadable(broken).nodes == ()


def test_claim_without_namespace_is_in_the_default_one() -> None:
    found = read(core_document("PersistentVolumeClaim", "data", metadata={"namespace": None}))

    assert isinstance(found, Claim)
    assert found.key == "default/data"


def test_pod_claims_are_in_its_own_namespace() -> None:
    spec = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
    found = read(core_document("Pod", "web", metadata={"namespace": "shop"}, spec=spec))

    assert isinstance(found, Pod)
    assert found.ref.claims == ("shop/data",)


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


@settings(max_examples=300)
@given(st.data())
def test_any_value_anywhere_is_read_or_refused(data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SAMPLES))
    path = data.draw(st.sampled_from(list(paths(sample))))
    written = replaced(sample, path, data.draw(json_values))

    with suppress(BrokenObjectError):  # nothing else may come of it
        read_object(written)


def test_claim_source_without_a_name_names_a_claim_that_cannot_be() -> None:
    found = read(core_document("Pod", "web", spec={"volumes": [{"persistentVolumeClaim": {}}]}))

    assert isinstance(found, Pod)
    assert found.ref.claims == ("default/",)


def test_replica_whose_spec_is_no_object_is_told_by_its_labels() -> None:
    labels = {"longhornvolume": "vol", "longhornnode": "node-1"}
    broken = read_object(document("Replica", "r", metadata={"labels": labels}, spec="?"))

    assert isinstance(broken, Unreadable)
    assert (broken.volume, broken.nodes) == ("vol", ("node-1",))
