"""Our own commands in the documentation exist, with the options that are given to them."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from cli.commands import commands as command_line
from cli.planning.steps import steps
from tests.docs.consoles import SCRIPTS, SESSIONS, commands
from tests.docs.pages import DOCS, PAGES, blocks, inline_code, name_of

GROUP = typer.main.get_command(command_line)
STEPS = typer.main.get_command(steps)
PROGRAM = r"(?:longhorn-scheduler-extender|python3? -m cli)"


def calls(page: Path) -> Iterator[list[str]]:
    """Go through the arguments of each call, in blocks and within lines."""
    texts = [
        command.text
        for block in blocks(page)
        if block.language in SESSIONS | SCRIPTS
        for command in commands(block)
    ]
    for text in [*texts, *inline_code(page)]:
        on_one_line = text.replace("\\\n", " ")
        # A command stands after the program, as it does not after a name of an object.
        for call in re.findall(rf"(?:^|[\s/]){PROGRAM}(\s+[a-z][\w-]*\s[^|;&<>]*)", on_one_line):
            if "[" not in call:  # a synopsis
                yield shlex.split(call)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_exist(page):
    for name, *options in calls(page):
        command = getattr(GROUP, "commands", {})[name]

        command.make_context(name, options)  # raises what the user would be told
        if name == "plan":
            step, *rest = options
            getattr(STEPS, "commands", {})[step].make_context(step, rest)


def test_the_calls_are_found():
    found = [name for name, *_ in calls(DOCS / "troubleshooting.md")]

    assert found == ["filter"] * 2


def test_the_exit_statuses_of_filter_are_those_of_its_help():
    page = " ".join((DOCS / "troubleshooting.md").read_text("utf-8").split())
    [told] = re.findall(r"Exit status: [^.]*\.", page)

    assert told in " ".join((getattr(GROUP, "commands", {})["filter"].help or "").split())
