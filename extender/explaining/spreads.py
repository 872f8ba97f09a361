"""Where all replicas of a pod's volumes would go, not only the one on the pod's node."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from extender.demand.requests import WantedVolume
from extender.forecast.coming import Coming, coming_of
from extender.forecast.forecast import Forecast
from extender.forecast.ranking import Places
from extender.space import NodeSpace
from extender.verdicts.answering import Answer
from extender.verdicts.situation import Situation
from extender.view import ClusterView
from longhorn import (
    NodeName,
    VolumeName,
    is_placed,
    is_usable,
    may_share_node,
    may_share_zone,
)
from packing import Item


class Hindrance(StrEnum):
    """Why a replica finds no place."""

    DISKS = "replicas_need_disks"
    """No disk of the right type has the tags, on a node that takes replicas."""
    USABLE_DISKS = "replicas_need_usable_disks"
    """No disk takes new replicas, or none on a node that does."""
    NODES = "replicas_need_nodes"
    """Each node with room has one already."""
    ZONES = "replicas_need_zones"
    """Each zone with room has one already."""
    ROOM = "replicas_need_room"


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Where the replicas of one volume are, and where those would go that are due."""

    volume: VolumeName
    wanted: int
    placed: tuple[NodeName, ...]
    """The nodes of its usable replicas."""
    local: NodeName | None = None
    """Where one is placed anew beside the pod."""
    others: tuple[NodeName, ...] = ()
    """Where the others find room; Longhorn may choose other nodes."""
    missing: int = 0
    """How many find none."""
    hindrance: Hindrance | None = None
    """Why, for the first of them."""
    roomy: tuple[NodeName, ...] = ()
    """The nodes that would take one if none of the volume were there, by name."""


def spreads(answer: Answer, node: NodeName | None) -> list[Spread]:
    """Return where the replicas of each volume of a pod would go, in the order of the request.

    Args:
        answer: What was answered.
        node: Where the pod goes. None if no node takes it: then no replica is local.
    """
    situation, view = answer.situation, answer.view
    if situation is None or view.settings.unreadable is not None:
        return []
    situation = situation.at_leisure()
    local = () if node is None else situation.demand_on(node).items
    forecast = _beside(local, node, situation)
    names = {item.id for item in local}
    return [
        _spread(each, node if each.name in names else None, forecast, view)
        for each in (*answer.request.volumes, *answer.request.remote)
    ]


def _beside(local: Sequence[Item], node: NodeName | None, situation: Situation) -> Forecast:
    """Return the forecast of all others once the pod's *local* replicas are on its node."""

    def load(space: NodeSpace) -> Sequence[Item]:
        items = situation.loads.sure(space).sure_items
        return (*items, *local) if space.node.name == node else items

    forecast = situation.forecast.copy(load, () if node is None else (node,))
    if node is not None:
        for coming in forecast.evict_beyond(node):
            forecast.place(coming)
    return forecast


def _spread(
    wanted: WantedVolume,
    local: NodeName | None,
    forecast: Forecast,
    view: ClusterView,
) -> Spread:
    due = coming_of(wanted.volume, wanted.need, view, local=local, has_local=local is not None)
    missing = forecast.place(due)
    replicas = view.replicas.get(wanted.name, ())
    places = forecast.assignment.places(wanted.need)
    return Spread(
        volume=wanted.name,
        wanted=wanted.volume.wanted_replicas,
        placed=tuple(r.node for r in replicas if r.node and is_placed(r) and is_usable(r)),
        local=local,
        others=tuple(
            name
            for name, remotes in forecast.on.items()
            for remote in remotes
            if remote.coming.volume.name == wanted.name
        ),
        missing=missing,
        hindrance=_hindrance(due, places, forecast, view) if missing else None,
        roomy=tuple(sorted(name for name in view.spaces if name in places)) if missing else (),
    )


def _hindrance(due: Coming, places: Places, forecast: Forecast, view: ClusterView) -> Hindrance:
    if not any(space.takes_replicas and space.bins for space in view.spaces.values()):
        return Hindrance.USABLE_DISKS
    if not places.ranking.by_zone:
        return Hindrance.DISKS
    roomy = [name for name in view.spaces if name in places]
    usage = forecast.assignment.usage_of(due)
    if not roomy:
        return Hindrance.ROOM
    zones = {view.spaces[name].node.zone for name in roomy}
    if not may_share_zone(due.volume, view.settings) and zones <= usage.zones:
        return Hindrance.ZONES
    if not may_share_node(due.volume, view.settings) and usage.nodes.issuperset(roomy):
        return Hindrance.NODES
    return Hindrance.ROOM
