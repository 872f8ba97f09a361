"""The volume that Longhorn's CSI driver would create for a claim that is not bound yet.

Source: longhorn-manager csi/controller_server.go CreateVolume and csi/util.go getVolumeOptions.
"""

from collections.abc import Collection, Mapping
from functools import lru_cache

import msgspec

from extender.errors import ClaimProblem, UnresolvableClaimError
from extender.kubernetes import Claim, StorageClass
from extender.view import ClusterView
from longhorn import (
    MOST_REPLICAS,
    BackingImage,
    Locality,
    Selector,
    Volume,
    VolumeName,
    parse_bool,
    parse_int,
    split_tags,
    value_for_engine,
    volume_size_bytes,
)

NEW_VOLUME_DEFAULTS: Mapping[str, str] = {
    "default-data-locality": "disabled",
    "default-replica-count": "3",
}
"""The settings that count where a StorageClass is silent, with the values of absent ones."""

_DISK_TYPES = {"v1": "filesystem", "v2": "block"}


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
        raise UnresolvableClaimError(
            ClaimProblem.NEGATIVE_SIZE,
            "PersistentVolumeClaim",
            claim.key,
            "requests a negative size",
            "correct it",
        )
    said = _read(storage_class.name, tuple(storage_class.parameters.items()))
    wanted_replicas = said.wanted_replicas or _replicas_by_setting(said, view)
    source = _source(claim, view)
    volume = Volume(
        name=future_volume_name(claim),
        size_bytes=source.size_bytes if source else volume_size_bytes(claim.requested_bytes),
        locality=said.locality or _locality_by_setting(view),
        disk_type=_DISK_TYPES[said.engine],
        node_selector=said.node_selector,
        disk_selector=said.disk_selector,
        backing_image=said.backing_image,
        shared=claim.read_write_many and not _migratable(storage_class),
        sharded=said.sharded,
        copying=claim.copy_of is not None and not said.linked,
        linked_to=source.name if source and said.linked else None,
        wanted_replicas=wanted_replicas,
        soft_anti_affinity=said.soft_anti_affinity,
        zone_soft_anti_affinity=said.zone_soft_anti_affinity,
        disk_soft_anti_affinity=said.disk_soft_anti_affinity,
        # Longhorn's webhook writes it, whatever is asked for (volume mutator Create).
        engine_image=view.setting_values.get("default-engine-image", ""),
    )
    if not (said.sharded or view.unreadable_nodes):  # these may have any tag
        _check_tags(storage_class, "nodeSelector", volume.node_selector, view.node_tags)
        _check_tags(storage_class, "diskSelector", volume.disk_selector, view.disk_tags)
    if volume.locality is Locality.STRICT_LOCAL and wanted_replicas != 1:
        raise _bad_parameter(
            storage_class, "numberOfReplicas", "a strict-local volume must have 1 replica"
        )
    return volume


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
        node_selector=_selector(storage_class, "backingImageNodeSelector"),
        disk_selector=_selector(storage_class, "backingImageDiskSelector"),
    )


class _Said(msgspec.Struct, frozen=True, kw_only=True):
    """What the parameters of a StorageClass say of its volumes, whatever the cluster."""

    engine: str
    sharded: bool
    linked: bool
    """Whether copies share data with what they are copied from: they have all replicas at once."""
    locality: Locality | None
    """None if Longhorn's setting counts, as with each anti-affinity."""
    wanted_replicas: int
    """0 if Longhorn's setting counts."""
    node_selector: Selector
    disk_selector: Selector
    backing_image: str | None
    soft_anti_affinity: bool | None
    zone_soft_anti_affinity: bool | None
    disk_soft_anti_affinity: bool | None


@lru_cache(maxsize=256)
def _read(name: str, parameters: tuple[tuple[str, str], ...]) -> _Said:
    """Read the parameters of a class, once for as long as they stay the same.

    Every claim of every request is resolved by them.
    """
    storage_class = StorageClass(name=name, provisioner="", parameters=dict(parameters))
    values = storage_class.parameters
    sharded = values.get("dataLayout.type") == "sharded"
    return _Said(
        engine=_one_of(storage_class, "dataEngine", "v1", _DISK_TYPES),
        sharded=sharded,
        linked=values.get("cloneMode") == "linked-clone",
        wanted_replicas=_wanted_replicas(storage_class, sharded=sharded),
        locality=Locality.DISABLED if sharded else _locality(storage_class),
        node_selector=_selector(storage_class, "nodeSelector"),
        disk_selector=_selector(storage_class, "diskSelector"),
        backing_image=values.get("backingImage") or None,
        soft_anti_affinity=_is_soft(storage_class, "replicaSoftAntiAffinity"),
        # Of a zonal volume Longhorn's webhook makes it so: all replicas are in one zone.
        zone_soft_anti_affinity=values.get("volumeTopology") == "zonal"
        or _is_soft(storage_class, "replicaZoneSoftAntiAffinity"),
        disk_soft_anti_affinity=_is_soft(storage_class, "replicaDiskSoftAntiAffinity"),
    )


def _locality(storage_class: StorageClass) -> Locality | None:
    if "dataLocality" not in storage_class.parameters:
        return None
    return Locality(_one_of(storage_class, "dataLocality", "", [*Locality]))


def _locality_by_setting(view: ClusterView) -> Locality:
    try:
        setting = _setting("default-data-locality", view)
        return Locality(value_for_engine(setting, "v1"))
    except ValueError:
        raise _bad_setting("default-data-locality") from None


def _setting(name: str, view: ClusterView) -> str:
    if ("Setting", name) in view.unreadable:
        raise _bad_setting(name)
    return view.setting_values.get(name, NEW_VOLUME_DEFAULTS[name])


def _bad_setting(name: str) -> UnresolvableClaimError:
    return UnresolvableClaimError(
        ClaimProblem.BAD_SETTING, "Setting", name, "has a value that cannot be read", "correct it"
    )


def _one_of(
    storage_class: StorageClass, parameter: str, default: str, allowed: Collection[str]
) -> str:
    value = storage_class.parameters.get(parameter, default)
    if value not in allowed:
        raise _bad_parameter(storage_class, parameter, f"use one of {', '.join(sorted(allowed))}")
    return value


def _migratable(storage_class: StorageClass) -> bool:
    try:
        return parse_bool(storage_class.parameters.get("migratable", "false"))
    except ValueError:
        raise _bad_parameter(storage_class, "migratable", "use true or false") from None


def _selector(storage_class: StorageClass, parameter: str) -> Selector:
    if parameter not in storage_class.parameters:
        return ()
    return split_tags(storage_class.parameters[parameter])


def _check_tags(
    storage_class: StorageClass, parameter: str, selector: tuple[str, ...], tags: Collection[str]
) -> None:
    for tag in selector:
        if tag not in tags:
            raise _bad_parameter(
                storage_class,
                parameter,
                f"tag {tag!r} is on no Longhorn {'node' if parameter == 'nodeSelector' else 'disk'}"
                f" (spaces count), so no volume can be created",
            )


def _is_soft(storage_class: StorageClass, parameter: str) -> bool | None:
    """Read an anti-affinity; None if Longhorn's setting counts."""
    allowed = ("ignored", "enabled", "disabled")
    value = _one_of(storage_class, parameter, "ignored", allowed)
    return None if value == "ignored" else value == "enabled"


def _wanted_replicas(storage_class: StorageClass, *, sharded: bool) -> int:
    """Read how many replicas the volume will have; 0 means as Longhorn's setting.

    Longhorn's webhook refuses more than 20, and more than one for a strict-local volume.
    """
    try:
        replicas = parse_int(storage_class.parameters.get("numberOfReplicas", "0"))
    except ValueError:
        raise _bad_parameter(storage_class, "numberOfReplicas", "use a whole number") from None
    if replicas == 0:
        return 1 if sharded else 0
    if not 0 < replicas <= MOST_REPLICAS:
        advice = f"a volume has 1 to {MOST_REPLICAS} replicas"
        raise _bad_parameter(storage_class, "numberOfReplicas", advice)
    return replicas


def _replicas_by_setting(said: _Said, view: ClusterView) -> int:
    name = "default-replica-count"
    try:
        replicas = parse_int(value_for_engine(_setting(name, view), said.engine))
    except ValueError:
        raise _bad_setting(name) from None
    if not 0 < replicas <= MOST_REPLICAS:
        raise _bad_setting(name)
    return replicas


def _bad_parameter(
    storage_class: StorageClass, parameter: str, advice: str
) -> UnresolvableClaimError:
    value = storage_class.parameters.get(parameter)
    return UnresolvableClaimError(
        ClaimProblem.BAD_PARAMETER,
        "StorageClass",
        storage_class.name,
        f"has no parameter {parameter}" if value is None else f"has {parameter} {value!r}",
        advice,
    )
