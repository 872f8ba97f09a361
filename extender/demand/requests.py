"""From a pod to its Longhorn volumes, and which of them must have a replica on the pod's node."""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from extender.demand.estimates import estimate_volume, future_volume_name, image_of_new
from extender.errors import ClaimProblem, UnresolvableClaimError
from extender.kubernetes import Claim, ClaimKey, PodRef, StorageClass, class_name
from extender.view import ClusterView, find
from longhorn import (
    BackingImage,
    Locality,
    Need,
    Node,
    NodeName,
    Replica,
    TopologyTerm,
    Volume,
    VolumeName,
    need_of,
)

LONGHORN_DRIVERS = frozenset({"driver.longhorn.io", "io.rancher.longhorn"})
"""CSI driver names in PersistentVolumes: today's, and the one of Longhorn's first releases."""
LONGHORN_PROVISIONERS = frozenset({"driver.longhorn.io", "rancher.io/longhorn"})
"""The same in StorageClasses."""


class WantedVolume(msgspec.Struct, frozen=True, kw_only=True):
    """A volume of a pod, and what each new replica of it needs."""

    volume: Volume
    """As it is; as Longhorn would create it, if it does not exist yet."""
    need: Need

    @property
    def name(self) -> VolumeName:
        """Its name."""
        return self.volume.name

    @property
    def is_local(self) -> bool:
        """Whether it must have a replica on the node of the pod."""
        return self.volume.needs_local_replica

    @property
    def is_strict(self) -> bool:
        """Whether it is strict-local: once its replica is placed, no other node will do."""
        return self.volume.locality is Locality.STRICT_LOCAL


class PodRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A pod with its claims resolved."""

    pod: PodRef
    volumes: tuple[WantedVolume, ...]
    """Those that must be local, in the order of the pod's volumes."""
    remote: tuple[WantedVolume, ...] = ()
    """Those whose replicas may all be on other nodes, in the same order."""


NOBODY = PodRequest(pod=PodRef(namespace="", name="", uid="", claims=()), volumes=())
"""Asks for nothing: what it finds is what is true for all pods."""


def resolve(pod: PodRef, view: ClusterView) -> PodRequest:
    """Find the Longhorn volumes of the pod's claims.

    A claim named twice counts once, as do two claims of one volume. Claims of other storage
    are ignored.

    Raises:
        UnresolvableClaimError: A claim, its class or its volume is missing, being deleted or
            unreadable, or Longhorn would refuse to create the volume.
    """
    for key in pod.claims:
        if find("PersistentVolumeClaim", key, view.claims, view).deleting:
            raise UnresolvableClaimError(
                ClaimProblem.DELETING,
                "PersistentVolumeClaim",
                key,
                "is being deleted",
                "wait until it is gone and create it again",
            )
    return resolve_for_scheduled(pod, view)


def resolve_for_scheduled(pod: PodRef, view: ClusterView) -> PodRequest:
    """Resolve the claims of a scheduled pod: those that are being deleted still serve it.

    Raises:
        UnresolvableClaimError: As `resolve` does.
    """
    wanted: dict[VolumeName, WantedVolume] = {}
    for key in pod.claims:
        found = _volume_of(key, view)
        if found is not None:
            volume, image = found
            if volume.needs_local_replica:
                _check_replicas(volume, view)
            need = need_of(volume, image, sharing_replicas(volume, view))
            wanted[volume.name] = WantedVolume(volume=volume, need=need)
    return PodRequest(
        pod=pod,
        volumes=tuple(each for each in wanted.values() if each.is_local),
        remote=tuple(each for each in wanted.values() if not each.is_local),
    )


def needed_class(claim: Claim, view: ClusterView) -> StorageClass:
    """Return the class by which a claim that is not bound gets its volume.

    Raises:
        UnresolvableClaimError: It is not there; or the claim has none, so that nothing makes a
            volume, and kube-scheduler refuses its pod as well.
    """
    name = class_name(claim.storage_class, view.storage_classes)
    if not name:
        raise UnresolvableClaimError(
            ClaimProblem.NO_CLASS,
            "PersistentVolumeClaim",
            claim.key,
            "has no StorageClass and no PersistentVolume",
            "name a StorageClass, make one the default, or bind the claim",
        )
    return find("StorageClass", name, view.storage_classes, view)


def new_volume(
    claim: Claim, storage_class: StorageClass, view: ClusterView
) -> tuple[Volume, BackingImage | None]:
    """Return the volume that would be made for a claim, and its backing image.

    Raises:
        UnresolvableClaimError: Longhorn would refuse to, or the image is missing.
    """
    volume = estimate_volume(claim, storage_class, view)
    image = image_of_new(volume, storage_class, view)
    if image is None and volume.backing_image:
        image = _image_of(volume, volume.backing_image, view)
    return volume, image


def source_replicas(volume: Volume, view: ClusterView) -> Sequence[Replica]:
    """Return the replicas of the volume that a linked clone shares data with."""
    return () if volume.linked_to is None else view.replicas.get(volume.linked_to, ())


def sharing_replicas(volume: Volume, view: ClusterView) -> Sequence[Replica]:
    """Return the same and its own; none for any other volume."""
    if volume.linked_to is None:
        return ()
    return *view.replicas.get(volume.name, ()), *source_replicas(volume, view)


def fixed_to_zone_of(wanted: WantedVolume, node: Node) -> WantedVolume:
    """Return a volume as it would be made for a pod on *node*.

    By parameter `volumeTopology` (since v1.13), Longhorn keeps a volume to the zone or region of
    the node that kube-scheduler chose when it makes it. So until then, what such a volume needs is
    another thing on each node. Source: longhorn-manager csi/controller_server.go CreateVolume,
    volumeTopologyTerms.
    """
    volume = wanted.volume
    zone = node.zone if volume.keeps_zone else ""
    region = node.region if volume.keeps_region else ""
    if not (zone or (region and not volume.keeps_zone)):
        return wanted  # Longhorn leaves it without a place
    term = TopologyTerm(zone=zone, region=region)
    need: Need = structs.replace(wanted.need, topology=(term,))
    made: Volume = structs.replace(volume, topology=(term,))
    return WantedVolume(volume=made, need=need)


def by_place(
    request: PodRequest, candidates: Sequence[NodeName], view: ClusterView
) -> list[tuple[PodRequest, Sequence[NodeName]]]:
    """Return what a pod would ask for on which of *candidates*, in their order."""
    wanted = (*request.volumes, *request.remote)
    if not any(each.volume.keeps_zone or each.volume.keeps_region for each in wanted):
        return [(request, candidates)]
    found: dict[tuple[str, str], tuple[PodRequest, list[NodeName]]] = {}
    for name in candidates:
        space = view.spaces.get(name)
        place = ("", "") if space is None else (space.node.zone, space.node.region)
        if place not in found:
            fixed = request if space is None else _fixed_request(request, space.node)
            found[place] = fixed, []
        found[place][1].append(name)
    return [*found.values()] or [(request, candidates)]


def _check_replicas(volume: Volume, view: ClusterView) -> None:
    """Refuse a volume of which it is not known what it needs, or where its replicas are."""
    if volume.size_bytes == 0:
        raise UnresolvableClaimError(
            ClaimProblem.NO_SIZE,
            "Volume",
            volume.name,
            "has no size",
            "wait until Longhorn has set it",
        )
    if volume.name in view.unreadable_replicas:
        raise UnresolvableClaimError(
            ClaimProblem.REPLICA_UNREADABLE,
            "Volume",
            volume.name,
            "cannot be judged",
            view.unreadable_replicas[volume.name],
        )


def _volume_of(key: ClaimKey, view: ClusterView) -> tuple[Volume, BackingImage | None] | None:
    """Return the claim's volume and its backing image, or None if it is not Longhorn's."""
    claim = find("PersistentVolumeClaim", key, view.claims, view)
    if claim.persistent_volume is not None:
        return _bound_volume(claim.persistent_volume, view)
    storage_class = needed_class(claim, view)
    if storage_class.provisioner not in LONGHORN_PROVISIONERS:
        return None
    name = future_volume_name(claim)
    if name in view.volumes or ("Volume", name) in view.unreadable:
        return _existing_volume(name, view)
    return new_volume(claim, storage_class, view)


def _bound_volume(name: str, view: ClusterView) -> tuple[Volume, BackingImage | None] | None:
    persistent_volume = find("PersistentVolume", name, view.persistent_volumes, view)
    if persistent_volume.driver not in LONGHORN_DRIVERS:
        return None
    return _existing_volume(VolumeName(persistent_volume.volume_handle or ""), view)


def _existing_volume(name: VolumeName, view: ClusterView) -> tuple[Volume, BackingImage | None]:
    volume = find("Volume", name, view.volumes, view)
    if volume.deleting:
        raise UnresolvableClaimError(
            ClaimProblem.DELETING,
            "Volume",
            name,
            "is being deleted",
            "restore it or use another claim",
        )
    image = volume.backing_image
    return volume, _image_of(volume, image, view) if image else None


def _image_of(volume: Volume, name: str, view: ClusterView) -> BackingImage | None:
    """Return a volume's backing image: nobody knows without it where a local replica may go."""
    if not volume.needs_local_replica:
        return view.backing_images.get(name)
    return find("BackingImage", name, view.backing_images, view)


def _fixed_request(request: PodRequest, node: Node) -> PodRequest:
    return structs.replace(
        request,
        volumes=tuple(fixed_to_zone_of(each, node) for each in request.volumes),
        remote=tuple(fixed_to_zone_of(each, node) for each in request.remote),
    )
