"""The process: HTTP, cluster objects, metrics, logs, settings, command line."""
