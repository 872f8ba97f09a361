"""The page about `filter` of a volume names all that it says, word by word."""

from collections.abc import Mapping

import pytest
import typer

from cli.commands import commands
from cli.explaining.remedies import Remedy
from cli.volumes.words import MEANINGS, PLACES, PODS, WAITS
from tests.docs.pages import DOCS, code_in, tables

PAGE = DOCS / "filter-volume.md"


@pytest.mark.parametrize(
    ("section", "remedies"),
    [
        ("what-the-next-replica-waits-for", WAITS),
        ("what-a-node-is-to-it", PLACES),
        ("the-pods", PODS),
    ],
)
def test_each_code_has_a_row(section: str, remedies: Mapping[str, Remedy]) -> None:
    [rows] = tables(PAGE, section)

    assert {code_in(row[0])[0]: row[1] for row in rows} == {
        code: each.meaning for code, each in remedies.items()
    }


def test_each_of_longhorns_reasons_has_a_row() -> None:
    [rows] = tables(PAGE, "what-longhorn-says")

    assert {code_in(row[0])[0]: row[1] for row in rows} == {**MEANINGS}


def test_the_exit_statuses_are_those_of_the_help() -> None:
    [rows] = tables(PAGE, "for-programs")
    group = typer.main.get_command(commands)
    said = " ".join((getattr(group, "commands", {})["filter"].help or "").split())

    told = ", ".join(f"{status} {meaning}" for status, meaning in rows)

    assert f"Exit status then: {told}." in said
