"""A row on days to come: how long the room lasts, and what may fail."""

from monitoring.panels.panel import Panel, Query, Row
from monitoring.panels.queries import largest, series
from monitoring.series import AHEAD_DAYS

_CLASS = ("zone", "node_tags", "disk_type", "disk_tags")


def _ahead(metric: str) -> Query:
    """Ask what a sum of a class of disks will be, if it goes on as in the last hours."""
    predicted = f"predict_linear({series(metric)}[6h], {AHEAD_DAYS} * 86400)"
    legend = " ".join("{{" + each + "}}" for each in _CLASS)
    return Query(
        f"clamp_min(max by ({', '.join(_CLASS)}) ({predicted}), 0)",
        f"in {AHEAD_DAYS} days: {legend}",
    )


def _share() -> Query:
    left, limit = (largest(f"class_{each}_bytes", *_CLASS) for each in ("headroom", "limit"))
    return Query(f"{left.expr} / ({limit.expr} > 0)", left.legend)


DAYS_TO_COME = Row(
    "Days to come",
    (
        Panel(
            title="Largest new volume",
            question="How large may a new volume of each StorageClass be, so that a pod finds a "
            "node?",
            advice="Falls although there is headroom: room is in small pieces. See `overview`.",
            queries=(largest("largest_volume_bytes", "storage_class"),),
            unit="bytes",
            alerts=("ClassFull",),
        ),
        Panel(
            title="Headroom",
            question="How much of the limit of disks may still be scheduled, by what volumes can "
            "tell apart?",
            advice="Falls below what one node has: add a node or disks of this class.",
            queries=(_share(),),
            unit="percentunit",
            alerts=("ClassFull",),
        ),
        Panel(
            title="Nodes that may be lost",
            question="How many nodes may be lost at once, by the data that stay, and by the room "
            "to rebuild replicas?",
            advice="0 by data: `survey` names the nodes and volumes. 0 by room: add a node.",
            queries=(largest("nodes_may_be_lost", "by"),),
            alerts=("NoNodeMayBeLost",),
        ),
        Panel(
            title="Headroom, and what it will be",
            question="When will all that may be scheduled be scheduled?",
            advice="A second line near 0: order disks now.",
            queries=(largest("class_headroom_bytes", *_CLASS), _ahead("class_headroom_bytes")),
            unit="bytes",
            width=12,
            alerts=("ClassFull",),
        ),
        Panel(
            title="Room to write, and what it will be",
            question="When will disks be full, all of a class together?",
            advice="A second line near 0: delete snapshots, or add disks. Single disks: the alert.",
            queries=(
                largest("class_physical_headroom_bytes", *_CLASS),
                _ahead("class_physical_headroom_bytes"),
            ),
            unit="bytes",
            width=12,
            alerts=("DiskFullSoon",),
        ),
    ),
)
