"""From a pod's claims to the volumes that must be on its node."""

import pytest
from msgspec import structs

from app.kube.resource import AnyRecord
from extender import PodRef, UnresolvableClaimError
from extender.demand.requests import PodRequest, WantedVolume, resolve
from extender.kubernetes import StorageClass
from longhorn import Locality, Need, TopologyTerm, Unreadable
from tests.builders import (
    GIB,
    MIB,
    ask,
    backing_image,
    bound,
    claim,
    document,
    node,
    persistent_volume,
    pod,
    read_as_unreadable,
    storage_class,
    view_of,
    volume,
    wanted,
)

NO_IMAGE: tuple[tuple[str, ...], ...] = ((),)


def local(name: str = "vol", *, size_bytes: int = 10 * GIB, strict: bool = False) -> WantedVolume:
    locality = Locality.STRICT_LOCAL if strict else Locality.BEST_EFFORT
    return wanted(volume(name, size_bytes=size_bytes, locality=locality))


def default(**fields: str) -> StorageClass:
    """Build a class for claims that name none."""
    return structs.replace(storage_class(**fields), is_default=True)


def resolved(
    *records: AnyRecord | Unreadable, claims: tuple[str, ...] = ("vol",)
) -> tuple[WantedVolume, ...]:
    return resolve(pod(*claims), view_of(*records)).volumes


def test_pod_without_claims_needs_nothing():
    empty = PodRef(namespace="default", name="pod", uid="u", claims=())

    assert resolve(empty, view_of()) == PodRequest(pod=empty, volumes=())


def test_a_claim_that_names_no_class_is_of_the_default_one():
    records = claim("vol", storage_class=None), default()

    assert [each.name for each in resolved(*records)] == ["pvc-uid-vol"]


@pytest.mark.parametrize("driver", ["driver.longhorn.io", "io.rancher.longhorn"])
def test_driver_names_of_longhorn(driver):
    records = volume(), persistent_volume(driver=driver), claim("vol", persistent_volume="pv")

    assert resolved(*records) == (local(),)


@pytest.mark.parametrize("provisioner", ["driver.longhorn.io", "rancher.io/longhorn"])
def test_provisioner_names_of_longhorn(provisioner):
    records = claim("vol"), storage_class(provisioner=provisioner)

    [found] = resolved(*records)
    assert found.volume == structs.replace(local("pvc-uid-vol").volume, is_estimate=True)


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
        pytest.param(
            [claim("vol", storage_class=None), default(provisioner="ebs")],
            id="default-class-of-others",
        ),
        pytest.param(
            # The names of a provisioner and a driver are not to be mixed up.
            [claim("vol"), storage_class(provisioner="io.rancher.longhorn")],
            id="driver-name-as-provisioner",
        ),
    ],
)
def test_other_storage_is_passed_over(records):
    assert resolved(*records) == ()


def test_existing_volume_is_taken_rather_than_an_estimate():
    existing = volume("pvc-uid-vol", size_bytes=20 * GIB)
    records = existing, claim("vol", size_bytes=10 * GIB), storage_class()

    assert resolved(*records) == (local("pvc-uid-vol", size_bytes=20 * GIB),)


def test_claim_named_twice_counts_once():
    assert resolved(*bound(volume()), claims=("vol", "vol")) == (local(),)


def test_two_claims_of_one_volume_count_once():
    records = (
        volume(),
        persistent_volume("pv-1"),
        persistent_volume("pv-2"),
        claim("a", persistent_volume="pv-1"),
        claim("b", persistent_volume="pv-2"),
    )

    assert resolved(*records, claims=("a", "b")) == (local(),)


def test_local_volumes_are_in_the_order_of_the_claims():
    strict, far = Locality.STRICT_LOCAL, Locality.DISABLED
    records = bound(volume("b"), volume("far", locality=far), volume("a", locality=strict))

    found = resolved(*records, claims=("b", "far", "a"))

    assert found == (local("b"), local("a", strict=True))


def test_two_unbound_claims_without_uid_are_two_volumes():
    records = claim("a", uid=""), claim("b", uid=""), storage_class()

    assert len(resolved(*records, claims=("a", "b"))) == 2


@pytest.mark.parametrize(
    "volume",
    [
        pytest.param(volume(locality=Locality.DISABLED), id="disabled"),
        pytest.param(volume(shared=True), id="shared"),
        pytest.param(volume(shared=True, locality=Locality.STRICT_LOCAL), id="shared-and-strict"),
        pytest.param(volume(standby=True), id="standby"),
        pytest.param(volume(data_chunks=2), id="sharded"),
        pytest.param(
            volume(locality=Locality.DISABLED, backing_image="missing"), id="image-is-missing"
        ),
        pytest.param(
            volume(locality=Locality.DISABLED, node_selector=["nobody"]), id="unknown-selector"
        ),
    ],
)
def test_volume_that_need_not_be_local_is_left_out(volume):
    assert resolved(*bound(volume)) == ()


def test_need_has_all_that_a_replica_asks_for():
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


def test_selectors_of_the_backing_image_are_kept_apart():
    records = (
        *bound(volume(backing_image="image", disk_selector=["ssd"])),
        backing_image(node_selector=["storage"], disk_selector=["nvme"]),
    )

    (found,) = resolved(*records)

    assert found.need.node_selectors == ((), ("storage",))
    assert found.need.disk_selectors == (("ssd",), ("nvme",))


WITHOUT_CLASS = (
    "PersistentVolumeClaim default/vol has no StorageClass and no PersistentVolume; "
    "name a StorageClass, make one the default, or bind the claim"
)
MISSING = "is not in the cluster; create it, or wait until the extender has seen it"
UNREADABLE = "cannot be read; 'x' is no size"
DELETING = "is being deleted; restore it or use another claim"
TO_PV = claim("vol", persistent_volume="pv")
FROM_IMAGE = bound(volume(backing_image="image"))
MAKES_IMAGE = storage_class(backingImage="image", backingImageDataSourceType="download")


def broken(kind: str, name: str) -> Unreadable:
    return Unreadable(kind=kind, name=name, why="'x' is no size")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], f"PersistentVolumeClaim default/vol {MISSING}"),
        ([TO_PV], f"PersistentVolume pv {MISSING}"),
        ([claim("vol")], f"StorageClass local {MISSING}"),
        ([claim("vol", storage_class=None)], WITHOUT_CLASS),
        ([claim("vol", storage_class=""), default()], WITHOUT_CLASS),
        ([TO_PV, persistent_volume()], f"Volume vol {MISSING}"),
        (FROM_IMAGE, f"BackingImage image {MISSING}"),
        ([claim("vol"), storage_class(backingImage="image")], f"BackingImage image {MISSING}"),
        (
            [claim("vol", deleting=True), storage_class()],
            "PersistentVolumeClaim default/vol is being deleted; "
            "wait until it is gone and create it again",
        ),
        (bound(volume(deleting=True)), f"Volume vol {DELETING}"),
        (
            [claim("vol"), storage_class(), volume("pvc-uid-vol", deleting=True)],
            f"Volume pvc-uid-vol {DELETING}",
        ),
        (
            [broken("PersistentVolumeClaim", "default/vol")],
            f"PersistentVolumeClaim default/vol {UNREADABLE}",
        ),
        ([TO_PV, broken("PersistentVolume", "pv")], f"PersistentVolume pv {UNREADABLE}"),
        ([TO_PV, persistent_volume(), broken("Volume", "vol")], f"Volume vol {UNREADABLE}"),
        (
            [claim("vol"), storage_class(), broken("Volume", "pvc-uid-vol")],
            f"Volume pvc-uid-vol {UNREADABLE}",
        ),
        ([*FROM_IMAGE, broken("BackingImage", "image")], f"BackingImage image {UNREADABLE}"),
        (
            [claim("vol"), MAKES_IMAGE, broken("BackingImage", "image")],
            f"BackingImage image {UNREADABLE}",
        ),
        ([claim("vol"), broken("StorageClass", "local")], f"StorageClass local {UNREADABLE}"),
        (bound(volume(size_bytes=0)), "Volume vol has no size; wait until Longhorn has set it"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_claim_of_which_no_volume_is_known(records, expected):
    """Whatever else is good: one bad claim is enough."""
    with pytest.raises(UnresolvableClaimError) as caught:
        resolved(*bound(volume("good")), *records, claims=("good", "vol"))

    assert str(caught.value) == expected
    assert expected.startswith(f"{caught.value.kind} {caught.value.name} ")


def test_tag_may_be_on_a_node_that_cannot_be_read():
    broken = read_as_unreadable(document("Node", "node-2", spec={"tags": ["fast"], "disks": 5}))
    view = view_of(node(), claim("vol"), storage_class(nodeSelector="fast"), broken)

    assert [local.name for local in resolve(pod("vol"), view).volumes] == ["pvc-uid-vol"]


def test_no_node_is_judged_for_a_claim_that_longhorn_refuses():
    encrypted = storage_class(encrypted="true")

    with pytest.raises(UnresolvableClaimError, match="asks for 12 MiB"):
        ask(view_of(node(), claim("vol", size_bytes=12 * MIB), encrypted))
