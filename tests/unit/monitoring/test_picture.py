"""The picture shows numbers as people read them."""

from math import nan
from pathlib import Path

from monitoring.panels import ROWS, Row
from monitoring.picture import draw
from tests.monitoring.prometheus import Sample

PNG = b"\x89PNG"


def test_every_kind_of_panel_can_be_drawn(tmp_path: Path) -> None:
    points = [(float(at), float(at % 7)) for at in range(60)]
    series = [Sample({"le": le, "version": "1"}, points) for le in ("0.5", "+Inf")]
    rows = [ROWS[0], Row(ROWS[1].title, ROWS[1].panels[:4])]
    answers = {query: series for row in rows for panel in row.panels for query in panel.queries}

    draw(answers, tmp_path / "dashboard.png", rows)

    assert (tmp_path / "dashboard.png").read_bytes().startswith(PNG)


def test_a_panel_without_numbers_can_be_drawn(tmp_path: Path) -> None:
    [panel] = [panel for row in ROWS for panel in row.panels if panel.title == "Review latency"]
    series = [Sample({}, [(float(at), nan) for at in range(60)])]
    answers = dict.fromkeys(panel.queries, series)

    draw(answers, tmp_path / "dashboard.png", [Row("Injection", (panel,))])

    assert (tmp_path / "dashboard.png").read_bytes().startswith(PNG)
