"""Which replicas that go anywhere may come to one node, whatever is placed first."""

from collections.abc import Iterable

from extender.forecast.assignment import Assignment
from extender.forecast.coming import Coming
from longhorn import NodeName, Settings, Usage, may_share_node, may_share_zone
from packing import Item

_LOOKED_AT = 8
"""So many of the roomiest nodes of a zone are looked at for a better choice."""


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
        items += [places.item] * _most_on_a_node(each, assignment.settings)
    return tuple(items)


def most_bytes(coming: Iterable[Coming], settings: Settings) -> int:
    """Return how many bytes of *coming* may go to one node."""
    return sum(each.need.size_bytes * _most_on_a_node(each, settings) for each in coming)


def _most_on_a_node(coming: Coming, settings: Settings) -> int:
    volume = coming.volume
    may_share = may_share_node(volume, settings) and may_share_zone(volume, settings)
    return coming.count if may_share else min(1, coming.count)


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
