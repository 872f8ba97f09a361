"""What is worked out from many objects, kept for the keys that were asked for last."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Generic, TypeVar

from extender.view import ChangeLog, Cursor, Name

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept")


class VersionedCache(Generic[Key, Kept]):
    """Keeps something for each key, with how far a log of changes had come when it was up to date.

    Between two questions with the same key, little has changed as a rule, and whoever asks takes
    that in. What was asked for longest ago goes once there are more than *most*.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Key, tuple[Kept, Cursor]] = {}

    def __iter__(self) -> Iterator[Key]:
        return iter([*self._kept])

    def get(
        self, key: Key, log: ChangeLog[Name], new: Callable[[], Kept]
    ) -> tuple[Kept, Sequence[Name]]:
        """Return what is kept for *key*, and the objects that have changed since it was asked for.

        The caller takes these in. If nothing is kept, or everything may have changed, *new* makes
        it, and there are none.
        """
        found = self._kept.pop(key, None)
        changed, now = log.since(None if found is None else found[1])
        if found is None or changed is None:
            kept, changed = new(), ()
        else:
            kept = found[0]
        self._kept[key] = kept, now
        if len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
        return kept, changed
