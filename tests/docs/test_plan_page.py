"""The page about plans names all that `plan` and its scenario files take."""

import re
from typing import Any

import pytest
import typer

from cli.commands import commands
from cli.planning.scenario import _ENTRIES, _MAKERS, Workloads, read_scenario
from cli.planning.steps import steps
from cli.planning.workloads import fill_step, place_step
from planner.plan import Step
from planner.steps.workloads import FillSized
from tests.docs.pages import DOCS, ROOT, blocks, code_in, headings, tables

PAGE = DOCS / "plan.md"
GROUP: Any = typer.main.get_command(commands)
STEPS: Any = typer.main.get_command(steps)
WORKLOADS = Workloads(
    namespace="default",
    place=lambda path, replicas: place_step(path, replicas, "default"),
    fill=lambda path, most: fill_step(path, most, 1, "default"),
    fill_sized=lambda sized, _most: FillSized(sized=sized, group=1),
)
SCENARIOS = sorted(
    path
    for path in (ROOT / "examples" / "plans").glob("*.yaml")
    if path.read_text(encoding="utf-8").count("steps:\n")
)


def scenario_of_the_page() -> str:
    [text] = [block.text for block in blocks(PAGE) if block.language == "yaml"]
    return text


def test_every_step_has_a_row_or_a_chapter():
    [rows] = tables(PAGE, "the-steps")
    calls = [call.split()[0] for row in rows for call in code_in(row[0])]
    chapters = [heading.text for heading in headings(PAGE) if heading.level == 3]

    assert sorted([*calls, *chapters]) == sorted(STEPS.commands)


def test_every_entry_of_a_scenario_has_a_row():
    [rows] = tables(PAGE, "several-steps")

    assert {name for row in rows for name in code_in(row[0])} == {*_MAKERS, "include"}
    told = {name for row in rows for cell in row for name in code_in(cell)}
    assert {*_ENTRIES} <= told


def test_the_scenario_of_the_page_has_every_entry_and_can_be_read(tmp_path):
    folder = ROOT / "examples" / "plans"
    for file in folder.glob("*.yaml"):
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"))
    text = scenario_of_the_page()
    (tmp_path / "page.yaml").write_text(text)

    steps: list[Step] = read_scenario(tmp_path / "page.yaml", WORKLOADS)

    assert len(steps) > len(_MAKERS)
    assert {*re.findall(r"^  - (\w+):", text, re.MULTILINE)} == {*_MAKERS, "include"}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_the_scenarios_of_the_examples_can_be_read(path):
    assert read_scenario(path, WORKLOADS)


def test_every_option_has_a_place_on_the_page():
    options = {
        name
        for step in STEPS.commands.values()
        for parameter in step.params
        for name in parameter.opts
        if name.startswith("--") and name != "--help"
    }

    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in sorted(options) if not re.search(rf"`[^`]*{name}\b", text)] == []


def test_the_exit_statuses_are_those_of_the_help():
    said = " ".join(GROUP.commands["plan"].help.replace("\\\n", "").split())
    rows = tables(PAGE, "options")[-1]

    assert [status for status, _ in rows] == ["0", "1", "2"]
    flat = said.replace("(", "").replace(")", "").replace(":", "")
    for status, meaning in rows:
        assert f"{status} {meaning.replace(':', '')}" in flat
