"""What differs between two checkouts in a seed, and what many differences have in common."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any

import msgspec

from tests.comparing.asking import Answer

STATE = ["holds", "ended", "woken", "waiting", "charged", "upcoming", "disks"]
"""What a line shows besides answers, in the order in which it is compared."""
ROOM = ["holds", "charged", "upcoming", "disks"]
"""What later answers rest on."""
FORECAST = "places"
"""What nobody is told: it differs without being a difference, but later answers go by it."""
_NAMES = [
    (re.compile(r"\b(pvc-[0-9a-f-]{36}|v-\d+)\b"), "VOLUME"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b"), "UID"),
    (re.compile(r"\bnode-\d+\b"), "NODE"),
    (re.compile(r"\bdisk-\d+\b"), "DISK"),
    (re.compile(r"\b(default/)?p-\d+\b"), "POD"),
    (re.compile(r"\b(default/)?c-\d+-\d+\b"), "CLAIM"),
    (re.compile(r"\b(uid|class|image)-\S+"), "NAME"),
    (re.compile(r"\b-?\d+(\.\d+)?( [KMGT]?i?B\b)?"), "N"),
]


class History(IntEnum):
    """What had happened before two answers or states that are compared."""

    SAME = 0
    FORECAST_ELSEWHERE = 1
    """All the same, but for where room is forecast."""
    OTHER = 2
    """Something differed before, such as what is held."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One of those after an event; *old* and *new* are JSON or texts."""

    step: int
    history: History
    path: str
    old: str
    new: str

    @property
    def cause(self) -> str:
        """The same for all that differ in the same way, whatever the names and numbers."""
        return f"{general(self.path)}: {general(self.old)} -> {general(self.new)}"


class Compared(msgspec.Struct, frozen=True):
    """Two answers to one request, or what is known after one event."""

    history: History
    differences: Sequence[Difference]
    is_answer: bool


def general(text: str) -> str:
    """Return a text without the names and numbers in it."""
    for pattern, name in _NAMES:
        text = pattern.sub(name, text)
    return text


class Seed:
    """Compares what two checkouts write of one seed, line by line.

    Attributes:
        history: What had happened before the next event.
    """

    def __init__(self) -> None:
        self.history = History.SAME
        self._worst: dict[int, History] = {}
        self._olds: dict[str, Answer] = {}
        self._news: dict[str, Answer] = {}

    def compare(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Compared]:
        """Compare all answers that both have given, and what is known after an event."""
        step, before = old["step"], self.history
        if (step, old["what"]) != (new["step"], new["what"]):
            raise SystemExit(f"the worlds differ: {old['what']} and {new['what']}")
        worst = {asked: max(each, before) for asked, each in self._worst.items()}
        self._worst = worst | {step: before}
        self._olds |= msgspec.convert(old["answers"], dict[str, Answer])
        self._news |= msgspec.convert(new["answers"], dict[str, Answer])
        both = sorted(self._olds.keys() & self._news.keys(), key=_asked)
        by_one = self._olds.keys() ^ self._news.keys()  # the other still waits
        is_apart = bool(by_one)
        for key in both:
            asked, number = _asked(key)
            history = self._worst[asked]
            if any((asked, 0) <= _asked(each) < (asked, number) for each in by_one):
                history = History.OTHER
            found = [*_of_answers(self._olds.pop(key), self._news.pop(key))]
            if found and not found[0][0].startswith("score"):
                is_apart = True
                self._worst[asked] = History.OTHER  # of the requests that came after this one
            yield Compared(history, _differences(step, history, found), is_answer=True)
        one, other = (_timeless({part: of[part] for part in STATE}) for of in (old, new))
        history = History.OTHER if is_apart else before
        found = [*_differing("state", one, other)]
        yield Compared(history, _differences(step, history, found), is_answer=False)
        self.history = History.OTHER if by_one else _history(old, new)


def _asked(key: str) -> tuple[int, int]:
    """Return the event of a request, and which one of its requests it was."""
    _, event, number = key.split()
    return int(event), int(number)


def _history(old: Mapping[str, Any], new: Mapping[str, Any]) -> History:
    """Say what differs of that on which later answers rest."""
    one, other = (_timeless({part: of[part] for part in ROOM}) for of in (old, new))
    if one != other:
        return History.OTHER
    return History.SAME if old[FORECAST] == new[FORECAST] else History.FORECAST_ELSEWHERE


def _differences(
    step: int, history: History, found: Sequence[tuple[str, str, str]]
) -> list[Difference]:
    return [
        Difference(step=step, history=history, path=path, old=one, new=other)
        for path, one, other in found
    ]


def _timeless(value: Any) -> Any:
    """Leave out for how long something has been so."""
    if isinstance(value, dict):
        return {
            key: _timeless(each)
            for key, each in value.items()
            if not key.endswith(("waits_seconds", "seconds_ago"))
        }
    return value


def _of_answers(old: Answer, new: Answer) -> Iterator[tuple[str, str, str]]:
    """Yield how verdicts differ; where they are equal, how scores do."""
    before, after = msgspec.to_builtins(old), msgspec.to_builtins(new)
    scores = [of.pop("scores") or {} for of in (before, after)]
    parts = [of.pop("parts", None) for of in scores]
    for part in ["error", "verdicts", "order", "other", "waited"]:
        found = [*_differing(f"answer / {part}", before[part], after[part])]
        if found:
            yield from found
            return
    of_parts = [*_differing("score", *parts)] if all(parts) else []  # few pods are shown at once
    yield from of_parts or _differing("score", *scores)


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
    """Show a value; of objects that there is none of on the other side, only that."""
    if isinstance(value, dict):
        return f"one with {', '.join(sorted(value))}"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
