"""What the API server has written down of who did what: its audit log."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


def lines(log: Path) -> int:
    """Return how many lines there are, to leave them out later."""
    return len(log.read_bytes().splitlines()) if log.exists() else 0


def events(log: Path, *, skip: int, user: str = "") -> Iterator[dict[str, Any]]:
    """Read what was written down since, of all or of one user."""
    with log.open() as found:
        for line in islice(found, skip, None):
            event = json.loads(line)
            if user in ("", event["user"]["username"]):
                yield event


def writes(log: Path, resource: str, namespace: str, *, skip: int) -> Iterator[tuple[str, str]]:
    """Say of each write to objects of a kind in a namespace: what was done, and by whom."""
    for event in events(log, skip=skip):
        ref = event.get("objectRef") or {}
        if event["verb"] not in WRITES or event["responseStatus"]["code"] >= 300:
            continue
        if (ref.get("resource"), ref.get("namespace")) == (resource, namespace):
            yield f"{event['verb']} {resource}/{ref.get('name', '')}", event["user"]["username"]
