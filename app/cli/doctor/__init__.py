"""The `doctor` command: reads how the service is wired, and says what is wrong and what to do."""

from app.cli.doctor.command import examine
from app.cli.doctor.problems import Severity
from app.cli.doctor.report import make_report, table_lines

__all__ = ["Severity", "examine", "make_report", "table_lines"]
