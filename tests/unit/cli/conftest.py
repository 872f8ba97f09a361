"""Runs the commands `filter` and `plan` as a whole."""

import json
import os
from pathlib import Path

import pytest

from cli.commands import run_command
from tests.unit.cli.plans import BUNDLE, Run
from tests.unit.cli.situations import Ask


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask about pod `web` of a cluster; return the status, and the output as one line."""
    for name in [name for name in os.environ if name.startswith("EXTENDER_")]:
        monkeypatch.delenv(name)

    def asked(*documents: object, options: tuple[str, ...] = ()) -> tuple[int, str]:
        path = tmp_path / "cluster.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
        status = run_command(["filter", "pod/web", "--cluster-file", str(path), *options])
        return status, " ".join(capsys.readouterr().out.split())

    return asked


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Plan; return the status, the output and what is on stderr."""
    for name in [name for name in os.environ if name.startswith("EXTENDER_")]:
        monkeypatch.delenv(name)

    def ran(*arguments: str, files: str = BUNDLE) -> tuple[int, str, str]:
        status = run_command(["plan", *arguments, "--cluster-file", files])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return ran
