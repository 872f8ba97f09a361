"""The gate runs what the README names: no test that a reader does not find, and none for show."""

import re
from collections import Counter

from tests.docs.consoles import commands, shell_blocks
from tests.docs.pages import ROOT, inline_code
from tests.tools import INSTALL

GATE = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
README = ROOT / "README.md"
CALL = re.compile(r" *make ([a-z0-9-]+)")
FIRST = "install"
"""What all others need; the gate begins with it."""
OF_A_RELEASE = "image"
"""It needs docker."""


def run_by_the_gate() -> list[str]:
    """Return the targets that `.ci/run` calls, in order."""
    return [found[1] for line in GATE.splitlines() if (found := CALL.match(line))]


def in_blocks() -> list[str]:
    """Return the targets that the README's blocks of commands call."""
    texts = [command.text for block in shell_blocks(README) for command in commands(block)]
    return [found[1] for text in texts if (found := CALL.match(text))]


def test_the_gate_runs_what_the_readme_names():
    within_lines = [found[1] for code in inline_code(README) if (found := CALL.fullmatch(code))]
    named = {*in_blocks(), *within_lines} - {OF_A_RELEASE, "help"}

    assert {*run_by_the_gate()} == named
    assert run_by_the_gate()[0] == FIRST


def test_the_gate_runs_demo_and_test_before_it_installs_anything_else():
    bare = re.search(r'\(\n    PATH="\$bare"\n(.*?)\n\)\n', GATE, re.DOTALL)

    assert bare is not None
    assert bare[1].split() == ["make", FIRST, "make", "demo", "make", "test"]
    assert not re.search(r"(go|apt-get) install", GATE[: bare.end()])


def test_what_is_left_out_there_is_run_in_the_end():
    assert run_by_the_gate()[-1] == "test-tools"


def test_the_gate_installs_what_make_test_names():
    named = {text for text in INSTALL.values() if text.startswith("go ")}

    assert set(re.findall(r"go install \S+", GATE)) == named


def test_demo_and_test_stand_in_the_readme_with_a_line_each():
    assert Counter(in_blocks()) == {"demo": 1, "test": 1, FIRST: 1, OF_A_RELEASE: 1}


def test_the_gate_calls_each_target_once():
    assert max(Counter(run_by_the_gate()).values()) == 1
