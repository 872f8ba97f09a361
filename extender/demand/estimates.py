"""The volume that Longhorn's CSI driver would create for a claim that is not bound yet.

Source: longhorn-manager csi/controller_server.go CreateVolume and csi/util.go getVolumeOptions.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from extender.demand.parameters import (
    DISK_TYPES,
    ClassParameters,
    bad_parameter,
    check_tags,
    is_migratable,
    read_parameters,
    selector_of,
)
from extender.errors import ClaimProblem, UnresolvableClaimError
from extender.kubernetes import Claim, StorageClass
from extender.view import ClusterView
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

NEW_VOLUME_DEFAULTS: Mapping[str, str] = {
    "default-data-locality": "disabled",
    "default-replica-count": "3",
}
"""The settings that count where a StorageClass is silent, with the values of absent ones."""


def future_volume_name(claim: Claim) -> VolumeName:
    """Return the name external-provisioner asks for; by the claim's own name if it has no uid."""
    return VolumeName(f"pvc-{claim.uid}" if claim.uid else claim.key)


def estimate_volume(claim: Claim, storage_class: StorageClass, view: ClusterView) -> Volume:
    """Return the volume that would be created for *claim*.

    Raises:
        UnresolvableClaimError: The driver would refuse to create it, as far as that is checked:
            size, engine, locality, selectors, and the replicas of strict-local volumes.
    """
    if claim.requested_bytes < 0:
        why, kind = ClaimProblem.NEGATIVE_SIZE, "PersistentVolumeClaim"
        raise UnresolvableClaimError(why, kind, claim.key, "requests a negative size", "correct it")
    parameters = read_parameters(storage_class.name, tuple(storage_class.parameters.items()))
    wanted_replicas = parameters.wanted_replicas or _by_setting(
        "default-replica-count", parameters.engine, view, _replica_count
    )
    source = _source(claim, view)
    size_bytes = source.size_bytes if source else volume_size_bytes(claim.requested_bytes)
    keeps_zone, keeps_region = _kept_place(parameters, storage_class, view)
    volume = Volume(
        name=future_volume_name(claim),
        size_bytes=size_bytes,
        locality=parameters.locality or _by_setting("default-data-locality", "v1", view, Locality),
        disk_type=DISK_TYPES[parameters.engine],
        node_selector=() if parameters.shards else parameters.node_selector,
        disk_selector=parameters.disk_selector,
        backing_image=parameters.backing_image,
        shared=claim.read_write_many and not is_migratable(storage_class),
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
    _check(volume, storage_class, view)
    return volume


def _check(volume: Volume, storage_class: StorageClass, view: ClusterView) -> None:
    """See that the driver would create a volume that is read without error so far.

    Raises:
        UnresolvableClaimError: It would not.
    """
    if not (volume.sharded or view.unreadable_nodes):  # these may have any tag
        check_tags(storage_class, "nodeSelector", volume.node_selector, view.node_tags)
        check_tags(storage_class, "diskSelector", volume.disk_selector, view.disk_tags)
    if volume.locality is Locality.STRICT_LOCAL and volume.wanted_replicas != 1:
        raise bad_parameter(
            storage_class, "numberOfReplicas", "a strict-local volume must have 1 replica"
        )


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


def _source(claim: Claim, view: ClusterView) -> Volume | None:
    """Return the volume that a claim is to be a copy of: Longhorn refuses any other size."""
    source = view.claims.get(claim.copy_of) if claim.copy_of else None
    name = source.persistent_volume if source else None
    bound = view.persistent_volumes.get(name) if name else None
    return view.volumes.get(VolumeName(bound.volume_handle or "")) if bound else None


def future_backing_image(storage_class: StorageClass) -> BackingImage | None:
    """Return the image the driver would create along with the volume, if the class says how."""
    parameters = storage_class.parameters
    if not parameters.get("backingImageDataSourceType"):
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
