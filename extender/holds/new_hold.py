"""New holds: for an answer, if there is memory for it; and for what the last leader has answered.

Who asks decides how many holds are open, and on which nodes.

An instance that begins to lead finds what it has to hold in the cluster alone. An answer of the
last leader shows there as soon as kube-scheduler has chosen: in nominatedNodeName (since 1.35), in
the selected-node of the claims, and at last in nodeName. If kube-scheduler had not chosen yet when
the leader was killed, it gave up long before the lease ran out; a leader that stops in good order
waits for the choice.
"""

from collections.abc import Collection, Iterable
from sys import getsizeof

import msgspec

from extender.demand.existing import existing_of
from extender.demand.requests import PodRequest, resolve_for_scheduled
from extender.errors import UnresolvableClaimError, UnseenObjectError
from extender.holds.evidence import is_confirmed, is_tentative, sighting_of
from extender.holds.hold import Asked, Hold, Mode, Signal, State, advance
from extender.holds.ledger import Ledger
from extender.kubernetes import ClaimKey, PodRef, PodStatus
from extender.view import ClusterView
from longhorn import NodeName

MOST_BYTES = 128 * 2**20
"""Holds on the same nodes take little. Of those on any 5,000 nodes there may be 252."""
_HOLD_BYTES, _VOLUME_BYTES = 2_000, 4_000


def hold_for(
    request: PodRequest,
    nodes: frozenset[NodeName],
    view: ClusterView,
    *,
    asked: Asked,
    only_candidate: bool,
    now: float,
) -> Hold:
    """Make the hold for an answer that accepts *nodes*.

    Args:
        asked: What was told of the pod. The node of a member of a group is chosen if it is given
            one alone.
        only_candidate: Whether there was no choice. With several candidates an old selected-node
            does not count: kube-scheduler has withdrawn it, and we will hear of that.
    """
    is_chosen = only_candidate or (asked.group is not None and len(nodes) == 1)
    volumes = (*request.volumes, *request.remote)
    replicas = [each for volume in volumes for each in view.replicas.get(volume.name, ())]
    ungranted = [each for each in replicas if is_tentative(each, view)]
    return Hold(
        pod=request.pod,
        volumes=request.volumes,
        remote=request.remote,
        placed_before=frozenset(
            each.name for each in replicas if each.disk and each not in ungranted
        ),
        ungranted_before=frozenset(
            (each.name, *each.named_place)
            for each in replicas
            if each in ungranted or each.turned_away_from
        ),
        existing=frozenset(
            (volume, node) for volume, on in existing_of(request, view).items() for node in on
        ),
        state=State.CHOSEN if is_chosen else State.OPEN,
        nodes=nodes,
        answered_at=now,
        group=asked.group,
        asked=asked.status,
        unbound=frozenset(
            (key, None if only_candidate else view.claims[key].selected_node)
            for key in request.pod.claims
            if not view.claims[key].persistent_volume
        ),
    )


def node_set(nodes: Collection[NodeName], ledger: Ledger) -> frozenset[NodeName]:
    """Return the set of *nodes*: that of the newest open hold if it is equal.

    A set of 5,000 takes half a MB, and the pods of a burst mostly may go to the same nodes.
    """
    newest = ledger.newest_open()
    if newest and len(newest.nodes) == len(nodes) and newest.nodes.issuperset(nodes):
        return newest.nodes
    return frozenset(nodes)


def size_bytes(holds: Iterable[Hold]) -> int:
    """Estimate the memory that holds take; a set of nodes that they share counts once."""
    sets, rest_bytes = dict[int, int](), 0
    for hold in holds:
        if id(hold.nodes) not in sets:
            sets[id(hold.nodes)] = getsizeof(hold.nodes)
        volumes = len(hold.volumes) + len(hold.remote)
        rest_bytes += _HOLD_BYTES + _VOLUME_BYTES * volumes
    return sum(sets.values()) + rest_bytes


def fits_memory_budget(hold: Hold, ledger: Ledger) -> bool:
    """Whether a hold may be made beside those that are open."""
    return size_bytes([hold, *ledger.open_holds(but=hold.pod.uid)]) <= MOST_BYTES


def rebuild(
    pods: Iterable[tuple[PodRef, PodStatus]], view: ClusterView, mode: Mode, now: float
) -> list[Hold]:
    """Return the holds for pods whose node is chosen and whose volumes are not placed.

    Args:
        pods: All pods that have not begun to run; others are skipped. Longhorn places the replica
            of a volume when it attaches the volume, which is before that.
        view: The cluster now. A pod whose claims do not lead to volumes is skipped, as it would not
            have been answered.
        mode: In mode `node` the hold of a pod that is not bound yet is open.
        now: Counts as the time of the answers. How long ago they were is not known.
    """
    holds = []
    for pod, status in pods:
        if status.running or status.ended or not _is_chosen(pod, status, view):
            continue
        try:
            request = resolve_for_scheduled(pod, view)
        except UnresolvableClaimError:
            continue
        if request.volumes or request.remote:
            asked = Asked(status=PodStatus(version=status.version, refusal=status.refusal))
            made = hold_for(request, frozenset(), view, asked=asked, only_candidate=True, now=now)
            hold = _on_chosen_node(made, request, status, view)
            if hold is not None and not is_confirmed(hold, view):
                holds.append(_reopened(hold) if mode is Mode.NODE else hold)
    return holds


def are_unseen(pods: Iterable[tuple[PodRef, PodStatus]], view: ClusterView) -> bool:
    """Whether some pod has a chosen node and claims that lead to objects not in *view* yet.

    That can be, as the list of the pods may be newer than the view.
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
    """Return the hold on the node that the cluster shows as chosen, None if it shows none."""
    sighting = sighting_of(hold, status, view.claims, Mode.CAPACITY)
    after = advance(hold, sighting, hold.answered_at)
    if isinstance(after, Hold) and after.named_by is not None:
        return after
    # The claims may be bound and the pod not yet, which takes kube-scheduler a second. But they may
    # also be bound for long, so the hold gets no more time than an answer.
    selected = (view.claims[key].selected_node for key in _claims_to_place(request, view))
    node = next(filter(None, selected), None)
    if node is None:
        return None
    return msgspec.structs.replace(hold, state=State.CHOSEN, nodes=frozenset([node]))


def _claims_to_place(request: PodRequest, view: ClusterView) -> list[ClaimKey]:
    """Return the claims with a volume that has no replica on any disk."""
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


def _reopened(hold: Hold) -> Hold:
    """Return the hold as mode `node` has it, where a choice does not count before binding."""
    if hold.named_by is Signal.BOUND:
        return hold
    return msgspec.structs.replace(hold, state=State.OPEN, named_by=None)
