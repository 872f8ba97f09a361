"""The gate runs what the README names: no test that a reader does not find, and none for show."""

import re
from collections import Counter

from tests.docs.consoles import commands, shell_blocks
from tests.docs.pages import ROOT, inline_code

README = ROOT / "README.md"
CALL = re.compile(r"make ([a-z0-9-]+)")
FIRST = "install"
"""What all others need; the gate begins with it."""
OF_A_RELEASE = "image"
"""It needs docker."""


def run_by_the_gate() -> list[str]:
    """Return the targets that `.ci/run` calls, in order."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    return [found[1] for line in lines if (found := CALL.match(line))]


def in_blocks() -> list[str]:
    """Return the targets that the README's blocks of commands call."""
    texts = [command.text for block in shell_blocks(README) for command in commands(block)]
    return [found[1] for text in texts if (found := CALL.match(text))]


def test_the_gate_runs_what_the_readme_names() -> None:
    within_lines = [found[1] for code in inline_code(README) if (found := CALL.fullmatch(code))]
    named = {*in_blocks(), *within_lines} - {OF_A_RELEASE, "help"}

    assert {*run_by_the_gate()} == named
    assert run_by_the_gate()[0] == FIRST


def test_demo_and_test_stand_in_the_readme_with_a_line_each() -> None:
    assert Counter(in_blocks()) == {"demo": 1, "test": 1, FIRST: 1, OF_A_RELEASE: 1}


def test_the_gate_calls_each_target_once() -> None:
    assert max(Counter(run_by_the_gate()).values()) == 1
