"""A cluster that changes, and the view that is kept up to date with it."""

from typing import Any

from extender import ClusterView, ViewBuilder
from extender.records import key_of


class LiveView:
    """Objects that come, change and go.

    Attributes:
        builder: Builds the view, which is settled after each change.
        known: All objects that there are, by type and name.
    """

    def __init__(self, *records: Any) -> None:
        self.builder = ViewBuilder()
        self.known: dict[tuple[type, Any], Any] = {}
        self.put(*records)

    @property
    def view(self) -> ClusterView:
        return self.builder.view

    def of(self, kind: type) -> list[Any]:
        """Return all objects of a type, by name."""
        return [self.known[key] for key in sorted(self.known, key=str) if key[0] is kind]

    def put(self, *records: Any) -> None:
        """Add objects, each in place of the one of its name."""
        for record in records:
            key = type(record), key_of(record)
            self.builder.apply(self.known.get(key), record)
            self.known[key] = record
        self.builder.settle()

    def drop(self, kind: type, *names: str) -> None:
        """Remove objects."""
        for name in names:
            self.builder.apply(self.known.pop((kind, name)), None)
        self.builder.settle()
