"""What Longhorn's webhooks refuse of a change that somebody makes to an object.

Sources: longhorn-manager webhook/resources/node/validator.go (Update), volume/validator.go (Update:
validateReplicaCount, validateDataLocalityUpdate, validateShardedConstraints and those of linked
clones), replica/validator.go (validateReplicaDeletion, validateLinkedCloneReplicaDeletion), and
types/setting.go (ranges of values).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from longhorn.due import MOST_REPLICAS
from longhorn.records import Disk, Locality, Node, Setting, Volume, VolumeName, VolumeTold
from longhorn.replicas import Replica
from longhorn.settings import parse_bool, parse_int

_PERCENTS: Mapping[str, float] = {
    "storage-over-provisioning-percentage": float("inf"),
    "storage-minimal-available-percentage": 100,
}
"""Settings of a number from 0 on, with the largest that is taken."""
_SWITCHES = frozenset(
    {
        "auto-salvage",
        "disable-scheduling-on-cordoned-node",
        "replica-disk-soft-anti-affinity",
        "replica-soft-anti-affinity",
        "replica-zone-soft-anti-affinity",
    }
)


def node_change_refusal(old: Node, new: Node) -> str | None:
    """Say why a Longhorn Node may not be changed so, None if it may."""
    if new.evicting and new.allow_scheduling:
        return f"node {new.name} cannot be evicted and take replicas"
    kept = {disk.name for disk in new.disks}
    for disk in new.disks:
        if disk.evicting and disk.allow_scheduling:
            return f"disk {disk.name} cannot be evicted and take replicas"
        if disk.reserved_bytes < 0:
            return f"disk {disk.name} cannot have less than nothing reserved"
    for disk in old.disks:
        if disk.name not in kept and not _may_be_removed(disk):
            return f"disk {disk.name} must be disabled and empty before it is removed"
    return None


def _may_be_removed(disk: Disk) -> bool:
    return not disk.allow_scheduling and not disk.scheduled_bytes


def volume_change_refusal(old: Volume, new: Volume, volumes: Collection[Volume]) -> str | None:
    """Say why a Volume may not be changed so, None if it may.

    Args:
        old: As it is.
        new: As it is to be.
        volumes: All volumes: linked clones bind each other.
    """
    is_other = new.locality is not old.locality
    is_detached = (old.told or VolumeTold()).state == "detached"
    if is_other and Locality.STRICT_LOCAL in (new.locality, old.locality) and not is_detached:
        return "the locality of a strict-local volume is changed while it is detached"
    if new.wanted_replicas == old.wanted_replicas:
        return _count_refusal(new)
    if new.sharded:
        return "an erasure-coded volume has as many shards as it was made with"
    if new.is_frozen:
        return "a linked clone of its age keeps its number of replicas"
    return _count_refusal(new) or next(_of_clones(new, volumes), None)


def _count_refusal(volume: Volume) -> str | None:
    if volume.sharded:
        return None
    if not 1 <= volume.wanted_replicas <= MOST_REPLICAS:
        return f"a volume has from 1 to {MOST_REPLICAS} replicas"
    if volume.locality is Locality.STRICT_LOCAL and volume.wanted_replicas != 1:
        return "a strict-local volume has exactly 1 replica"
    return None


def _of_clones(new: Volume, volumes: Iterable[Volume]) -> Iterator[str]:
    """Say what the number of replicas of linked clones, or of what they share, must not be."""
    for each in volumes:
        if each.name == new.linked_to and new.wanted_replicas > each.wanted_replicas:
            yield "a linked clone has no more replicas than its source"
        if each.linked_to == new.name and each.wanted_replicas > new.wanted_replicas:
            yield f"linked clone {each.name} has more replicas"


def replica_deletion_refusal(
    replica: Replica, siblings: Iterable[Replica], volumes: Mapping[VolumeName, Volume],
    clones: Iterable[Replica],
) -> str | None:  # fmt: skip
    """Say why a Replica may not be deleted, None if it may.

    Args:
        replica: The one to delete.
        siblings: All replicas of its volume.
        volumes: All volumes; without its volume, or if that is being deleted, any may go.
        clones: The replicas that may share data with it.
    """
    volume = volumes.get(replica.volume)
    if volume is None or volume.deleting:
        return None
    available = [
        each.name
        for each in siblings
        if each.healthy_once and not (each.failed or each.deleting or each.evicting)
    ]
    if available == [replica.name]:
        return "no other healthy replica of the volume is left"
    if any(each.source == replica.name for each in clones):
        return "a linked clone shares its data"
    return None


def setting_refusal(setting: Setting) -> str | None:
    """Say why a Setting may not have this value, None if it may; of others nothing is known."""
    try:
        if setting.name in _SWITCHES:
            parse_bool(setting.value)
        most = _PERCENTS.get(setting.name)
        if most is not None and not 0 <= parse_int(setting.value) <= most:
            return f"{setting.value} is out of range"
    except ValueError:
        return f"{setting.value!r} is no value of it"
    return None
