"""The workflows are those of a forge: here nobody runs them, so they are at least checked."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from supply.version import ROOT
from tests import tools

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
DEPENDABOT = ROOT / ".github" / "dependabot.yml"


def commands_of(workflow: dict[str, Any]) -> list[str]:
    """Return what the steps of a workflow run."""
    return [
        step.get("run", "") for job in workflow["jobs"].values() for step in job.get("steps", ())
    ]


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.tools
def test_actionlint_finds_nothing():
    _run(tools.find("actionlint"), *map(str, WORKFLOWS))


def test_zizmor_finds_nothing():
    _run(
        str(Path(sys.executable).with_name("zizmor")),
        "--offline",
        *map(str, [*WORKFLOWS, DEPENDABOT]),
    )


@pytest.mark.parametrize("path", [*WORKFLOWS, DEPENDABOT], ids=lambda path: path.stem)
def test_a_workflow_says_that_it_has_not_run(path):
    head = " ".join(line.removeprefix("# ") for line in path.read_text().splitlines()[:6])

    assert "has not run yet" in head


def test_an_action_is_one_commit_everywhere():
    found = re.findall(
        r"uses: ([^.\s][^@\s]*)@(\S+) # (\S+)", "".join(map(Path.read_text, WORKFLOWS))
    )

    assert all(re.fullmatch("[0-9a-f]{40}", commit) for _, commit, _ in found)
    assert len({name for name, _, _ in found}) == len(set(found))


def test_nothing_is_released_without_a_digest_of_the_base_image():
    """The job that checks it is one that all others wait for."""
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    jobs = release["jobs"]
    checking = [
        name
        for name, job in jobs.items()
        if any(step.get("run") == "python3 -m supply.base" for step in job.get("steps", ()))
    ]

    def waits_for(name: str) -> set[str]:
        needs = jobs[name].get("needs", [])
        direct = {needs} if isinstance(needs, str) else {*needs}
        return direct.union(*map(waits_for, direct))

    assert checking == ["version"]
    assert all("version" in waits_for(name) for name in jobs if name != "version")
    assert not any("PYTHON_IMAGE" in command for command in commands_of(release))


def test_every_make_target_of_a_workflow_is_there():
    targets = {*re.findall(r"^([^:\n]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)}
    commands = [
        command for path in WORKFLOWS for command in commands_of(yaml.safe_load(path.read_text()))
    ]
    wanted = {*re.findall(r"^ *make +(\S+)", "\n".join(commands), re.MULTILINE)}

    assert wanted
    assert wanted <= targets
