"""The report as text and as data."""

import json
from datetime import date
from pathlib import Path

from tests.e2e.outcome import Outcome
from tests.e2e.plot import bound_over_time
from tests.e2e.report import EXTENDER, NO_EXTENDER, Report, Row, render

DAY = date(2026, 1, 2)
NODES = ("node-1", "node-2")

TABLES = """\
| case | variant | runs | placements | no room | elsewhere | over-committed | attempts | calls \
| longest | bound |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| four each | extender, names | 4 | 4/4 (3), 5/3 (1) | 0 | 1 | 2 | 9.5 | 8 | 13 ms | 2.5 s, 10.0 s |
| four each | no extender | 1 | 8/0 (1) | 3 | 0 | 0 | 8 | 0 | 1 ms | 1.0 s, 1.0 s |

## Faults and other measurements

- **answers again**: 0.5 s
"""


def outcome(first: int, second: int, **changes: float | list[float]) -> Outcome:
    """Build a run that placed so many pods on either node."""
    figures: dict[str, float | list[float]] = {
        "bound_seconds": 1.0,
        "attempts": 8,
        "filter_calls": 8,
        "longest_filter_seconds": 0.001,
        "without_room": 0,
        "elsewhere": 0,
        "overcommitted_disks": 0,
        **changes,
    }
    return Outcome(placement={"node-1": first, "node-2": second}, **figures)  # type: ignore[arg-type]  # some are whole


def collected() -> Report:
    report = Report()
    runs = (
        outcome(4, 4, attempts=11, filter_calls=9, bound_seconds=2.0),
        outcome(5, 3, elsewhere=1, bound_seconds=9.96),
        outcome(4, 4, attempts=12, longest_filter_seconds=0.0126, overcommitted_disks=2),
        outcome(4, 4, bound_seconds=3.04),
    )
    for run in runs:
        report.run("four each", EXTENDER[True], NODES, run)
    report.run("four each", NO_EXTENDER, NODES, outcome(8, 0, without_room=3, filter_calls=0))
    report.measured("answers again", "0.5 s")
    return report


def rendered(report: Report) -> str:
    rows = [*report.rows.values()]
    return render(
        rows,
        report.measurements,
        plots=report.plots,
        today=DAY,
        kubernetes="v1.36.2",
        machine="2 x CPU",
    )


def test_the_report_as_text() -> None:
    text = rendered(collected())

    head, _, rest = text.partition("\n\n|")
    assert head.splitlines()[0] == "# End-to-end report"
    assert head.splitlines()[2].startswith("2026-01-02, Kubernetes v1.36.2, 2 x CPU. Made by ")
    assert "|" + rest == TABLES


def test_a_pipe_in_a_name_does_not_begin_a_cell() -> None:
    row = Row(case="a|b", variant="|", nodes=NODES, runs=[outcome(1, 0)])

    text = render([row], [], plots={}, today=DAY, kubernetes="v1", machine="any")

    assert r"| a\|b | \| | 1 | 1/0 (1) |" in text


def test_the_report_is_written_as_text_and_as_data(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there"
    report = collected()

    report.write(folder, today=DAY, kubernetes="v1.36.2")

    text = (folder / "report.md").read_text().splitlines()
    expected = rendered(report).splitlines()
    assert text[2].startswith("2026-01-02, Kubernetes v1.36.2, ")
    assert [*text[:2], *text[3:]] == [*expected[:2], *expected[3:]]
    data = json.loads((folder / "report.json").read_text())
    assert data["measurements"] == [{"what": "answers again", "figures": "0.5 s"}]
    assert [(row["case"], row["variant"]) for row in data["rows"]] == [
        ("four each", "extender, names"),
        ("four each", "no extender"),
    ]
    assert [run["bound_seconds"] for run in data["rows"][0]["runs"]] == [2.0, 9.96, 1.0, 3.04]
    assert data["rows"][1]["runs"][0]["placement"] == {"node-1": 8, "node-2": 0}


def test_a_case_is_drawn_with_the_median_run_of_each_variant(tmp_path: Path) -> None:
    report = Report()
    for seconds in (2.0, 4.0, 3.0):
        bound_at = [seconds / 2, seconds]
        run = outcome(1, 1, bound_seconds=seconds, bound_at=bound_at)
        report.run("two", NO_EXTENDER, NODES, run)
    report.plot("two", "two.svg")

    report.write(tmp_path, today=DAY, kubernetes="v1.36.2")

    drawn = bound_over_time("two", {NO_EXTENDER: [1.5, 3.0]}, pods=2)
    assert (tmp_path / "two.svg").read_text() == drawn
    assert "![two: pods bound over time](two.svg)" in (tmp_path / "report.md").read_text()


def test_a_report_of_nothing(tmp_path: Path) -> None:
    Report().write(tmp_path, today=DAY, kubernetes="v1.36.2")

    assert json.loads((tmp_path / "report.json").read_text()) == {"measurements": [], "rows": []}
