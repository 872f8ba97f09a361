"""What a predicate says of a node that it does not let through."""

from collections.abc import Callable, Hashable, Mapping, Sequence

import msgspec

from longhorn import NodeName
from planner.cluster import Cluster
from planner.records import KubernetesNode, Pod

DISK_SPACE = "disk space"
"""Bytes on one disk of Longhorn's; no resource that a node declares is called so."""


class Lack(msgspec.Struct, frozen=True):
    """A resource that a node has too little of; CPU is in thousandths, memory in bytes."""

    resource: str
    asked: int
    left: int
    """Of what is allocatable; less than 0 where pods have more than that."""
    allocatable: int


class Refusal(msgspec.Struct, frozen=True):
    """Why a node is left out: a code in the table of remedies, and the text.

    The text is the same for all nodes with the same cause, and has no number that changes while the
    cause is the same: such numbers are what it *lacks*.
    """

    code: str
    text: str
    lacks: tuple[Lack, ...] = ()


Predicate = Callable[[Pod, Sequence[NodeName], Cluster], Mapping[NodeName, Refusal]]
"""Judges many nodes for a pod, and returns those that it refuses."""


def refused(
    nodes: Sequence[NodeName],
    cluster: Cluster,
    key: Hashable,
    judge: Callable[[KubernetesNode], Refusal | None],
) -> dict[NodeName, Refusal]:
    """Return those of *nodes* that *judge* refuses; see `Cluster.by_node`."""
    judged = cluster.by_node(key, judge)
    return {name: refusal for name in nodes if (refusal := judged[name]) is not None}
