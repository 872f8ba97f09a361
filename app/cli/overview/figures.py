"""The figures of `overview`: each disk, and the largest volume of each StorageClass that fits."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import structs

from extender import (
    Answer,
    Claim,
    ClaimKey,
    ClusterView,
    Extender,
    NodeSpace,
    PodRef,
    StorageClass,
    UnresolvableClaimError,
    charges,
    node_rejection,
    why_unusable,
)
from extender.demand.parameters import MOST_CHUNKS
from extender.demand.requests import LONGHORN_PROVISIONERS, NOBODY
from extender.verdicts.situation import Situation
from longhorn import DiskSpace, Moment

_STEP_BYTES = 2 * 2**20
"""Longhorn's volumes are multiples of it."""
_CLAIM = ClaimKey("default/as-large-as-fits")


class DiskFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One disk."""

    name: str
    type: str
    tags: tuple[str, ...]
    maximum_bytes: int
    reserved_bytes: int
    written_bytes: int
    """What its file system, or data engine v2, has in use, whoever wrote it."""
    scheduled_bytes: int
    limit_bytes: int
    """Most that may be scheduled."""
    headroom_bytes: int
    """What may still be scheduled; below 0 if more is than may be."""
    physical_headroom_bytes: int
    """How much more may be written before Longhorn places nothing new on it."""
    problem: str
    """Why it takes no new replica; empty if it does."""


class NodeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One node of Longhorn."""

    name: str
    zone: str
    problem: str
    """Why it takes no new replica; empty if it does."""
    held_bytes: int
    """Held for pods that have been given the node, or may be, and have no replica there yet."""
    coming_bytes: int
    """Of replicas that may go anywhere and are forecast here."""
    disks: tuple[DiskFigures, ...]

    def total(self, figure: str) -> int:
        """Return the sum of a figure over the disks."""
        return sum(getattr(disk, figure) for disk in self.disks)


class ClassFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One StorageClass of Longhorn."""

    name: str
    largest_bytes: int
    """The largest new volume with which a pod finds a node now; 0 if none does."""
    nodes: int
    """So many nodes take it."""
    problem: str
    """Why no volume of it can be made, or the commonest reason of nodes; empty if one can."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """What `overview -o json` prints."""

    nodes: tuple[NodeFigures, ...]
    classes: tuple[ClassFigures, ...]
    notes: tuple[str, ...]
    """What is not known."""


def overview(view: ClusterView, extender: Extender, utc: Moment | None) -> Overview:
    """Work out all figures.

    Args:
        view: The cluster.
        extender: Knows the holds.
        utc: The date and time, None if it is not known, as for files.
    """
    situation = extender.situation(NOBODY, view, utc=utc)
    unreadable = view.settings.unreadable
    return Overview(
        nodes=tuple(_node(space, situation, extender) for _, space in sorted(view.spaces.items())),
        classes=tuple(
            largest(class_, view, extender)
            for _, class_ in sorted(view.storage_classes.items())
            if class_.provisioner in LONGHORN_PROVISIONERS
        ),
        notes=()
        if unreadable is None
        else (f"Longhorn's setting {unreadable} cannot be read: nothing is placed until it can",),
    )


def _node(space: NodeSpace, situation: Situation, extender: Extender) -> NodeFigures:
    name, problem = space.node.name, node_rejection(space)
    held = charges(extender.ledger, name, situation.view)
    return NodeFigures(
        name=name,
        zone=space.node.zone,
        problem="" if problem is None else str(problem),
        held_bytes=sum(sum(each.bytes.values()) for each in held),
        coming_bytes=sum(each.need.size_bytes for each in situation.forecast.on.get(name, ())),
        disks=tuple(map(_disk, space.disks)),
    )


def _disk(space: DiskSpace) -> DiskFigures:
    disk = space.disk
    return DiskFigures(
        name=disk.name,
        type=disk.type,
        tags=tuple(sorted(disk.tags)),
        maximum_bytes=disk.maximum_bytes,
        reserved_bytes=disk.reserved_bytes,
        written_bytes=max(0, disk.maximum_bytes - disk.available_bytes),
        scheduled_bytes=space.scheduled_bytes,
        limit_bytes=space.limit_bytes,
        headroom_bytes=space.logical_headroom_bytes,
        physical_headroom_bytes=space.physical_headroom_bytes,
        problem=str(why_unusable(disk) or ""),
    )


def largest(class_: StorageClass, view: ClusterView, extender: Extender) -> ClassFigures:
    """Find the largest new volume of a class with which a pod finds a node, by its decision.

    Room elsewhere for its other replicas counts as in any answer.
    """
    most = max((d.logical_headroom_bytes for s in view.spaces.values() for d in s.disks), default=0)
    if class_.parameters.get("dataLayout.type") == "sharded":
        most *= MOST_CHUNKS
    found = ClassFigures(name=class_.name, largest_bytes=0, nodes=0, problem="")
    least, limit = 1, max(1, most // _STEP_BYTES)
    size, why = limit, ""  # mostly the disk with most headroom takes all of it
    while least <= limit:
        try:
            answer = _ask(class_, size * _STEP_BYTES, view, extender)
        except UnresolvableClaimError as error:
            return structs.replace(found, problem=str(error))
        if answer.accepted:
            taken = size * _STEP_BYTES
            found = structs.replace(found, largest_bytes=taken, nodes=len(answer.accepted))
            least = size + 1
        else:
            why, limit = _commonest(answer), size - 1
        size = (least + limit) // 2
    return found if found.nodes else structs.replace(found, problem=why)


def _ask(class_: StorageClass, size_bytes: int, view: ClusterView, extender: Extender) -> Answer:
    """Decide about a pod that has a new volume of a size."""
    claim = Claim(
        key=_CLAIM,
        uid=None,
        persistent_volume=None,
        storage_class=class_.name,
        requested_bytes=size_bytes,
        read_write_many=False,
    )
    pod = PodRef(namespace="default", name="any", uid="", claims=(_CLAIM,))
    with_claim = structs.replace(view, claims={**view.claims, _CLAIM: claim})
    return extender.filter(pod, sorted(view.spaces), with_claim)


def _commonest(answer: Answer) -> str:
    """Return why most nodes are rejected."""
    counts = Counter(map(str, answer.rejected.values()))
    return max(sorted(counts), key=counts.__getitem__, default="")


SORTED_BY: Mapping[str, str] = {
    "name": "",
    "scheduled": "scheduled_bytes",
    "limit": "limit_bytes",
    "written": "written_bytes",
    "headroom": "headroom_bytes",
    "held": "held_bytes",
    "coming": "coming_bytes",
}
"""What nodes may be sorted by, and the figure of it; the largest first but for names."""


def by(nodes: Sequence[NodeFigures], key: str) -> Iterator[NodeFigures]:
    """Yield nodes in the order of a figure."""
    figure = SORTED_BY[key]

    def size(node: NodeFigures) -> int:
        return getattr(node, figure) if hasattr(node, figure) else node.total(figure)

    yield from sorted(nodes, key=size, reverse=True) if figure else nodes
