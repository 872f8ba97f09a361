"""Changes of dictionaries that can be taken back."""

from typing import Any, Final, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")
_ABSENT: Final = object()


class UndoLog:
    """What was in some dictionaries before they were changed, the last change last.

    A decision awaits nothing, so nobody else sees what is changed for it and taken back.
    """

    def __init__(self) -> None:
        self._entries: list[tuple[dict[Any, Any], Any, Any]] = []

    @property
    def mark(self) -> int:
        """Where the log ends now, for `back_to`."""
        return len(self._entries)

    def set(self, where: dict[Key, Value], key: Key, value: Value) -> None:
        """Set an entry of a dictionary."""
        self._entries.append((where, key, where.get(key, _ABSENT)))
        where[key] = value

    def pop(self, where: dict[Key, Value], key: Key) -> None:
        """Delete an entry of a dictionary, if there is one."""
        if key in where:
            self._entries.append((where, key, where.pop(key)))

    def back_to(self, mark: int) -> None:
        """Take back all changes since *mark*."""
        while len(self._entries) > mark:
            where, key, before = self._entries.pop()
            if before is _ABSENT:
                del where[key]
            else:
                where[key] = before

    def changed(self, where: dict[Key, Value], since: int = 0) -> list[Key]:
        """Return the keys of a dictionary that have changed, each once."""
        found = (key for of, key, _ in self._entries[since:] if of is where)
        return [*dict.fromkeys(found)]

    def forget(self) -> None:
        """Let all changes stand."""
        self._entries.clear()
