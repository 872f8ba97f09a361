"""The volume that Longhorn's driver would make for a claim."""

from contextlib import nullcontext
from typing import Any

import pytest
from msgspec.structs import replace

from extender import Basis, UnresolvableClaimError
from extender.demand import requests
from extender.demand.estimates import estimate_volume, future_backing_image
from extender.kubernetes import Claim, StorageClass
from longhorn import BackingImage, Locality, Volume, due_replicas, shard_size_bytes
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


def estimate(claim: Claim, storage_class: StorageClass, **settings: str) -> Volume:
    values = [setting(name.replace("_", "-"), value) for name, value in settings.items()]
    return estimate_volume(claim, storage_class, view_of(CLUSTER, backing_image(), *values))


def new_volume(name: str, **how: Any) -> Volume:
    """Build a volume that is yet to be made."""
    return replace(volume(name, **how), is_estimate=True)


def test_estimate_with_the_fewest_parameters():
    assert estimate(claim(), storage_class()) == new_volume("pvc-uid-data")
    assert estimate(claim(uid=""), storage_class()) == new_volume("default/data")


def test_estimate_with_every_parameter_that_matters():
    everything = bare_class(
        parameters={
            "numberOfReplicas": "1",
            "dataLocality": "strict-local",
            "dataEngine": "v2",
            "nodeSelector": "storage,gpu",
            "diskSelector": "ssd",
            "backingImage": "image",
            "staleReplicaTimeout": "30",
            "fsType": "ext4",
        }
    )

    assert estimate(claim(size_bytes=1), everything) == new_volume(
        "pvc-uid-data",
        size_bytes=10 * MIB,
        locality=Locality.STRICT_LOCAL,
        disk_type="block",
        node_selector=["storage", "gpu"],
        disk_selector=["ssd"],
        backing_image="image",
    )


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        pytest.param({}, Locality.DISABLED, id="absent-as-the-setting-says"),
        pytest.param({"dataLocality": "disabled"}, Locality.DISABLED, id="disabled"),
        pytest.param({"dataLocality": "best-effort"}, Locality.BEST_EFFORT, id="best-effort"),
        pytest.param(
            {"dataLocality": "strict-local", "numberOfReplicas": "1"},
            Locality.STRICT_LOCAL,
            id="strict-local",
        ),
        pytest.param(
            {"datalocality": "best-effort"}, Locality.DISABLED, id="keys-are-case-sensitive"
        ),
    ],
)
def test_locality(parameters, expected):
    assert estimate(claim(), bare_class(parameters=parameters)).locality is expected


def test_sharded_volume_is_never_local():
    found = estimate(claim(), sharded(), default_data_locality="best-effort")

    assert found.locality is Locality.DISABLED
    assert not found.needs_local_replica


def sharded(**parameters: str) -> StorageClass:
    """Build a class whose volumes have 4 + 2 shards."""
    layout = {"type": "sharded", "dataChunks": "4", "parityChunks": "2", "stripSizeKB": "64"}
    named = {f"dataLayout.{name}": value for name, value in (layout | parameters).items()}
    return bare_class(parameters={"dataEngine": "v2", **named})


def test_shards_of_a_volume_that_is_yet_to_be_made():
    found = estimate(claim(), sharded())

    assert (found.data_chunks, found.wanted_replicas) == (4, 6)
    assert found.shard_bytes == shard_size_bytes(found.size_bytes, data_chunks=4, strip_kib=64)
    assert (found.soft_anti_affinity, found.zone_soft_anti_affinity) == (False, True)


SHARDED = sharded().parameters


@pytest.mark.parametrize(
    "wrong",
    [
        {"dataChunks": "0"},
        {"dataChunks": "x"},
        {"dataChunks": "32"},
        {"parityChunks": ""},
        {"parityChunks": "29"},
        {"stripSizeKB": "65"},
        {"stripSizeKB": ""},
    ],
)
def test_shards_that_longhorn_would_refuse(wrong):
    [name] = wrong
    with pytest.raises(UnresolvableClaimError, match=f"dataLayout.{name}"):
        estimate(claim(), sharded(**wrong))


def test_shards_need_data_engine_v2():
    parameters = dict(sharded().parameters)
    del parameters["dataEngine"]
    with pytest.raises(UnresolvableClaimError, match="dataEngine"):
        estimate(claim(), bare_class(parameters=parameters))


@pytest.mark.parametrize(
    ("read_write_many", "parameters", "shared"),
    [
        pytest.param(True, {}, True, id="rwx"),
        pytest.param(True, {"migratable": "false"}, True, id="rwx-not-migratable"),
        pytest.param(True, {"migratable": "true"}, False, id="rwx-migratable"),
        pytest.param(True, {"migratable": "T"}, False, id="rwx-migratable-in-short"),
        pytest.param(False, {}, False, id="rwo"),
        pytest.param(False, {"migratable": "true"}, False, id="rwo-is-never-migratable"),
    ],
)
def test_shared(*, read_write_many, parameters, shared):
    asked = claim(read_write_many=read_write_many)

    assert estimate(asked, storage_class(**parameters)).shared is shared


LOCALITIES = "use one of best-effort, disabled, strict-local"
NO_VOLUME = "(spaces count), so no volume can be created"


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"dataLocality": ""}, f"dataLocality ''; {LOCALITIES}"),
        ({"dataLocality": "Best-Effort"}, f"dataLocality 'Best-Effort'; {LOCALITIES}"),
        ({"dataEngine": "v3"}, "dataEngine 'v3'; use one of v1, v2"),
        (
            {"nodeSelector": "storage,ssd"},
            f"nodeSelector 'storage,ssd'; tag 'ssd' is on no Longhorn node {NO_VOLUME}",
        ),
        (
            {"diskSelector": "ssd, nvme"},
            f"diskSelector 'ssd, nvme'; tag ' nvme' is on no Longhorn disk {NO_VOLUME}",
        ),
        ({"diskSelector": ""}, f"diskSelector ''; tag '' is on no Longhorn disk {NO_VOLUME}"),
        (
            {"numberOfReplicas": "2"},
            "numberOfReplicas '2'; a strict-local volume must have 1 replica",
        ),
        ({"numberOfReplicas": "one"}, "numberOfReplicas 'one'; use a whole number"),
        (
            {"numberOfReplicas": "0"},
            "numberOfReplicas '0'; a strict-local volume must have 1 replica",
        ),
        ({"migratable": "maybe"}, "migratable 'maybe'; use true or false"),
        ({"migratable": ""}, "migratable ''; use true or false"),
        ({"migratable": "TrUe"}, "migratable 'TrUe'; use true or false"),
        ({"encrypted": "yes"}, "encrypted 'yes'; use true or false"),
        ({"disableRevisionCounter": ""}, "disableRevisionCounter ''; use true or false"),
        ({"staleReplicaTimeout": "30m"}, "staleReplicaTimeout '30m'; use a whole number"),
        (
            {"replicaAutoBalance": "best"},
            "replicaAutoBalance 'best'; use one of best-effort, disabled, ignored, least-effort",
        ),
        (
            {"unmapMarkSnapChainRemoved": "true"},
            "unmapMarkSnapChainRemoved 'true'; use one of disabled, enabled, ignored",
        ),
        (
            {"freezeFilesystemForSnapshot": ""},
            "freezeFilesystemForSnapshot ''; use one of disabled, enabled, ignored",
        ),
        (
            {"recurringJobSelector": "daily"},
            """recurringJobSelector 'daily'; use JSON such as [{"name":"JOB","isGroup":false}]""",
        ),
        (
            {"fsType": "xfs", "csi__storage__k8s__io/fstype": "xfs"},
            "fsType 'xfs'; leave fsType or csi.storage.k8s.io/fstype out",
        ),
        ({"dataLayout__type": "raid"}, "dataLayout.type 'raid'; use one of replicated, sharded"),
    ],
    ids=str,
)
def test_class_of_which_no_volume_can_be_made(parameters, expected):
    strict = {"dataLocality": "strict-local"} if "numberOfReplicas" in parameters else {}
    asked = claim()
    with pytest.raises(UnresolvableClaimError) as caught:
        estimate(asked, storage_class(**strict, **parameters))

    assert str(caught.value) == f"StorageClass local has {expected}"


def test_strict_local_class_without_a_count_says_so():
    with pytest.raises(UnresolvableClaimError) as caught:
        estimate(claim(), bare_class(parameters={"dataLocality": "strict-local"}))

    assert str(caught.value) == (
        "StorageClass local has no parameter numberOfReplicas; "
        "a strict-local volume must have 1 replica"
    )


def test_negative_size():
    with pytest.raises(UnresolvableClaimError) as caught:
        estimate(claim(size_bytes=-1), storage_class())

    assert str(caught.value) == (
        "PersistentVolumeClaim default/data requests a negative size; correct it"
    )


def test_tags_of_nodes_do_not_matter_to_shards():
    class_ = sharded(dataChunks="1", parityChunks="1", stripSizeKB="4")
    of_one = bare_class(parameters={**class_.parameters, "nodeSelector": "fast"})
    nodes = [
        node("node-1", disk(type_="block"), tags=["fast"]),
        node("node-2", disk(type_="block")),
    ]

    assert accepted(view_of(*nodes, claim("vol"), of_one)) == ["node-1", "node-2"]


@pytest.mark.parametrize(
    ("asked", "parameters"),
    [(claim("vol"), {}), (claim("vol", read_write_many=True), {}), (claim("vol"), SHARDED)],
    ids=["disabled", "shared", "sharded"],
)
def test_no_volume_is_created_with_a_tag_that_no_disk_has(asked, parameters):
    of_no_disk = bare_class(parameters={**parameters, "diskSelector": "none"})

    with pytest.raises(UnresolvableClaimError, match="tag 'none' is on no Longhorn disk"):
        accepted(view_of(CLUSTER, asked, of_no_disk))


@pytest.mark.parametrize("count", ["21", "-1", "3.5", "many", str(2**70)])
def test_a_count_of_replicas_that_longhorn_refuses(count):
    with pytest.raises(UnresolvableClaimError, match="numberOfReplicas"):
        estimate(claim(), storage_class(numberOfReplicas=count))


@pytest.mark.parametrize(("count", "expected"), [("1", 1), ("20", 20), ("0", 3), ("", 3)])
def test_how_many_replicas_the_volume_will_have(count, expected):
    parameters = {"numberOfReplicas": count} if count else {}

    assert estimate(claim(), bare_class(parameters=parameters)).wanted_replicas == expected


def test_anti_affinities_of_the_class():
    found = estimate(
        claim(),
        storage_class(replicaSoftAntiAffinity="enabled", replicaZoneSoftAntiAffinity="disabled"),
    )

    assert found.soft_anti_affinity is True
    assert found.zone_soft_anti_affinity is False
    assert found.disk_soft_anti_affinity is None


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        pytest.param({"backingImage": "image"}, None, id="no-source"),
        pytest.param(
            {"backingImage": "image", "backingImageDataSourceType": "download"},
            BackingImage(name="image", node_selector=(), disk_selector=()),
            id="no-selectors",
        ),
        pytest.param(
            {
                "backingImage": "image",
                "backingImageDataSourceType": "download",
                "backingImageNodeSelector": "storage",
                "backingImageDiskSelector": "ssd,nvme",
            },
            BackingImage(name="image", node_selector=("storage",), disk_selector=("ssd", "nvme")),
            id="selectors",
        ),
    ],
)
def test_backing_image_made_along_with_the_volume(parameters, expected):
    assert future_backing_image(bare_class(parameters=parameters)) == expected


def test_selectors_of_a_future_backing_image_bind_the_volume():
    from_image = storage_class(
        backingImage="image", backingImageDataSourceType="download", backingImageDiskSelector="ssd"
    )
    view = view_of(node("node-1", disk(tags=["ssd"])), node("node-2"), claim("vol"), from_image)

    assert accepted(view) == ["node-1"]


@pytest.mark.parametrize(
    ("name", "value", "parameters"),
    [
        pytest.param("default-data-locality", "local", {}, id="locality"),
        pytest.param("default-data-locality", '{"v2":"disabled"}', {}, id="locality-without-v1"),
        pytest.param("default-data-locality", 5, {}, id="object-that-cannot-be-read"),
        pytest.param(
            "default-replica-count", "three", {"dataLocality": "strict-local"}, id="replica-count"
        ),
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


def test_other_settings_do_not_decide_what_a_class_leads_to():
    unreadable = setting("storage-over-provisioning-percentage", "abc")
    view = view_of(node(), claim("vol"), bare_class(), unreadable)

    assert ask(view).basis is Basis.NOTHING_LOCAL


SOURCE = volume("source", size_bytes=7 * GIB, replicas=3)
"""What is copied; `bound` makes a claim of its name."""


@pytest.mark.parametrize(("mode", "replicas_first"), [("full-copy", 1), ("linked-clone", 3)])
def test_a_copy_has_one_replica_until_it_is_done_and_a_linked_clone_all(mode, replicas_first):
    source = replace(SOURCE, disk_type="block")
    view = view_of(CLUSTER, *bound(source))
    class_ = storage_class(numberOfReplicas="3", cloneMode=mode, dataEngine="v2")

    copy = estimate_volume(claim(copy_of="source", size_bytes=7 * GIB), class_, view)

    assert (copy.size_bytes, copy.wanted_replicas) == (7 * GIB, 3)
    assert copy.linked_to == ("source" if mode == "linked-clone" else None)
    assert due_replicas(copy, (), view.settings, attaching=True).anywhere == replicas_first


def test_nothing_is_refused_of_a_copy_whose_source_has_a_volume_that_was_not_read():
    source = claim("source", persistent_volume="pv")

    copy = estimate_volume(claim(copy_of="source"), storage_class(), view_of(CLUSTER, source))

    assert (copy.size_bytes, copy.copying) == (10 * GIB, True)


@pytest.mark.parametrize(("value", "soft"), [("zonal", True), ("regional", None), ("any", None)])
def test_replicas_of_a_zonal_volume_share_their_zone(value, *, soft):
    assert estimate(claim(), storage_class(volumeTopology=value)).zone_soft_anti_affinity is soft


@pytest.mark.parametrize("value", ["[]", "null", '[{"name":"daily","isGroup":true}]', '[{"a":1}]'])
def test_jobs_that_longhorn_can_read(value):
    estimate(claim(), storage_class(recurringJobSelector=value))


@pytest.mark.parametrize(
    "wrong",
    [{"numberOfReplicas": "3"}, {"dataLocality": "best-effort"}, {"backingImage": "image"}],
    ids=str,
)
def test_what_longhorn_refuses_of_a_volume_with_shards(wrong):
    [name] = wrong
    with pytest.raises(UnresolvableClaimError, match=f"has {name} .*; leave it out"):
        estimate(claim(), bare_class(parameters={**sharded().parameters, **wrong}))


@pytest.mark.parametrize(
    ("asked", "parameters", "expected"),
    [
        pytest.param(
            claim(size_bytes=12 * MIB),
            {"encrypted": "true"},
            "12 MiB, and its volume would be encrypted; ask for more than 16 MiB",
            id="encrypted",
        ),
        pytest.param(
            claim(size_bytes=16 * MIB),
            {"encrypted": "true"},
            "16 MiB, and its volume would be encrypted; ask for more than 16 MiB",
            id="encrypted-of-the-size-of-the-header",
        ),
        pytest.param(
            claim(size_bytes=16 * MIB + 1), {"encrypted": "true"}, None, id="encrypted-rounded-up"
        ),
        pytest.param(
            claim(size_bytes=200 * MIB),
            {"fsType": "xfs"},
            "200 MiB, and its file system would be XFS; ask for at least 300 MiB",
            id="xfs",
        ),
        pytest.param(
            claim(size_bytes=200 * MIB),
            {"csi__storage__k8s__io/fstype": "xfs"},
            "200 MiB, and its file system would be XFS; ask for at least 300 MiB",
            id="xfs-by-the-name-of-csi",
        ),
        pytest.param(claim(size_bytes=299 * MIB), {"fsType": "xfs"}, None, id="xfs-rounded-up"),
        pytest.param(claim(size_bytes=200 * MIB), {"fsType": "ext4"}, None, id="ext4"),
        pytest.param(
            replace(claim(size_bytes=200 * MIB), is_block=True), {"fsType": "xfs"}, None, id="block"
        ),
        pytest.param(
            replace(claim(size_bytes=12 * MIB), is_restored=True),
            {"fsType": "xfs", "encrypted": "true"},
            None,
            id="of-a-snapshot",
        ),
        pytest.param(
            claim(size_bytes=5 * GIB),
            {"backingImage": "golden"},
            "5 GiB, and backing image golden has 8 GiB; ask for at least as much",
            id="image-that-is-larger",
        ),
        pytest.param(claim(size_bytes=8 * GIB), {"backingImage": "golden"}, None, id="image"),
        pytest.param(
            claim(),
            {"backingImage": "golden", "dataEngine": "v2"},
            "backing image golden of data engine v1; use a class of that one",
            id="image-of-another-engine",
        ),
        pytest.param(
            claim(copy_of="source", size_bytes=50 * GIB),
            {},
            "50 GiB and a copy of default/source, which has 7 GiB; ask for 7 GiB, and for more "
            "afterwards",
            id="copy-of-another-size",
        ),
        pytest.param(claim(copy_of="source", size_bytes=7 * GIB), {}, None, id="copy"),
        pytest.param(
            claim(copy_of="source", size_bytes=7 * GIB),
            {"dataEngine": "v2"},
            "a copy of default/source, which is of another kind; use a class of the same engine, "
            "without shards",
            id="copy-of-another-engine",
        ),
        pytest.param(
            claim(copy_of="source", size_bytes=7 * GIB),
            {"cloneMode": "linked-clone"},
            "a copy of default/source as a linked clone; use data engine v2 and at most 3 replicas",
            id="linked-clone-of-v1",
        ),
        pytest.param(claim(), {"cloneMode": "linked-clone"}, None, id="no-copy"),
        pytest.param(
            claim(copy_of="waiting"),
            {},
            "a copy of default/waiting, which has no volume of driver.longhorn.io; have a pod use "
            "that one first, or copy another",
            id="copy-of-a-claim-that-waits",
        ),
        pytest.param(
            claim(copy_of="nfs"),
            {},
            "a copy of default/nfs, which has no volume of driver.longhorn.io; have a pod use that "
            "one first, or copy another",
            id="copy-of-other-storage",
        ),
        pytest.param(
            claim(read_write_many=True),
            {"dataLocality": "strict-local"},
            "ReadWriteMany, and its volume would be strict-local; use ReadWriteOnce, or a class of "
            "another locality",
            id="strict-local-and-shared",
        ),
        pytest.param(
            claim(read_write_many=True),
            {"dataLocality": "strict-local", "migratable": "true"},
            None,
            id="strict-local-and-migratable",
        ),
        pytest.param(
            replace(claim(), read_only_many=True),
            {},
            "ReadOnlyMany, which Longhorn has not; use ReadWriteOnce or ReadWriteMany",
            id="read-only",
        ),
    ],
)
def test_what_longhorn_refuses_of_a_claim(asked, parameters, expected):
    named = {key.replace("__", "."): value for key, value in parameters.items()}
    class_ = storage_class(**named)
    view = view_of(
        CLUSTER,
        backing_image("golden", virtual_bytes=8 * GIB, engine="v1"),
        *bound(SOURCE),
        claim("waiting"),
        claim("nfs", persistent_volume="nfs"),
        persistent_volume("nfs", driver="nfs.csi.k8s.io"),
    )

    try:
        estimate_volume(asked, class_, view)
        found = None
    except UnresolvableClaimError as error:
        found = str(error)

    whole = expected and f"PersistentVolumeClaim {asked.key} asks for {expected}"
    assert found == whole


@pytest.mark.parametrize("source", ["", "upload"])
def test_no_volume_is_made_of_an_image_that_is_not_there(source):
    class_ = storage_class(backingImage="none", backingImageDataSourceType=source)

    with pytest.raises(UnresolvableClaimError, match="BackingImage none is not in the cluster"):
        estimate(claim(), class_)


def test_an_image_is_not_missed_where_none_was_read_unless_it_says_where_replicas_go():
    view = view_of(CLUSTER)

    requests.new_volume(claim(), storage_class(backingImage="a", dataLocality="disabled"), view)
    local = estimate_volume(claim(), storage_class(backingImage="a"), view)
    with pytest.raises(UnresolvableClaimError, match="BackingImage a is not in the cluster"):
        requests.new_volume(claim(), storage_class(backingImage="a"), view)

    assert local.backing_image == "a"


def test_a_size_is_not_held_against_an_image_that_is_not_ready():
    estimate(claim(size_bytes=1), storage_class(backingImage="image"))


@pytest.mark.parametrize(("value", "is_refused"), [("false", True), ("true", False), (None, False)])
def test_a_data_engine_that_is_switched_off(value, *, is_refused):
    settings = {"v2_data_engine": value} if value else {}
    refused = pytest.raises(UnresolvableClaimError, match="set Longhorn's setting v2-data-engine")
    with refused if is_refused else nullcontext():
        estimate(claim(), storage_class(dataEngine="v2"), **settings)
