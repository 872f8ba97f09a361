"""One decision as a person or a program reads it: what disks have left, and what goes where."""

from collections.abc import Mapping, Sequence

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from extender import (
    ClusterView,
    DiskName,
    DiskSpace,
    FilterResult,
    NodeName,
    Plan,
    PodRef,
    VolumeName,
)

_GIB = 2**30
_BAR_WIDTH = 24


class DiskReport(msgspec.Struct):
    """What one disk has left, in bytes."""

    name: str
    uuid: str
    usable: bool
    why: str
    limit_bytes: int
    promised_bytes: int
    left_bytes: int
    taken_bytes: int
    """What the pod's volumes would take of it."""
    available_bytes: int
    minimal_available_bytes: int


class NodeReport(msgspec.Struct):
    """A node's disks, and the disk for each of the pod's volumes if the node is accepted."""

    disks: list[DiskReport]
    assignment: Mapping[VolumeName, DiskName]
    """Volumes held there already, and those that would be placed."""


class Report(msgspec.Struct):
    """What `filter -o json` prints."""

    accepted: Sequence[str]
    rejected: Mapping[str, str]
    error: str
    nodes: Mapping[str, NodeReport]


def make_report(result: FilterResult, plans: Mapping[NodeName, Plan], view: ClusterView) -> Report:
    """Put together what is known of every candidate, sorted by name."""
    return Report(
        accepted=result.accepted,
        rejected={name: str(rejection) for name, rejection in result.rejected.items()},
        error="",
        nodes={
            name: _node_report(name, plans.get(name, Plan()), view)
            for name in sorted({*result.accepted, *result.rejected})
        },
    )


def error_report(text: str) -> Report:
    """Report that the request cannot be answered."""
    return Report(accepted=[], rejected={}, error=text, nodes={})


def print_table(report: Report, pod: PodRef, console: Console) -> None:
    """Print the verdict on each node, and its disks before and after the pod."""
    console.print(Text(f"pod {pod.namespace}/{pod.name}"))
    for name, node in report.nodes.items():
        rejection = report.rejected.get(name)
        verdict = Text(rejection, "red") if rejection else Text("accepted", "green")
        console.print(Text.assemble((name, "bold"), ": ", verdict), soft_wrap=True)
        console.print(_disk_table(node))
    console.print("█ promised already  ▒ what the pod would take  · left", style="dim")


def _disk_table(node: NodeReport) -> Table:
    table = Table(box=None, padding=(0, 1), show_header=False)
    table.add_column(min_width=26, overflow="fold")
    table.add_column(min_width=_BAR_WIDTH)
    table.add_column(min_width=22, justify="right")
    table.add_column(min_width=16, justify="right")
    table.add_column(overflow="fold")
    for disk in node.disks:
        table.add_row(*map(Text, _disk_cells(disk, node.assignment)))
    return table


def _disk_cells(disk: DiskReport, assignment: Mapping[VolumeName, DiskName]) -> tuple[str, ...]:
    left_bytes = disk.left_bytes - disk.taken_bytes
    return (
        f"  {disk.name}",
        _bar(disk) if disk.usable else disk.why,
        f"{_gib(disk.promised_bytes + disk.taken_bytes)} of {_gib(disk.limit_bytes)} GiB",
        f"{_gib(left_bytes)} GiB left" if disk.usable else "",
        "\n".join(volume for volume, name in assignment.items() if name == disk.name),
    )


def _bar(disk: DiskReport) -> str:
    """Draw how much of the limit is promised before the pod, and with it."""
    before, after = (
        round(_BAR_WIDTH * min(max(size, 0) / max(disk.limit_bytes, 1), 1))
        for size in (disk.promised_bytes, disk.promised_bytes + disk.taken_bytes)
    )
    return "█" * before + "▒" * (after - before) + "·" * (_BAR_WIDTH - after)


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / _GIB:.1f}"


def _node_report(name: NodeName, plan: Plan, view: ClusterView) -> NodeReport:
    disks = view.spaces[name].disks if name in view.spaces else ()
    return NodeReport(
        disks=[_disk_report(disk, plan) for disk in disks],
        assignment=dict([*plan.held.items(), *plan.placed.items()]),
    )


def _disk_report(space: DiskSpace, plan: Plan) -> DiskReport:
    return DiskReport(
        name=space.disk.name,
        uuid=space.disk.id,
        usable=not space.unusable,
        why=space.unusable,
        limit_bytes=space.limit_bytes,
        promised_bytes=space.promised_bytes,
        left_bytes=space.logical_headroom_bytes,
        taken_bytes=sum(
            plan.placed_bytes[volume]
            for volume, disk in plan.placed.items()
            if disk == space.disk.name
        ),
        available_bytes=space.disk.available_bytes,
        minimal_available_bytes=space.minimal_available_bytes,
    )
