"""The kubectl plugin, built from a clean clone, is found by kubectl and answers as the command."""

import os
import subprocess
import sys
from pathlib import Path

from tests.e2e.extender import ROOT

ASKED = ("filter", "pod/quad", "--cluster-file", str(ROOT / "examples" / "goal2"))


def _run(*command: str, path: str = "") -> str:
    environ = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_kubectl_finds_it_and_it_answers_as_the_command(plugin: Path) -> None:
    found = _run("kubectl", "longhorn-scheduler", *ASKED, path=str(plugin))

    assert found == _run(sys.executable, "-m", "cli", *ASKED)
