"""Recorded runs of Longhorn's own volume controllers: `tests/data/longhorn-traces/`.

What is in them, and what of it was played, is said in the README there.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

Object = dict[str, Any]

_FOLDER = Path(__file__).parent / "data" / "longhorn-traces"
_SUFFIX = ".jsonl.gz"


class Event(msgspec.Struct, frozen=True):
    """An object was added, modified or deleted."""

    at: float
    """Seconds since the run began."""
    kind: str
    """Node, Volume or Replica of Longhorn's; Pod or PersistentVolumeClaim."""
    event: str
    """ADDED, MODIFIED or DELETED."""
    object: Object
    """As it was after the event, or before it was deleted."""

    @property
    def name(self) -> str:
        name: str = self.object["metadata"]["name"]
        return name


class Note(msgspec.Struct, frozen=True):
    """What the recorder did just then, in its own words."""

    at: float
    """Seconds since the run began."""
    text: str


class _Line(msgspec.Struct):
    t: float
    kind: str
    event: str
    object: Object | None = None


def names() -> tuple[str, ...]:
    """Name all traces, sorted."""
    return tuple(sorted(path.name.removesuffix(_SUFFIX) for path in _FOLDER.glob(f"*{_SUFFIX}")))


def read(name: str) -> tuple[Event | Note, ...]:
    """Read a trace: its events and notes in the order they were seen.

    Events of objects that were there before the run are left out: they belong to the clean-up of
    the run before.
    """
    return tuple(_read(name))


def _read(name: str) -> Iterator[Event | Note]:
    seen: set[tuple[str, str]] = set()
    with gzip.open(_FOLDER / f"{name}{_SUFFIX}") as lines:
        for raw in lines:
            line = msgspec.json.decode(raw, type=_Line)
            if line.object is None:
                yield Note(line.t, line.event)
                continue
            event = Event(line.t, line.kind, line.event, line.object)
            if event.event == "ADDED":
                seen.add((event.kind, event.name))
            if (event.kind, event.name) in seen:
                yield event
