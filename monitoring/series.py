"""The names of metrics and labels, as dashboard and alerts select by them."""

PREFIX = "longhorn_scheduler_extender_"
JOB = "longhorn-scheduler-extender"
"""The job of our targets: the PodMonitor takes it from the label `app` of the pods."""
CONTROLLER_PREFIX = f"{PREFIX}disk_schedule_"
CONTROLLER_JOB = "longhorn-disk-schedule-controller"
"""The same of the controller of DiskSchedules, which is a process of its own and off as shipped."""
RAN_OUT = "not_chosen|not_bound|not_placed"
"""Causes of `holds_ended_total` that mean that a hold ran out of time."""
FILTER_SECONDS_LIMIT = 2.5
"""Half of the httpTimeout of the shipped kube-scheduler configurations. It bounds a bucket of
`filter_duration_seconds`, so that no interpolation decides whether it is exceeded."""
LAG_SECONDS_LIMIT = 0.5
"""Twice as long as an answer may take. It bounds a bucket of `event_loop_lag_seconds`."""
SCRAPE_INTERVAL = "30s"
"""As the PodMonitor asks for. Grafana makes the windows of rates four times as long."""
LEAST_VOLUME_BYTES = 2**30
"""A StorageClass of which no larger volume fits counts as full."""
AHEAD_DAYS = 4
"""So many days ahead it is said that a disk will be full: a weekend, and time to add one."""
LONGHORN_DISKS = ("longhorn_disk_usage_bytes", "longhorn_disk_capacity_bytes")
"""What longhorn-manager itself shows of each disk of its node: labels `node` and `disk`."""
