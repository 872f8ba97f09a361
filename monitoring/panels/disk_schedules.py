"""The row of the controller of DiskSchedules, empty where that is not installed."""

from monitoring.panels.panel import Panel, Query, Row
from monitoring.panels.queries import events, largest, series

DISK_SCHEDULE = Row(
    "DiskSchedule",
    (
        Panel(
            title="Controllers of DiskSchedules that lead",
            question="Does exactly one instance of the controller lead?",
            advice="0: nobody decides what disks hold. No value: it is not installed, or not "
            "scraped.",
            queries=(
                Query(f"sum(max by (pod) ({series('disk_schedule_heartbeat')}))", "leaders"),
                Query(f"max({series('disk_schedule_rivals')})", "written by Longhorn"),
            ),
            alerts=("DiskScheduleNoLeader", "DiskScheduleRival"),
        ),
        Panel(
            title="Passes",
            question="Is what is decided also written?",
            advice="failed: the log says why (disk_schedule.not_written). conflict: others "
            "write the same objects often; each is decided on again.",
            queries=(events("disk_schedule_passes_total", "outcome"),),
            alerts=("DiskScheduleWritesFail", "DiskScheduleConflicts"),
        ),
        Panel(
            title="Time since the last pass",
            question="When was anything last decided on?",
            advice="It grows while nothing changes. If volumes wait meanwhile, see /readyz of "
            "the controller.",
            queries=(Query(f"min({series('disk_schedule_last_pass_age_seconds')})", "age"),),
            unit="s",
        ),
        Panel(
            title="What became of replicas and backing images",
            question="What do disks grant and get back?",
            advice="purged: Longhorn deleted replicas without taking back what they asked for.",
            queries=(events("disk_schedule_changes_total", "change"),),
        ),
        Panel(
            title="Refused",
            question="Which disks were chosen for more than they can take?",
            advice="See what is on these disks; Longhorn should take the requirement back and "
            "choose another one.",
            queries=(
                largest("disk_schedule_refused", "node", "disk"),
                events("disk_schedule_refusals_total", "reason"),
            ),
            alerts=("DiskScheduleRefusals",),
        ),
        Panel(
            title="Held by disks",
            question="Which share of its limit does each disk hold?",
            advice="Above 1: it was over-committed before, or its limit has fallen; nothing "
            "grows there.",
            queries=(
                Query(
                    f"max by (node, disk) ({series('disk_schedule_held_bytes')}) / "
                    f"(max by (node, disk) ({series('disk_schedule_limit_bytes')}) > 0)",
                    "{{node}} {{disk}}",
                ),
            ),
            unit="percentunit",
            alerts=("DiskScheduleOverLimit",),
        ),
    ),
)
