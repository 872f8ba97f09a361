"""Whether replicas that may go anywhere could take the room of a local one first.

Longhorn places each volume by itself. A remote replica of one may come to the node where the local
replica of another was to go, before that one is attached. A best-effort volume is then placed
elsewhere; a strict-local one is bound to a node without room for ever. So an answer waits until
enough of the others are placed.
"""

from collections.abc import Collection, Sequence

from extender.forecast.coming import Coming
from extender.forecast.loads import fits
from extender.forecast.takers import most_bytes, takers
from extender.holds.ledger import Ledger
from extender.space import NodeSpace
from extender.verdicts.case import Case
from extender.verdicts.rejections import LocalRoomAtRisk, Rejection
from longhorn import NodeName
from packing import Item

_MOST_PAIRS = 20_000
"""So many pairs of node and volume are looked at for best-effort volumes."""


def risks(case: Case, nodes: Sequence[NodeName], ledger: Ledger) -> dict[NodeName, Rejection]:
    """Return which of the *nodes*, all accepted else, put a local replica at risk.

    Either the pod's own, by what others are about to get; or that of another pod whose node is
    chosen, by what this pod is about to get. For strict-local replicas also local ones count that
    come to the same node: Longhorn may put them on other disks than the packing does.
    """
    own = [each for each in case.own_coming if each.count]
    anywhere = [each for each in own if not each.volume.needs_local_replica]
    others = [*case.coming, *anywhere]
    chosen = ledger.chosen_nodes(but=case.request.pod.uid)
    strict = {name for name in chosen if case.is_strict or _has_strict(name, ledger)}
    if not (others or own or strict):
        return {}
    if not (case.is_strict or strict) and len(nodes) * (len(others) + 1) > _MOST_PAIRS:
        return {}
    if _takes_from_others(case, own, chosen, strict):
        return dict.fromkeys(nodes, LocalRoomAtRisk())
    if not case.request.volumes:
        return {}
    looked_at = nodes if others else [name for name in nodes if name in strict]
    return {
        name: LocalRoomAtRisk()
        for name in looked_at
        if _is_at_risk(case, name, others, is_strict=case.is_strict or name in strict)
    }


def _has_strict(name: NodeName, ledger: Ledger) -> bool:
    """Whether a pod is held for a node that has a strict-local volume without its replica."""
    return any(volume.is_strict for hold in ledger.on_node(name) for volume in hold.volumes)


def _takes_from_others(
    case: Case, own: Sequence[Coming], chosen: Collection[NodeName], strict: Collection[NodeName]
) -> bool:
    """Whether the pod's volumes may cost other pods the room of their local replicas.

    Its own may come there, or fill the nodes to which others' would have gone.
    """
    assignment = case.forecast.assignment
    before = most_bytes(case.coming, case.settings)
    demand_bytes = sum(item.logical_bytes for item in case.demand.items)
    after = before + most_bytes(own, case.settings) + demand_bytes
    for name in sorted(chosen):
        space = case.view.spaces.get(name)
        if space is None:
            continue
        load = case.loads.on(space)
        if not load.sure_items or not fits(load.sure_items, space, case.step_limit):
            continue
        at_its_word = name not in strict
        theirs = takers(assignment, name, case.coming, beside_bytes=before if at_its_word else None)
        then = takers(
            assignment,
            name,
            [*case.coming, *own],
            beside_bytes=after if at_its_word else None,
        )
        if len(then) > len(theirs) and not leaves_room(load.sure_items, then, space):
            return True
    return False


def _is_at_risk(case: Case, name: NodeName, others: Sequence[Coming], *, is_strict: bool) -> bool:
    """Whether others may take the room of the pod's own local replicas on a node."""
    space, demand = case.view.spaces[name], case.demand_on(name).items
    beside_bytes = most_bytes([*case.coming, *case.own_coming], case.settings)
    first = takers(
        case.forecast.assignment, name, others, beside_bytes=None if is_strict else beside_bytes
    )
    load = case.loads.on(space).sure_items
    if not demand or not (first or (is_strict and load)):
        return False
    return not leaves_room((*demand, *load), first, space)


def leaves_room(items: Sequence[Item], others: Sequence[Item], space: NodeSpace) -> bool:
    """Say whether each of *items* finds room on a node, whatever is placed before it and where.

    An item finds none only if every disk is so full that less than its size is left. All others
    together must have filled them so far; if they have not the bytes for that, they cannot.
    """
    logical = sum(item.logical_bytes for item in (*items, *others))
    physical = sum(item.physical_bytes for item in (*items, *others))
    bins = [bin_ for bin_ in space.bins if physical <= bin_.physical_bytes]
    for item in items:
        to_fill = sum(
            max(0, bin_.logical_bytes - item.logical_bytes + 1)
            for bin_ in bins
            if bin_.kind in item.kinds
        )
        if logical - item.logical_bytes >= to_fill:
            return False
    return True
