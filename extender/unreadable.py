"""What cannot be read, and which nodes and volumes that concerns."""

from collections.abc import Iterator

from extender.known import Known, key_of, put
from longhorn import Node, NodeName, Unreadable, VolumeName


class Unread:
    """Objects that exist but could not be read.

    Attributes:
        objects: Why, by their kind and name.
        replicas: Volumes of which some replica could not be read, and why.
        nodes: Those that such an object belongs to, so that what they have left is unknown.
    """

    def __init__(self, known: Known) -> None:
        self._known = known
        self.objects: dict[tuple[str, str], str] = {}
        self.replicas: dict[VolumeName, str] = {}
        self.nodes: set[NodeName] = set()

    def note(self, record: Unreadable) -> Iterator[NodeName]:
        """Note that *record* has come or gone; yield the nodes for which that is another state."""
        found = self._known.all(Unreadable).get(key_of(record))
        put(self.objects, key_of(record), None if found is None else found.why)
        if record.volume is not None:
            last = max(self._known.broken_of.of(record.volume), key=key_of, default=None)
            why = None if last is None else f"its Replica {last.name} cannot be read: {last.why}"
            put(self.replicas, record.volume, why)
        for node in record.nodes:
            yield from self.note_node(node)

    def note_node(self, node: NodeName) -> Iterator[NodeName]:
        """Note that *node* has come or gone; yield it if it is in another state than before."""
        is_unreadable = any(
            each.kind != "Node" or node not in self._known.all(Node)  # read in another version
            for each in self._known.broken_on.of(node)
        )
        if is_unreadable != (node in self.nodes):
            self.nodes ^= {node}
            yield node
