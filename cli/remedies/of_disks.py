"""What can be done with a disk, so that it takes a replica."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import structs

from cli.data import data_in, least_percent
from cli.explaining.details import claims_of_volumes
from cli.remedies.remedy import Edit, Remedy, disk_edit, setting_edit
from extender import ClusterView
from longhorn import (
    Condition,
    DataState,
    Disk,
    DiskId,
    DiskName,
    DiskSpace,
    Need,
    Node,
    NodeName,
    Replica,
    Usability,
    is_on,
    limit_bytes,
    minimal_available_bytes,
)
from planner.naming import first_of
from planner.sizes import amount, most_amount, short_amount

_TRUE = Condition(status="True")
_PRESSURE = Condition(status="False", reason="DiskPressure")
_MOST_NAMED = 3
_ENOUGH_BYTES = 2**50
_OTHER_FILE_SYSTEM = "DiskFilesystemChanged"
"""Why a disk is not ready that is another one than Longhorn has noted."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be placed on one node."""

    needs: Sequence[Need]

    @property
    def size_bytes(self) -> int:
        """What it takes of a disk that holds all of it."""
        return sum(each.size_bytes for each in self.needs)

    @property
    def actual_bytes(self) -> int:
        """What is written there then."""
        return sum(each.actual_bytes for each in self.needs)

    @property
    def node_tags(self) -> frozenset[str]:
        """All tags that a node must have."""
        return frozenset(t for need in self.needs for tags in need.node_selectors for t in tags)

    @property
    def disk_tags(self) -> frozenset[str]:
        """All tags that a disk must have that holds all of it."""
        return frozenset(t for need in self.needs for tags in need.disk_selectors for t in tags)

    @property
    def disk_type(self) -> str:
        """The type of such a disk."""
        return self.needs[0].disk_type


def of_disk(
    space: DiskSpace, node: NodeName, wanted: Wanted, view: ClusterView
) -> Iterator[Remedy]:
    """Yield what can be done with a disk, so that it takes all that is wanted."""
    disk = space.disk
    figures = {"node": node, "disk": disk.name}

    def changed(code: str, told: dict[str, str] | None = None, **fields: object) -> Remedy:
        edit = disk_edit(node, disk.name, lambda each: structs.replace(each, **fields))
        return Remedy(code=code, figures={**figures, **(told or {})}, edits=[edit])

    if disk.type != wanted.disk_type:
        return
    if disk.evicting:
        first = disk_edit(node, disk.name, lambda each: structs.replace(each, evicting=False))
        then = changed("end_disk_eviction", allow_scheduling=True)
        yield structs.replace(then, edits=[first, *then.edits])
    elif not disk.allow_scheduling:
        yield changed("allow_disk", allow_scheduling=True)
    if missing := wanted.disk_tags - disk.tags:
        told = {"tags": ", ".join(sorted(missing))}
        yield changed("tag_disk", told, tags=disk.tags | missing)
    is_back_with_node = waits_for_node(disk) and not view.spaces[node].node.ready.is_true
    if not (disk.ready.is_true or is_back_with_node):
        yield _not_ready(disk, node, wanted, view)
        return
    yield from _with_less_on_it(disk, node, view)
    yield from _with_other_limits(space, node, wanted, view)
    # A failed replica is rebuilt in place where nothing more may be written, a new one is not.
    for more_bytes in sorted({0, wanted.actual_bytes}):
        yield from _more_to_write(space, node, more_bytes, view)


def _more_to_write(
    space: DiskSpace, node: NodeName, more_bytes: int, view: ClusterView
) -> Iterator[Remedy]:
    """Offer what lets so much more be written on a disk."""
    disk, least = space.disk, view.settings.minimal_available_percent
    short_bytes = more_bytes - space.physical_headroom_bytes
    if short_bytes <= 0:
        return
    left = disk.available_bytes - more_bytes - 1
    percents = range(least - 1, -1, -1)
    fitting = (
        each for each in percents if minimal_available_bytes(disk.maximum_bytes, each) <= left
    )
    percent = next(fitting, None)
    if percent is not None:
        name = "storage-minimal-available-percentage"
        yield _percentage("lower_minimal_available", name, least, percent)
    freed = disk_edit(
        node,
        disk.name,
        lambda each: structs.replace(each, available_bytes=each.available_bytes + short_bytes),
    )
    size, most = short_amount(short_bytes), _written_most(disk.id, node, view)
    figures = {"node": node, "disk": disk.name, "size": size, "most": most}
    yield Remedy(code="free_disk", figures=figures, edits=[freed], change=short_bytes)


def _not_ready(disk: Disk, node: NodeName, wanted: Wanted, view: ClusterView) -> Remedy:
    """Say what makes a disk ready: it is put back; or, if nothing is on it, taken as it is.

    How large it is may not be known meanwhile: then it is taken to be large enough.
    """
    figures = {"node": node, "disk": disk.name}
    is_empty = not any(is_on(r, node, disk) for all_ in view.replicas.values() for r in all_)
    if disk.ready.reason == _OTHER_FILE_SYSTEM and is_empty:
        empty = structs.replace(empty_disk(wanted, view), name=disk.name, tags=disk.tags)
        closed = disk_edit(
            node, disk.name, lambda d: structs.replace(d, allow_scheduling=False, scheduled_bytes=0)
        )
        added = Edit(Node, node, lambda n: structs.replace(n, disks=(*n.disks, empty)))
        edits = [closed, disk_edit(node, disk.name, lambda _: None), added]
        return Remedy(code="add_disk_again", figures=figures, edits=edits)
    why = ": ".join(filter(None, (disk.ready.reason, disk.ready.message))) or "it is not ready"
    edits = [disk_edit(node, disk.name, disk_back)]
    if not disk.maximum_bytes:
        edits += [disk_edit(node, disk.name, _large)]
    return Remedy(code="disk_back", figures={**figures, "why": why}, edits=edits)


def _large(disk: Disk) -> Disk:
    return structs.replace(disk, maximum_bytes=_ENOUGH_BYTES, available_bytes=_ENOUGH_BYTES)


def _with_less_on_it(disk: Disk, node: NodeName, view: ClusterView) -> Iterator[Remedy]:
    """Offer replicas for deletion that their volumes do without.

    They have failed; or never had data, while all that have data failed: Longhorn makes no new ones
    then.
    """
    for volume, replicas in sorted(view.replicas.items()):
        there = [each for each in replicas if is_on(each, node, disk) and not each.deleting]
        if not any(each.failed or not each.started for each in there) or volume not in view.volumes:
            continue
        data = data_in(view, volume)
        judged = {each.replica.name: each.usability for each in data.judged}
        for each in there:
            is_used = judged[each.name] is Usability.USABLE
            if each.failed and data.usable and not is_used:
                yield _deletion(each, disk, node, "has failed")
            elif data.state is DataState.FAULTED and not each.may_have_data:
                yield _deletion(each, disk, node, "never had data")


def _deletion(replica: Replica, disk: Disk, node: NodeName, state: str) -> Remedy:
    def without(found: Disk) -> Disk:
        listed = {name: size for name, size in found.listed.items() if name != replica.name}
        less = found.listed.get(replica.name, 0)
        return structs.replace(found, listed=listed, scheduled_bytes=found.scheduled_bytes - less)

    return Remedy(
        code="delete_replica",
        figures={
            "node": node,
            "disk": disk.name,
            "replica": replica.name,
            "state": state,
            "size": amount(replica.size_bytes),
        },
        edits=[Edit(Replica, replica.name, lambda _: None), disk_edit(node, disk.name, without)],
    )


def _with_other_limits(
    space: DiskSpace, node: NodeName, wanted: Wanted, view: ClusterView
) -> Iterator[Remedy]:
    """Offer other limits, where those are what is short."""
    disk, settings = space.disk, view.settings
    if space.logical_headroom_bytes < wanted.size_bytes:
        percent = least_percent(space, wanted.size_bytes)
        if percent is not None:
            yield _percentage(
                "raise_over_provisioning",
                "storage-over-provisioning-percentage",
                settings.over_provisioning_percent,
                percent,
            )
        over = settings.over_provisioning_percent
        needed = space.scheduled_bytes + wanted.size_bytes
        reserved = disk.maximum_bytes - -(-100 * needed // over) if over > 0 else -1
        if 0 <= reserved < disk.reserved_bytes:
            yield Remedy(
                code="lower_reserved",
                figures={
                    "node": node,
                    "disk": disk.name,
                    "now": amount(disk.reserved_bytes),
                    "then": most_amount(reserved),
                },
                edits=[
                    disk_edit(
                        node, disk.name, lambda d: structs.replace(d, reserved_bytes=reserved)
                    )
                ],
            )


def _percentage(code: str, name: str, now: int, then: int) -> Remedy:
    figures = {"now": str(now), "then": str(then)}
    edits = [setting_edit(name, str(then))]
    return Remedy(code=code, figures=figures, edits=edits, change=abs(then - now))


def _written_most(disk: DiskId | None, node: NodeName, view: ClusterView) -> str:
    """Name the volumes that have written most on a disk."""
    found = sorted(
        (
            (-volume.actual_bytes, name)
            for name, replicas in view.replicas.items()
            if (volume := view.volumes.get(name)) is not None
            and volume.actual_bytes
            and any(each.node == node and each.disk == disk for each in replicas)
        )
    )
    if not found:
        return ""
    claims = claims_of_volumes(view)
    named = [f"{claims.get(name, name)} {amount(-size)}" for size, name in found]
    return f": delete snapshots of what holds most ({first_of(named, _MOST_NAMED)}), or other files"


def empty_disk(wanted: Wanted, view: ClusterView) -> Disk:
    """Return an empty disk that is just large enough."""
    settings = view.settings
    over, minimal = settings.over_provisioning_percent, settings.minimal_available_percent
    size = -(-100 * wanted.size_bytes // max(over, 1))
    size = max(size, -(-100 * (wanted.actual_bytes + 2) // max(100 - minimal, 1)), 1)
    while limit_bytes(size, 0, over) < wanted.size_bytes and over > 0:
        size += 1
    return Disk(
        name=DiskName("a-new-disk"),
        id=DiskId("a-new-disk"),
        type=wanted.disk_type,
        filesystem="",
        tags=wanted.disk_tags,
        allow_scheduling=True,
        evicting=False,
        ready=_TRUE,
        schedulable=_TRUE,
        maximum_bytes=size,
        reserved_bytes=0,
        available_bytes=size,
        scheduled_bytes=0,
        listed={},
    )


def waits_for_node(disk: Disk) -> bool:
    return not disk.ready.is_true and disk.ready.reason == "NodeNotReady"


def disk_back(disk: Disk) -> Disk:
    """Return a disk that is ready again: whether it has room, Longhorn finds out then."""
    return structs.replace(disk, ready=_TRUE, schedulable=_PRESSURE)
