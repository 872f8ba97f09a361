"""All that `filter` tells of one node, as `-o json` prints it."""

from collections.abc import Iterator, Sequence

import msgspec

from app.errors import InputError
from cli.contents import Contents
from cli.explaining.details import disk_reasons
from cli.overview.figures import DiskFigures, disk_figures
from cli.remedies.relief import relief
from cli.remedies.remedy import RemedyReport
from extender import ViewBuilder
from extender.space import NodeSpace
from extender.verdicts import node_rejections
from longhorn import NodeName
from planner.errors import unknown


class DiskOfNode(msgspec.Struct, frozen=True, kw_only=True):
    """One disk."""

    figures: DiskFigures
    problem: str
    """Why it takes no new replica, with the figures; empty if it does."""
    remedies: Sequence[RemedyReport]
    """What would have it take replicas; each was tried."""


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `filter -o json` prints of a node."""

    node: str
    takes: bool
    """Whether Longhorn places new replicas there."""
    problems: Sequence[str]
    """What keeps all replicas off it, whatever its disks."""
    remedies: Sequence[RemedyReport]
    """What would end that; each was tried."""
    disks: Sequence[DiskOfNode]


def node_report(name: NodeName, builder: ViewBuilder) -> NodeReport:
    """Report on a node.

    Raises:
        InputError: There is no such node of Longhorn.
    """
    view = builder.view
    space = view.spaces.get(name)
    if space is None:
        raise InputError(f"{unknown('Longhorn node', name, view.spaces)}")
    problems = [str(each) for each in node_rejections(space)]
    disks = [*_disks(space, builder)]
    return NodeReport(
        node=name,
        takes=not problems and any(not each.problem for each in disks),
        problems=problems,
        remedies=relief(name, None, builder) if problems else (),
        disks=disks,
    )


def _disks(space: NodeSpace, builder: ViewBuilder) -> Iterator[DiskOfNode]:
    view, name = builder.view, space.node.name
    contents, reasons = Contents(view), disk_reasons(view, name)
    is_open = space.takes_replicas
    for each in space.disks:
        disk = each.disk.name
        why = reasons.get(disk)
        is_over = min(each.logical_headroom_bytes, each.physical_headroom_bytes) < 0
        yield DiskOfNode(
            figures=disk_figures(each, contents.of(each, name)),
            problem=why.text if why is not None else "",
            remedies=relief(name, disk, builder) if why or (is_over and is_open) else (),
        )
