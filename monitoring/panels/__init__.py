"""The panels of the dashboard, as a table: a module for each subject."""

from monitoring.panels.panel import Panel, Query, Row
from monitoring.panels.queries import INTERVAL, NAMESPACE
from monitoring.panels.rows import ROWS

__all__ = ["INTERVAL", "NAMESPACE", "ROWS", "Panel", "Query", "Row"]
