"""The volume that Longhorn's CSI driver would create for a claim that is not bound yet.

Sources: longhorn-manager csi/controller_server.go CreateVolume, csi/util.go getVolumeOptions, and
what its webhook refuses, webhook/resources/volume/validator.go Create.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from extender.demand.parameters import (
    DISK_TYPES,
    ClassParameters,
    bad_parameter,
    check_tags,
    read_parameters,
    selector_of,
)
from extender.errors import ClaimProblem, UnresolvableClaimError, sized
from extender.kubernetes import Claim, ClaimKey, StorageClass
from extender.view import ClusterView, find
from longhorn import (
    MOST_REPLICAS,
    BackingImage,
    Locality,
    Volume,
    VolumeName,
    parse_int,
    value_for_engine,
    volume_size_bytes,
)

Found = TypeVar("Found")

_MIB = 2**20
_LARGEST_HEADER_BYTES = 16 * _MIB
"""An encrypted volume must be larger."""
_SMALLEST_XFS_BYTES = 300 * _MIB
_MADE_ALONG = ("download", "export-from-volume")
"""Backing images from such sources the driver makes along with a volume."""

NEW_VOLUME_DEFAULTS: Mapping[str, str] = {
    "default-data-locality": "disabled",
    "default-replica-count": "3",
}
"""The settings that count where a StorageClass is silent, with the values of absent ones."""
ANY_CLAIM = Claim(
    key=ClaimKey("default/any"),
    uid=None,
    persistent_volume=None,
    storage_class=None,
    requested_bytes=2**50,
    read_write_many=False,
)
"""A claim to judge a StorageClass by. It is of one pod at a time, as those of several need nothing
on their pods' nodes, and larger than what Longhorn may ask for because of the class."""


def future_volume_name(claim: Claim) -> VolumeName:
    """Return the name external-provisioner asks for; by the claim's own name if it has no uid."""
    return VolumeName(f"pvc-{claim.uid}" if claim.uid else claim.key)


def has_volume(claim: Claim, view: ClusterView) -> bool:
    """Whether a claim has its volume, be it that the claim is not bound to it yet."""
    return claim.persistent_volume is not None or future_volume_name(claim) in view.volumes


def estimate_volume(claim: Claim, storage_class: StorageClass, view: ClusterView) -> Volume:
    """Return the volume that would be created for *claim*.

    Raises:
        UnresolvableClaimError: Longhorn would refuse to create it, whatever the node. Nothing is
            refused for what was not read.
    """
    if claim.requested_bytes < 0:
        why, kind = ClaimProblem.NEGATIVE_SIZE, "PersistentVolumeClaim"
        raise UnresolvableClaimError(why, kind, claim.key, "requests a negative size", "correct it")
    parameters = read_parameters(storage_class.name, tuple(storage_class.parameters.items()))
    wanted_replicas = parameters.wanted_replicas or _by_setting(
        "default-replica-count", parameters.engine, view, _replica_count
    )
    source = _source(claim, storage_class, view)
    size_bytes = volume_size_bytes(claim.requested_bytes)
    keeps_zone, keeps_region = _kept_place(parameters, storage_class, view)
    volume = Volume(
        name=future_volume_name(claim),
        size_bytes=size_bytes,
        locality=parameters.locality or _by_setting("default-data-locality", "v1", view, Locality),
        disk_type=DISK_TYPES[parameters.engine],
        node_selector=() if parameters.shards else parameters.node_selector,
        disk_selector=parameters.disk_selector,
        backing_image=parameters.backing_image,
        shared=claim.read_write_many and not parameters.migratable,
        data_chunks=0 if parameters.shards is None else parameters.shards.data_chunks,
        shard_bytes=0 if parameters.shards is None else parameters.shards.size_bytes(size_bytes),
        is_estimate=True,
        keeps_zone=keeps_zone,
        keeps_region=keeps_region,
        copying=claim.copy_of is not None and not parameters.linked,
        linked_to=source.name if source and parameters.linked else None,
        wanted_replicas=wanted_replicas,
        soft_anti_affinity=parameters.soft_anti_affinity,
        # Of a zonal volume Longhorn's webhook makes it so: all replicas are in one zone.
        zone_soft_anti_affinity=keeps_zone or parameters.zone_soft_anti_affinity,
        disk_soft_anti_affinity=parameters.disk_soft_anti_affinity,
        # Longhorn's webhook writes it, whatever is asked for (volume mutator Create).
        engine_image=view.setting_values.get("default-engine-image", ""),
    )
    _check(volume, parameters, storage_class, view)
    image = image_of_new(volume, storage_class, view)
    faults = [*_faults(volume, claim, parameters, source)]
    if not (claim.is_restored or "fromBackup" in storage_class.parameters):  # of whatever size
        faults += _sizes(volume, claim, parameters, image)
    if faults:
        raise _refused(claim, *faults[0])
    return volume


def _refused(claim: Claim, text: str, advice: str) -> UnresolvableClaimError:
    why, kind = ClaimProblem.REFUSED, "PersistentVolumeClaim"
    return UnresolvableClaimError(why, kind, claim.key, f"asks for {text}", advice)


def _faults(
    volume: Volume, claim: Claim, parameters: ClassParameters, source: Volume | None
) -> Iterator[tuple[str, str]]:
    """Say what Longhorn refuses of a claim, if its class is well, and what to do.

    Sources: longhorn-manager csi/controller_server.go validateVolumeCapabilities and CreateVolume,
    types/types.go ValidateDataLocalityAndAccessMode, webhook/resources/volume/validator.go
    validateShardedConstraints and verifyVolumeDataSource.
    """
    if claim.read_only_many:
        yield "ReadOnlyMany, which Longhorn has not", "use ReadWriteOnce or ReadWriteMany"
    if volume.shared and volume.locality is Locality.STRICT_LOCAL:
        advice = "use ReadWriteOnce, or a class of another locality"
        yield "ReadWriteMany, and its volume would be strict-local", advice
    if source is None:
        return
    copy = f"a copy of {claim.copy_of}"
    if volume.size_bytes != source.size_bytes:
        asked, has = sized(claim.requested_bytes), sized(source.size_bytes)
        yield f"{asked} and {copy}, which has {has}", f"ask for {has}, and for more afterwards"
    if volume.disk_type != source.disk_type or volume.sharded:
        yield f"{copy}, which is of another kind", "use a class of the same engine, without shards"
    if parameters.linked and (not volume.is_v2 or volume.wanted_replicas > source.wanted_replicas):
        advice = f"use data engine v2 and at most {source.wanted_replicas} replicas"
        yield f"{copy} as a linked clone", advice


def _sizes(
    volume: Volume, claim: Claim, parameters: ClassParameters, image: BackingImage | None
) -> Iterator[tuple[str, str]]:
    """Say the same of sizes.

    Sources: longhorn-manager csi/controller_server.go CreateVolume, datastore/longhorn.go
    CheckVolume, webhook/resources/volume/validator.go Create.
    """
    asked = sized(claim.requested_bytes)
    if image is not None and image.engine not in ("", parameters.engine):
        yield f"backing image {image.name} of data engine {image.engine}", "use a class of that one"
    if image is not None and volume.size_bytes < image.virtual_bytes:
        least = sized(image.virtual_bytes)
        yield f"{asked}, and backing image {image.name} has {least}", "ask for at least as much"
    if parameters.encrypted and volume.size_bytes <= _LARGEST_HEADER_BYTES:
        yield f"{asked}, and its volume would be encrypted", "ask for more than 16 MiB"
    is_new = not (claim.is_block or claim.copy_of)
    if parameters.filesystem == "xfs" and is_new and volume.size_bytes < _SMALLEST_XFS_BYTES:
        yield f"{asked}, and its file system would be XFS", "ask for at least 300 MiB"


def _check(
    volume: Volume, parameters: ClassParameters, storage_class: StorageClass, view: ClusterView
) -> None:
    """See that Longhorn would take of the class what it can only judge by the cluster.

    Raises:
        UnresolvableClaimError: It would not.
    """
    if not view.unreadable_nodes:  # these may have any tag
        check_tags(storage_class, "nodeSelector", parameters.node_selector, view.node_tags)
        check_tags(storage_class, "diskSelector", parameters.disk_selector, view.disk_tags)
    if volume.locality is Locality.STRICT_LOCAL and volume.wanted_replicas != 1:
        raise bad_parameter(
            storage_class, "numberOfReplicas", "a strict-local volume must have 1 replica"
        )
    engine = f"{parameters.engine}-data-engine"
    if view.setting_values.get(engine) == "false":
        advice = f"set Longhorn's setting {engine} to true, or use the other engine"
        raise bad_parameter(storage_class, "dataEngine", advice)


def _kept_place(
    parameters: ClassParameters, storage_class: StorageClass, view: ClusterView
) -> tuple[bool, bool]:
    """Say whether replicas keep to the zone, and to the region, of the pod's node.

    Raises:
        UnresolvableClaimError: Longhorn would not, for want of a setting.
    """
    if parameters.topology == "any" or not view.settings.reads_volume_topology:
        return False, False
    allowed = view.setting_values.get("csi-allowed-topology-keys", "").split(",")
    zone, region = (f"topology.kubernetes.io/{each}" in allowed for each in ("zone", "region"))
    is_zonal = parameters.topology == "zonal"
    nodes = [space.node for space in view.spaces.values()]
    if not (zone if is_zonal else region) and any(n.zone if is_zonal else n.region for n in nodes):
        key = f"topology.kubernetes.io/{'zone' if is_zonal else 'region'}"
        advice = f"add {key} to Longhorn's setting csi-allowed-topology-keys"
        raise bad_parameter(storage_class, "volumeTopology", advice)
    return is_zonal, region or not is_zonal


def _source(claim: Claim, storage_class: StorageClass, view: ClusterView) -> Volume | None:
    """Return the volume that a claim is to be a copy of, None if it is not known.

    Source: kubernetes-csi/external-provisioner pkg/controller/controller.go getPVCSource.

    Raises:
        UnresolvableClaimError: There is none that Longhorn can copy.
    """
    if not claim.copy_of:
        return None
    source = find("PersistentVolumeClaim", claim.copy_of, view.claims, view)
    bound = view.persistent_volumes.get(source.persistent_volume or "")
    is_usable = source.persistent_volume is not None and not source.deleting
    if not is_usable or (bound is not None and bound.driver != storage_class.provisioner):
        text = f"a copy of {source.key}, which has no volume of {storage_class.provisioner}"
        raise _refused(claim, text, "have a pod use that one first, or copy another")
    return view.volumes.get(VolumeName(bound.volume_handle or "")) if bound else None


def image_of_new(
    volume: Volume, storage_class: StorageClass, view: ClusterView
) -> BackingImage | None:
    """Return the backing image of a volume that is to be made; None if it has none, or unknown.

    Source: longhorn-manager csi/controller_server.go checkAndPrepareBackingImage.

    Raises:
        UnresolvableClaimError: Others are there and it is not, and the driver would not make it.
    """
    name, images = volume.backing_image, view.backing_images
    if not name:
        return None
    is_unreadable = ("BackingImage", name) in view.unreadable
    known = None if is_unreadable else images.get(name) or future_backing_image(storage_class)
    # Where there are none at all the kind may not have been read.
    is_missed = known is None and images and not is_unreadable
    return find("BackingImage", name, images, view) if is_missed else known


def future_backing_image(storage_class: StorageClass) -> BackingImage | None:
    """Return the image the driver would create along with the volume, if the class says how."""
    parameters = storage_class.parameters
    if parameters.get("backingImageDataSourceType") not in _MADE_ALONG:
        return None
    return BackingImage(
        name=parameters.get("backingImage", ""),
        node_selector=selector_of(storage_class, "backingImageNodeSelector"),
        disk_selector=selector_of(storage_class, "backingImageDiskSelector"),
    )


def _by_setting(name: str, engine: str, view: ClusterView, read: Callable[[str], Found]) -> Found:
    """Read a setting that counts where the class is silent.

    Raises:
        UnresolvableClaimError: It cannot be read.
    """
    value = view.setting_values.get(name, NEW_VOLUME_DEFAULTS[name])
    try:
        if ("Setting", name) not in view.unreadable:
            return read(value_for_engine(value, engine))
    except ValueError:
        pass
    raise UnresolvableClaimError(
        ClaimProblem.BAD_SETTING, "Setting", name, "has a value that cannot be read", "correct it"
    )


def _replica_count(value: str) -> int:
    replicas = parse_int(value)
    if not 0 < replicas <= MOST_REPLICAS:
        raise ValueError(value)
    return replicas
