"""Programs that run beside the tests: started, stopped, frozen, and never left behind."""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

END_SECONDS = 20.0
_LAST_LINES = 15


class Process:
    """One program on loopback; what it writes goes to a log of its own."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        environ: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*_ends_with_us(), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environ,
                cwd=folder,
                start_new_session=True,  # a Ctrl-C of the tests is handled by them
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def returncode(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.poll()

    @property
    def cpu_seconds(self) -> float:
        """Time of processors that it has taken until now, by user and system."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def resident_bytes(self) -> int:
        """What is in memory now."""
        return self._memory_bytes("VmRSS")

    @property
    def peak_bytes(self) -> int:
        """The most that was in memory since the last reset."""
        return self._memory_bytes("VmHWM")

    def reset_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def kill(self) -> None:
        """Send SIGKILL and wait for the end."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Send SIGSTOP."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Send SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def terminate(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send SIGTERM, or another signal that says so."""
        self._process.send_signal(number)

    def wait(self, *, within_seconds: float = END_SECONDS) -> int:
        """Wait for the end; return the exit status. Raises `subprocess.TimeoutExpired`."""
        return self._process.wait(within_seconds)

    async def ended(self, *, within_seconds: float = END_SECONDS) -> int:
        """Do the same beside other tasks."""
        return await asyncio.to_thread(self._process.wait, within_seconds)

    async def stop(self) -> None:
        """End it, whatever state it is in."""
        if self.is_running:
            self.resume()
            self.terminate()
            try:
                await self.ended()
            except subprocess.TimeoutExpired:
                self.kill()

    def _memory_bytes(self, key: str) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        [value] = [line.split()[1] for line in lines if line.startswith(key)]
        return int(value) * 1024

    def assert_running(self) -> None:
        """Fail with the end of its log if it has ended by itself."""
        if not self.is_running:
            lines = self.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
            raise AssertionError(f"{self.name} has ended:\n" + "\n".join(lines))


def _ends_with_us() -> list[str]:
    """Return what makes Linux end a program whose starter was killed, where it can be said."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
