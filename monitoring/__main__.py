"""Write the generated manifests: ``python -m monitoring [--runbooks URL]``."""

import argparse
from pathlib import Path

import yaml

from monitoring.dashboard import dashboard_json
from monitoring.rules import RUNBOOKS, prometheus_rule

_ROOT = Path(__file__).parents[1]
FOLDERS = (
    _ROOT / "manifests" / "monitoring",
    _ROOT / "charts" / "longhorn-scheduler-extender" / "files",
)
"""Both get the same files: kustomize and Helm each read only what is below their own folder."""
_HEAD = "# Written by `make monitoring` from monitoring/rules.py.\n"


def files(runbooks: str = RUNBOOKS) -> dict[str, str]:
    """Return what is written, by name of the file."""
    rule = yaml.safe_dump(prometheus_rule(runbooks), sort_keys=False, width=100)
    return {"dashboard.json": dashboard_json(runbooks), "prometheusrule.yaml": _HEAD + rule}


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
        for folder in FOLDERS:
            (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
