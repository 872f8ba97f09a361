"""The names of metrics and labels, as the dashboard selects by them."""

PREFIX = "longhorn_scheduler_extender_"
JOB = "longhorn-scheduler-extender"
"""The job of our targets: the PodMonitor takes it from the label `app` of the pods."""
CONTROLLER_JOB = "longhorn-disk-schedule-controller"
"""The same of the controller of DiskSchedules, which is a process of its own and off as shipped."""
FILTER_SECONDS_LIMIT = 2.5
"""Half of the httpTimeout of the shipped kube-scheduler configurations. It bounds a bucket of
`filter_duration_seconds`, so that no interpolation decides whether it is exceeded."""
SCRAPE_INTERVAL = "30s"
"""As the PodMonitor asks for. Grafana makes the windows of rates four times as long."""
AHEAD_DAYS = 4
"""So many days ahead it is said that a disk will be full: a weekend, and time to add one."""
LONGHORN_DISKS = ("longhorn_disk_usage_bytes", "longhorn_disk_capacity_bytes")
"""What longhorn-manager itself shows of each disk of its node: labels `node` and `disk`."""
