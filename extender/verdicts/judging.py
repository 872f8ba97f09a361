"""Whether a pod's volumes have room on a node, beside all that competes there."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from extender.holds.hold import Hold
from extender.space import NodeSpace
from extender.verdicts.case import Case
from extender.verdicts.competitors import Competitors, competitors_of
from extender.verdicts.fitting import Demand, demand_of, shortage, total_of
from extender.verdicts.rejections import (
    PackingUndecided,
    PendingReplicas,
    Rejection,
    StrictLocalElsewhere,
    StrictLocalUnusable,
)
from extender.verdicts.suitability import node_mismatch, node_rejection
from longhorn import NodeName, Settings, VolumeName
from packing import Item, Packed, Undecided, is_stranded, pack


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one node can hold what the pod needs there."""

    rejection: Rejection | None = None
    assignment: Mapping[str, str] = {}
    """On an accepted node the disk's name for each volume that a new replica is needed for."""
    steps: int = 0
    """Steps that the packing took."""


class Glance(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts on nodes that follow without packing."""

    accepted: Sequence[NodeName]
    rejected: Mapping[NodeName, Rejection]
    rest: Sequence[NodeName]
    """Nodes that must be judged singly."""


def glance(case: Case, nodes: Iterable[NodeName], *, beside: Iterable[Item]) -> Glance:
    """Judge the nodes whose verdict follows without packing; `judge` says the same of them.

    On most nodes one disk takes everything, or none takes the largest volume.

    Args:
        case: The pod; none of its strict-local volumes is placed.
        nodes: None of them holds a replica of the pod's volumes.
        beside: What is held for other pods on each of these nodes.
    """
    demand, settings, spaces = case.demand, case.settings, case.view.spaces
    total, (largest, _) = total_of((*demand.items, *beside)), demand.by_size[0]
    logical_bytes, physical_bytes = total.logical_bytes, total.physical_bytes
    suits_any_node = not (demand.node_selectors or demand.topologies)
    accepted, rejected, rest = list[NodeName](), dict[NodeName, Rejection](), list[NodeName]()
    for name in nodes:
        space = spaces.get(name)
        if (
            space is None
            or not space.takes_replicas
            or space.pending
            or not (suits_any_node or _suits(demand, space, settings))
        ):
            rest.append(name)
            continue
        for disk in space.roomiest:
            if (
                logical_bytes <= disk.logical_bytes
                and physical_bytes <= disk.physical_bytes
                and disk.kind in total.kinds
            ):
                accepted.append(name)
                break
        else:
            if is_stranded(largest, space.roomiest):
                rejected[name] = shortage(demand, space, settings)
            else:
                rest.append(name)
    return Glance(accepted=accepted, rejected=rejected, rest=rest)


def judge(case: Case, space: NodeSpace, holds: Sequence[Hold], *, step_limit: int) -> Verdict:
    """Say whether the pod fits on one node, and on which disks what must be placed anew.

    Volumes that have a replica there need no room and are left out.

    Args:
        case: The pod.
        space: The node.
        holds: Those of other pods that count on this node.
        step_limit: Most steps to take.
    """
    node, demand = space.node, case.demand
    present: set[VolumeName] = set()
    if node.name in case.holders:
        present = {volume for volume, by_node in case.existing.items() if node.name in by_node}
        rest = ((v.name, v.need) for v in case.request.volumes if v.name not in present)
        demand = demand_of(rest, case.view, case.settings)
    for volume, nodes in case.strict_nodes.items():
        if node.name not in nodes:
            return Verdict(rejection=StrictLocalElsewhere())
        if volume not in present:
            return Verdict(rejection=StrictLocalUnusable())
    rejection = node_rejection(space) or node_mismatch(
        node, demand.node_selectors, demand.topologies, case.settings
    )
    if rejection is not None:
        return Verdict(rejection=rejection)
    competitors = Competitors()
    if demand.items and (space.pending or holds):
        competitors = competitors_of(demand, space, holds, case)
    return _pack_beside(competitors, demand, space, case, step_limit=step_limit)


def _pack_beside(
    competitors: Competitors, demand: Demand, space: NodeSpace, case: Case, *, step_limit: int
) -> Verdict:
    """Pack *demand* with all its competitors; if that fails, find out who is in the way."""
    steps, outcome = 0, None
    for in_the_way, beside in competitors.fewer_each_time():
        if isinstance(outcome, Undecided) and isinstance(in_the_way, PendingReplicas):
            break  # holds end by themselves, but what Longhorn will place stays
        outcome = pack(
            demand.items + beside if beside else demand.prepared,
            space.bins,
            step_limit=max(0, step_limit - steps),
        )
        steps += outcome.steps
        if isinstance(outcome, Packed):
            if in_the_way is not None:
                return Verdict(rejection=in_the_way, steps=steps)
            own = {item.id: outcome.assignment[item.id] for item in demand.items}
            return Verdict(assignment=own, steps=steps)
    if isinstance(outcome, Undecided):
        return Verdict(rejection=PackingUndecided(), steps=steps)
    return Verdict(rejection=shortage(demand, space, case.settings), steps=steps)


def _suits(demand: Demand, space: NodeSpace, settings: Settings) -> bool:
    """Say whether the node has the tags, and is in a zone and region, that are asked for."""
    return not node_mismatch(space.node, demand.node_selectors, demand.topologies, settings)
