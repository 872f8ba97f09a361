"""One decision as a person or a program reads it: what disks have left, and what goes where."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from app.instance.accounting import DiskReport, NodeReport, node_report
from app.instance.scores import ScoreReport, score_report
from extender import Answer, ClusterView, Scores
from extender.explaining import Charge, Expected, LocalDisks
from extender.scoring import HIGHEST_SCORE
from longhorn import NodeName, VolumeName
from planner.sizes import amount, gib

_BAR_WIDTH = 16


class Report(msgspec.Struct):
    """What `filter -o json` prints."""

    accepted: Sequence[str]
    scores: Mapping[str, ScoreReport]
    """Of the accepted nodes."""
    rejected: Mapping[str, str]
    error: str
    nodes: Mapping[str, NodeReport]


def make_report(
    result: Answer,
    scores: Scores,
    local: Mapping[NodeName, LocalDisks],
    view: ClusterView,
    charges: Mapping[NodeName, Sequence[Charge]],
    forecast: Mapping[NodeName, Sequence[Expected]],
) -> Report:
    """Put together what is known of every candidate, sorted by name."""
    by_node = scores.by_node
    return Report(
        accepted=result.accepted,
        scores={name: score_report(by_node[name]) for name in result.accepted},
        rejected={name: str(rejection) for name, rejection in result.rejected.items()},
        error="",
        nodes={
            name: node_report(
                name,
                local.get(name, LocalDisks()),
                view,
                charges.get(name, ()),
                forecast.get(name, ()),
            )
            for name in sorted({*result.accepted, *result.rejected})
        },
    )


def disk_lines(
    node: NodeReport, whys: Mapping[str, str], names: Mapping[VolumeName, str]
) -> Iterator[str]:
    """Write a line for each disk, with the volumes of the pod that are there or would go there.

    Args:
        node: The node.
        whys: Why disks take nothing, where more is known than the report says.
        names: What to call volumes.
    """
    width = max((len(disk.name) for disk in node.disks), default=0)
    for disk in node.disks:
        yield f"  {disk.name:{width}}  {whys.get(disk.name) or _room(disk)}"
        for volume, disk_name in node.assignment.items():
            if disk_name == disk.name:
                yield f"  {'':{width}}  {names.get(volume, volume)}"


def other_lines(node: NodeReport) -> Iterator[str]:
    """Write a line for each thing that will take room on a node, and is not placed there yet."""
    for charge in node.holds:
        size = amount(sum(charge.volume_bytes.values()))
        yield f"  {size} more are held for pod {charge.pod} ({charge.state})"
    for each in node.forecast:
        yield f"  {amount(each.size_bytes)} more will be taken by a replica of volume {each.volume}"


def score_text(score: ScoreReport) -> str:
    """Say how good a node is."""
    terms = f"data {score.data:.0%}, balance {score.balance:.0%}"
    return f"score {score.total} of {HIGHEST_SCORE} ({terms})"


def _room(disk: DiskReport) -> str:
    if not disk.usable:
        return disk.why
    headroom_bytes = disk.logical_headroom_bytes - disk.taken_bytes
    room = (
        f"{_bar(disk)} {gib(disk.scheduled_bytes + disk.taken_bytes)} of "
        f"{gib(disk.limit_bytes)} GiB, headroom {gib(headroom_bytes)}"
    )
    if disk.physical_headroom_bytes < disk.logical_headroom_bytes:
        room += f", physical {gib(disk.physical_headroom_bytes)}"
    return room


def _bar(disk: DiskReport) -> str:
    """Draw how much of the limit is scheduled before the pod, and with it."""
    before, after = (
        round(_BAR_WIDTH * min(max(size, 0) / max(disk.limit_bytes, 1), 1))
        for size in (disk.scheduled_bytes, disk.scheduled_bytes + disk.taken_bytes)
    )
    return "#" * before + "+" * (after - before) + "." * (_BAR_WIDTH - after)
