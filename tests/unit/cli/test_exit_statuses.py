"""Every exit status that a help text names is met, and JSON obeys its schema each time."""

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer

from cli.commands import commands, run_command
from cli.schema import schema
from tests.unit.cli.test_cli_live import STATUSES as LIVE

ROOT = Path(__file__).parents[3]
GROUP: Any = typer.main.get_command(commands)
BUNDLE = ("--cluster-file", "examples/bundle")
QUAD = ("--cluster-file", "examples/goal2")
DRAIN = ("--cluster-file", "examples/may-drain")
LOST = """apiVersion: v1
kind: Pod
metadata: {name: lost}
spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: gone}}]}
"""
TOO_LARGE = """apiVersion: v1
kind: Pod
metadata: {name: large}
spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: large}}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: large}
spec:
  storageClassName: longhorn-local
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 100Ti}}
"""
OTHER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FILES = {
    ("filter", 0): ("filter", "quad", *QUAD),
    ("filter", 1): ("filter", "large.yaml", *QUAD),
    ("filter", 2): ("filter", "nobody", *QUAD),
    ("filter", 3): ("filter", "lost.yaml", *QUAD),
    ("overview", 0): ("overview", *BUNDLE),
    ("overview", 2): ("overview", "--cluster-file", "absent"),
    ("survey", 0): ("survey", *BUNDLE),
    ("survey", 1): ("survey", "--cluster-file", "examples/rich"),
    ("survey", 2): ("survey", "--cluster-file", "absent"),
    ("plan", 0): ("plan", "cordon", "node-1", *BUNDLE),
    ("plan", 1): ("plan", "drain", "node-4", *BUNDLE),
    ("plan", 2): ("plan", "drain", "node-9", *BUNDLE),
    ("may-drain", 0): ("may-drain", "node-1", *DRAIN),
    ("may-drain", 1): ("may-drain", "node-2", *DRAIN),
    ("may-drain", 2): ("may-drain", "node-9", *DRAIN),
    ("scheduler-config", 0): (
        "scheduler-config", "--distribution", "k3s", "--check", "manifests/scheduler/k3s.yaml",
    ),
    ("scheduler-config", 1): (
        "scheduler-config", "--distribution", "k3s", "--check", "other.yaml",
    ),
    ("scheduler-config", 2): ("scheduler-config", "--distribution", "k3s", "--check", "absent"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with the examples and some files."""
    for name in [name for name in os.environ if name.startswith("EXTENDER_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    for name in ("examples", "manifests"):
        Path(name).symlink_to(ROOT / name)
    Path("lost.yaml").write_text(LOST)
    Path("large.yaml").write_text(TOO_LARGE)
    Path("other.yaml").write_text(OTHER)


def test_each_exit_status_of_a_help_text_has_a_call() -> None:
    named = {
        (command, int(status))
        for command in GROUP.commands
        for said in re.findall(r"(?s)Exit status: (.*?)\.(?:\s|$)", GROUP.commands[command].help)
        for status in re.findall(r"(?:^|[,;]\s+)(\d) ", said)
    }

    assert named == {*FILES, *LIVE}


@pytest.mark.parametrize(("command", "status"), FILES)
@pytest.mark.parametrize("output", ["table", "json"])
def test_the_exit_status_is_that_of_the_help_and_json_obeys_the_schema(
    command: str, status: int, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command([*FILES[command, status], "-o", output]) == status

    out = capsys.readouterr().out
    assert (out == "") is (status == 2)
    if out and output == "json":
        jsonschema.validate(json.loads(out), schema(command))
