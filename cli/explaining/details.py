"""The figures behind a rejection: what Longhorn says of node and disks, and what is short."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from extender import ClusterView, Rejection
from extender.explaining import Headroom, Shortfall
from extender.space import DiskRefusal, NodeSpace, why_unusable
from longhorn import (
    Condition,
    DiskSpace,
    NodeName,
    Settings,
    Standing,
    named_volume,
    parts,
)
from planner.sizes import amount, gib, short_amount

_OVER_PROVISIONING = "storage-over-provisioning-percentage"
_MINIMAL_AVAILABLE = "storage-minimal-available-percentage"
_MOST_NAMED = 3
"""Most replicas and images that are named of one disk."""


class DiskReason(msgspec.Struct, frozen=True):
    """Why a disk takes nothing: a code of the catalogue, and the text with figures."""

    code: str
    text: str


def disk_reasons(view: ClusterView, node: NodeName) -> dict[str, DiskReason]:
    """Return why disks of a node take no new replica, by the name of the disk."""
    space = view.spaces.get(node)
    found = {}
    for each in space.disks if space else ():
        why = why_unusable(each.disk)
        if why is not None:
            text = "; ".join([why, *_disk_figures(why, each, view)])
            found[str(each.disk.name)] = DiskReason(f"disk_{why.name.lower()}", text)
    return found


def _disk_figures(why: DiskRefusal, space: DiskSpace, view: ClusterView) -> Iterator[str]:
    if why is DiskRefusal.NOT_READY:
        yield from _said(space.disk.ready)
    if why is not DiskRefusal.NOT_SCHEDULABLE:
        return
    yield from _said(space.disk.schedulable)
    settings = view.settings
    if settings.unreadable is not None:
        return
    if space.physical_headroom_bytes < 0:
        yield (
            f"{amount(space.disk.available_bytes)} available, and more than "
            f"{amount(space.minimal_available_bytes)} are needed "
            f"({_MINIMAL_AVAILABLE} {settings.minimal_available_percent})"
        )
    if space.logical_headroom_bytes < 0:
        yield (
            f"{gib(space.scheduled_bytes)} GiB scheduled of {gib(space.limit_bytes)} "
            f"({_OVER_PROVISIONING} {settings.over_provisioning_percent})"
        )


def _said(condition: Condition) -> Iterator[str]:
    text = ": ".join(filter(None, (condition.reason, condition.message)))
    if text:
        yield text


def node_details(
    name: NodeName,
    rejection: Rejection,
    view: ClusterView,
    shortfalls: Iterable[Shortfall],
    claims: Mapping[str, str],
) -> list[str]:
    """Return lines of figures about a rejected node.

    Args:
        name: The node.
        rejection: Why it is rejected.
        view: The cluster.
        shortfalls: The disks that it is short on, and by how much; none if it is not about that.
        claims: Those of volumes, by the volume's name.
    """
    space = view.spaces.get(name)
    if space is None:
        return []
    lines = [*_by_reason(space, rejection)]
    for shortfall in shortfalls:
        lines += _short(_space(name, shortfall, view), shortfall, view, claims)
    if rejection.reason in ("pending_replicas", "local_room_at_risk"):
        lines += [
            f"{amount(each.size_bytes)} are for replica {each.name} of volume {each.volume}, "
            "which Longhorn will place on this node"
            for each in space.pending
        ]
    return lines


def _by_reason(space: NodeSpace, rejection: Rejection) -> Iterator[str]:
    node = space.node
    match rejection.reason:
        case "node_not_ready":
            yield from _said(node.ready)
        case "node_not_schedulable":
            yield from _said(node.schedulable)
        case "node_tags":
            yield f"tags of the node: {_tags(node.tags)}"
        case "disk_tags":
            tags = (f"{each.disk.name} {_tags(each.disk.tags)}" for each in space.disks)
            yield f"tags of its disks: {'; '.join(tags)}"
        case "no_disk_of_type":
            types = (f"{each.disk.name} {each.disk.type}" for each in space.disks)
            yield f"types of its disks: {'; '.join(types)}"
        case "topology":
            yield f"zone of the node: {node.zone or 'none'}, region: {node.region or 'none'}"


def _tags(tags: frozenset[str]) -> str:
    return ",".join(sorted(tags)) or "none"


def claims_of_volumes(view: ClusterView) -> dict[str, str]:
    """Return the claim of each Longhorn volume that has one, by the name of the volume."""
    handles = {each.name: each.volume_handle for each in view.persistent_volumes.values()}
    return {
        handle: key
        for key, claim in view.claims.items()
        if (handle := handles.get(claim.persistent_volume or ""))
    }


def _space(name: NodeName, shortfall: Shortfall, view: ClusterView) -> DiskSpace:
    [found] = [each for each in view.spaces[name].disks if each.disk.name == shortfall.disk]
    return found


def _short(
    space: DiskSpace, shortfall: Shortfall, view: ClusterView, claims: Mapping[str, str]
) -> Iterator[str]:
    settings = view.settings
    why = []
    if shortfall.headroom is not Headroom.PHYSICAL:
        why.append(_scheduled(space, settings))
    if shortfall.headroom is not Headroom.LOGICAL:
        why.append(
            f"{amount(space.disk.available_bytes)} are available, of which "
            f"{amount(space.minimal_available_bytes)} must stay free "
            f"({_MINIMAL_AVAILABLE} {settings.minimal_available_percent})"
        )
    yield f"{short_amount(shortfall.bytes)} short on {shortfall.disk}: {'; '.join(why)}"
    if shortfall.headroom is not Headroom.PHYSICAL and (
        largest := ", ".join(_largest(space, claims))
    ):
        yield f"most of it: {largest}"
    if shortfall.headroom is not Headroom.PHYSICAL:
        yield from _requests(space, claims)


def _requests(space: DiskSpace, claims: Mapping[str, str]) -> Iterator[str]:
    """Say how far the requests of a disk's DiskSchedule have come, if it is counted by one."""
    schedule = space.schedule
    if schedule is None:
        return
    named = [
        *(
            (_owner(name, claims), part)
            for name, part in parts(schedule.replicas, schedule.held_replicas).items()
        ),
        *(
            (f"backing image {name}", part)
            for name, part in parts(schedule.images, schedule.held_images).items()
        ),
    ]
    texts = []
    for standing in Standing:
        sizes = Counter[str]()
        for owner, part in named:
            if part.standing is standing:
                is_refused = standing is Standing.REFUSED
                sizes[owner] += part.refused_bytes if is_refused else part.bytes
        if sizes:
            text = f"{standing} {amount(sizes.total())}"
            if standing is not Standing.GRANTED:
                text += f" ({', '.join(_most(sizes))})"
            texts.append(text)
    if space.contested_bytes:
        texts.append(
            f"of what was refused {amount(space.contested_bytes)} would fit now, and count"
        )
    yield f"by its DiskSchedule: {'; '.join(texts) or 'nothing is asked for'}"


def _scheduled(space: DiskSpace, settings: Settings) -> str:
    reserved = ""
    if space.disk.reserved_bytes:
        reserved = (
            f"; {gib(space.disk.reserved_bytes)} of the disk's {gib(space.disk.maximum_bytes)} GiB "
            f"are reserved"
        )
    return (
        f"{gib(space.scheduled_bytes)} of {gib(space.limit_bytes)} GiB are scheduled "
        f"({_OVER_PROVISIONING} {settings.over_provisioning_percent}{reserved})"
    )


def _largest(space: DiskSpace, claims: Mapping[str, str]) -> Iterator[str]:
    """Name what takes most of a disk; replicas by their claims where these are known."""
    disk = space.disk
    there = Counter[str]()
    for replica, size in (*disk.listed.items(), *space.unlisted.items()):
        there[_owner(replica, claims)] += size
    for image, size in (*disk.listed_images.items(), *space.unlisted_images.items()):
        there[f"backing image {image}"] += size
    yield from _most(there)


def _most(sizes: Mapping[str, int]) -> Iterator[str]:
    for owner in sorted(sizes, key=lambda each: (-sizes[each], each))[:_MOST_NAMED]:
        if sizes[owner]:
            yield f"{owner} {amount(sizes[owner])}"


def _owner(replica: str, claims: Mapping[str, str]) -> str:
    volume = named_volume(replica)
    return f"claim {claims[volume]}" if volume in claims else f"replica {replica}"
