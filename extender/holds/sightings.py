"""What is seen of a pod and its claims since an answer, as a hold understands it.

Sources: kubernetes pkg/scheduler/schedule_one.go (nominatedNodeName, set before binding since
1.35), pkg/scheduler/framework/plugins/volumebinding (selected-node, on one claim after another).
"""

from collections.abc import Mapping
from operator import itemgetter

from msgspec import structs

from extender.holds.hold import Hold, Mode, Sighting
from extender.kubernetes import Claim, ClaimKey, PodStatus
from longhorn import NodeName


def sighting_of(
    hold: Hold, seen: PodStatus | None, claims: Mapping[ClaimKey, Claim], mode: Mode
) -> Sighting:
    """Say what has become of a hold's pod since the answer.

    Args:
        hold: The hold, with the pod as it was at the answer.
        seen: The pod as last heard of; None if it does not exist. A status older than
            kube-scheduler's own copy says nothing.
        claims: All claims now. A bound claim keeps its selected-node for ever, so only the claims
            count that were not bound at the answer.
        mode: In mode `node` nothing counts but that the pod is bound or gone. For a hold that is
            contested its claims do, too.
    """
    if seen is None:
        return Sighting(exists=False)
    asked = hold.asked
    if 0 < seen.version < asked.version:
        seen = asked
    if mode is Mode.NODE:
        return Sighting(exists=not seen.ended, node=seen.node)
    selected = _selected(hold, claims)
    if hold.is_contested:
        return Sighting(exists=not seen.ended, node=seen.node, selected=selected)
    nominated = None if seen.nominated == asked.nominated else seen.nominated
    refused = seen.refusal is not None and seen.refusal != asked.refusal
    if refused and nominated is None and not _is_provisioning(hold, claims):
        selected = None  # what could be provisioned was, and then the attempt was given up
    return Sighting(
        exists=not seen.ended,
        node=seen.node,
        selected=selected,
        nominated=nominated,
        refused=refused,
    )


def without_stale(hold: Hold, claims: Mapping[ClaimKey, Claim]) -> Hold:
    """Return the hold without the old selected-nodes that its claims no longer have.

    If a claim gets the same node again later, that is a new choice and counts.
    """
    unbound = frozenset(
        (key, stale if key in claims and claims[key].selected_node == stale else None)
        for key, stale in hold.unbound
    )
    return hold if unbound == hold.unbound else structs.replace(hold, unbound=unbound)


def _selected(hold: Hold, claims: Mapping[ClaimKey, Claim]) -> NodeName | None:
    for key, stale in sorted(hold.unbound, key=itemgetter(0)):
        claim = claims.get(key)
        if claim is not None and claim.selected_node not in (None, stale):
            return claim.selected_node
    return None


def _is_provisioning(hold: Hold, claims: Mapping[ClaimKey, Claim]) -> bool:
    """Whether a claim is yet to be bound that has a node: where that failed, it has none."""
    found = (claims[key] for key, _ in hold.unbound if key in claims)
    return any(claim.selected_node and not claim.persistent_volume for claim in found)
