"""The order in which an installation begins and ends; the hooks of the chart run it."""
