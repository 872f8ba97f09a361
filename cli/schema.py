"""The JSON schemas of what commands print with -o json.

`python -m cli.schema COMMAND PATH` writes one: docs/COMMAND.schema.json.
"""

import inspect
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from cli.address.command import Proposal
from cli.claims.figures import Claims
from cli.doctor.report import Report as DoctorReport
from cli.draining.report import DrainReport
from cli.explaining.pending import PendingPods
from cli.explaining.report import Explanation
from cli.explaining.workloads import WorkloadsReport
from cli.overview.figures import Overview
from cli.scheduler_config.command import Checked
from cli.status.status import Status
from cli.survey.survey import Survey
from cli.trial.report import TrialReport
from cli.volumes.report import VolumeReport
from planner.outcome import PlanReport

PRINTED: Mapping[str, type[msgspec.Struct]] = {
    "claims": Claims,
    "doctor": DoctorReport,
    "filter": Explanation,
    "filter-pending": PendingPods,
    "filter-volume": VolumeReport,
    "filter-workloads": WorkloadsReport,
    "may-drain": DrainReport,
    "overview": Overview,
    "plan": PlanReport,
    "propose-address": Proposal,
    "scheduler-config": Checked,
    "status": Status,
    "survey": Survey,
    "trial": TrialReport,
}
"""What each command prints."""
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema(command: str) -> dict[str, Any]:
    """Return the schema of a command. Programs must ignore fields that they do not know."""
    found = {"$schema": _DRAFT, **msgspec.json.schema(PRINTED[command])}
    for each in found["$defs"].values():
        if text := each.get("description"):  # of an enum it has the indent that Python 3.13 removes
            each["description"] = inspect.cleandoc(text)
    return found


if __name__ == "__main__":
    written = json.dumps(schema(sys.argv[1]), indent=2) + "\n"
    Path(sys.argv[2]).write_text(written, encoding="utf-8")
