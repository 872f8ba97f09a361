"""What takes a disk, by name, each name once: what its DiskSchedule says, and what it leaves out.

A Longhorn that has DiskSchedules asks for room there before it uses any. Then a name counts with
what its DiskSchedule says of it, whatever the disk's Node lists; names that it does not have count
by the Node and the Replicas, as all names do in a Longhorn without DiskSchedules. In GiB, where the
Node lists a with 60, b with 50 and x with 10:

    a is granted 60, b asked for 50 and was refused      60 for a, 0 for b, 10 for x

Sources: longhorn/longhorn PR 11924, longhorn-manager PR 4366
(controller/disk_schedule_controller.go); neither is released.
"""

from collections.abc import Mapping, Sequence

from msgspec import structs

from longhorn.disks import DiskSpace, disk_space
from longhorn.growth import NO_GROWTH, Growth, missing_copies, with_growth
from longhorn.records import Disk, NodeName, ReplicaName
from longhorn.replicas import Replica, Shard
from longhorn.schedules import DiskSchedule, Entry, EntryState, Part, Standing, parts
from longhorn.settings import Settings


def account(
    disk: Disk,
    settings: Settings,
    replicas: Sequence[Replica],
    *,
    node: NodeName,
    schedule: DiskSchedule | None = None,
    growth: Growth = NO_GROWTH,
) -> DiskSpace:
    """Work out what *disk* has left, with all that is known to be placed there.

    Longhorn's own check forgets replicas of other volumes that storageScheduled does not count yet;
    that is the race behind over-committed disks. Here they count.

    A DiskSchedule that is not Ready was never reconciled: then all counts as if there were none,
    and what it asks for counts besides.
    """
    if schedule is None or not _is_of_disk(schedule, node, disk):
        copies = missing_copies(disk, replicas, growth.images) if growth.images else None
        space = disk_space(disk, settings, _unlisted(disk, replicas), copies)
        return with_growth(space, replicas, growth.expanded) if growth.expanded else space
    of_replicas = parts(schedule.replicas, schedule.held_replicas)
    of_images = parts(schedule.images, schedule.held_images)
    if not schedule.ready:
        space = account(disk, settings, replicas, node=node, growth=growth)
        return _with_requests(space, of_replicas, of_images)
    space = _as_granted(disk, settings, replicas, of_replicas, of_images, growth)
    new = [replica for replica in replicas if not replica.healthy_once]
    return structs.replace(
        space,
        schedule=schedule,
        turned_away={
            each.name: structs.replace(
                each, node=None, disk=None, turned_away_from=each.named_place
            )
            for each in new
            if _may_leave(each.name, of_replicas.get(each.name), space)
        },
        undecided=frozenset(each.name for each in new if not _is_granted(schedule, each)),
    )


def _as_granted(
    disk: Disk,
    settings: Settings,
    replicas: Sequence[Replica],
    of_replicas: Mapping[ReplicaName, Part],
    of_images: Mapping[str, Part],
    growth: Growth,
) -> DiskSpace:
    """Work out what a disk has left by what its schedule asks for and grants, if it is Ready."""
    refused = {name for name, part in of_replicas.items() if part.standing is Standing.REFUSED}
    there = [each for each in replicas if each.name not in refused]
    running = [each for each in replicas if each.name in refused and of_replicas[each.name].bytes]
    counted = _as_scheduled(disk, of_replicas, of_images)
    copies = missing_copies(counted, [*there, *running], growth.images)
    space = disk_space(
        counted,
        settings,
        _unlisted(counted, there),
        {name: size for name, size in copies.items() if name not in of_images},
    )
    space = with_growth(space, there, growth.expanded)
    return _with_contested(space, of_replicas, of_images)


def _is_of_disk(schedule: DiskSchedule, node: NodeName, disk: Disk) -> bool:
    """Whether *schedule* is about *disk* of *node*, and not on its way out.

    A disk that was renamed, or moved to another node, gets a new one.
    """
    return (
        schedule.name == disk.id
        and schedule.node == node
        and schedule.disk == disk.name
        and not schedule.deleting
    )


def _may_leave(name: ReplicaName, part: Part | None, space: DiskSpace) -> bool:
    """Whether Longhorn has to place a replica elsewhere, or may have to.

    The disk refused it and has no room for it now: it is there by name only. Or it has yet to
    decide on more than it has room for: then it counts there, too, as nobody knows which replica it
    will refuse. Where nothing is asked for any more, and nothing was granted, Longhorn goes
    elsewhere. One with data stays where its data are, whatever was decided.
    """
    is_withdrawn = part is not None and part.standing is Standing.RELEASING and not part.bytes
    if part is None or part.standing is Standing.PENDING or is_withdrawn:
        return space.logical_headroom_bytes < 0
    is_refused = part.standing is Standing.REFUSED and not part.bytes
    return is_refused and name not in space.contested


def _is_granted(schedule: DiskSchedule, replica: Replica) -> bool:
    """Whether a replica was granted all that it asks for: until then it may be refused."""
    entry = schedule.held_replicas.get(replica.name)
    return (
        entry == Entry(EntryState.SCHEDULED, replica.size_bytes)
        and schedule.replicas.get(replica.name) == replica.size_bytes
    )


def _unlisted(disk: Disk, replicas: Sequence[Replica]) -> dict[ReplicaName, int]:
    """Return what of *replicas*, all placed on *disk*, its storageScheduled does not contain yet.

    A replica that grew counts with what is not listed of it. Shards are never listed: what is
    scheduled under no name contains them, in whatever order.
    """
    listed, nameless_bytes = disk.listed, 0
    found = {
        replica.name: replica.size_bytes - listed.get(replica.name, 0)
        for replica in replicas
        if replica.size_bytes > listed.get(replica.name, 0)
    }
    shards = [each.name for each in replicas if isinstance(each, Shard)]
    if shards:
        nameless_bytes = _nameless_bytes(disk)
    for name in sorted(shards):
        counted = min(nameless_bytes, found.get(name, 0))
        nameless_bytes -= counted
        found[name] = found.get(name, 0) - counted
    return found


def _as_scheduled(
    disk: Disk, of_replicas: Mapping[ReplicaName, Part], of_images: Mapping[str, Part]
) -> Disk:
    """Return *disk* with the names of its DiskSchedule listed as that says."""
    listed, images = dict(disk.listed), dict(disk.listed_images)
    listed.update({name: part.bytes for name, part in of_replicas.items()})
    images.update({name: part.bytes for name, part in of_images.items()})
    return structs.replace(
        disk,
        listed=listed,
        listed_images=images,
        scheduled_bytes=sum(listed.values()) + sum(images.values()) + _nameless_bytes(disk),
    )


def _nameless_bytes(disk: Disk) -> int:
    """Return what a disk has scheduled under no name: shards. Of one that is not Ready, nothing is
    known: its Node shows zeros, and stale images."""
    if not disk.ready.is_true:
        return 0
    named = sum(disk.listed.values()) + sum(disk.listed_images.values())
    return max(0, disk.scheduled_bytes - named)


def _with_requests(
    space: DiskSpace, of_replicas: Mapping[ReplicaName, Part], of_images: Mapping[str, Part]
) -> DiskSpace:
    """Return a disk with what a DiskSchedule that is not Ready has and the disk does not count."""
    listed, unlisted = space.disk.listed, dict(space.unlisted)
    for name, part in of_replicas.items():
        counted = listed.get(name, 0) + unlisted.get(name, 0)
        if part.bytes > counted:
            unlisted[name] = part.bytes - listed.get(name, 0)
    unlisted_images = dict(space.unlisted_images)
    for image, part in of_images.items():
        if image not in space.disk.listed_images:
            unlisted_images[image] = max(part.bytes, unlisted_images.get(image, 0))
    return structs.replace(
        space,
        unlisted=unlisted,
        unlisted_images=unlisted_images,
        scheduled_bytes=space.disk.scheduled_bytes
        + sum(unlisted.values())
        + sum(unlisted_images.values()),
    )


def _with_contested(
    space: DiskSpace, of_replicas: Mapping[ReplicaName, Part], of_images: Mapping[str, Part]
) -> DiskSpace:
    """Return a disk with what was refused and would fit now, as far as it fits together.

    It is tried again on each pass of the controller, so that it is likely to be granted before
    anything new is asked for.
    """
    free_bytes = space.logical_headroom_bytes
    fitting = {
        name: part.refused_bytes
        for name, part in of_replicas.items()
        if 0 < part.refused_bytes <= free_bytes
    }
    of_copies = (part.refused_bytes for part in of_images.values())
    fitting_bytes = sum(fitting.values()) + sum(each for each in of_copies if each <= free_bytes)
    contested_bytes = max(0, min(free_bytes, fitting_bytes))
    return structs.replace(
        space,
        contested=frozenset(fitting),
        contested_bytes=contested_bytes,
        scheduled_bytes=space.scheduled_bytes + contested_bytes,
    )
