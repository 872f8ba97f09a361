"""A row on days to come: how long the room lasts, and whether it takes the loss of a node."""

from monitoring.panels.panel import Panel, Query, Row
from monitoring.panels.queries import largest, series
from monitoring.series import AHEAD_DAYS

_TYPE = "disk_type"
_LIMIT, _FREE = (largest(f"room_{each}_bytes", _TYPE) for each in ("limit", "free"))
_PREDICTED = f"predict_linear({series('room_free_bytes')}[6h], {AHEAD_DAYS} * 86400)"

DAYS_TO_COME = Row(
    "Days to come",
    (
        Panel(
            title="Free room",
            question="How much of what may be scheduled is free, beside what is held and comes?",
            advice="Near 0: add a node or disks. `overview` says how large a volume may be.",
            queries=(Query(f"{_FREE.expr} / ({_LIMIT.expr} > 0)", _FREE.legend),),
            unit="percentunit",
        ),
        Panel(
            title="Free room, and what it will be",
            question="When will all that may be scheduled be scheduled?",
            advice="A second line near 0: order disks now. Single disks: the alert.",
            queries=(
                _FREE,
                Query(
                    f"clamp_min(max by ({_TYPE}) ({_PREDICTED}), 0)",
                    f"in {AHEAD_DAYS} days: {_FREE.legend}",
                ),
            ),
            unit="bytes",
            alerts=("DiskFullSoon",),
        ),
        Panel(
            title="Free room once a node is lost",
            question="Is there room to rebuild what is on the node that has most?",
            advice="Below 0: add a node. `survey` says which nodes have the last replica of a "
            "volume, `plan lose` what would be rebuilt where.",
            queries=(largest("room_free_after_loss_bytes", _TYPE),),
            unit="bytes",
            alerts=("NoRoomToRebuild",),
        ),
    ),
)
