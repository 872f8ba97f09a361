"""The figures behind a rejection: what Longhorn says of node and disks, and what is short."""

from collections.abc import Iterator

import msgspec

from app.cli.explaining.remedies import DISKS
from app.cli.sizes import gib, short_gib
from extender import ClusterView, DiskRefusal, NodeSpace, Rejection, Shortfall, why_unusable
from longhorn import Condition, DiskSpace, NodeName, Settings

_OVER_PROVISIONING = "storage-over-provisioning-percentage"
_MINIMAL_AVAILABLE = "storage-minimal-available-percentage"


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
) -> list[str]:
    """Return lines of figures about a rejected node."""
    space = view.spaces.get(name)
    if space is None:
        return []
    lines = [*_by_reason(space, rejection)]
    if shortfall is not None:
        lines.append(_short(space, shortfall, view))
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


def _short(space: NodeSpace, shortfall: Shortfall, view: ClusterView) -> str:
    [disk] = [each for each in space.disks if each.disk.name == shortfall.disk]
    percent = ""
    if isinstance(view.settings, Settings):
        percent = f" ({_OVER_PROVISIONING} {view.settings.over_provisioning_percent})"
    return (
        f"{short_gib(shortfall.bytes)} GiB short on {shortfall.disk}: "
        f"{gib(disk.scheduled_bytes)} of {gib(disk.limit_bytes)} GiB are scheduled{percent}"
    )
