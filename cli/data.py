"""What is left of a volume's data, for people: what is wrong, and what brings it back."""

from collections.abc import Iterable, Iterator
from datetime import UTC

import msgspec

from extender import ClusterView
from longhorn import (
    AUTO_SALVAGE,
    Awaited,
    DataState,
    DiskName,
    DiskSpace,
    Locality,
    Missing,
    NodeName,
    Replica,
    Usability,
    Volume,
    VolumeData,
    VolumeName,
    data_of,
    limit_bytes,
    parse_bool,
)
from planner.naming import first_of

_MOST_NAMED = 3
_ACTIONS = {
    Missing.NODE: "Bring node {node} back.",
    Missing.MANAGER: "See the instance-manager pod of node {node}; while the node is cordoned it "
    "is not made again.",
    Missing.ENGINE: "Take the label that switches data engine v2 off from node {node}.",
    Missing.IMAGE: "See why the pod of the engine image does not run on node {node}.",
    Missing.DISK: "See the conditions of disk {disk} of node {node} in Longhorn.",
}


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with the data of a volume, and what to do."""

    text: str
    action: str


def data_in(view: ClusterView, name: VolumeName) -> VolumeData:
    """Judge the replicas of a volume, or of one of which only replicas are known."""
    unknown = Volume(name=name, size_bytes=0, locality=Locality.DISABLED)
    volume, replicas = view.volumes.get(name, unknown), view.replicas.get(name, ())
    return data_of(volume, replicas, view.spaces, unreadable=view.unreadable_nodes)


def trouble_with(volume: Volume, data: VolumeData, view: ClusterView) -> Told | None:
    """Say what is wrong with the data of a volume, None if it can be read or there is none.

    Of shards Longhorn says itself whether they are enough: failed ones may come back.
    """
    if data.is_sharded:
        return None
    match data.state:
        case DataState.AWAITED:
            return Told(
                text=f"its data cannot be read before {' or '.join(map(str, data.awaited))}",
                action=" ".join(_action(each) for each in data.awaited),
            )
        case DataState.FAULTED:
            where, gone = _places(data.holders, view), _without_disk(data)
            text = f"all replicas with its data have failed ({where}), and nothing is lost yet"
            if gone:
                text = f"{_places(gone, view)}, and only failed replicas are left ({where})"
            return Told(text=text, action=_salvage(volume, data, view))
        case DataState.NEW if data.is_faulted:
            text = "all its replicas failed before they had all data"
            if any(each.replica.had_data for each in data.judged):
                return Told(text=text, action="Salvage the volume in Longhorn's UI.")
            return Told(text=text, action="Delete the claim, and make it again.")
        case DataState.LOST:
            with_data = [each.replica for each in data.judged if each.replica.healthy_once]
            return Told(
                text=f"no replica with its data is left: {_places(with_data, view)}",
                action="Put back what is gone as it was, with its data, or restore the volume from "
                "a backup.",
            )
    return None


def _without_disk(data: VolumeData) -> list[Replica]:
    """Return the replicas with newer data than failed ones whose node or disk is gone."""
    gone = (each.replica for each in data.those(Usability.GONE))
    return [each for each in gone if each.healthy_once and not each.failed]


def _salvage(volume: Volume, data: VolumeData, view: ClusterView) -> str:
    """Say what makes Longhorn take failed replicas again, the newest ones."""
    if volume.standby or (volume.told is not None and volume.told.restoring):
        return "Longhorn salvages no volume that gets its data from a backup: restore it anew."
    newest = {each.name for each in data.holders}
    failed = data.those(Usability.SALVAGEABLE)
    awaited = [e.awaits for e in failed if e.replica.name in newest and e.awaits is not None]
    if len(awaited) == len(newest):
        found = [_salvage_action(each, view) for each in dict.fromkeys(awaited)]
        older = [e.replica for e in failed if e.replica.name not in newest]
        if older:
            found.append(f"What {_places(older, view)} has is older: do not salvage that.")
        return f"{' '.join(found)} Then Longhorn salvages it by itself. Delete no failed replica."
    where = _places([e.replica for e in failed if not e.awaits and e.replica.name in newest], view)
    gone = _without_disk(data)
    if gone:
        # Longhorn marks them failed where the node is gone; else it tries to start them for ever.
        there = [each.name for each in gone if (each.node or NodeName("")) in view.spaces]
        first = f"Delete Replica {first_of(there, _MOST_NAMED)}, whose disk is gone. " * bool(there)
        at = max((each.failed_at for each in data.holders if each.failed_at), default=None)
        until = f", with its data until {at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if at else ""
        return f"{first}Once a pod uses the volume, Longhorn salvages {where}{until}."
    if data.salvaged and _salvages_itself(view):
        return (
            f"Longhorn salvages {where} by itself once the volume is detached. If it stays: "
            "salvage the volume in Longhorn's UI."
        )
    return f"Set `auto-salvage` to `true`, or salvage {where} in Longhorn's UI."


def _salvages_itself(view: ClusterView) -> bool:
    try:
        return parse_bool(view.setting_values.get(AUTO_SALVAGE, "true"))
    except ValueError:
        return False


def _action(awaited: Awaited) -> str:
    return _ACTIONS[awaited.missing].format(node=awaited.node, disk=awaited.disk)


def _salvage_action(awaited: Awaited, view: ClusterView) -> str:
    """Say what makes a disk schedulable again: Longhorn salvages nothing on one that is not."""
    space = view.spaces.get(awaited.node)
    if awaited.missing is not Missing.DISK or space is None:
        return _action(awaited)
    [disk] = [each for each in space.disks if each.disk.name == awaited.disk]
    found = [*_to_make_schedulable(awaited.node, disk, view)]
    if not found:
        return _action(awaited)
    return f"Disk {awaited.node}/{awaited.disk} is not schedulable: {', or '.join(found)}."


def _to_make_schedulable(node: NodeName, disk: DiskSpace, view: ClusterView) -> Iterator[str]:
    if disk.physical_headroom_bytes < 0:
        yield "free room on it, or lower `storage-minimal-available-percentage`"
    if disk.logical_headroom_bytes >= 0:
        return
    empty = [
        each.name
        for name, replicas in view.replicas.items()
        for each in replicas
        if each.node == node
        and each.disk == disk.disk.id
        and not each.may_have_data
        and data_in(view, name).holders
    ]
    if empty:
        yield f"delete the replicas on it that never had data ({first_of(empty, _MOST_NAMED)})"
    percent = least_percent(disk)
    if percent is not None:
        yield f"raise `storage-over-provisioning-percentage` to {percent} or more"


def least_percent(disk: DiskSpace, more_bytes: int = 0) -> int | None:
    """Return by which over-provisioning all is within the limit that is scheduled on a disk.

    None if none does, since all of the disk is reserved.

    Args:
        disk: The disk.
        more_bytes: What is to be scheduled there besides.
    """
    maximum, reserved = disk.disk.maximum_bytes, disk.disk.reserved_bytes
    if maximum <= reserved:
        return None
    wanted_bytes = disk.scheduled_bytes + more_bytes
    percent = -(-100 * wanted_bytes // (maximum - reserved))
    while limit_bytes(maximum, reserved, percent) < wanted_bytes:
        percent += 1  # limits are rounded as Longhorn does
    return percent


def _places(replicas: Iterable[Replica], view: ClusterView) -> str:
    """Name where replicas are, or were."""
    return first_of([_place(each, view) for each in replicas], _MOST_NAMED)


def _place(replica: Replica, view: ClusterView) -> str:
    node, disk = replica.named_place
    space = view.spaces.get(node or NodeName(""))
    if space is None:
        return f"node {node} is gone" if node else "without a disk"
    names: list[DiskName] = [each.disk.name for each in space.disks if each.disk.id == disk]
    if disk is None:
        return f"{node}, without a disk"
    return f"{node}/{names[0]}" if names else f"node {node} has no disk {disk} any more"
