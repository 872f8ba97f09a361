"""A live local copy of one kind: a fold over listings and watch events. Pure.

A listing is applied object by object while decisions go on. What it lacks was deleted while no
watch was open, and is removed when the listing is complete.
"""

from collections.abc import Iterator
from typing import NamedTuple

from app.kube.records import Item
from app.kube.resource import AnyRecord
from longhorn import Unreadable

Known = AnyRecord | Unreadable


class Change(NamedTuple):
    """One object before and after; None where it does not exist."""

    old: Known | None
    new: Known | None


class Mirror:
    """The objects of one kind as the API server last sent them."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._unlisted: dict[str, None] | None = None
        """Keys that the current listing has not shown yet; None between listings."""
        self.version = ""
        """From where to continue watching."""
        self.is_complete = False
        """Whether there ever was a complete listing."""
        self.unreadable = 0
        """How many objects are known that cannot be read."""

    def __len__(self) -> int:
        return len(self._known)

    def begin_listing(self) -> None:
        """Begin a listing of everything; it replaces one that has not ended."""
        self._unlisted = dict.fromkeys(self._known)

    def begin_with(self, item: Item) -> None:
        """Begin with the only object there is, of which another source has told us."""
        self._known[item.key] = item.record
        self.version = item.version
        self.is_complete = True

    def put(self, item: Item) -> Change | None:
        """Add or replace an object; return None if what we use of it is as before."""
        if self._unlisted is not None:
            self._unlisted.pop(item.key, None)
        old = self._known.get(item.key)
        if old == item.record:
            return None
        self._known[item.key] = item.record
        return self._counted(Change(old, item.record))

    def remove(self, key: str) -> Change | None:
        """Remove an object; return None if it was not known."""
        if self._unlisted is not None:
            self._unlisted.pop(key, None)
        old = self._known.pop(key, None)
        return None if old is None else self._counted(Change(old, None))

    def end_listing(self, version: str) -> Iterator[Change]:
        """Remove what the listing lacked, one by one; *version* is the listing's."""
        unlisted, self._unlisted = self._unlisted or (), None
        self.version = version
        self.is_complete = True
        for key in unlisted:
            yield self._counted(Change(self._known.pop(key), None))

    def _counted(self, change: Change) -> Change:
        self.unreadable += isinstance(change.new, Unreadable) - isinstance(change.old, Unreadable)
        return change
