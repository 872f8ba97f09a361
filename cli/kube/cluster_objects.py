"""All records of one cluster, found by their type and by how other objects refer to them."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from app.kube.mirror import Known
from cli.kube.draining.kinds import DRAINED
from cli.kube.resources import ASKED, PLANNED
from longhorn import Node, NodeName, Unreadable
from planner.records import KubernetesNode

Kept = TypeVar("Kept")

_KEYS: Mapping[type, Callable[[Any], Any]] = {
    **{
        resource.record: resource.key_of
        for resource in (*ASKED.values(), *PLANNED.values(), *DRAINED.values())
    },
    Unreadable: lambda record: (record.kind, record.name),
}


class ClusterObjects:
    """The records of one cluster: one for each type and key."""

    def __init__(self) -> None:
        self._records: defaultdict[type, dict[Any, Any]] = defaultdict(dict)

    def of(self, type_: type[Kept]) -> dict[Any, Kept]:
        """Return the records of one type, by the key that the table of resources gives them.

        It is the same mapping each time: it changes along with what is known.
        """
        return self._records[type_]

    def add(self, record: Known) -> bool:
        """Keep *record*; return False and leave it out if there is one of its type and key."""
        if self._key(record) in self._records[type(record)]:
            return False
        self.put(record)
        return True

    def put(self, record: Known) -> None:
        """Keep *record* in place of the one of its type and key, if there is one."""
        self._records[type(record)][self._key(record)] = record

    def remove(self, record: Known) -> None:
        """Forget the record that has the type and key of this one."""
        del self._records[type(record)][self._key(record)]

    def records(self) -> Iterator[Known]:
        """Return all records."""
        for records in self._records.values():
            yield from records.values()

    def candidates(self) -> tuple[NodeName, ...]:
        """Return the names that kube-scheduler would start from: those of all nodes, sorted."""
        return tuple(sorted([*self.of(KubernetesNode)] or self.of(Node)))

    def _key(self, record: Known) -> Any:
        return _KEYS[type(record)](record)
