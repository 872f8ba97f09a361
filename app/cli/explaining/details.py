"""The figures behind a rejection: what Longhorn says of node and disks, and what is short."""

from collections.abc import Iterator, Mapping

import msgspec

from app.cli.explaining.remedies import DISKS
from app.cli.sizes import gib, short_gib
from extender import ClusterView, DiskRefusal, NodeSpace, Rejection, Shortfall, why_unusable
from longhorn import Condition, DiskSpace, NodeName, Settings, named_volume

_OVER_PROVISIONING = "storage-over-provisioning-percentage"
_MINIMAL_AVAILABLE = "storage-minimal-available-percentage"
_MOST_REPLICAS = 3
"""Most replicas that are named of one disk."""


class DiskReason(msgspec.Struct, frozen=True):
    """Why a disk takes nothing: a code in the table of remedies, and the text with figures."""

    code: str
    text: str

    @property
    def action(self) -> str:
        """What to do."""
        return DISKS[self.code].action


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
    if not isinstance(settings, Settings):
        return
    if space.physical_headroom_bytes < 0:
        yield (
            f"{gib(space.disk.available_bytes)} GiB available, and more than "
            f"{gib(space.minimal_available_bytes)} are needed "
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
    shortfall: Shortfall | None,
    claims: Mapping[str, str],
) -> list[str]:
    """Return lines of figures about a rejected node.

    Args:
        name: The node.
        rejection: Why it is rejected.
        view: The cluster.
        shortfall: What it is short of, None if it is not about that.
        claims: Those of volumes, by the volume's name.
    """
    space = view.spaces.get(name)
    if space is None:
        return []
    lines = [*_by_reason(space, rejection)]
    if shortfall is not None:
        lines += _short(space, shortfall, view, claims)
    if rejection.reason in ("pending_replicas", "local_room_at_risk"):
        lines += [
            f"{gib(each.size_bytes)} GiB are for replica {each.name} of volume {each.volume}, "
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


def _largest(disk: DiskSpace, claims: Mapping[str, str]) -> Iterator[str]:
    """Name the replicas that take most of a disk, by their claims where these are known."""
    there = {str(name): size for name, size in (*disk.disk.listed.items(), *disk.unlisted.items())}
    for name in sorted(there, key=lambda each: (-there[each], each))[:_MOST_REPLICAS]:
        volume = named_volume(name)
        owner = f"claim {claims[volume]}" if volume in claims else f"replica {name}"
        yield f"{owner} {gib(there[name])} GiB"


def _short(
    space: NodeSpace, shortfall: Shortfall, view: ClusterView, claims: Mapping[str, str]
) -> Iterator[str]:
    [disk] = [each for each in space.disks if each.disk.name == shortfall.disk]
    percent = ""
    if isinstance(view.settings, Settings):
        percent = f" ({_OVER_PROVISIONING} {view.settings.over_provisioning_percent})"
    yield (
        f"{short_gib(shortfall.bytes)} GiB short on {shortfall.disk}: "
        f"{gib(disk.scheduled_bytes)} of {gib(disk.limit_bytes)} GiB are scheduled{percent}"
    )
    if largest := ", ".join(_largest(disk, claims)):
        yield f"most of it: {largest}"
