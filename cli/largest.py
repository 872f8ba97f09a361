"""The largest new volume of a StorageClass with which a pod finds a node, by our decision.

And the largest of which all replicas find a disk then: a pod may run with fewer.
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec import structs

from extender import ClusterView, Extender, PodRef, UnresolvableClaimError
from extender.demand import MOST_CHUNKS
from extender.errors import ClaimProblem
from extender.explaining import spreads
from extender.kubernetes import Claim, ClaimKey, StorageClass
from longhorn import NodeName

_STEP_BYTES = 2 * 2**20
"""Longhorn's volumes are multiples of it."""
_CLAIM = ClaimKey("default/as-large-as-fits")
CLAIMING = PodRef(namespace="default", name="as-large-as-fits", uid="", claims=(_CLAIM,))
"""A pod with one claim, which `with_claim` makes."""


class ClassFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One StorageClass of Longhorn."""

    name: str
    largest_bytes: int
    """The largest new volume with which a pod finds a node now; 0 if none does."""
    nodes: int
    """So many nodes take it."""
    whole_bytes: int
    """The largest with which it does, and of which all replicas find a disk; 0 if there is none."""
    problem: str
    """Why no volume of it can be made, or the commonest reason of nodes; empty if one can."""


class _Asked(NamedTuple):
    """What becomes of a pod with a new volume of one size."""

    nodes: int = 0
    """So many take it."""
    is_whole: bool = False
    """All replicas find a disk."""
    is_too_small: bool = False
    """Longhorn makes no volume of the class that is so small."""
    why: str = ""
    """It finds no node."""


def largest(class_: StorageClass, view: ClusterView, extender: Extender) -> ClassFigures:
    """Find the largest new volume of a class with which a pod finds a node.

    Room elsewhere for its other replicas counts as in any answer.
    """

    def ask(steps: int) -> _Asked:
        return _ask(with_claim(class_, steps * _STEP_BYTES, view), extender)

    spaces = view.spaces.values()
    most = max((each.roomiest[0].logical_bytes for each in spaces if each.roomiest), default=0)
    if class_.parameters.get("dataLayout.type") == "sharded":
        most *= MOST_CHUNKS
    found = ClassFigures(name=class_.name, largest_bytes=0, nodes=0, whole_bytes=0, problem="")
    try:
        steps, said = _most(max(1, most // _STEP_BYTES), ask, lambda said: said.nodes > 0)
        whole = steps if said.is_whole else _most(steps, ask, lambda said: said.is_whole)[0]
    except UnresolvableClaimError as error:
        return structs.replace(found, problem=str(error))
    if not steps:
        return structs.replace(found, problem=said.why)
    return structs.replace(
        found,
        largest_bytes=steps * _STEP_BYTES,
        nodes=said.nodes,
        whole_bytes=whole * _STEP_BYTES,
    )


def _most(
    limit: int, ask: Callable[[int], _Asked], is_enough: Callable[[_Asked], bool]
) -> tuple[int, _Asked]:
    """Return the most steps up to *limit* that are enough, and what is said of them.

    If none are: 0, and what is said of the last that were tried, of too few only if of all.
    """
    least, size = 1, limit  # mostly the disk with most headroom takes all of it
    best, said = 0, _Asked()
    while least <= limit:
        now = ask(size)
        if is_enough(now):
            best, said, least = size, now, size + 1
        elif now.is_too_small:
            least = size + 1
            said = said if said.why else now
        else:
            said = said if best else now
            limit = size - 1
        # If nothing is known to fit, mostly nothing does.
        size = (least + limit) // 2 if best or now.is_too_small else least
    return best, said


def _ask(asked: ClusterView, extender: Extender) -> _Asked:
    """Decide about a pod with a claim for a new volume, which *asked* has.

    Raises:
        UnresolvableClaimError: No size of it would do.
    """
    try:
        answer = extender.filter(CLAIMING, sorted(asked.spaces), asked)
    except UnresolvableClaimError as error:
        if error.problem is not ClaimProblem.REFUSED:
            raise
        return _Asked(is_too_small=True, why=str(error))
    if not answer.accepted:
        reasons = Counter(map(str, answer.rejected.values()))
        return _Asked(why=max(sorted(reasons), key=reasons.__getitem__, default=""))
    # All replicas are as large: where the pod's own is does not change how many find a disk.
    is_whole = not any(each.missing for each in spreads(answer, NodeName(answer.accepted[0])))
    return _Asked(nodes=len(answer.accepted), is_whole=is_whole)


def with_claim(class_: StorageClass, size_bytes: int, view: ClusterView) -> ClusterView:
    """Return the cluster with a claim of `CLAIMING` for a new volume of a class, and that class."""
    claim = Claim(
        key=_CLAIM,
        uid=None,
        persistent_volume=None,
        storage_class=class_.name,
        requested_bytes=size_bytes,
        read_write_many=False,
    )
    return structs.replace(
        view,
        claims={**view.claims, _CLAIM: claim},
        storage_classes={**view.storage_classes, class_.name: class_},
    )
