"""Whether Longhorn makes a volume, written a second time: line by line after its Go sources.

In their order, and by their names: kubernetes-csi/external-provisioner pkg/controller/controller.go
prepareProvision and getPVCSource; longhorn-manager csi/controller_server.go CreateVolume,
csi/util.go getVolumeOptions, api/volume.go VolumeCreate, manager/volume.go Create, and
webhook/resources/volume: mutator.go and validator.go, Create. What estimates leave out is left out
here as well.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

MIB = 2**20
DRIVER = "driver.longhorn.io"
TRUE, FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")
IGNORED = ("ignored", "enabled", "disabled")


class Facts(msgspec.Struct, frozen=True):
    """Of a cluster: objects as plain mappings, by name."""

    claims: Mapping[str, Mapping[str, Any]]
    volumes: Mapping[str, Mapping[str, Any]]
    images: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, str]
    node_tags: Sequence[str]
    disk_tags: Sequence[str]


def is_made(parameters: Mapping[str, str], claim: Mapping[str, Any], facts: Facts) -> bool:
    """Say whether Longhorn makes the volume of a claim."""
    try:
        _make(dict(parameters), claim, facts)
    except ValueError:
        return False
    return True


def _make(options: dict[str, str], claim: Mapping[str, Any], facts: Facts) -> None:  # noqa: C901
    # prepareProvision
    types = [options[k] for k in options if k.lower() == "fstype" or k == f"csi.{_K8S}/fstype"]
    if len(types) > 1:
        raise ValueError("fstype specified in parameters with both")
    fs_type = types[0] if types else "ext4"
    options = {k: v for k, v in options.items() if not k.startswith(f"csi.{_K8S}/")}
    source = None
    if claim["source"]:
        source = _pvc_source(facts.claims.get(claim["source"]), facts)
    # CreateVolume
    if not {*claim["modes"]} <= {"ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany"}:
        raise ValueError("access mode is not supported")
    size = _round_up(max(claim["bytes"], 10 * MIB))
    if options.get("volumeTopology", "") not in ("", "any", "zonal", "regional"):
        raise ValueError("volumeTopology")
    if options.get("volumeTopology") == "zonal" and (
        options.get("replicaZoneSoftAntiAffinity") == "disabled"
    ):
        raise ValueError("volumeTopology zonal")
    if source is not None:
        if size != source["bytes"]:
            raise ValueError("the requested size is different than the source volume size")
        options["dataSource"] = f"vol://{claim['source']}"
    elif not claim["block"] and fs_type == "xfs" and size < 300 * MIB:
        raise ValueError("XFS filesystems are not supported")
    if "ReadWriteMany" in claim["modes"]:
        options["share"] = "true"
    volume = _volume_options(options)
    # checkAndPrepareBackingImage
    image = facts.images.get(volume["image"])
    made_along = options.get("backingImageDataSourceType") in ("download", "export-from-volume")
    if volume["image"] and image is None and not made_along:
        raise ValueError("backing image type is not supported via CSI")
    # VolumeCreate
    if not {*volume["diskSelector"]} <= {*facts.disk_tags}:
        raise ValueError("specified disk tag does not exist")
    if not {*volume["nodeSelector"]} <= {*facts.node_tags}:
        raise ValueError("specified node tag does not exist")
    # Create, restoreBackingImage
    if volume["engine"] not in ("v1", "v2"):
        raise ValueError("invalid data engine type")
    # mutator
    is_sharded = options.get("dataLayout.type") == "sharded"
    if volume["replicas"] == 0:
        default = json.loads(facts.settings.get("default-replica-count", '{"v1":"3","v2":"3"}'))
        volume["replicas"] = 1 if is_sharded else int(default[volume["engine"]])
    if volume["locality"] == "":
        setting = facts.settings.get("default-data-locality", "disabled")
        volume["locality"] = "disabled" if is_sharded else setting
    _validate(volume, size, source, image, facts, options)


def _pvc_source(claim: Mapping[str, Any] | None, facts: Facts) -> Mapping[str, Any]:
    if claim is None or claim["volume"] is None or claim["deleting"]:
        raise ValueError("the PVC DataSource must have a status of Bound")
    if claim["driver"] != DRIVER:
        raise ValueError("claim in dataSource not bound or invalid")
    return facts.volumes[claim["volume"]]


def _volume_options(options: Mapping[str, str]) -> dict[str, Any]:
    _atoi(options.get("staleReplicaTimeout", "0"))
    is_shared = _parse_bool(options.get("share", "false"))
    is_migratable = _parse_bool(options.get("migratable", "false")) and is_shared
    is_encrypted = _parse_bool(options.get("encrypted", "false"))
    replicas = _atoi(options.get("numberOfReplicas", "0"))
    if replicas < 0:
        raise ValueError("invalid parameter numberOfReplicas")
    _parse_bool(options.get("disableRevisionCounter", "false"))
    balances = ("ignored", "disabled", "least-effort", "best-effort")
    for name, allowed in (
        ("replicaAutoBalance", balances),
        ("dataLocality", ("disabled", "best-effort", "strict-local")),
        ("unmapMarkSnapChainRemoved", IGNORED),
        ("replicaSoftAntiAffinity", IGNORED),
        ("replicaZoneSoftAntiAffinity", IGNORED),
        ("replicaDiskSoftAntiAffinity", IGNORED),
        ("freezeFilesystemForSnapshot", IGNORED),
    ):
        if name in options and options[name] not in allowed:
            raise ValueError(f"invalid parameter {name}")
    for each in json.loads(options.get("recurringJobSelector", "[]")) or ():
        if each is not None and not (
            isinstance(each, dict)
            and isinstance(each.get("name"), str | None)
            and isinstance(each.get("isGroup"), bool | None)
        ):
            raise ValueError("invalid json format of recurringJobSelector")
    return {
        "shared": is_shared and not is_migratable,
        "encrypted": is_encrypted,
        "replicas": replicas,
        "locality": options.get("dataLocality", ""),
        "image": options.get("backingImage", ""),
        "cloneMode": options.get("cloneMode", "") if "dataSource" in options else "",
        "diskSelector": _split(options, "diskSelector"),
        "nodeSelector": _split(options, "nodeSelector"),
        "engine": options.get("dataEngine", "v1"),
    }


def _validate(  # noqa: C901
    volume: Mapping[str, Any],
    size: int,
    source: Mapping[str, Any] | None,
    image: Mapping[str, Any] | None,
    facts: Facts,
    options: Mapping[str, str],
) -> None:
    if not 1 <= volume["replicas"] <= 20:
        raise ValueError("replica count value must between 1 to 20")
    if volume["locality"] == "strict-local" and volume["replicas"] != 1:
        raise ValueError("number of replica count should be 1 when data locality is strict-local")
    if volume["locality"] == "strict-local" and volume["shared"]:
        raise ValueError("access mode rwx is incompatible with data locality strict-local mode")
    if image is not None and image["engine"] != volume["engine"]:
        raise ValueError("volume should have the same data engine as the backing image")
    if image is not None and size < image["virtual"]:
        raise ValueError("volume size should be larger than the backing image size")
    if volume["engine"] == "v1" and volume["cloneMode"] == "linked-clone":
        raise ValueError("v1 data engine does not support clone mode linked-clone")
    if source is not None and source["engine"] != volume["engine"]:
        raise ValueError("cannot clone volume into a volume with data engine")
    is_linked = volume["cloneMode"] == "linked-clone"
    if source is not None and is_linked and volume["replicas"] > source["replicas"]:
        raise ValueError("linked-clone volume cannot have more replicas than its source volume")
    if options.get("dataLayout.type", "") not in ("", "replicated", "sharded"):
        raise ValueError("invalid spec.dataLayout.type")
    if options.get("dataLayout.type") == "sharded":
        _validate_sharded(volume, source, options)
    if volume["encrypted"] and size <= 16 * MIB:
        raise ValueError("invalid volume size, need to be bigger than 16MiB")
    if facts.settings.get(f"{volume['engine']}-data-engine", "true") != "true":
        raise ValueError("data engine is not enabled")


def _validate_sharded(
    volume: Mapping[str, Any], source: Mapping[str, Any] | None, options: Mapping[str, str]
) -> None:
    data = _atoi(options.get("dataLayout.dataChunks", "0"))
    parity = _atoi(options.get("dataLayout.parityChunks", "0"))
    strip = _atoi(options.get("dataLayout.stripSizeKB", "0"))
    if volume["engine"] != "v2":
        raise ValueError("sharded data layout requires V2 data engine")
    if data < 1 or parity < 1 or data + parity > 32:
        raise ValueError("chunks")
    if strip not in (4, 8, 16, 32, 64, 128, 256, 512, 1024):
        raise ValueError("stripSizeKB")
    if volume["replicas"] != 1 or volume["locality"] != "disabled":
        raise ValueError("spec.numberOfReplicas and spec.dataLocality for EC volumes")
    if source is not None or volume["image"]:
        raise ValueError("spec.dataSource and spec.backingImage are not supported for EC volumes")


def _parse_bool(text: str) -> bool:
    if text not in (*TRUE, *FALSE):
        raise ValueError(text)
    return text in TRUE


def _atoi(text: str) -> int:
    if not text.removeprefix("-").isdigit():
        raise ValueError(text)
    return int(text)


def _round_up(size: int) -> int:
    return size if size % (2 * MIB) == 0 else size - size % (2 * MIB) + 2 * MIB


def _split(options: Mapping[str, str], name: str) -> list[str]:
    return options[name].split(",") if name in options else []


_K8S = "storage.k8s.io"
