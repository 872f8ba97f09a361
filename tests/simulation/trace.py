"""What happened in a run, a line each, with the time."""

import asyncio
import hashlib
from collections import Counter


class Trace:
    """The lines of a run, and how often what happened.

    Attributes:
        lines: In order.
        counts: By what is counted.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.counts: Counter[str] = Counter()
        self._said: dict[str, str] = {}
        self._began = asyncio.get_running_loop().time()

    @property
    def seconds(self) -> float:
        """How long the run has lasted."""
        return asyncio.get_running_loop().time() - self._began

    def note(self, text: str) -> None:
        self.lines.append(f"{self.seconds:9.3f} {text}")

    def note_change(self, about: str, text: str) -> None:
        """Note what is said of something, unless it is what was said of it last."""
        if self._said.get(about) != text:
            self._said[about] = text
            self.note(f"{about} {text}")

    def count(self, what: str) -> None:
        self.counts[what] += 1

    def digest(self) -> str:
        """Return what two equal runs have in common."""
        counts = [f"{count} {what}" for what, count in sorted(self.counts.items())]
        return hashlib.sha256("\n".join([*self.lines, *counts]).encode()).hexdigest()
