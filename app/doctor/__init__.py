"""The `doctor` command: reads how the service is wired, and says what is wrong and what to do."""

from app.doctor.command import examine
from app.doctor.problems import Severity
from app.doctor.report import make_report, table_lines

__all__ = ["Severity", "examine", "make_report", "table_lines"]
