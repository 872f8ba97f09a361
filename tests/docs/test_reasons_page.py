"""The page about reasons names all that stand in no event."""

from cli.catalogue import EXCLUSIONS, PREDICATES
from tests.docs.pages import DOCS, code_in, tables

PAGE = DOCS / "reasons.md"


def test_every_reason_why_a_node_is_left_out_is_named():
    [rows] = tables(PAGE, "nodes-that-are-left-out")

    assert [code_in(codes) for _, codes in rows] == [[*EXCLUSIONS], [*PREDICATES]]
