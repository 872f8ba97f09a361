"""The largest new volume of a StorageClass with which a pod finds a node, by our decision."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import structs

from extender.ahead.pieces import Pieces
from extender.demand.parameters import MOST_CHUNKS
from extender.demand.requests import NOBODY, PodRequest, WantedVolume, new_volume
from extender.errors import UnresolvableClaimError
from extender.kubernetes import Claim, ClaimKey, StorageClass
from extender.verdicts.answering import Situate, decide
from extender.verdicts.remembered import RememberedVerdicts, Verdicts
from extender.view import ClusterView
from longhorn import NodeName, need_of

_STEP_BYTES = 2 * 2**20
"""Longhorn's volumes are multiples of it."""
_NODES_IN_ONE_GO = 500
_CLAIM = ClaimKey("default/as-large-as-fits")


class ClassFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One StorageClass of Longhorn."""

    name: str
    largest_bytes: int
    """The largest new volume with which a pod finds a node now; 0 if none does."""
    nodes: int
    """So many nodes take it."""
    problem: str
    """Why no volume of it can be made, or the commonest reason of nodes; empty if one can."""


def largest(
    class_: StorageClass, current_view: Callable[[], ClusterView], situate: Situate
) -> Pieces[ClassFigures]:
    """Find the largest new volume of a class with which a pod finds a node, by its decision.

    Room elsewhere for its other replicas counts as in any answer. Nothing of it is remembered:
    what pods ask for must stay known.
    """
    spaces = current_view().spaces
    nodes = sorted(spaces)
    most = max((s.roomiest[0].logical_bytes for s in spaces.values() if s.roomiest), default=0)
    yield
    if class_.parameters.get("dataLayout.type") == "sharded":
        most *= MOST_CHUNKS
    found = ClassFigures(name=class_.name, largest_bytes=0, nodes=0, problem="")
    least, limit = 1, max(1, most // _STEP_BYTES)
    size, why = limit, ""  # mostly the disk with most headroom takes all of it
    while least <= limit:
        accepted, reasons = 0, Counter[str]()
        try:
            for part in _parts(nodes):
                view = current_view()
                asked = _request(class_, size * _STEP_BYTES, view)
                there = [*filter(view.spaces.__contains__, part)]
                nothing = RememberedVerdicts(Verdicts, view.changes)
                answer = decide(asked, there, view, situate, nothing)
                accepted += len(answer.accepted)
                reasons.update(map(str, answer.rejected.values()))
                yield
        except UnresolvableClaimError as error:
            return structs.replace(found, problem=str(error))
        if accepted:
            found = structs.replace(found, largest_bytes=size * _STEP_BYTES, nodes=accepted)
            least = size + 1
        else:
            why, limit = max(sorted(reasons), key=reasons.__getitem__, default=""), size - 1
        # If nothing is known to fit, mostly nothing does.
        size = (least + limit) // 2 if found.nodes else least
    return found if found.nodes else structs.replace(found, problem=why)


def _parts(nodes: Sequence[NodeName]) -> Iterator[Sequence[NodeName]]:
    """Yield nodes in parts; one without any node if there is none, for what is wrong with all."""
    for start in range(0, max(1, len(nodes)), _NODES_IN_ONE_GO):
        yield nodes[start : start + _NODES_IN_ONE_GO]


def _request(class_: StorageClass, size_bytes: int, view: ClusterView) -> PodRequest:
    claim = Claim(
        key=_CLAIM,
        uid=None,
        persistent_volume=None,
        storage_class=class_.name,
        requested_bytes=size_bytes,
        read_write_many=False,
    )
    volume, image = new_volume(claim, class_, view)
    wanted = WantedVolume(volume=volume, need=need_of(volume, image))
    if wanted.is_local:
        return structs.replace(NOBODY, volumes=(wanted,))
    return structs.replace(NOBODY, remote=(wanted,))
