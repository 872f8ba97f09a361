"""What a replica that begins to lead finds promised: read off the cluster alone.

An answer of the last leader shows in the cluster as soon as kube-scheduler has chosen: in
nominatedNodeName (since 1.35), in the claims' selected-node, and at last in nodeName. What it had
not chosen yet was over long before a killed leader's lease, and an orderly one waits for it.
"""

from collections.abc import Iterable

import msgspec

from extender.demand.existing import existing_of
from extender.demand.requests import PodRequest, resolve_for_scheduled
from extender.errors import UnresolvableClaimError, UnseenObjectError
from extender.holds.hold import Hold, Signal, State, advance, is_confirmed
from extender.holds.ledger import Mode
from extender.holds.making import hold_for
from extender.holds.sightings import sighting_of
from extender.kubernetes import ClaimKey, PodRef, PodStatus
from extender.view import ClusterView
from longhorn import NodeName


def promised(
    pods: Iterable[tuple[PodRef, PodStatus]], view: ClusterView, mode: Mode, now: float
) -> list[Hold]:
    """Return the holds for pods whose node is chosen and whose volumes are not placed.

    Args:
        pods: All pods that have not begun to run; others are passed over. Longhorn places a
            volume's replica when it is attached, which is before that.
        view: The cluster now. A pod whose claims do not lead to volumes is passed over, as it would
            not have been answered.
        mode: In mode `node` a pod that is not bound yet keeps others waiting.
        now: When the answers count as given; how long ago they were is not known.
    """
    holds = []
    for pod, status in pods:
        try:
            request = resolve_for_scheduled(pod, view)
        except UnresolvableClaimError:
            continue
        if request.volumes and not (status.running or status.ended):
            asked = PodStatus(version=status.version, refusal=status.refusal)
            existing = existing_of(request, view)
            offered = hold_for(
                request, existing, (), view, asked=asked, only_candidate=True, now=now
            )
            hold = _on_chosen_node(offered, request, status, view)
            if hold is not None and not is_confirmed(hold, view.replicas):
                holds.append(_waiting(hold) if mode is Mode.NODE else hold)
    return holds


def are_unseen(pods: Iterable[tuple[PodRef, PodStatus]], view: ClusterView) -> bool:
    """Whether some pod has a chosen node and claims that lead to what *view* does not hold yet.

    A list of pods may be newer than what is followed.
    """
    return any(
        _is_chosen(pod, status, view) and _is_unseen(pod, view)
        for pod, status in pods
        if not (status.running or status.ended)
    )


def _is_chosen(pod: PodRef, status: PodStatus, view: ClusterView) -> bool:
    claims = (view.claims.get(key) for key in pod.claims)
    selected = any(claim.selected_node for claim in claims if claim is not None)
    return bool(status.node or status.nominated or selected)


def _is_unseen(pod: PodRef, view: ClusterView) -> bool:
    try:
        resolve_for_scheduled(pod, view)
    except UnseenObjectError:
        return True
    except UnresolvableClaimError:
        return False
    return False


def _on_chosen_node(
    hold: Hold, request: PodRequest, status: PodStatus, view: ClusterView
) -> Hold | None:
    sighting = sighting_of(hold, status, view.claims, Mode.CAPACITY)
    after = advance(hold, sighting, hold.answered_at)
    if isinstance(after, Hold) and after.named_by is not None:
        return after
    # Its claims may be bound and the pod not yet, which takes kube-scheduler a second. As they may
    # also be bound since long, no more than an answer's time is given to it.
    selected = (view.claims[key].selected_node for key in _claims_to_place(request, view))
    node = next(filter(None, selected), NodeName(""))
    if not node:
        return None
    return msgspec.structs.replace(hold, state=State.PLACED, nodes=frozenset([node]))


def _claims_to_place(request: PodRequest, view: ClusterView) -> list[ClaimKey]:
    """Return the claims of which a volume has no replica on any disk."""
    unplaced = {
        volume.name
        for volume in request.volumes
        if not any(replica.disk for replica in view.replicas.get(volume.name, ()))
    }
    return [
        key
        for key in request.pod.claims
        for volume in resolve_for_scheduled(
            msgspec.structs.replace(request.pod, claims=(key,)), view
        ).volumes
        if volume.name in unplaced
    ]


def _waiting(hold: Hold) -> Hold:
    """Make of a hold what it is in mode `node`, where a choice does not count before binding."""
    if hold.named_by is Signal.BOUND:
        return hold
    return msgspec.structs.replace(hold, state=State.OFFERED, named_by=None)
