"""From an answer to the hold for it: what of the pod and its volumes is worth remembering."""

from extender.demand.existing import existing_of
from extender.demand.requests import PodRequest
from extender.holds.hold import Asked, Hold, State
from extender.holds.shown import is_tentative
from extender.view import ClusterView
from longhorn import NodeName


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
