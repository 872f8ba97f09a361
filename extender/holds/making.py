"""From an answer to the hold for it: what is worth remembering, and whether there is memory for it.

Clients decide how many holds are open, and on which nodes.
"""

from collections.abc import Collection, Iterable
from sys import getsizeof

from extender.demand.existing import existing_of
from extender.demand.requests import PodRequest
from extender.holds.hold import Asked, Hold, State
from extender.holds.ledger import Ledger
from extender.holds.shown import is_tentative
from extender.view import ClusterView
from longhorn import NodeName

MOST_BYTES = 128 * 2**20
"""Holds on the same nodes take little. Of those on any 5,000 nodes, one client may have 126."""
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
        only_candidate: Whether there was no choice. Where there was one, kube-scheduler holds to no
            node that a claim names: it knows that this was taken back, and we will hear of it.
    """
    is_chosen = only_candidate or (asked.group is not None and len(nodes) == 1)
    volumes = (*request.volumes, *request.remote)
    replicas = [each for volume in volumes for each in view.replicas.get(volume.name, ())]
    asking = [each for each in replicas if is_tentative(each, view)]
    return Hold(
        pod=request.pod,
        volumes=request.volumes,
        remote=request.remote,
        placed_before=frozenset(each.name for each in replicas if each.disk and each not in asking),
        asking_before=frozenset(
            (each.name, *each.named_place)
            for each in replicas
            if each in asking or each.turned_away_from
        ),
        existing=frozenset(
            (volume, node) for volume, on in existing_of(request, view).items() for node in on
        ),
        state=State.CHOSEN if is_chosen else State.OPEN,
        nodes=nodes,
        answered_at=now,
        group=asked.group,
        client=asked.client,
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


def has_room(hold: Hold, ledger: Ledger) -> bool:
    """Whether a hold may be made: its client has no more then than is left by all.

    So who comes next gets something, however much others have.
    """
    mine, others = [hold], list[Hold]()
    for each in ledger.open_holds(but=hold.pod.uid):
        (mine if each.client == hold.client else others).append(each)
    return 2 * size_bytes(mine) + size_bytes(others) <= MOST_BYTES
