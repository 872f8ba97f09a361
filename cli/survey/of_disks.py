"""Nodes and disks that take no replica, and disks that are full or nearly so."""

from collections.abc import Iterator, Sequence

from cli.contents import Contents, in_words
from cli.findings import Finding
from cli.survey.found import Helps, found
from extender import ClusterView
from extender.space import why_unusable
from extender.verdicts import node_rejections
from longhorn import DiskName, DiskSpace, NodeName
from planner.sizes import amount

_NEAR_PERCENT = 90
"""From so much of its limit on, a disk counts as nearly full."""
_LOW_PERCENT = 10
"""With less of its size left to be written, a disk counts as about to be full."""
_MOST_TRIED, _MOST_NAMED = 8, 5


def of_disks(view: ClusterView, helps: Helps) -> Iterator[Finding]:
    """Judge all nodes and their disks."""
    contents, tried = Contents(view), _Tried(helps)
    for name, space in sorted(view.spaces.items()):
        problems = "; ".join(map(str, node_rejections(space)))
        if problems:
            text = f"no replica can be placed on node {name}: {problems}"
            yield found("node-unusable", text, [name], tried.on(name, None))
        for disk in space.disks:
            remedies = _Remedies(tried, name, disk.disk.name)
            about = f"{name}/{disk.disk.name}"
            fills = "; ".join(map(in_words, contents.of(disk, name)[:_MOST_NAMED]))
            of_room = [*_of_room(disk, about, fills, remedies)]
            yield from of_room
            why = why_unusable(disk.disk)
            if why is not None and not problems and not any(_is_why(each) for each in of_room):
                text = f"no replica can be placed on disk {about}: {why}"
                yield found("disk-unusable", text, [about], remedies())


def _is_why(each: Finding) -> bool:
    """Whether a finding says already why a disk takes no replica."""
    return each.code in ("disk-reserved", "disk-over-limit", "disk-full")


class _Tried:
    """Asks about few disks, as it takes a while."""

    def __init__(self, helps: Helps) -> None:
        self._helps, self._left = helps, _MOST_TRIED

    def on(self, node: NodeName, disk: DiskName | None) -> Sequence[str]:
        self._left -= 1
        return self._helps.disk(node, disk) if self._left >= 0 else ()


class _Remedies:
    """Asks about one disk, once, and only if it is needed."""

    def __init__(self, tried: _Tried, node: NodeName, disk: DiskName) -> None:
        self._tried, self._node, self._disk = tried, node, disk
        self._found: Sequence[str] | None = None

    def __call__(self) -> Sequence[str]:
        if self._found is None:
            self._found = self._tried.on(self._node, self._disk)
        return self._found


def _of_room(space: DiskSpace, about: str, fills: str, remedies: _Remedies) -> Iterator[Finding]:
    """Judge how full a disk is; of one that is not ready nothing is known."""
    disk = space.disk
    if not disk.ready.is_true or disk.maximum_bytes <= 0:
        return
    by = f"; most is {fills}" if fills else ""
    percent = 100 * space.scheduled_bytes // max(1, space.limit_bytes)
    if disk.reserved_bytes >= disk.maximum_bytes:
        reserved, size = amount(disk.reserved_bytes), amount(disk.maximum_bytes)
        text = f"disk {about} has {reserved} reserved, and {size} in all: nothing fits on it"
        yield found("disk-reserved", text, [about], remedies())
    elif space.logical_headroom_bytes < 0:
        text = f"disk {about} has more scheduled than its limit: {percent} %{by}"
        yield found("disk-over-limit", text, [about], remedies())
    elif percent >= _NEAR_PERCENT:
        text = f"disk {about} is near its limit: {percent} % of it is scheduled"
        yield found("disk-near-limit", text, [about])
    left = 100 * space.physical_headroom_bytes // disk.maximum_bytes
    if space.physical_headroom_bytes < 0:
        text = f"disk {about} is full: Longhorn places nothing more on it{by}"
        yield found("disk-full", text, [about], remedies())
    elif left < _LOW_PERCENT:
        text = f"disk {about} is about to be full: {left} % of it may still be written"
        yield found("disk-full-soon", text, [about])
