"""From a pod's claims to the volumes that must be on its node."""

import pytest

from app.kube.records import Unreadable
from app.kube.resources import AnyRecord
from extender import PodRef, UnresolvableClaimError
from extender.demand.requests import LocalVolume, Need, PodRequest, resolve
from longhorn import Locality, TopologyTerm, Volume, VolumeName
from tests.builders import (
    GIB,
    backing_image,
    bound,
    claim,
    core_document,
    document,
    node,
    persistent_volume,
    pod,
    read_as_unreadable,
    storage_class,
    view_of,
    volume,
)

NO_IMAGE: tuple[tuple[str, ...], ...] = ((),)


def local(name: str = "vol", *, size_bytes: int = 10 * GIB, strict: bool = False) -> LocalVolume:
    need = Need(
        size_bytes=size_bytes,
        actual_bytes=0,
        disk_type="filesystem",
        node_selectors=NO_IMAGE,
        disk_selectors=NO_IMAGE,
        topology=(),
    )
    return LocalVolume(name=VolumeName(name), need=need, strict=strict)


def resolved(
    *records: AnyRecord | Unreadable, claims: tuple[str, ...] = ("vol",)
) -> tuple[LocalVolume, ...]:
    return resolve(pod(*claims), view_of(*records)).volumes


def test_pod_without_claims_needs_nothing() -> None:
    empty = PodRef(namespace="default", name="pod", uid="u", claims=())

    assert resolve(empty, view_of()) == PodRequest(pod=empty, volumes=())


def test_bound_claim_leads_to_its_volume() -> None:
    assert resolved(*bound(volume())) == (local(),)


@pytest.mark.parametrize("driver", ["driver.longhorn.io", "io.rancher.longhorn"])
def test_driver_names_of_longhorn(driver: str) -> None:
    records = volume(), persistent_volume(driver=driver), claim("vol", persistent_volume="pv")

    assert resolved(*records) == (local(),)


@pytest.mark.parametrize("provisioner", ["driver.longhorn.io", "rancher.io/longhorn"])
def test_provisioner_names_of_longhorn(provisioner: str) -> None:
    records = claim("vol"), storage_class(provisioner=provisioner)

    assert resolved(*records) == (local("pvc-uid-vol"),)


@pytest.mark.parametrize(
    "records",
    [
        pytest.param(
            [persistent_volume(driver="ebs.csi.aws.com"), claim("vol", persistent_volume="pv")],
            id="another-driver",
        ),
        pytest.param(
            [persistent_volume(driver=None, handle=None), claim("vol", persistent_volume="pv")],
            id="no-csi-volume",
        ),
        pytest.param(
            [claim("vol"), storage_class(provisioner="ebs.csi.aws.com")], id="another-provisioner"
        ),
        pytest.param([claim("vol", storage_class=None)], id="no-class"),
        pytest.param(
            # The names of a provisioner and a driver are not to be mixed up.
            [claim("vol"), storage_class(provisioner="io.rancher.longhorn")],
            id="driver-name-as-provisioner",
        ),
    ],
)
def test_other_storage_is_passed_over(records: list[AnyRecord]) -> None:
    assert resolved(*records) == ()


def test_existing_volume_is_taken_rather_than_an_estimate() -> None:
    existing = volume("pvc-uid-vol", size_bytes=20 * GIB)
    records = existing, claim("vol", size_bytes=10 * GIB), storage_class()

    assert resolved(*records) == (local("pvc-uid-vol", size_bytes=20 * GIB),)


def test_claim_named_twice_counts_once() -> None:
    assert resolved(*bound(volume()), claims=("vol", "vol")) == (local(),)


def test_two_claims_of_one_volume_count_once() -> None:
    records = (
        volume(),
        persistent_volume("pv-1"),
        persistent_volume("pv-2"),
        claim("a", persistent_volume="pv-1"),
        claim("b", persistent_volume="pv-2"),
    )

    assert resolved(*records, claims=("a", "b")) == (local(),)


def test_volumes_are_in_the_order_of_the_claims() -> None:
    records = bound(volume("b"), volume("a"))

    assert resolved(*records, claims=("b", "a")) == (local("b"), local("a"))


def test_two_unbound_claims_without_uid_are_two_volumes() -> None:
    records = claim("a", uid=""), claim("b", uid=""), storage_class()

    assert len(resolved(*records, claims=("a", "b"))) == 2


@pytest.mark.parametrize(
    "volume",
    [
        pytest.param(volume(locality=Locality.DISABLED), id="disabled"),
        pytest.param(volume(shared=True), id="shared"),
        pytest.param(volume(shared=True, locality=Locality.STRICT_LOCAL), id="shared-and-strict"),
        pytest.param(volume(standby=True), id="standby"),
        pytest.param(volume(sharded=True), id="sharded"),
        pytest.param(
            volume(locality=Locality.DISABLED, backing_image="missing"), id="image-is-missing"
        ),
        pytest.param(
            volume(locality=Locality.DISABLED, node_selector=["nobody"]), id="unknown-selector"
        ),
    ],
)
def test_volume_that_need_not_be_local_is_left_out(volume: Volume) -> None:
    assert resolved(*bound(volume)) == ()


def test_only_what_must_be_local_is_kept() -> None:
    records = bound(volume("here"), volume("there", locality=Locality.DISABLED))

    assert resolved(*records, claims=("there", "here")) == (local("here"),)


def test_strict_local_volume_is_marked() -> None:
    assert resolved(*bound(volume(locality=Locality.STRICT_LOCAL))) == (local(strict=True),)


def test_need_has_all_that_a_replica_asks_for() -> None:
    demanding = volume(
        size_bytes=20 * GIB,
        actual_bytes=30 * GIB,
        disk_type="block",
        node_selector=["storage"],
        disk_selector=["ssd", "nvme"],
        topology=[("a", ""), ("", "r")],
    )

    (found,) = resolved(*bound(demanding))

    assert found.need == Need(
        size_bytes=20 * GIB,
        actual_bytes=30 * GIB,
        disk_type="block",
        node_selectors=(("storage",),),
        disk_selectors=(("ssd", "nvme"),),
        topology=(TopologyTerm(zone="a", region=""), TopologyTerm(zone="", region="r")),
    )


def test_selectors_of_the_backing_image_are_kept_apart() -> None:
    records = (
        *bound(volume(backing_image="image", disk_selector=["ssd"])),
        backing_image(node_selector=["storage"], disk_selector=["nvme"]),
    )

    (found,) = resolved(*records)

    assert found.need.node_selectors == ((), ("storage",))
    assert found.need.disk_selectors == (("ssd",), ("nvme",))


MISSING = "is not in the cluster; create it, or wait until the extender has seen it"


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param([], f"PersistentVolumeClaim default/vol {MISSING}", id="claim"),
        pytest.param(
            [claim("vol", persistent_volume="pv")],
            f"PersistentVolume pv {MISSING}",
            id="volume-bound-to",
        ),
        pytest.param([claim("vol")], f"StorageClass local {MISSING}", id="class"),
        pytest.param(
            [persistent_volume(), claim("vol", persistent_volume="pv")],
            f"Volume vol {MISSING}",
            id="longhorn-volume",
        ),
        pytest.param(
            bound(volume(backing_image="image")),
            f"BackingImage image {MISSING}",
            id="backing-image",
        ),
        pytest.param(
            [claim("vol"), storage_class(backingImage="image")],
            f"BackingImage image {MISSING}",
            id="backing-image-of-a-class",
        ),
    ],
)
def test_missing_object_is_named(records: list[AnyRecord], expected: str) -> None:
    with pytest.raises(UnresolvableClaimError) as caught:
        resolved(*records)

    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param(
            [claim("vol", deleting=True), storage_class()],
            "PersistentVolumeClaim default/vol is being deleted; "
            "wait until it is gone and create it again",
            id="claim",
        ),
        pytest.param(
            bound(volume(deleting=True)),
            "Volume vol is being deleted; restore it or use another claim",
            id="longhorn-volume",
        ),
        pytest.param(
            [claim("vol"), storage_class(), volume("pvc-uid-vol", deleting=True)],
            "Volume pvc-uid-vol is being deleted; restore it or use another claim",
            id="longhorn-volume-not-bound-yet",
        ),
    ],
)
def test_object_being_deleted_is_named(records: list[AnyRecord], expected: str) -> None:
    with pytest.raises(UnresolvableClaimError) as caught:
        resolved(*records)

    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("broken", "records", "expected"),
    [
        pytest.param(
            core_document("PersistentVolumeClaim", "vol", spec=[]),
            [],
            "PersistentVolumeClaim default/vol cannot be read; ",
            id="claim",
        ),
        pytest.param(
            core_document("PersistentVolume", "pv", spec=[]),
            [claim("vol", persistent_volume="pv")],
            "PersistentVolume pv cannot be read; ",
            id="volume-bound-to",
        ),
        pytest.param(
            document("Volume", "vol", spec={"size": "large"}),
            [persistent_volume(), claim("vol", persistent_volume="pv")],
            "Volume vol cannot be read; 'large' is not a size in bytes",
            id="longhorn-volume",
        ),
        pytest.param(
            document("Volume", "pvc-uid-vol", spec={"size": "large"}),
            [claim("vol"), storage_class()],
            "Volume pvc-uid-vol cannot be read; 'large' is not a size in bytes",
            id="longhorn-volume-not-bound-yet",
        ),
        pytest.param(
            document("BackingImage", "image", spec=[]),
            bound(volume(backing_image="image")),
            "BackingImage image cannot be read; ",
            id="backing-image",
        ),
        pytest.param(
            document("StorageClass", "local", provisioner=5) | {"apiVersion": "storage.k8s.io/v1"},
            [claim("vol")],
            "StorageClass local cannot be read; ",
            id="class",
        ),
    ],
)
def test_unreadable_object_is_named(
    broken: dict[str, object], records: list[AnyRecord], expected: str
) -> None:
    with pytest.raises(UnresolvableClaimError) as caught:
        resolved(read_as_unreadable(broken), *records)

    assert str(caught.value).startswith(expected)


def test_error_names_the_object_by_kind_and_name() -> None:
    with pytest.raises(UnresolvableClaimError) as caught:
        resolved()

    assert (caught.value.kind, caught.value.name) == ("PersistentVolumeClaim", "default/vol")


def test_one_bad_claim_fails_the_request_though_others_are_good() -> None:
    with pytest.raises(UnresolvableClaimError, match="default/missing"):
        resolved(node(), *bound(volume()), claims=("vol", "missing"))


def test_volume_without_a_size_is_not_taken_for_an_empty_one() -> None:
    view = view_of(node(), *bound(volume("vol", size_bytes=0)))

    with pytest.raises(UnresolvableClaimError, match="Volume vol has no size"):
        resolve(pod("vol"), view)


def test_backing_image_that_cannot_be_read_is_not_taken_for_a_future_one() -> None:
    broken = read_as_unreadable(document("BackingImage", "img", spec={"nodeSelector": 5}))
    made = storage_class(backingImage="img", backingImageDataSourceType="download")
    view = view_of(node(), claim("vol"), made, broken)

    with pytest.raises(UnresolvableClaimError, match="BackingImage img cannot be read"):
        resolve(pod("vol"), view)


def test_tag_may_be_on_a_node_that_cannot_be_read() -> None:
    broken = read_as_unreadable(document("Node", "node-2", spec={"tags": ["fast"], "disks": 5}))
    view = view_of(node(), claim("vol"), storage_class(nodeSelector="fast"), broken)

    assert [local.name for local in resolve(pod("vol"), view).volumes] == ["pvc-uid-vol"]
