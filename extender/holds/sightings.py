"""What is seen of a pod and its claims since an answer, as a hold understands it.

Sources: kubernetes pkg/scheduler/schedule_one.go (nominatedNodeName, set before binding since
1.35), pkg/scheduler/framework/plugins/volumebinding (selected-node, on one claim after another).
"""

from collections.abc import Mapping

from msgspec import structs

from extender.holds.hold import Hold, Sighting
from extender.holds.ledger import Mode
from extender.kubernetes import Claim, ClaimKey, PodStatus
from longhorn import NodeName


def sighting_of(
    hold: Hold, seen: PodStatus | None, claims: Mapping[ClaimKey, Claim], mode: Mode
) -> Sighting:
    """Say what has become of a hold's pod.

    Args:
        hold: The promise, with the pod as it was at the answer.
        seen: The pod as last heard of; None if it does not exist. One heard of before
            kube-scheduler's own copy was made tells nothing.
        claims: All claims now. One that carried selected-node when it was bound keeps it for ever,
            so that only those count that were not bound at the answer.
        mode: In mode `node` nothing counts but that the pod is bound, or gone.
    """
    if seen is None:
        return Sighting(exists=False)
    asked = hold.asked
    if 0 < seen.version < asked.version:
        seen = asked
    if mode is Mode.NODE:
        return Sighting(exists=not seen.ended, node=seen.node)
    nominated = NodeName("") if seen.nominated == asked.nominated else seen.nominated
    refused = bool(seen.refusal) and seen.refusal != asked.refusal
    selected = _selected(hold, claims)
    if refused and not nominated and _are_bound(hold, claims):
        selected = NodeName("")  # it led to volumes, and then the attempt was given up
    return Sighting(
        exists=not seen.ended,
        node=seen.node,
        selected=selected,
        nominated=nominated,
        refused=refused,
    )


def without_stale(hold: Hold, claims: Mapping[ClaimKey, Claim]) -> Hold:
    """Forget what a claim said of a node at the answer once it says something else.

    Said again, it is news.
    """
    unbound = frozenset(
        (key, stale if key in claims and claims[key].selected_node == stale else NodeName(""))
        for key, stale in hold.unbound
    )
    return hold if unbound == hold.unbound else structs.replace(hold, unbound=unbound)


def _selected(hold: Hold, claims: Mapping[ClaimKey, Claim]) -> NodeName:
    for key, stale in sorted(hold.unbound):
        claim = claims.get(key)
        if claim is not None and claim.selected_node not in ("", stale):
            return claim.selected_node
    return NodeName("")


def _are_bound(hold: Hold, claims: Mapping[ClaimKey, Claim]) -> bool:
    return all(key in claims and claims[key].persistent_volume for key, _ in hold.unbound)
