"""When a real run counts as foretold by plans, and what the table says of it."""

from typing import Any

import pytest

from tests.e2e.plan_report import PlanRow, Span, render_plans


def row(**fields: Any) -> PlanRow:
    """Build a row of three pods on two nodes, two of them placed, as all plans say."""
    defaults = {
        "case": "it",
        "pods": 3,
        "placed": 2,
        "planned": Span(2, 2),
        "waiting": {"web": 1},
        "planned_waiting": {"web": Span(1, 1)},
        "by_node": (1, 1),
        "planned_by_node": ((1, 1), (1, 1)),
        "is_determined": True,
    }
    return PlanRow(**{**defaults, **fields})


UNLIKE = "**not as planned**"
DIFFERENCES = {
    "as all plans": (row(), "none"),
    "within the span": (row(planned=Span(1, 2)), "number by chance"),
    "other nodes": (row(planned_by_node=((2, 0),), is_determined=False), "other nodes"),
    "determined nodes": (row(planned_by_node=((2, 0),)), UNLIKE),
    "fewer pods": (row(planned=Span(3, 3)), UNLIKE),
    "other workload": (row(planned_waiting={"web": Span(0, 0)}), UNLIKE),
}


@pytest.mark.parametrize(("found", "difference"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_differences(found, difference):
    assert found.is_foretold == (difference != UNLIKE)
    assert render_plans([found]).rstrip().endswith(f"| {difference} |")


def test_a_row_shows_how_many_plans_end_alike():
    shown = render_plans([row(planned_by_node=((1, 1), (2, 0)))])

    assert "| it | 3 | 2 | 2 | web: 1 | 1/1 | yes | 1 of 2, 2 ways | none |" in shown
