"""The page about `filter` of a volume names all codes."""

import typer

from cli.catalogue import PLACES, PODS
from cli.commands import commands
from tests.docs.pages import DOCS, code_in, tables

PAGE = DOCS / "filter-volume.md"


def test_each_code_of_nodes_and_pods_is_named():
    rows = tables(PAGE, "for-programs")[0]

    assert [code_in(codes) for _, codes in rows] == [[*PLACES], [*PODS]]


def test_the_exit_statuses_are_those_of_the_help():
    rows = tables(PAGE, "for-programs")[1]
    group = typer.main.get_command(commands)
    said = " ".join((getattr(group, "commands", {})["filter"].help or "").split())

    told = ", ".join(f"{status} {meaning}" for status, meaning in rows)

    assert f"Exit status then: {told}." in said
