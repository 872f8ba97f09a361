"""Linked clones: which there may be, where their replicas go, and what they keep. Data engine v2.

A replica of a linked clone shares data with one of another volume, on the same disk; that one
stays for as long as it is shared. Sources: longhorn-manager webhook/resources/volume/validator.go;
scheduler/replica_scheduler.go buildLinkedCloneSrcNodeDiskMap; controller/volume_controller.go
syncLinkedCloneReplicaSourceFields.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from tests.actors.api import Informer, Object

LEGACY_LABEL = "longhorn.io/legacy-linked-clone"
_LINKED = "linked-clone"
_SCHEME = "vol://"


def data_source(volume: str) -> str:
    """Say of which volume another one is to be a copy, as StorageClass parameters do."""
    return f"{_SCHEME}{volume}"


def shares_with(volume: Object) -> str:
    """Name the volume that a linked clone shares data with; "" for any other volume."""
    spec = volume["spec"]
    if spec.get("cloneMode") != _LINKED:
        return ""
    return str(spec["dataSource"].removeprefix(_SCHEME))


def is_legacy(volume: Object) -> bool:
    """Say whether it is a linked clone made before v1.12.1: it never gets another replica."""
    return (volume["metadata"].get("labels") or {}).get(LEGACY_LABEL) == "true"


def refusal(volume: Object, source: Object | None) -> str:
    """Say why Longhorn's webhook refuses a volume that is a copy of *source*; "" if it does not."""
    spec = volume["spec"]
    if spec["cloneMode"] != _LINKED:
        return "full copies are not played"
    if source is None:
        return f"there is no {spec['dataSource']}"
    if spec["dataEngine"] != "v2" or source["spec"]["dataEngine"] != "v2":
        return "a linked clone and its source are of data engine v2"
    if spec["numberOfReplicas"] > source["spec"]["numberOfReplicas"]:
        return "a linked clone has no more replicas than its source"
    if spec["size"] != source["spec"]["size"]:
        return "a linked clone is as large as its source"
    return ""


def shared_replica(
    place: tuple[str, str], source: str, replicas: Collection[Object], taken: Counter[str]
) -> str:
    """Name the replica of *source* that one of its clone at *place* shares data with.

    Args:
        place: The node, and the UUID of the disk.
        source: The name of the volume.
        replicas: Those of all volumes.
        taken: How many share each.
    """
    there = (
        each["metadata"]["name"]
        for each in of_volume(source, replicas)
        if (each["spec"]["nodeID"], each["spec"]["diskID"]) == place
        and each["spec"]["healthyAt"]
        and not (each["spec"].get("failedAt") or each["spec"].get("evictionRequested"))
        and not each["metadata"].get("deletionTimestamp")
    )
    return min(there, key=lambda name: (taken[name], name), default="")


def of_volume(volume: str, replicas: Iterable[Object]) -> list[Object]:
    """Return the replicas of one volume."""
    return [each for each in replicas if each["spec"]["volumeName"] == volume]


class Sharing:
    """Counts by how many replicas of linked clones each replica is shared.

    Attributes:
        taken: By its name.
    """

    def __init__(self, replicas: Informer) -> None:
        self.taken: Counter[str] = Counter()
        replicas.handlers.append(self._hear)

    def _hear(self, old: Object | None, new: Object | None) -> None:
        for obj, more in ((old, -1), (new, 1)):
            name = obj["spec"].get("linkedCloneSrcReplicaName", "") if obj else ""
            if name:
                self.taken[name] += more
