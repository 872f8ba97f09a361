"""Asks the command `filter` as a whole."""

import json
import os
from pathlib import Path

import pytest

from app.cli.commands import run_command
from tests.unit.app.cli.situations import Ask


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
