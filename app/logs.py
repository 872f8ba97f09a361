"""Log set-up: structured lines on stdout, JSON unless it is a terminal."""

import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
import structlog
from structlog.types import Processor

MOST_IN_A_SECOND = 10
"""Events of one name that clients bring about as they like."""
_STDOUT = 1
_OF_CLIENTS = ("refused", "not_named")
"""The ends of their names."""


class Sparing:
    """Lets through a few events of each such name in a second, and says how many it did not.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[int, int]] = {}
        """By name, the second and how many there were in it."""

    def __call__(
        self, _logger: Any, _method: str, event: structlog.types.EventDict
    ) -> structlog.types.EventDict:
        """Return the event.

        Raises:
            DropEvent: There were enough of them.
        """
        name = event["event"]
        if not name.endswith(_OF_CLIENTS):
            return event
        second, count = self._seen.get(name, (0, 0))
        now = int(self._clock())
        if now != second:
            if count > MOST_IN_A_SECOND:
                event["not_logged"] = count - MOST_IN_A_SECOND
            count = 0
        self._seen[name] = now, count + 1
        if count >= MOST_IN_A_SECOND:
            raise structlog.DropEvent
        return event


class Lines:
    """A file of lines; one that cannot be written is lost, and nothing else: a full disk is no
    reason to leave a request without its answer.

    Args:
        write: Writes bytes and returns how many: `os.write` of a file. May raise OSError.
    """

    def __init__(self, write: Callable[[bytes], int]) -> None:
        self._write = write
        self._lost = 0
        self._is_torn = False

    def write(self, line: bytes | str) -> None:
        """Write a line with its end, and before it how many were lost since the last one."""
        data = line.encode() if isinstance(line, str) else line
        if self._lost:
            data = msgspec.json.encode({"event": "log.lost", "lines": self._lost}) + b"\n" + data
        if self._is_torn:
            data = b"\n" + data
        try:
            while written := self._write(data):
                self._is_torn = written < len(data)
                if not self._is_torn:
                    self._lost = 0
                    return
                data = data[written:]
        except OSError:
            pass
        self._lost += 1

    def flush(self) -> None:
        """Do nothing: nothing is kept back."""


def has_colours(environ: Mapping[str, str]) -> bool:
    """Whether a terminal may be sent escape sequences: see https://no-color.org."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def configure_logs(level: str) -> None:
    """Write our own lines, and those of libraries in the same form.

    Ours do not go through the standard library's logging, which is slow for a line per answer.
    """
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    is_terminal = sys.stdout.isatty()
    lines: Any = sys.stdout if is_terminal else Lines(partial(os.write, _STDOUT))
    for_people = structlog.dev.ConsoleRenderer(colors=has_colours(os.environ))
    structlog.configure(
        processors=[Sparing(time.monotonic), *shared, for_people if is_terminal else _as_json],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=(
            structlog.PrintLoggerFactory() if is_terminal else structlog.BytesLoggerFactory(lines)
        ),
    )
    handler = logging.StreamHandler(lines)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                for_people if is_terminal else structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)


def _as_json(_logger: Any, _method: str, event: structlog.types.EventDict) -> bytes:
    return msgspec.json.encode(event, enc_hook=repr)
