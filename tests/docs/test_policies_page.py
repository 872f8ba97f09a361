"""The page about scheduling policies names every function, sample and test."""

import ast
import json
import re

import pytest

from planner.policy_file import read_policy
from planner.predicates import LONGHORN_FIT, PREDICATES
from planner.priorities import PRIORITIES
from tests.docs.pages import DOCS, ROOT, blocks, code_in, tables

PAGE = DOCS / "policies.md"
RULES = ROOT / "tests" / "unit" / "planner" / "RULES.md"


def names(section: str) -> list[str]:
    """Return what the first cells of the first table of a chapter name."""
    return [code_in(row[0])[0] for row in tables(PAGE, section)[0]]


@pytest.mark.parametrize(
    ("section", "functions"),
    [("Predicates", {*PREDICATES, LONGHORN_FIT}), ("Priorities", {*PRIORITIES})],
)
def test_every_function_is_named(section, functions):
    text = PAGE.read_text(encoding="utf-8")
    chapter = text.partition(f"## {section}\n")[2].partition("\n## ")[0]

    assert functions - {*re.findall(r"`(\w+)`", chapter)} == set()


def test_the_rows_are_of_functions_that_exist():
    assert {*names("predicates")} <= {*PREDICATES, LONGHORN_FIT}
    assert {*names("priorities")} <= {*PRIORITIES}


def test_every_sample_has_a_row_or_is_a_built_in_policy():
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("examples/policies/*")}
    built_in = {f"examples/policies/{name}.json" for name in ("default", "today")}

    assert {*names("samples")} == files - built_in


def test_the_policies_on_the_page_can_be_read():
    shown = [block for block in blocks(PAGE) if block.language == "json"]

    assert shown
    assert all(read_policy(json.loads(block.text)) for block in shown)


def test_every_rule_has_tests_that_exist():
    [rules] = tables(RULES, "every-rule-and-its-test")
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for path in ROOT.glob("tests/unit/planner/test_*.py")
    ]
    there = {node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}

    assert {row[1]: [name for name in code_in(row[2]) if name not in there] for row in rules} == {
        row[1]: [] for row in rules
    }
    assert all(code_in(row[2]) for row in rules)
