"""Times in which clients cannot reach the in-memory API server."""

from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Outage:
    """A time in which one client, or every client, cannot reach the server.

    Connections are refused and open watches break; with *silent* nothing comes back at all, and
    open watches go on where they were when it ends, as TCP does. Requests sent in a silent outage
    are never answered.
    """

    def __init__(self, outages: "Outages", client: str | None, *, silent: bool) -> None:
        self.client = client
        self.silent = silent
        self._outages = outages

    def begin(self) -> None:
        self._outages.begin(self)

    def end(self) -> None:
        self._outages.end(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()


class Outages:
    """The outages of now, and how often connections broke; *changed* is called at each change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._current: list[Outage] = []
        self._breaks: Counter[str | None] = Counter()

    def begin(self, outage: Outage) -> None:
        self._current.append(outage)
        if not outage.silent:
            self._breaks[outage.client] += 1
        self._changed()

    def end(self, outage: Outage) -> None:
        if outage in self._current:
            self._current.remove(outage)
        self._changed()

    def of(self, client: str) -> Outage | None:
        """Return the outage that concerns a client now, if any."""
        return next((each for each in self._current if each.client in (None, client)), None)

    def breaks(self, client: str) -> int:
        """Count how often a client's connections broke: a stream that saw fewer is broken."""
        return self._breaks[client] + self._breaks[None]
