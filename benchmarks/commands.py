"""A command that is run as a person runs it, and what it took."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Ran(NamedTuple):
    """One run."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    """Resident memory, in 10^6 bytes."""
    output_bytes: int
    lines: int
    first: str
    """The first line."""


def ran(words: Sequence[str], statuses: Sequence[int]) -> Ran:
    """Run a command of ours, which ends with one of *statuses*.

    The kernel counts its memory. It counts that of this process as the new one's until that starts
    its program, so nothing large may be kept here.
    """
    command = [sys.executable, "-m", "cli", *words]
    began = time.perf_counter()
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.DEVNULL) as process,
    ):
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in statuses:
            raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
        size = output.tell()
        output.seek(0)
        first = output.readline()
        return Ran(
            seconds=seconds,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_mb=usage.ru_maxrss * 1024 / 1e6,
            output_bytes=size,
            lines=bool(first) + sum(1 for _ in output),
            first=first.decode(),
        )
