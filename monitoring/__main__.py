"""Write the dashboard, and the links to runbooks: ``python -m monitoring [--runbooks URL]``."""

import argparse

from monitoring.dashboard import dashboard_json
from monitoring.rules import RULE_FILE, RUNBOOKS, with_runbooks

FOLDER = RULE_FILE.parent
"""The chart's files, which are a kustomization, too: Helm and kustomize install the same."""


def files(runbooks: str = RUNBOOKS) -> dict[str, str]:
    """Return what is written, by name of the file."""
    rule = RULE_FILE.read_text(encoding="utf-8")
    return {
        "dashboard.json": dashboard_json(runbooks),
        RULE_FILE.name: with_runbooks(rule, runbooks),
    }


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="python -m monitoring", description=__doc__)
    parser.add_argument(
        "--runbooks",
        default=RUNBOOKS,
        metavar="URL",
        help="where a runbook is, with {} for its name, such as no-leader (default: %(default)s)",
    )
    for name, text in files(parser.parse_args().runbooks).items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
