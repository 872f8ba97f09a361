"""What a forge and an editor read of the repository: forms, hooks, and who publishes it."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from supply.version import ROOT

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*[!g].yml"))
PUBLISHER = re.compile(r"(\.com/|\.io/|@|: )OWNER\b")
FILLED_IN = {"charts/longhorn-scheduler-extender/Chart.yaml"}
"""By the release workflow."""


def load(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def tracked() -> list[str]:
    """Return the files of the repository, new ones included."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return [name for name in listed.splitlines() if (ROOT / name).is_file()]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_a_forge_needs(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    fields = [each for each in form["body"] if each["type"] != "markdown"]

    assert {*form} <= {"name", "description", "labels", "body"}
    assert len({each["id"] for each in fields}) == len(fields)
    assert all({"label", "description"} <= {*each["attributes"]} for each in fields)


def test_a_wrong_answer_is_reported_with_what_the_extender_saw():
    form = load(".github/ISSUE_TEMPLATE/wrong-answer.yml")
    fields = {each.get("id"): each for each in form["body"]}

    assert "-o json" in fields["filter"]["attributes"]["description"]
    assert fields["filter"]["validations"] == {"required": True}
    assert "bundle" in fields


def test_who_publishes_is_asked_to_set_each_place_that_names_nobody():
    names = [name for name in tracked() if not name.startswith(("docs/", "tests/"))]
    unset = {
        name
        for name in names
        if name.endswith((".yml", ".yaml", "CODEOWNERS"))
        and PUBLISHER.search((ROOT / name).read_text(encoding="utf-8"))
    }
    page = (ROOT / "docs" / "supply-chain.md").read_text(encoding="utf-8")
    [row] = [line for line in page.splitlines() if line.startswith("| OWNER |")]

    assert {*re.findall(r"`([\w./-]+\.yml|[\w./-]+\.yaml|[\w./-]+/CODEOWNERS)`", row)} == (
        unset - FILLED_IN
    )
    assert unset >= FILLED_IN


def test_hooks_call_what_is_installed_for_development():
    for hook in load(".pre-commit-config.yaml")["repos"][0]["hooks"]:
        program = Path(shlex.split(hook["entry"])[0])
        there = program.name == "git" or Path(sys.executable).with_name(program.name).exists()

        assert there, hook["id"]


def test_the_hook_for_yaml_takes_every_file():
    hooks = {each["id"]: each for each in load(".pre-commit-config.yaml")["repos"][0]["hooks"]}
    _, *arguments = shlex.split(hooks["yaml"]["entry"])
    files = [
        name
        for name in tracked()
        if name.endswith((".yaml", ".yml")) and not re.search(hooks["yaml"]["exclude"], name)
    ]

    command = [sys.executable, *arguments, *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ".github/workflows/scan.yml" in files
    assert done.returncode == 0, done.stderr[-1000:]
