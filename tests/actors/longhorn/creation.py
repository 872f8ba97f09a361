"""From a StorageClass's parameters to a Volume object, and from that to Replica objects. Pure.

Source: longhorn-manager csi/controller_server.go CreateVolume and csi/util.go.
"""

from collections.abc import Iterable, Mapping
from random import Random

from longhorn import split_tags, value_for_engine, volume_size_bytes
from tests.actors.api import Object
from tests.actors.longhorn.settings import (
    DEFAULT_ENGINE_IMAGE,
    DEFAULT_LOCALITY,
    DEFAULT_MANAGER_IMAGE,
    DEFAULT_REPLICAS,
    Settings,
    text,
)

MIB = 2**20
MOST_RETRIES = 5

_DISABLED = "disabled"


class CreateVolumeError(Exception):
    """CSI CreateVolume fails; external-provisioner tries again."""


def volume_object(
    name: str,
    size_bytes: int,
    parameters: Mapping[str, str],
    settings: Settings,
    *,
    namespace: str,
    owner: str,
) -> Object:
    """Build the Volume that CreateVolume writes."""
    engine, source = parameters.get("dataEngine", "v1"), parameters.get("dataSource", "")
    image = text(settings, DEFAULT_MANAGER_IMAGE if engine == "v2" else DEFAULT_ENGINE_IMAGE)
    layout = layout_of(parameters)
    replicas = 1 if layout else int(parameters.get("numberOfReplicas", "0"))
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"longhornvolume": name, "backup-target": "default"},
        },
        "spec": {
            "size": str(volume_size_bytes(size_bytes)),
            "numberOfReplicas": replicas or _default_replicas(settings, engine),
            "dataLocality": _locality(parameters, settings, is_sharded=layout is not None),
            **({"dataLayout": layout} if layout else {}),
            "dataEngine": engine,
            "accessMode": _access_mode(parameters),
            "frontend": "blockdev",
            "disableFrontend": False,
            "nodeID": "",
            "nodeSelector": _tags(parameters, "nodeSelector"),
            "diskSelector": _tags(parameters, "diskSelector"),
            "image": image,
            "backingImage": parameters.get("backingImage", ""),
            "dataSource": source,
            "cloneMode": _clone_mode(parameters) if source else "",
            "migratable": parameters.get("migratable") == "true",
            "encrypted": parameters.get("encrypted") == "true",
            **{
                field: parameters.get(field, "ignored")
                for field in (
                    "replicaAutoBalance",
                    "replicaSoftAntiAffinity",
                    "replicaZoneSoftAntiAffinity",
                    "replicaDiskSoftAntiAffinity",
                )
            },
            "staleReplicaTimeout": int(parameters.get("staleReplicaTimeout", "2880")),
            "backupBlockSize": str(2 * MIB),
        },
        "status": {
            "ownerID": owner,
            "state": "",
            "robustness": "",
            "currentNodeID": "",
            "currentImage": image,
            "actualSize": 0,
            "lastDegradedAt": "",
            "conditions": [],
        },
    }


def unknown_tags(volume: Object, nodes: Iterable[Object]) -> tuple[str, ...]:
    """Say which tags the volume asks for that no node, or no disk, of the cluster has."""
    nodes = tuple(nodes)
    node_tags = {tag for node in nodes for tag in node["spec"].get("tags") or ()}
    disks = [disk for node in nodes for disk in (node["spec"].get("disks") or {}).values()]
    disk_tags = {tag for disk in disks for tag in disk.get("tags") or ()}
    spec = volume["spec"]
    return (
        *(f"node tag {tag}" for tag in spec["nodeSelector"] if tag not in node_tags),
        *(f"disk tag {tag}" for tag in spec["diskSelector"] if tag not in disk_tags),
    )


def replica_object(volume: Object, size_bytes: int, hard_node: str, random: Random) -> Object:
    """Build a replica that has no place yet.

    It is as large as the others are, also if the volume is to be expanded.

    One that is to be filled from others is made with as many retries as a replica has at most, so
    that it is not used again should that fail (controller/volume_controller.go).
    """
    metadata, spec = volume["metadata"], volume["spec"]
    name = metadata["name"]
    return {
        "metadata": {
            "name": f"{name}-r-{random.getrandbits(32):08x}",
            "namespace": metadata["namespace"],
            "labels": {"longhornvolume": name, "longhornnode": "", "longhorndiskuuid": ""},
            "ownerReferences": [
                {
                    "apiVersion": "longhorn.io/v1beta2",
                    "kind": "Volume",
                    "name": name,
                    "uid": metadata["uid"],
                }
            ],
        },
        "spec": {
            "volumeName": name,
            "volumeSize": str(size_bytes),
            "nodeID": "",
            "diskID": "",
            "diskPath": "",
            "dataDirectoryName": f"{name}-{random.getrandbits(32):08x}",
            "dataEngine": spec["dataEngine"],
            "image": spec["image"],
            "engineName": f"{name}-e-0",
            "backingImage": spec["backingImage"],
            "active": True,
            "linkedCloneSrcReplicaName": "",
            "desireState": "stopped",
            "hardNodeAffinity": hard_node,
            "evictionRequested": False,
            "healthyAt": "",
            "lastHealthyAt": "",
            "failedAt": "",
            "lastFailedAt": "",
            "rebuildRetryCount": MOST_RETRIES if volume["status"]["state"] == "attached" else 0,
        },
        "status": {"ownerID": "", "currentState": "stopped", "started": False, "conditions": []},
    }


def _default_replicas(settings: Settings, engine: str) -> int:
    return int(value_for_engine(text(settings, DEFAULT_REPLICAS), engine))


def layout_of(parameters: Mapping[str, str]) -> Object | None:
    """Return how an erasure-coded volume is spread over shards; None for one of replicas."""
    if parameters.get("dataLayout.type") != "sharded":
        return None
    return {
        "type": "sharded",
        "mode": "erasureCoding",
        "dataChunks": int(parameters["dataLayout.dataChunks"]),
        "parityChunks": int(parameters["dataLayout.parityChunks"]),
        "stripSizeKB": int(parameters["dataLayout.stripSizeKB"]),
    }


def _locality(parameters: Mapping[str, str], settings: Settings, *, is_sharded: bool) -> str:
    return (
        _DISABLED
        if is_sharded
        else parameters.get("dataLocality", text(settings, DEFAULT_LOCALITY))
    )


def _clone_mode(parameters: Mapping[str, str]) -> str:
    """Longhorn's webhook makes a full copy of what nobody says otherwise of."""
    return parameters.get("cloneMode") or "full-copy"


def _access_mode(parameters: Mapping[str, str]) -> str:
    if parameters.get("share") == "true":
        return "rwx"
    return "rwop" if parameters.get("exclusive") == "true" else "rwo"


def _tags(parameters: Mapping[str, str], key: str) -> list[str]:
    """Read a selector; Longhorn's webhook sorts it."""
    return sorted(split_tags(parameters[key])) if key in parameters else []
