"""The picture shows numbers as people read them."""

from pathlib import Path

import pytest

from monitoring.panels import ROWS, Query, Row
from monitoring.picture import draw, legend, written
from tests.monitoring.prometheus import Sample

PNG = b"\x89PNG"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.00025, "s", "250 µs"),
        (0.5, "s", "500 ms"),
        (90.0, "s", "90 s"),
        (0.0, "s", "0 s"),
        (3 * 2**20, "bytes", "3 MiB"),
        (700.0, "bytes", "700 B"),
        (0.125, "percentunit", "12.5 %"),
        (10.5, "reqps", "10.5/s"),
        (20_000.0, "short", "20,000"),
        (2.0, "short", "2"),
    ],
)
def test_a_number_is_written_in_its_unit(value: float, unit: str, text: str) -> None:
    assert written(value, unit) == text


def test_a_legend_is_filled_in() -> None:
    assert legend(Query("", "{{cause}} on {{pod}}"), {"cause": "idle", "pod": "a"}) == "idle on a"


def test_every_kind_of_panel_can_be_drawn(tmp_path: Path) -> None:
    points = [(float(at), float(at % 7)) for at in range(60)]
    series = [Sample({"le": le, "version": "1"}, points) for le in ("0.5", "+Inf")]
    rows = [ROWS[0], Row(ROWS[1].title, ROWS[1].panels[:4])]
    answers = {query: series for row in rows for panel in row.panels for query in panel.queries}

    draw(answers, tmp_path / "dashboard.png", rows)

    assert (tmp_path / "dashboard.png").read_bytes().startswith(PNG)
