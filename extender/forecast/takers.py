"""Which replicas that go anywhere may come to one node, whatever is placed first.

Longhorn takes, of the nodes that come first, the one with the most unused bytes
(`longhorn/choice.py`). So a node gets none while others have more.
"""

from collections.abc import Iterable, Mapping
from math import gcd

from extender.forecast.assignment import Assignment
from extender.forecast.coming import Coming
from extender.forecast.crowd import most_on_a_node
from longhorn import Need, NodeName, Usage
from packing import Item

_LOOKED_AT = 8
"""So many of the roomiest nodes of a zone are looked at for a better choice."""
MOST_TO_FILL = 64
"""So many of them for how much they take."""


def takers(
    assignment: Assignment, name: NodeName, coming: Iterable[Coming], *, beside_bytes: int | None
) -> tuple[Item, ...]:
    """Return what a node takes if as many of *coming* go there as ever may.

    Args:
        assignment: The nodes with what they take for sure; what is forecast does not count.
        name: The node.
        coming: What will be placed anywhere.
        beside_bytes: If Longhorn is taken at its word that it chooses the node with the most
            unused bytes: as many may be placed on any node before. None: every node is possible
            on which a replica is allowed.
    """
    items: list[Item] = []
    for each in coming:
        places = assignment.places(each.need)
        if not each.count or name not in places:
            continue
        usage = assignment.usage_of(each, with_forecast=False)
        stage = assignment.stage(name, each, usage)
        if stage is None:
            continue
        if beside_bytes is not None and _is_outdone(
            assignment, name, each, usage, stage, beside_bytes=beside_bytes
        ):
            continue
        items += [places.item] * most_on_a_node(each, assignment.view.settings)
    return tuple(items)


def may_fill(
    assignment: Assignment,
    name: NodeName,
    needs: Mapping[Need, int],
    *,
    spare_bytes: int,
    beside_bytes: int,
) -> bool:
    """Say whether replicas that go anywhere may take the last room that a node can spare.

    The one that does comes when the node has few unused bytes. Then all others of its zone must
    have no more, and there may not be enough to fill them so far.

    Args:
        assignment: The nodes with what they take for sure; what is forecast does not count.
        name: The node.
        needs: What may come, from `spread`.
        spare_bytes: So much may come to the node, and no more.
        beside_bytes: So much may be placed on all nodes together, besides what they take for sure.
    """
    for need, used in needs.items():
        if name not in assignment.places(need):
            continue
        # Disks may also be full of what is written.
        if need.actual_bytes or (
            sum(_to_fill(assignment, name, need, spare_bytes)[used:]) <= beside_bytes
        ):
            return True
    return False


def spread(assignment: Assignment, coming: Iterable[Coming]) -> Mapping[Need, int]:
    """Return the needs of *coming*, and on how many nodes a volume of each has others at most.

    Nodes that have one of its replicas, or get another one, leave their room to the rest.
    """
    found: dict[Need, int] = {}
    for each in coming:
        if each.count:
            held = len(assignment.usage_of(each, with_forecast=False).nodes)
            used = held + each.count - 1 + (each.has_local and each.local is None)
            found[each.need] = max(used, found.get(each.need, 0))
    return found


def _to_fill(assignment: Assignment, name: NodeName, need: Need, spare_bytes: int) -> list[int]:
    """Return how many bytes must come to each other node of the zone before one gets a replica.

    They must have no more unused bytes than the node has when its last spare ones are taken, or no
    disk left for the replica. The most come first.
    """
    spaces, places = assignment.view.spaces, assignment.places(need)
    size = need.size_bytes
    unused = places.ranking.unused_bytes(name) - spare_bytes + size
    found: list[int] = []
    for less_unused, other in places.ranking.by_zone[spaces[name].node.zone][:MOST_TO_FILL]:
        if other != name and other in places:
            disks = len(spaces[other].bins)
            # Disks that do not take the replica do not count, and have less than its size.
            too_small = disks * (size - 1)
            more = -less_unused - (disks - 1) * (size - 1) - max(unused, too_small)
            room = assignment.free_bytes(other) - too_small
            found.append(max(0, min(more, room) - assignment.load_bytes(other)))
    return sorted(found, reverse=True)


def may_tie(assignment: Assignment, needs: Iterable[Need], sizes_bytes: Iterable[int]) -> bool:
    """Say whether two nodes may ever have the same unused bytes; then Longhorn's choice is free.

    What is placed has sizes of some unit. Nodes whose unused bytes differ by anything else never
    have as many. Of nodes with several disks nobody knows which of them Longhorn counts.

    Args:
        assignment: The nodes.
        needs: Of the replicas that may come.
        sizes_bytes: Of all that may come to any node.
    """
    unit = gcd(*sizes_bytes)
    for need in needs:
        seen = set[int]()
        for ranks in assignment.places(need).ranking.by_zone.values():
            for less_unused, name in ranks:
                rest = less_unused % unit if unit else less_unused
                if rest in seen or len(assignment.view.spaces[name].bins) > 1:
                    return True
                seen.add(rest)
    return False


def _is_outdone(
    assignment: Assignment,
    name: NodeName,
    coming: Coming,
    usage: Usage,
    stage: int,
    *,
    beside_bytes: int,
) -> bool:
    """Whether each of the replicas has a better choice than a node, whatever comes first.

    A node is better if it has more unused bytes even if all that may go there does. A zone
    without a replica of the volume comes before one with; but it takes only one replica
    before the others, so several better nodes in one such zone keep no second replica away.
    """
    places = assignment.places(coming.need)
    size = places.item.logical_bytes
    here, zone = places.ranking.unused_bytes(name), assignment.view.spaces[name].node.zone
    better: dict[str, int] = {}
    fresher = set[str]()
    for its_zone, ranks in places.ranking.by_zone.items():
        for less_unused, other in ranks[:_LOOKED_AT]:
            # Disks that do not take the replica do not count, and have less than its size.
            lost = (len(assignment.view.spaces[other].bins) - 1) * (size - 1)
            left = -less_unused - assignment.load_bytes(other) - beside_bytes - lost
            if other != name and left >= size and other in places:
                other_stage = assignment.stage(other, coming, usage)
                if other_stage is not None and other_stage <= stage and left > here:
                    better[its_zone] = better.get(its_zone, 0) + 1
                elif other_stage is not None and other_stage < stage:
                    fresher.add(its_zone)
    # The pod's own replica may take one of the better nodes.
    count = coming.count + (coming.has_local and coming.local is None)
    if stage == 0 and zone not in better and len(better) < count:
        return False
    return sum(better.values()) + len(fresher - better.keys()) >= count
