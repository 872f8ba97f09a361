"""What the parameters of a StorageClass say of its volumes.

Source: longhorn-manager csi/util.go getVolumeOptions, and of volumes with shards
webhook/resources/volume/validator.go validateShardedConstraints.
"""

from collections.abc import Collection
from functools import lru_cache

import msgspec

from extender.errors import ClaimProblem, UnresolvableClaimError
from extender.kubernetes import StorageClass
from longhorn import (
    MOST_REPLICAS,
    Locality,
    Selector,
    parse_bool,
    parse_int,
    shard_size_bytes,
    split_tags,
)

DISK_TYPES = {"v1": "filesystem", "v2": "block"}
"""By data engine."""
MOST_CHUNKS = 32
_SOFT = ("ignored", "enabled", "disabled")
_OTHERS = {
    "replicaAutoBalance": ("ignored", "disabled", "least-effort", "best-effort"),
    "replicaSoftAntiAffinity": _SOFT,
    "replicaZoneSoftAntiAffinity": _SOFT,
    "unmapMarkSnapChainRemoved": _SOFT,
    "freezeFilesystemForSnapshot": _SOFT,
}
"""What Longhorn takes one of a few words for, also where nothing depends on it."""
_STRIP_SIZES = ("4", "8", "16", "32", "64", "128", "256", "512", "1024")
"""In KiB."""
_PREFIXED_FSTYPE = "csi.storage.k8s.io/fstype"


class _Job(msgspec.Struct, rename="camel"):
    """A recurring job that volumes are to have, or a group of them."""

    name: str | None = None
    is_group: bool | None = None


class Shards(msgspec.Struct, frozen=True, kw_only=True):
    """How the data of a volume are spread over shards."""

    data_chunks: int
    parity_chunks: int
    strip_kib: int

    @property
    def count(self) -> int:
        return self.data_chunks + self.parity_chunks

    def size_bytes(self, volume_bytes: int) -> int:
        """Return the size of each shard."""
        return shard_size_bytes(
            volume_bytes, data_chunks=self.data_chunks, strip_kib=self.strip_kib
        )


class ClassParameters(msgspec.Struct, frozen=True, kw_only=True):
    """What the parameters of a StorageClass say of its volumes, whatever the cluster."""

    engine: str
    shards: Shards | None
    """None if it has replicas."""
    linked: bool
    """Whether copies share data with what they are copied from: they have all replicas at once."""
    locality: Locality | None
    """None if Longhorn's setting counts, as with each anti-affinity."""
    wanted_replicas: int
    """Or shards; 0 if Longhorn's setting counts."""
    node_selector: Selector
    disk_selector: Selector
    backing_image: str | None
    encrypted: bool
    migratable: bool
    """Whether a volume that several pods share can be attached to two nodes at once."""
    filesystem: str
    """As its author wrote it; empty for the driver's default."""
    topology: str
    """any, zonal or regional."""
    soft_anti_affinity: bool | None
    zone_soft_anti_affinity: bool | None
    disk_soft_anti_affinity: bool | None


@lru_cache(maxsize=256)
def read_parameters(name: str, parameters: tuple[tuple[str, str], ...]) -> ClassParameters:
    """Read the parameters of a class, once for as long as they stay the same.

    Every claim of every request is resolved by them.
    """
    storage_class = StorageClass(name=name, provisioner="", parameters=dict(parameters))
    values = storage_class.parameters
    wanted_replicas, locality = _wanted_replicas(storage_class), _locality(storage_class)
    layout = _one_of(storage_class, "dataLayout.type", "", ("", "replicated", "sharded"))
    shards = _shards(storage_class) if layout == "sharded" else None
    for parameter, is_refused in {
        "numberOfReplicas": wanted_replicas > 1,
        "dataLocality": locality not in (None, Locality.DISABLED),
        "backingImage": bool(values.get("backingImage")),
    }.items():
        if shards and is_refused:
            raise bad_parameter(storage_class, parameter, "leave it out: a volume has shards")
    _check_others(storage_class)
    return ClassParameters(
        engine=_one_of(storage_class, "dataEngine", "v1", DISK_TYPES),
        shards=shards,
        linked=values.get("cloneMode") == "linked-clone",
        wanted_replicas=shards.count if shards else wanted_replicas,
        locality=Locality.DISABLED if shards else locality,
        node_selector=selector_of(storage_class, "nodeSelector"),
        disk_selector=selector_of(storage_class, "diskSelector"),
        backing_image=values.get("backingImage") or None,
        encrypted=_is_true(storage_class, "encrypted"),
        migratable=_is_true(storage_class, "migratable"),
        filesystem=_filesystem(storage_class),
        # Each shard has a node of its own; of zones and disks Longhorn does not ask then.
        soft_anti_affinity=(
            False if shards else _is_soft(storage_class, "replicaSoftAntiAffinity")
        ),
        topology=_topology(storage_class),
        zone_soft_anti_affinity=shards is not None
        or _is_soft(storage_class, "replicaZoneSoftAntiAffinity"),
        disk_soft_anti_affinity=_is_soft(storage_class, "replicaDiskSoftAntiAffinity"),
    )


def selector_of(storage_class: StorageClass, parameter: str) -> Selector:
    """Read the tags that a node or disk must have."""
    if parameter not in storage_class.parameters:
        return ()
    return split_tags(storage_class.parameters[parameter])


def check_tags(
    storage_class: StorageClass, parameter: str, selector: tuple[str, ...], tags: Collection[str]
) -> None:
    """Refuse a selector with a tag that nothing in the cluster has, as Longhorn does.

    Raises:
        UnresolvableClaimError: There is one.
    """
    for tag in selector:
        if tag not in tags:
            raise bad_parameter(
                storage_class,
                parameter,
                f"tag {tag!r} is on no Longhorn {'node' if parameter == 'nodeSelector' else 'disk'}"
                f" (spaces count), so no volume can be created",
            )


def bad_parameter(
    storage_class: StorageClass, parameter: str, advice: str
) -> UnresolvableClaimError:
    """Return the error that Longhorn would refuse a parameter."""
    value = storage_class.parameters.get(parameter)
    return UnresolvableClaimError(
        ClaimProblem.BAD_PARAMETER,
        "StorageClass",
        storage_class.name,
        f"has no parameter {parameter}" if value is None else f"has {parameter} {value!r}",
        advice,
    )


def _check_others(storage_class: StorageClass) -> None:
    """Refuse what Longhorn refuses of parameters that nothing here depends on.

    Not looked at are backupBlockSize, frontend, fromBackup, dataSource, share and exclusive, what
    only ublk and NVMe-TCP read, and what is only read at a mount, such as nfsOptions.
    """
    values = storage_class.parameters
    for parameter, allowed in _OTHERS.items():
        _one_of(storage_class, parameter, "ignored", allowed)
    _is_true(storage_class, "disableRevisionCounter")
    _number(storage_class, "staleReplicaTimeout")
    try:
        msgspec.json.decode(values.get("recurringJobSelector", "[]"), type=list[_Job | None] | None)
    except (msgspec.MsgspecError, RecursionError):
        advice = 'use JSON such as [{"name":"JOB","isGroup":false}]'
        raise bad_parameter(storage_class, "recurringJobSelector", advice) from None


def _is_true(storage_class: StorageClass, parameter: str) -> bool:
    try:
        return parse_bool(storage_class.parameters.get(parameter, "false"))
    except ValueError:
        raise bad_parameter(storage_class, parameter, "use true or false") from None


def _number(storage_class: StorageClass, parameter: str) -> int:
    try:
        return parse_int(storage_class.parameters.get(parameter, "0"))
    except ValueError:
        raise bad_parameter(storage_class, parameter, "use a whole number") from None


def _filesystem(storage_class: StorageClass) -> str:
    """Return the file system of new volumes, as external-provisioner finds it.

    Source: kubernetes-csi/external-provisioner pkg/controller/controller.go prepareProvision.
    """
    values = storage_class.parameters
    found = [each for each in values if each.lower() == "fstype" or each == _PREFIXED_FSTYPE]
    if len(found) > 1:
        raise bad_parameter(storage_class, found[0], f"leave {found[0]} or {found[1]} out")
    return values[found[0]] if found else ""


def _shards(storage_class: StorageClass) -> Shards:
    """Read how many shards there are, and of which size; Longhorn has no defaults for that.

    Source: longhorn-manager webhook/resources/volume/validator.go, and its documentation.
    """
    if storage_class.parameters.get("dataEngine") != "v2":
        raise bad_parameter(storage_class, "dataEngine", "a sharded volume needs v2")
    data = _chunks(storage_class, "dataLayout.dataChunks", MOST_CHUNKS - 1)
    parity = _chunks(storage_class, "dataLayout.parityChunks", MOST_CHUNKS - data)
    strip = _one_of(storage_class, "dataLayout.stripSizeKB", "", _STRIP_SIZES)
    return Shards(data_chunks=data, parity_chunks=parity, strip_kib=int(strip))


def _chunks(storage_class: StorageClass, parameter: str, most: int) -> int:
    try:
        found = parse_int(storage_class.parameters.get(parameter, ""))
    except ValueError:
        found = 0
    if not 0 < found <= most:
        advice = f"a sharded volume has at least one of each, and {MOST_CHUNKS} chunks at most"
        raise bad_parameter(storage_class, parameter, advice)
    return found


def _locality(storage_class: StorageClass) -> Locality | None:
    if "dataLocality" not in storage_class.parameters:
        return None
    return Locality(_one_of(storage_class, "dataLocality", "", [*Locality]))


def _one_of(
    storage_class: StorageClass, parameter: str, default: str, allowed: Collection[str]
) -> str:
    value = storage_class.parameters.get(parameter, default)
    if value not in allowed:
        raise bad_parameter(
            storage_class, parameter, f"use one of {', '.join(sorted(filter(None, allowed)))}"
        )
    return value


def _topology(storage_class: StorageClass) -> str:
    """Read whether replicas keep to one zone or region; strict-local volumes never do.

    Source: longhorn-manager csi/controller_server.go checkVolumeTopologyParameters, which looks at
    strict-local volumes, too.
    """
    value = _one_of(storage_class, "volumeTopology", "", ("", "any", "zonal", "regional"))
    if value == "zonal" and _is_soft(storage_class, "replicaZoneSoftAntiAffinity") is False:
        raise bad_parameter(
            storage_class,
            "replicaZoneSoftAntiAffinity",
            "all replicas of a zonal volume share their zone; use enabled or ignored",
        )
    if storage_class.parameters.get("dataLocality") == "strict-local":
        return "any"
    return value or "any"


def _is_soft(storage_class: StorageClass, parameter: str) -> bool | None:
    """Read an anti-affinity; None if Longhorn's setting counts."""
    value = _one_of(storage_class, parameter, "ignored", _SOFT)
    return None if value == "ignored" else value == "enabled"


def _wanted_replicas(storage_class: StorageClass) -> int:
    """Read how many replicas the volume will have; 0 means as Longhorn's setting.

    Longhorn's webhook refuses more than 20, and more than one for a strict-local volume.
    """
    replicas = _number(storage_class, "numberOfReplicas")
    if not 0 <= replicas <= MOST_REPLICAS:
        advice = f"a volume has 1 to {MOST_REPLICAS} replicas"
        raise bad_parameter(storage_class, "numberOfReplicas", advice)
    return replicas
