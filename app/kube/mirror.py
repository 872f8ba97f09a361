"""A live local copy of one kind: a fold over listings and watch events. Pure.

A listing is taken in object by object while decisions go on; what it lacks was deleted while
nobody watched, and goes when the listing is complete.
"""

from collections.abc import Iterator
from typing import NamedTuple

from app.kube.records import Item, Unreadable
from app.kube.resources import AnyRecord

Known = AnyRecord | Unreadable


class Change(NamedTuple):
    """One object before and after; None where it does not exist."""

    old: Known | None
    new: Known | None


class Mirror:
    """The objects of one kind as last heard of."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._unlisted: set[str] | None = None
        """Keys that a listing under way has not shown yet; None if none is under way."""
        self.version = ""
        """Where to go on watching."""
        self.is_complete = False
        """Whether there ever was a complete listing."""
        self.unreadable = 0
        """How many objects are known that cannot be read."""

    def __len__(self) -> int:
        return len(self._known)

    def begin_listing(self) -> None:
        """Begin a listing of everything; one that was under way is given up."""
        self._unlisted = set(self._known)

    def begin_with(self, item: Item) -> None:
        """Take in the only object there is, as somebody else has told of it."""
        self._known[item.key] = item.record
        self.version = item.version
        self.is_complete = True

    def put(self, item: Item) -> Change | None:
        """Take in an object; None if what we use of it is as before."""
        if self._unlisted is not None:
            self._unlisted.discard(item.key)
        old = self._known.get(item.key)
        if old == item.record:
            return None
        self._known[item.key] = item.record
        return self._counted(Change(old, item.record))

    def remove(self, key: str) -> Change | None:
        """Drop an object; None if it was not known."""
        if self._unlisted is not None:
            self._unlisted.discard(key)
        old = self._known.pop(key, None)
        return None if old is None else self._counted(Change(old, None))

    def end_listing(self, version: str) -> Iterator[Change]:
        """Drop what the listing lacked; *version* is the listing's."""
        unlisted, self._unlisted = sorted(self._unlisted or ()), None
        self.version = version
        self.is_complete = True
        for key in unlisted:
            yield self._counted(Change(self._known.pop(key), None))

    def _counted(self, change: Change) -> Change:
        self.unreadable += isinstance(change.new, Unreadable) - isinstance(change.old, Unreadable)
        return change
