"""Work that is not done again as long as it would come to the same."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

R = TypeVar("R")


class Once(Generic[R]):
    """What is made of objects, once for as long as none of their kinds changes.

    Args:
        make: Makes it.
        changes: Counts the changes of each kind.
        kinds: Which matter.
    """

    def __init__(self, make: Callable[[], R], changes: Mapping[str, int], *kinds: str) -> None:
        self._make = make
        self._changes = changes
        self._kinds = kinds
        self._age = -1

    def __call__(self) -> R:
        age = sum(self._changes[kind] for kind in self._kinds)
        if age != self._age:
            self._age, self._made = age, self._make()
        return self._made
