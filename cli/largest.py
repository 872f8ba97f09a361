"""The largest new volume of a StorageClass with which a pod finds a node, by our decision."""

from collections import Counter

import msgspec
from msgspec import structs

from extender import ClusterView, Extender, PodRef, UnresolvableClaimError
from extender.demand import MOST_CHUNKS
from extender.errors import ClaimProblem
from extender.kubernetes import Claim, ClaimKey, StorageClass

_STEP_BYTES = 2 * 2**20
"""Longhorn's volumes are multiples of it."""
_CLAIM = ClaimKey("default/as-large-as-fits")
_POD = PodRef(namespace="default", name="as-large-as-fits", uid="", claims=(_CLAIM,))


class ClassFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One StorageClass of Longhorn."""

    name: str
    largest_bytes: int
    """The largest new volume with which a pod finds a node now; 0 if none does."""
    nodes: int
    """So many nodes take it."""
    problem: str
    """Why no volume of it can be made, or the commonest reason of nodes; empty if one can."""


def largest(class_: StorageClass, view: ClusterView, extender: Extender) -> ClassFigures:
    """Find the largest new volume of a class with which a pod finds a node.

    Room elsewhere for its other replicas counts as in any answer.
    """
    nodes, spaces = sorted(view.spaces), view.spaces.values()
    most = max((each.roomiest[0].logical_bytes for each in spaces if each.roomiest), default=0)
    if class_.parameters.get("dataLayout.type") == "sharded":
        most *= MOST_CHUNKS
    found = ClassFigures(name=class_.name, largest_bytes=0, nodes=0, problem="")
    least, limit = 1, max(1, most // _STEP_BYTES)
    size, why = limit, ""  # mostly the disk with most headroom takes all of it
    while least <= limit:
        asked = _with_claim(class_, size * _STEP_BYTES, view)
        try:
            answer = extender.filter(_POD, nodes, asked)
        except UnresolvableClaimError as error:
            if error.problem is not ClaimProblem.REFUSED:
                return structs.replace(found, problem=str(error))
            # It makes no volume that is so small.
            why, least = why or str(error), size + 1
            size = (least + limit) // 2
            continue
        if answer.accepted:
            takers, size_bytes = len(answer.accepted), size * _STEP_BYTES
            found = structs.replace(found, largest_bytes=size_bytes, nodes=takers)
            least = size + 1
        else:
            reasons = Counter(map(str, answer.rejected.values()))
            why, limit = max(sorted(reasons), key=reasons.__getitem__, default=""), size - 1
        # If nothing is known to fit, mostly nothing does.
        size = (least + limit) // 2 if found.nodes else least
    return found if found.nodes else structs.replace(found, problem=why)


def _with_claim(class_: StorageClass, size_bytes: int, view: ClusterView) -> ClusterView:
    """Return the cluster with a claim of that class, for a volume that is not made yet."""
    claim = Claim(
        key=_CLAIM,
        uid=None,
        persistent_volume=None,
        storage_class=class_.name,
        requested_bytes=size_bytes,
        read_write_many=False,
    )
    return structs.replace(view, claims={**view.claims, _CLAIM: claim})
