"""Whether replicas that may go anywhere could take the room of a local one first.

Longhorn places each volume by itself. A remote replica of one may come to the node where the local
replica of another was to go, before that one is attached. A best-effort volume is then placed
elsewhere; a strict-local one is bound to a node without room for ever. So an answer waits until
enough of the others are placed.
"""

from collections.abc import Sequence

from extender.forecast.coming import Coming
from extender.forecast.loads import fits
from extender.holds.ledger import Ledger
from extender.verdicts.case import Case
from extender.verdicts.rejections import LocalRoomAtRisk, Rejection
from longhorn import NodeName

_MOST_PAIRS = 20_000
"""So many pairs of node and volume are looked at for best-effort volumes."""


def risks(case: Case, nodes: Sequence[NodeName], ledger: Ledger) -> dict[NodeName, Rejection]:
    """Return which of the *nodes*, all accepted else, put a local replica at risk.

    Either the pod's own, by what others are about to get; or that of another pod whose node is
    chosen, by what this pod is about to get.
    """
    own = [each for each in case.own_coming if each.count]
    anywhere = [each for each in own if not each.volume.needs_local_replica]
    others = [*case.coming, *anywhere]
    if not (others or own):
        return {}
    if not case.is_strict and len(nodes) * (len(others) + 1) > _MOST_PAIRS:
        return {}
    if own and _takes_from_others(case, own, ledger):
        return dict.fromkeys(nodes, LocalRoomAtRisk())
    if not (others and case.request.volumes):
        return {}
    return {name: LocalRoomAtRisk() for name in nodes if _is_at_risk(case, name, others)}


def _takes_from_others(case: Case, own: Sequence[Coming], ledger: Ledger) -> bool:
    """Whether what the pod gets anywhere may take the room of other pods' local replicas."""
    for name in sorted(ledger.chosen_nodes(but=case.request.pod.uid)):
        space = case.view.spaces.get(name)
        if space is None:
            continue
        load = case.loads.on(space)
        if not load.chosen or not fits(load.sure_items, space, case.step_limit):
            continue
        forecast = case.forecast
        mine = forecast.takers(name, own, by_balance=True)
        theirs = forecast.takers(name, case.coming, by_balance=True)
        if mine and not fits((*load.sure_items, *theirs, *mine), space, case.step_limit):
            return True
    return False


def _is_at_risk(case: Case, name: NodeName, others: Sequence[Coming]) -> bool:
    """Whether others may take the room of the pod's own local replicas on a node."""
    space, demand = case.view.spaces[name], case.demand_on(name).items
    takers = case.forecast.takers(name, others, by_balance=not case.is_strict)
    load = case.loads.on(space).sure_items
    return bool(demand and takers) and not fits((*demand, *load, *takers), space, case.step_limit)
