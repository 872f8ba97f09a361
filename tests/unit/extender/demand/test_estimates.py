"""The volume that Longhorn's driver would make for a claim."""

from typing import Any

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender import Basis, UnresolvableClaimError
from extender.demand import requests
from extender.demand.estimates import estimate_volume, future_backing_image
from extender.kubernetes import Claim
from longhorn import Locality, Volume, due_replicas, shard_size_bytes
from tests.builders import (
    GIB,
    MIB,
    accepted,
    ask,
    backing_image,
    bare_class,
    bound,
    claim,
    disk,
    document,
    fits,
    node,
    persistent_volume,
    read,
    setting,
    storage_class,
    view_of,
    volume,
)

CLUSTER = node("node-1", disk(tags=["ssd", "nvme"]), tags=["storage", "gpu"])
LOCAL = {"dataLocality": "best-effort", "numberOfReplicas": "1"}
STRICT = {"dataLocality": "strict-local", "numberOfReplicas": "1"}
SHARDED = {
    "dataEngine": "v2",
    "dataLayout.type": "sharded",
    "dataLayout.dataChunks": "4",
    "dataLayout.parityChunks": "2",
    "dataLayout.stripSizeKB": "64",
}
"""Volumes of this class have 4 + 2 shards."""
RWX = claim(read_write_many=True)


def estimate(of: Claim, parameters: dict[str, str], *records: AnyRecord) -> Volume:
    """Estimate the volume of a claim whose class has exactly these parameters."""
    view = view_of(CLUSTER, backing_image(), *records)
    return estimate_volume(of, bare_class(parameters=parameters), view)


def refusal(of: Claim, parameters: dict[str, str], *records: AnyRecord) -> str | None:
    """Return why no volume can be made."""
    try:
        estimate(of, parameters, *records)
    except UnresolvableClaimError as error:
        return str(error)
    return None


def new_volume(name: str, **how: Any) -> Volume:
    """Build a volume that is yet to be made."""
    return replace(volume(name, **how), is_estimate=True)


def test_estimate_with_the_fewest_parameters():
    assert estimate(claim(), LOCAL) == new_volume("pvc-uid-data")
    assert estimate(claim(uid=""), LOCAL) == new_volume("default/data")


def test_estimate_with_every_parameter_that_matters():
    everything = STRICT | {
        "dataEngine": "v2",
        "nodeSelector": "storage,gpu",
        "diskSelector": "ssd",
        "backingImage": "image",
        "staleReplicaTimeout": "30",
        "fsType": "ext4",
    }

    assert estimate(claim(size_bytes=1), everything) == new_volume(
        "pvc-uid-data",
        size_bytes=10 * MIB,
        locality=Locality.STRICT_LOCAL,
        disk_type="block",
        node_selector=["storage", "gpu"],
        disk_selector=["ssd"],
        backing_image="image",
    )


FIELDS: dict[str, tuple[Claim, dict[str, str], dict[str, object]]] = {
    "locality-absent-as-the-setting-says": (claim(), {}, {"locality": Locality.DISABLED}),
    **{f"locality-{each.value}": (
        claim(), {"dataLocality": each.value, "numberOfReplicas": "1"}, {"locality": each})
        for each in (Locality.DISABLED, Locality.BEST_EFFORT, Locality.STRICT_LOCAL)},
    "locality-key-is-case-sensitive": (
        claim(), {"datalocality": "best-effort"}, {"locality": Locality.DISABLED}),
    "rwx": (RWX, {}, {"shared": True}),
    "rwx-not-migratable": (RWX, {"migratable": "false"}, {"shared": True}),
    "rwx-migratable": (RWX, {"migratable": "true"}, {"shared": False}),
    "rwx-migratable-in-short": (RWX, {"migratable": "T"}, {"shared": False}),
    "rwo": (claim(), {}, {"shared": False}),
    "rwo-is-never-migratable": (claim(), {"migratable": "true"}, {"shared": False}),
    **{f"replicas-{count or 'absent'}": (claim(), {"numberOfReplicas": count} if count else {},
        {"wanted_replicas": wanted})
        for count, wanted in (("1", 1), ("20", 20), ("0", 3), ("", 3))},
    "anti-affinities": (claim(),
        {"replicaSoftAntiAffinity": "enabled", "replicaZoneSoftAntiAffinity": "disabled"},
        {"soft_anti_affinity": True, "zone_soft_anti_affinity": False,
         "disk_soft_anti_affinity": None}),
    **{f"topology-{value}": (
        claim(), {"volumeTopology": value}, {"zone_soft_anti_affinity": soft})
        for value, soft in (("zonal", True), ("regional", None), ("any", None))},
    "shards": (claim(), SHARDED, {"data_chunks": 4, "wanted_replicas": 6,
        "shard_bytes": shard_size_bytes(10 * GIB, data_chunks=4, strip_kib=64),
        "soft_anti_affinity": False, "zone_soft_anti_affinity": True}),
    # A size is not held against an image that is not ready.
    "image-not-ready": (claim(size_bytes=1), {"backingImage": "image"}, {"backing_image": "image"}),
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
def test_fields_of_the_volume(name):
    of, parameters, expected = FIELDS[name]
    found = estimate(of, parameters)

    assert {field: getattr(found, field) for field in expected} == expected


def test_sharded_volume_is_never_local():
    found = estimate(claim(), SHARDED, setting("default-data-locality", "best-effort"))

    assert found.locality is Locality.DISABLED
    assert not found.needs_local_replica


LOCALITIES = "use one of best-effort, disabled, strict-local"
NO_VOLUME = "(spaces count), so no volume can be created"
ONE = "a strict-local volume must have 1 replica"
BOOL, NUMBER = "use true or false", "use a whole number"
SWITCH = "use one of disabled, enabled, ignored"
PARAMETERS = {
    "dataLocality=": LOCALITIES,
    "dataLocality=Best-Effort": LOCALITIES,
    "dataEngine=v3": "use one of v1, v2",
    "nodeSelector=storage,ssd": f"tag 'ssd' is on no Longhorn node {NO_VOLUME}",
    "diskSelector=ssd, nvme": f"tag ' nvme' is on no Longhorn disk {NO_VOLUME}",
    "diskSelector=": f"tag '' is on no Longhorn disk {NO_VOLUME}",
    "numberOfReplicas=2": ONE,
    "numberOfReplicas=one": NUMBER,
    "numberOfReplicas=0": ONE,
    "migratable=maybe": BOOL,
    "migratable=": BOOL,
    "migratable=TrUe": BOOL,
    "encrypted=yes": BOOL,
    "disableRevisionCounter=": BOOL,
    "staleReplicaTimeout=30m": NUMBER,
    "replicaAutoBalance=best": "use one of best-effort, disabled, ignored, least-effort",
    "unmapMarkSnapChainRemoved=true": SWITCH,
    "freezeFilesystemForSnapshot=": SWITCH,
    "recurringJobSelector=daily": 'use JSON such as [{"name":"JOB","isGroup":false}]',
    "dataLayout.type=raid": "use one of replicated, sharded",
}


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_parameter_of_which_no_volume_can_be_made(parameter):
    name, _, value = parameter.partition("=")
    given = (STRICT if name == "numberOfReplicas" else LOCAL) | {name: value}

    expected = f"StorageClass local has {name} '{value}'; {PARAMETERS[parameter]}"
    assert refusal(claim(), given) == expected


CLASS = "StorageClass local has"
GONE = "BackingImage none is not in the cluster"
CLASSES: dict[str, tuple[dict[str, str], str]] = {
    # Parameters, and a part of what is said.
    "filesystem-named-twice": (LOCAL | {"fsType": "xfs", "csi.storage.k8s.io/fstype": "xfs"},
        f"{CLASS} fsType 'xfs'; leave fsType or csi.storage.k8s.io/fstype out"),
    "strict-local-without-a-count": ({"dataLocality": "strict-local"},
        f"{CLASS} no parameter numberOfReplicas; {ONE}"),
    **{f"shards-of-{name}-{value}": (SHARDED | {f"dataLayout.{name}": value}, f"dataLayout.{name}")
        for name, value in (("dataChunks", "0"), ("dataChunks", "x"), ("dataChunks", "32"),
            ("parityChunks", ""), ("parityChunks", "29"), ("stripSizeKB", "65"),
            ("stripSizeKB", ""))},
    "shards-without-data-engine-v2": (
        {name: value for name, value in SHARDED.items() if name != "dataEngine"}, "dataEngine"),
    **{f"shards-with-{name}": (SHARDED | {name: value}, f"has {name} '{value}'; leave it out")
        for name, value in (("numberOfReplicas", "3"), ("dataLocality", "best-effort"),
            ("backingImage", "image"))},
    **{f"replicas-{count}": (LOCAL | {"numberOfReplicas": count}, "numberOfReplicas")
        for count in ("21", "-1", "3.5", "many", str(2**70))},
    **{f"image-not-there-with-source-{source!r}": (
        LOCAL | {"backingImage": "none", "backingImageDataSourceType": source}, GONE)
        for source in ("", "upload")},
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_class_of_which_no_volume_can_be_made(name):
    parameters, expected = CLASSES[name]
    found = refusal(claim(), parameters)

    assert found is not None
    assert expected in found
    assert found == expected or not expected.startswith(CLASS)


@pytest.mark.parametrize("value", ["[]", "null", '[{"name":"daily","isGroup":true}]', '[{"a":1}]'])
def test_jobs_that_longhorn_can_read(value):
    assert refusal(claim(), LOCAL | {"recurringJobSelector": value}) is None


@pytest.mark.parametrize(("value", "is_refused"), [("false", True), ("true", False), (None, False)])
def test_data_engine_that_is_switched_off(value, is_refused):
    settings = [setting("v2-data-engine", value)] if value else []
    found = refusal(claim(), LOCAL | {"dataEngine": "v2"}, *settings)

    assert ("set Longhorn's setting v2-data-engine" in (found or "")) is is_refused
    assert (found is not None) is is_refused


SOURCE = volume("source", size_bytes=7 * GIB, replicas=3)
"""What is copied; `bound` makes a claim of its name."""
COPY = claim(copy_of="source", size_bytes=7 * GIB)
GOLDEN, ENCRYPTED, XFS = {"backingImage": "golden"}, {"encrypted": "true"}, {"fsType": "xfs"}
BY_CSI, LINKED = {"csi.storage.k8s.io/fstype": "xfs"}, {"cloneMode": "linked-clone"}
V2, STRICT_LOCALITY = {"dataEngine": "v2"}, {"dataLocality": "strict-local"}
HEADER = "MiB, and its volume would be encrypted; ask for more than 16 MiB"
SMALL_XFS = "200 MiB, and its file system would be XFS; ask for at least 300 MiB"
NOT_OURS = (
    "which has no volume of driver.longhorn.io; have a pod use that one first, or copy another"
)


def of_mib(mib: int, **more: bool) -> Claim:
    return replace(claim(size_bytes=mib * MIB), **more)


CLAIMS: dict[str, tuple[Claim, dict[str, str], str | None]] = {
    "encrypted": (of_mib(12), ENCRYPTED, f"12 {HEADER}"),
    "encrypted-of-the-size-of-the-header": (of_mib(16), ENCRYPTED, f"16 {HEADER}"),
    "encrypted-rounded-up": (claim(size_bytes=16 * MIB + 1), ENCRYPTED, None),
    "xfs": (of_mib(200), XFS, SMALL_XFS),
    "xfs-by-the-name-of-csi": (of_mib(200), BY_CSI, SMALL_XFS),
    "xfs-rounded-up": (of_mib(299), XFS, None),
    "ext4": (of_mib(200), {"fsType": "ext4"}, None),
    "block": (of_mib(200, is_block=True), XFS, None),
    "snapshot-restored": (of_mib(12, is_restored=True), XFS | ENCRYPTED, None),
    "image-that-is-larger": (of_mib(5 * 1024), GOLDEN,
        "5 GiB, and backing image golden has 8 GiB; ask for at least as much"),
    "image": (of_mib(8 * 1024), GOLDEN, None),
    "image-of-another-engine": (claim(), GOLDEN | V2,
        "backing image golden of data engine v1; use a class of that one"),
    "copy-of-another-size": (claim(copy_of="source", size_bytes=50 * GIB), {},
        "50 GiB and a copy of default/source, which has 7 GiB; ask for 7 GiB, and for more "
        "afterwards"),
    "copy": (COPY, {}, None),
    "copy-of-another-engine": (COPY, V2,
        "a copy of default/source, which is of another kind; use a class of the same engine, "
        "without shards"),
    "linked-clone-of-v1": (COPY, LINKED,
        "a copy of default/source as a linked clone; use data engine v2 and at most 3 replicas"),
    "linked-clone-without-a-copy": (claim(), LINKED, None),
    "copy-of-a-claim-that-waits": (
        claim(copy_of="waiting"), {}, f"a copy of default/waiting, {NOT_OURS}"),
    "copy-of-other-storage": (claim(copy_of="nfs"), {}, f"a copy of default/nfs, {NOT_OURS}"),
    "strict-local-and-shared": (RWX, STRICT_LOCALITY,
        "ReadWriteMany, and its volume would be strict-local; use ReadWriteOnce, or a class of "
        "another locality"),
    "strict-local-and-migratable": (RWX, STRICT_LOCALITY | {"migratable": "true"}, None),
    "read-only": (replace(claim(), read_only_many=True), {},
        "ReadOnlyMany, which Longhorn has not; use ReadWriteOnce or ReadWriteMany"),
}  # fmt: skip
OTHERS = [
    backing_image("golden", virtual_bytes=8 * GIB, engine="v1"),
    *bound(SOURCE),
    claim("waiting"),
    claim("nfs", persistent_volume="nfs"),
    persistent_volume("nfs", driver="nfs.csi.k8s.io"),
]


@pytest.mark.parametrize("name", CLAIMS)
def test_claim_that_longhorn_refuses(name):
    asked, parameters, expected = CLAIMS[name]
    whole = expected and f"PersistentVolumeClaim {asked.key} asks for {expected}"

    assert refusal(asked, LOCAL | parameters, *OTHERS) == whole


def test_claim_of_negative_size():
    assert refusal(claim(size_bytes=-1), LOCAL) == (
        "PersistentVolumeClaim default/data requests a negative size; correct it"
    )


def test_tags_of_nodes_do_not_matter_to_shards():
    few = {"dataChunks": "1", "parityChunks": "1", "stripSizeKB": "4"}
    layout = SHARDED | {f"dataLayout.{name}": value for name, value in few.items()}
    of_one = bare_class(parameters=layout | {"nodeSelector": "fast"})
    nodes = [node(f"node-{n}", disk(type_="block"), tags=["fast"][n - 1 :]) for n in (1, 2)]

    assert accepted(view_of(*nodes, claim("vol"), of_one)) == ["node-1", "node-2"]


@pytest.mark.parametrize(
    ("asked", "parameters"),
    [(claim("vol"), {}), (claim("vol", read_write_many=True), {}), (claim("vol"), SHARDED)],
    ids=["disabled", "shared", "sharded"],
)
def test_tag_that_no_disk_has_lets_no_volume_be_made(asked, parameters):
    of_no_disk = bare_class(parameters={**parameters, "diskSelector": "none"})

    with pytest.raises(UnresolvableClaimError, match="tag 'none' is on no Longhorn disk"):
        accepted(view_of(CLUSTER, asked, of_no_disk))


DOWNLOAD = {"backingImage": "image", "backingImageDataSourceType": "download"}


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        pytest.param({"backingImage": "image"}, None, id="source-none"),
        pytest.param(DOWNLOAD, backing_image(), id="selectors-none"),
        pytest.param(
            DOWNLOAD
            | {"backingImageNodeSelector": "storage", "backingImageDiskSelector": "ssd,nvme"},
            backing_image(node_selector=["storage"], disk_selector=["ssd", "nvme"]),
            id="selectors",
        ),
    ],
)
def test_backing_image_made_along_with_the_volume(parameters, expected):
    assert future_backing_image(bare_class(parameters=parameters)) == expected


def test_selectors_of_a_future_backing_image_bind_the_volume():
    from_image = storage_class(**DOWNLOAD, backingImageDiskSelector="ssd")
    view = view_of(node("node-1", disk(tags=["ssd"])), node("node-2"), claim("vol"), from_image)

    assert accepted(view) == ["node-1"]


@pytest.mark.parametrize(
    ("name", "value", "parameters"),
    [
        pytest.param("default-data-locality", "local", {}, id="locality"),
        pytest.param("default-data-locality", '{"v2":"disabled"}', {}, id="locality-without-v1"),
        pytest.param("default-data-locality", 5, {}, id="setting-unreadable"),
        pytest.param("default-replica-count", "three", STRICT_LOCALITY, id="replica-count"),
    ],
)
def test_default_that_cannot_be_read_is_named_where_it_is_needed(name, value, parameters):
    written = read(document("Setting", name, value=value))
    view = view_of(node(), claim("vol"), bare_class(parameters=parameters), written)

    with pytest.raises(UnresolvableClaimError, match=f"Setting {name} has a value that cannot be"):
        ask(view)


@pytest.mark.parametrize(
    ("name", "value"), [("default-data-locality", "local"), ("default-replica-count", "three")]
)
def test_default_that_is_not_needed_may_be_anything(name, value):
    assert fits(view_of(node(), claim("vol"), storage_class(), setting(name, value)))


def test_settings_of_other_things_do_not_decide_where_a_class_leads():
    unreadable = setting("storage-over-provisioning-percentage", "abc")
    view = view_of(node(), claim("vol"), bare_class(), unreadable)

    assert ask(view).basis is Basis.NOTHING_LOCAL


@pytest.mark.parametrize(("mode", "replicas_first"), [("full-copy", 1), ("linked-clone", 3)])
def test_copy_has_one_replica_until_it_is_done_and_a_linked_clone_all(mode, replicas_first):
    view = view_of(CLUSTER, *bound(replace(SOURCE, disk_type="block")))
    class_ = storage_class(numberOfReplicas="3", cloneMode=mode, dataEngine="v2")

    copy = estimate_volume(COPY, class_, view)

    assert (copy.size_bytes, copy.wanted_replicas) == (7 * GIB, 3)
    assert copy.linked_to == ("source" if mode == "linked-clone" else None)
    assert due_replicas(copy, (), view.settings, attaching=True).anywhere == replicas_first


def test_copy_whose_source_has_a_volume_that_was_not_read_is_not_refused():
    copy = estimate(claim(copy_of="source"), LOCAL, claim("source", persistent_volume="pv"))

    assert (copy.size_bytes, copy.copying) == (10 * GIB, True)


def test_image_is_not_missed_where_none_was_read_unless_it_says_where_replicas_go():
    view = view_of(CLUSTER)

    requests.new_volume(claim(), storage_class(backingImage="a", dataLocality="disabled"), view)
    local = estimate_volume(claim(), storage_class(backingImage="a"), view)
    with pytest.raises(UnresolvableClaimError, match="BackingImage a is not in the cluster"):
        requests.new_volume(claim(), storage_class(backingImage="a"), view)

    assert local.backing_image == "a"
