"""What the metrics show of each disk. Pure."""

from collections.abc import Iterator

from app.disk_schedule.known import KnownDisks
from app.disk_schedule.metrics import DiskFigures
from longhorn import granted_bytes, granted_limit_bytes, refused_owners


def disk_figures(known: KnownDisks) -> Iterator[DiskFigures]:
    """Yield the disks that have a DiskSchedule."""
    for stored in known.schedules.values():
        schedule = stored.schedule
        node = known.nodes.get(schedule.node)
        percent = known.over_provisioning_percent
        yield DiskFigures(
            node=schedule.node,
            disk=schedule.name,
            held_bytes=granted_bytes(schedule),
            limit_bytes=None if node is None else granted_limit_bytes(schedule, node, percent),
            refused=len(refused_owners(schedule)),
        )
