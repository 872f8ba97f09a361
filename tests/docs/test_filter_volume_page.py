"""The page about `filter` of a volume names all that it says, word by word."""

import typer

from cli.commands import commands
from cli.volumes.words import MEANINGS, PLACES, PODS, WAITS
from tests.docs.pages import DOCS, code_in, tables

PAGE = DOCS / "filter-volume.md"


def test_what_the_next_replica_waits_for_has_a_row() -> None:
    [rows] = tables(PAGE, "what-the-next-replica-waits-for")

    assert {code_in(row[0])[0]: row[1] for row in rows} == {
        code: each.meaning for code, each in WAITS.items()
    }


def test_each_code_of_nodes_and_pods_is_named() -> None:
    rows = tables(PAGE, "for-programs")[0]

    assert [code_in(codes) for _, codes in rows] == [[*PLACES], [*PODS]]


def test_each_of_longhorns_reasons_has_a_row() -> None:
    [rows] = tables(PAGE, "what-longhorn-says")

    assert {code_in(row[0])[0]: row[1] for row in rows} == {**MEANINGS}


def test_the_exit_statuses_are_those_of_the_help() -> None:
    rows = tables(PAGE, "for-programs")[1]
    group = typer.main.get_command(commands)
    said = " ".join((getattr(group, "commands", {})["filter"].help or "").split())

    told = ", ".join(f"{status} {meaning}" for status, meaning in rows)

    assert f"Exit status then: {told}." in said
