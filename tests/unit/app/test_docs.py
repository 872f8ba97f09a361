"""docs/operations.md lists every setting and every metric, with the defaults in force."""

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from app.config import PREFIX, Settings
from app.metrics import Metrics

OPERATIONS = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")
METRIC_PREFIX = "longhorn_scheduler_extender_"


def rows(heading: str) -> dict[str, str]:
    """Return the first two columns of the table below a heading."""
    section = OPERATIONS.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| `?([^|`]*)`? \|", section, flags=re.MULTILINE))


def test_every_setting_has_a_row_with_its_default() -> None:
    defaults = {
        f"{PREFIX}{field.upper()}": str(getattr(Settings(), field))
        for field in Settings.__struct_fields__
    }

    assert rows("Settings") == defaults


def test_every_metric_has_a_row_with_its_type() -> None:
    metrics = Metrics(CollectorRegistry(), version="1")

    described = {
        re.sub(r"\{.*", "", name).removesuffix("_total"): type_.strip()
        for name, type_ in rows("Metrics").items()
    }

    assert described == {
        family.name.removeprefix(METRIC_PREFIX): family.type
        for family in metrics.registry.collect()
    }


@pytest.mark.parametrize("heading", ["Settings", "Metrics"])
def test_the_tables_are_found(heading: str) -> None:
    assert len(rows(heading)) > 5
