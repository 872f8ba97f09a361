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
    volumes_of,
    wanted,
)


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


VOL, TO_PV = claim("vol"), claim("vol", persistent_volume="pv")
NO_CLASS = claim("vol", storage_class=None)
ESTIMATE = wanted(structs.replace(volume("pvc-uid-vol"), is_estimate=True))
TWO_CLAIMS = [
    volume(),
    *(persistent_volume(f"pv-{name}") for name in "ab"),
    *(claim(name, persistent_volume=f"pv-{name}") for name in "ab"),
]
ORDER = bound(*volumes_of("b far~ a!"))
REMOTE = {
    "disabled": volume(locality=Locality.DISABLED),
    "shared": volume(shared=True),
    "shared-and-strict": volume(shared=True, locality=Locality.STRICT_LOCAL),
    "standby": volume(standby=True),
    "sharded": volume(data_chunks=2),
    "image-missing": volume(locality=Locality.DISABLED, backing_image="missing"),
    "selector-unknown": volume(locality=Locality.DISABLED, node_selector=["nobody"]),
}
EBS = "ebs.csi.aws.com"
ROWS: dict[str, tuple[list[AnyRecord], str, list[WantedVolume]]] = {
    # Records, the pod's claims, and the volumes that must be on its node.
    "class-that-is-the-default": ([NO_CLASS, default()], "vol", [ESTIMATE]),
    **{f"driver-{name}": ([volume(), persistent_volume(driver=name), TO_PV], "vol", [local()])
        for name in ("driver.longhorn.io", "io.rancher.longhorn")},
    **{f"provisioner-{name}": ([VOL, storage_class(provisioner=name)], "vol", [ESTIMATE])
        for name in ("driver.longhorn.io", "rancher.io/longhorn")},
    "driver-of-others": ([persistent_volume(driver=EBS), TO_PV], "vol", []),
    "driver-none": ([persistent_volume(driver=None, handle=None), TO_PV], "vol", []),
    "provisioner-of-others": ([VOL, storage_class(provisioner=EBS)], "vol", []),
    "provisioner-of-others-by-default": ([NO_CLASS, default(provisioner="ebs")], "vol", []),
    # The names of a provisioner and a driver are not to be mixed up.
    "provisioner-named-as-a-driver": (
        [VOL, storage_class(provisioner="io.rancher.longhorn")], "vol", []),
    "volume-that-exists-rather-than-an-estimate": (
        [volume("pvc-uid-vol", size_bytes=20 * GIB), VOL, storage_class()], "vol",
        [local("pvc-uid-vol", size_bytes=20 * GIB)]),
    "claim-named-twice-counts-once": (bound(volume()), "vol vol", [local()]),
    "claims-of-one-volume-count-once": (TWO_CLAIMS, "a b", [local()]),
    "volumes-in-the-order-of-the-claims": (
        ORDER, "b far a", [local("b"), local("a", strict=True)]),
    **{f"volume-that-need-not-be-local-{name}": (bound(of), "vol", [])
        for name, of in REMOTE.items()},
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_volumes_that_must_be_on_the_node(name):
    records, claims, expected = ROWS[name]

    assert resolved(*records, claims=tuple(claims.split())) == tuple(expected)


def test_claims_without_uid_are_volumes_of_their_own():
    records = claim("a", uid=""), claim("b", uid=""), storage_class()

    assert len(resolved(*records, claims=("a", "b"))) == 2


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
FROM_IMAGE = bound(volume(backing_image="image"))
MAKES_IMAGE = storage_class(backingImage="image", backingImageDataSourceType="download")


def broken(kind: str, name: str) -> Unreadable:
    return Unreadable(kind=kind, name=name, why="'x' is no size")


IS_DELETED = "is being deleted; wait until it is gone and create it again"
UNKNOWN: dict[str, list[AnyRecord | Unreadable]] = {
    f"PersistentVolumeClaim default/vol {MISSING}": [],
    f"PersistentVolume pv {MISSING}": [TO_PV],
    f"StorageClass local {MISSING}": [VOL],
    WITHOUT_CLASS: [NO_CLASS],
    f"Volume vol {MISSING}": [TO_PV, persistent_volume()],
    f"BackingImage image {MISSING}": [*FROM_IMAGE],
    f"PersistentVolumeClaim default/vol {IS_DELETED}": [
        claim("vol", deleting=True), storage_class()],
    f"Volume vol {DELETING}": [*bound(volume(deleting=True))],
    f"Volume pvc-uid-vol {DELETING}": [
        VOL, storage_class(), volume("pvc-uid-vol", deleting=True)],
    f"PersistentVolumeClaim default/vol {UNREADABLE}": [
        broken("PersistentVolumeClaim", "default/vol")],
    f"PersistentVolume pv {UNREADABLE}": [TO_PV, broken("PersistentVolume", "pv")],
    f"Volume vol {UNREADABLE}": [TO_PV, persistent_volume(), broken("Volume", "vol")],
    f"Volume pvc-uid-vol {UNREADABLE}": [VOL, storage_class(), broken("Volume", "pvc-uid-vol")],
    f"BackingImage image {UNREADABLE}": [*FROM_IMAGE, broken("BackingImage", "image")],
    f"StorageClass local {UNREADABLE}": [VOL, broken("StorageClass", "local")],
    "Volume vol has no size; wait until Longhorn has set it": [*bound(volume(size_bytes=0))],
}  # fmt: skip
MORE: list[tuple[str, list[AnyRecord | Unreadable]]] = [
    (WITHOUT_CLASS, [claim("vol", storage_class=""), default()]),
    (f"BackingImage image {MISSING}", [VOL, storage_class(backingImage="image")]),
    (f"BackingImage image {UNREADABLE}", [VOL, MAKES_IMAGE, broken("BackingImage", "image")]),
]
"""Other ways to the same."""


@pytest.mark.parametrize(("expected", "records"), [*UNKNOWN.items(), *MORE])
def test_claim_whose_volume_is_not_known(expected, records):
    """Whatever else is good: one bad claim is enough."""
    with pytest.raises(UnresolvableClaimError) as caught:
        resolved(*bound(volume("good")), *records, claims=("good", "vol"))

    assert str(caught.value) == expected
    assert expected.startswith(f"{caught.value.kind} {caught.value.name} ")


def test_tag_may_be_on_a_node_that_cannot_be_read():
    broken = read_as_unreadable(document("Node", "node-2", spec={"tags": ["fast"], "disks": 5}))
    view = view_of(node(), claim("vol"), storage_class(nodeSelector="fast"), broken)

    assert [local.name for local in resolve(pod("vol"), view).volumes] == ["pvc-uid-vol"]


def test_claim_that_longhorn_refuses_has_no_node_judged():
    encrypted = storage_class(encrypted="true")

    with pytest.raises(UnresolvableClaimError, match="asks for 12 MiB"):
        ask(view_of(node(), claim("vol", size_bytes=12 * MIB), encrypted))
