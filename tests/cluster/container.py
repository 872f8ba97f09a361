"""One container of an image, run by runc as the Deployment would have it run."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

USER = 65532
_ENDED_SECONDS = 20.0
_TICKS = os.sysconf("SC_CLK_TCK")


class Container:
    """A process in a container on the network of this machine.

    Attributes:
        log: What it prints.
    """

    def __init__(self, name: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._name = name
        self._process = process
        self.log = log

    def send(self, signal: str) -> None:
        """Send a signal to the first process in it."""
        subprocess.run(["runc", "kill", self._name, signal], check=True, capture_output=True)

    def ended(self) -> int:
        """Wait for the end; return the exit status."""
        return self._process.wait(_ENDED_SECONDS)

    def cpu_seconds(self) -> float:
        """Return how much CPU time its first process has had, whatever else this machine does."""
        state = subprocess.run(
            ["runc", "state", self._name], check=True, capture_output=True, text=True
        )
        stat = Path(f"/proc/{json.loads(state.stdout)['pid']}/stat").read_text(encoding="utf-8")
        user, system = stat.rpartition(")")[2].split()[11:13]  # proc(5): utime, stime
        return (int(user) + int(system)) / _TICKS


@contextmanager
def running(
    rootfs: Path,
    folder: Path,
    *command: str,
    environ: Sequence[str],
    shown: Path | None = None,
) -> Iterator[Container]:
    """Run a command in a container that ends with the block.

    Args:
        rootfs: The file system of the image.
        folder: An empty one, for what describes the container.
        command: What runs.
        environ: The variables that the image sets, `NAME=VALUE`.
        shown: A folder that it sees as `/shown`.
    """
    folder.mkdir()
    subprocess.run(["runc", "spec"], cwd=folder, check=True)
    config = folder / "config.json"
    spec = _as_deployed(json.loads(config.read_text(encoding="utf-8")), rootfs, command, environ)
    if shown is not None:
        options = ["bind", "ro"]
        mount = {"destination": "/shown", "source": str(shown), "type": "bind", "options": options}
        spec["mounts"].append(mount)
    config.write_text(json.dumps(spec), encoding="utf-8")
    name = f"longhorn-scheduler-extender-{os.getpid()}-{time.monotonic_ns()}"
    log = folder / "container.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["runc", "run", name],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield Container(name, process, log)
    finally:
        subprocess.run(["runc", "delete", "--force", name], check=True, capture_output=True)
        process.wait(_ENDED_SECONDS)


def _as_deployed(
    spec: dict[str, Any], rootfs: Path, command: Sequence[str], environ: Sequence[str]
) -> dict[str, Any]:
    """Change what runc proposes to what the chart says of containers."""
    process = spec["process"] | {
        "terminal": False,
        "user": {"uid": USER, "gid": USER},
        "args": [*command],
        "env": [*environ],
        "capabilities": {},
    }
    namespaces = [each for each in spec["linux"]["namespaces"] if each["type"] != "network"]
    return spec | {
        "process": process,
        "root": {"path": str(rootfs), "readonly": True},
        "linux": spec["linux"] | {"namespaces": namespaces},
    }
