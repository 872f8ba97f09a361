"""A copy of the repository in which the commands of the documentation are run.

The PATH there leads to the programs below and to no others: whoever writes a page with another one
has to say here how it is tested.
"""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from cli.running import run_command
from tests import tools
from tests.docs import stand_ins
from tests.docs.pages import ROOT

RUN = (
    *("base64", "cat", "grep", "head", "mkdir", "mktemp", "openssl", "rm", "sed", "tail", "tar"),
    *("tr", "xargs"),
)
"""Run as they are."""
REPLACED = tuple(stand_ins.STAND_INS)
"""Replaced by `stand_ins.py`, which says for each what is left of it."""
ELSEWHERE = ("cmp", "cosign", "crictl", "gh", "git", "kubeadm", "ssh", "systemctl", "talosctl")
"""Left out: they work on the nodes of a cluster, or on what replaced programs would have made."""

_COPIED = (
    *("Dockerfile", "Makefile", "README.md", "pyproject.toml"),
    *("charts", "examples", "manifests", "requirements", "supply"),
)
_EXAMPLE = ROOT / "examples" / "goal2"
_OURS = "longhorn-scheduler-extender"
_OWN_COMMAND = re.compile(rf"\.venv/bin/{_OURS} ([^|;&<>$]*--(?:cluster-file|check)[^|;&<>$]*)")
_PATIENCE_SECONDS = 60


class Done(NamedTuple):
    """What came of a command."""

    status: int
    stdout: str
    stderr: str


class Workspace:
    """The folder in which commands run.

    Args:
        folder: An empty one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        self._programs = folder / "programs"
        self._trouble = folder / "trouble"
        self._environ = {
            "PATH": str(self._programs),
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "TROUBLE_FILE": str(self._trouble),
            "EXAMPLE": str(_EXAMPLE),
            "REAL_KUBECTL": shutil.which("kubectl") or "",
            "REAL_HELM": shutil.which("helm") or "",
            "REAL_MAKE": shutil.which("make") or "",
        }
        self._copy()
        self._install()

    def send_requests_to(self, port: int) -> None:
        """Have requests for the service arrive at this port of the machine."""
        self._environ |= {"SERVICE_PORT": str(port), "REAL_CURL": tools.find("curl")}

    def run(self, command: str) -> Done:
        """Run a command as a shell in the root of the repository does."""
        own = _OWN_COMMAND.fullmatch(command.replace("\\\n", " "))
        return self._run_here(shlex.split(own[1])) if own else self._run_in_shell(command)

    def _run_here(self, arguments: list[str]) -> Done:
        """Run one of our own commands in this process, where all it needs is loaded."""
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            status = run_command(arguments)
        return Done(status, out.getvalue(), err.getvalue())

    def _run_in_shell(self, command: str) -> Done:
        words = re.split(r"[\s\"$()]+", command)
        for script in [each for each in words if each.endswith(".sh")]:
            words += re.split(r"[\s\"$()]+", (self.folder / script).read_text())
        for name in {*RUN}.intersection(words):
            tools.find(name)
        done = subprocess.run(
            [str(self._programs / "bash"), "-u", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def secrets(self) -> dict[str, dict[str, bytes]]:
        """Return the Secrets that were applied, with the contents of their files."""
        return stand_ins.applied_secrets(self.folder)

    def trouble(self) -> str:
        """Return what stand-ins have complained about so far."""
        return self._trouble.read_text() if self._trouble.exists() else ""

    def _copy(self) -> None:
        self.folder.mkdir()
        for name in _COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.folder / name)
            else:
                shutil.copy(ROOT / name, self.folder)

    def _install(self) -> None:
        self._programs.mkdir()
        for name in ("bash", *RUN):
            if path := shutil.which(name):
                (self._programs / name).symlink_to(path)
        for name in REPLACED:
            script = f'exec "{sys.executable}" "{stand_ins.__file__}" {name} "$@"'
            self._write(self._programs / name, script)
        for name in ELSEWHERE:
            self._write(self._programs / name, "exec cat > /dev/null")  # what a pipe writes
        environment = self.folder / ".venv" / "bin"
        environment.mkdir(parents=True)
        for python in (self._programs / "python3", environment / "python"):
            self._write(python, f'exec "{sys.executable}" "$@"')
        (environment / _OURS).symlink_to(self._programs / _OURS)

    def _write(self, path: Path, script: str) -> None:
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
