"""The page about reasons names all that stand in no event, and what those mean that need it."""

from collections.abc import Mapping

import pytest

from cli.explaining.remedies import DISKS, EXCLUSIONS, NOTES, PREDICATES, SHORTAGES, Remedy
from tests.docs.pages import DOCS, code_in, tables

PAGE = DOCS / "reasons.md"


@pytest.mark.parametrize(
    ("section", "reasons"),
    [("disks", {**DISKS, **SHORTAGES}), ("notes-on-the-pod", NOTES)],
    ids=["disks", "notes"],
)
def test_every_reason_has_a_row_with_its_meaning(
    section: str, reasons: Mapping[str, Remedy]
) -> None:
    [rows] = tables(PAGE, section)

    assert [(code_in(row[0])[0], row[1]) for row in rows] == [
        (code, each.meaning) for code, each in reasons.items()
    ]


def test_every_reason_why_a_node_is_left_out_is_named() -> None:
    [rows] = tables(PAGE, "nodes-that-are-left-out")

    assert [code_in(codes) for _, codes in rows] == [[*EXCLUSIONS], [*PREDICATES]]
