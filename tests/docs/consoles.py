"""Shell sessions in the documentation: commands, and the output that is shown."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from tests.docs.pages import Block, blocks, name_of

SESSIONS = {"console"}
"""Commands begin with `$ `; what follows a complete one is its output."""
SCRIPTS = {"sh", "bash", "shell"}
_PROMPT = "$ "
_ELLIPSIS = "..."


class Chapter(NamedTuple):
    """The part of a page below one heading of the second level; its commands go together."""

    page: Path
    section: str

    def __str__(self) -> str:
        return f"{name_of(self.page)}#{self.section}"


class Command(NamedTuple):
    """One command with the output that the documentation shows of it, "" if none."""

    line: int
    text: str
    shown: str


def shell_blocks(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.language in SESSIONS | SCRIPTS]


def commands_of(chapter: Chapter) -> list[Command]:
    return [
        command
        for block in shell_blocks(chapter.page)
        if block.section == chapter.section
        for command in commands(block)
    ]


def commands(block: Block) -> Iterator[Command]:
    """Take a block of shell apart."""
    lines = list(enumerate(block.text.splitlines(), start=block.line + 1))
    if block.language in SCRIPTS:
        yield from _script(lines)
        return
    while lines:
        number, line = lines.pop(0)
        assert line.startswith(_PROMPT), f"{block.place}: {line!r} does not begin with {_PROMPT!r}"
        text = line.removeprefix(_PROMPT)
        rest = list(takewhile(lambda each: not each[1].startswith(_PROMPT), lines))
        del lines[: len(rest)]
        while rest and not is_complete(text):
            text += f"\n{rest.pop(0)[1]}"
        shown = [each for _, each in rest]
        yield Command(number, text, "\n".join(shown))


def _script(lines: list[tuple[int, str]]) -> Iterator[Command]:
    """Take a script apart, in which every line is of a command."""
    while lines:
        number, text = lines.pop(0)
        while lines and not is_complete(text):
            text += f"\n{lines.pop(0)[1]}"
        if text.strip() and not text.startswith("#"):
            yield Command(number, text, "")


@cache
def is_complete(text: str) -> bool:
    """Whether the shell would run *text* rather than wait for more."""
    if text.endswith("\\"):
        return False
    command = [shutil.which("bash") or "/bin/bash", "-n", "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "unexpected" not in done.stderr


def agrees(shown: str, printed: str) -> bool:
    """Whether output is what is shown, where a line `...` stands for any lines."""
    if shown.lstrip().startswith("{"):
        return bool(json.loads(shown) == json.loads(printed))
    parts = [_pattern(part) for part in re.split(rf"(?m)^{re.escape(_ELLIPSIS)}$\n?", shown)]
    return re.fullmatch("(?s:.*)".join(parts), _trimmed(printed)) is not None


def _pattern(part: str) -> str:
    return re.escape(_trimmed(part)) + (r"\n" if part.endswith("\n") else "")


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())
