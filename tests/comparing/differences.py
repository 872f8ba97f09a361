"""What differs between two checkouts after an event, and what many differences have in common."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

PARTS = ["answers", "holds", "ended", "woken", "waiting", "charged", "upcoming", "disks", "places"]
"""Of a line, in the order in which they are compared."""
ONLY_EXPECTED = "places"
"""What nobody is told: where it differs, all else is compared on."""
_NAMES = [
    (re.compile(r"\b(pvc-[0-9a-f-]{36}|v-\d+)\b"), "VOLUME"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b"), "UID"),
    (re.compile(r"\bnode-(\d+|unknown)\b"), "NODE"),
    (re.compile(r"\bdisk-\d+\b"), "DISK"),
    (re.compile(r"\b(default/)?p-\d+\b"), "POD"),
    (re.compile(r"\b(default/)?c-\d+-\d+\b"), "CLAIM"),
    (re.compile(r"\b(uid|class|image)-\S+"), "NAME"),
    (re.compile(r"\b-?\d+(\.\d+)?( [KMGT]?i?B\b)?"), "N"),
]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first of those after one event; *old* and *new* are JSON."""

    step: int
    path: str
    old: str
    new: str

    @property
    def is_only_expected(self) -> bool:
        """Whether nothing differs that anybody is told."""
        return self.path.startswith(ONLY_EXPECTED)

    @property
    def cause(self) -> str:
        """The same for all that differ in the same way, whatever the names and numbers."""
        return f"{general(self.path)}: {general(self.old)} -> {general(self.new)}"


def general(text: str) -> str:
    """Return a text without the names and numbers in it."""
    for pattern, name in _NAMES:
        text = pattern.sub(name, text)
    return text


def difference(old: bytes, new: bytes, ignored: Sequence[str] = ()) -> Difference | None:
    """Compare two lines but for differences whose cause contains one of the texts *ignored*."""
    if old == new:
        return None
    before, after = msgspec.json.decode(old), msgspec.json.decode(new)
    for part in ["step", "what", *PARTS]:
        for path, one, other in _differing(part, before.get(part), after.get(part)):
            found = Difference(step=before.get("step", -1), path=path, old=one, new=other)
            if not any(text in found.cause for text in ignored):
                return found
    return None


def _differing(path: str, old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    match old, new:
        case dict(), dict():
            for key in {**old, **new}:  # in the order in which they are compared
                yield from _differing(f"{path} / {key}", old.get(key), new.get(key))
        case list(), list() if len(old) == len(new):
            for one, other in zip(old, new, strict=True):
                yield from _differing(path, one, other)
        case _ if old != new:
            yield path, _shown(old), _shown(new)


def _shown(value: Any) -> str:
    """Show a value; of objects and lists that there is none of on the other side, only that."""
    if isinstance(value, dict):
        return f"one with {', '.join(sorted(value))}"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
