"""Where all replicas of a pod's volumes would go, not only the one on the pod's node."""

from enum import StrEnum

import msgspec
from msgspec import structs

from extender.demand.items import item_of
from extender.demand.requests import WantedVolume
from extender.upcoming.forecast import Forecast
from extender.upcoming.upcoming import Upcoming
from extender.upcoming.volumes import once_attached
from extender.verdicts.answering import Answer
from extender.verdicts.start import local_on
from extender.view import ClusterView
from longhorn import (
    NodeName,
    VolumeName,
    is_placed,
    is_usable,
    may_share_node,
    may_share_zone,
    waits_for_attach,
)


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

    The pod goes to *node*; None if no node takes it: then no replica is local.
    """
    situation, view = answer.situation, answer.view
    node = node if node in view.spaces else None  # of one that cannot be read nothing is known
    if situation is None or view.settings.unreadable is not None:
        return []
    book, forecast, mark = situation.at_leisure().book, situation.book.forecast, situation.book.mark
    for each in situation.own:
        forecast.take_out(each.volume.name)
    # Where Longhorn places replicas before a pod attaches them, none is made for the pod's node:
    # there may come another one later, if none of them is there.
    local = [
        each
        for each in (() if node is None else local_on(node, situation))
        if waits_for_attach(each.volume, view.settings)
    ]
    if node is not None:
        book.pin(local, node)
        for each in forecast.evict_beyond(node):
            forecast.place(each)
    names = {each.volume.name for each in local}
    found = [
        _spread(each, node if each.name in names else None, forecast, view)
        for each in (*answer.request.volumes, *answer.request.remote)
    ]
    book.back_to(mark)
    return found


def _spread(
    wanted: WantedVolume, local: NodeName | None, forecast: Forecast, view: ClusterView
) -> Spread:
    item = item_of(wanted.name, wanted.need, view)
    due = once_attached(wanted.volume, wanted.need, item, view, has_local=local is not None)
    due = structs.replace(due, local=local)
    missing = forecast.place(due)
    replicas = view.replicas.get(wanted.name, ())
    return Spread(
        volume=wanted.name,
        wanted=wanted.volume.wanted_replicas,
        placed=tuple(r.node for r in replicas if r.node and is_placed(r) and is_usable(r)),
        local=local,
        others=tuple(
            name
            for name, there in forecast.on.items()
            for each in there
            if each.volume.name == wanted.name
        ),
        missing=missing,
        hindrance=_hindrance(due, forecast, view) if missing else None,
        roomy=tuple(sorted(_roomy(due, forecast, view))) if missing else (),
    )


def _hindrance(due: Upcoming, forecast: Forecast, view: ClusterView) -> Hindrance:
    if not any(space.takes_replicas and space.bins for space in view.spaces.values()):
        return Hindrance.USABLE_DISKS
    if not forecast.eligibility.takers(due.need).zones:
        return Hindrance.DISKS
    roomy, usage = _roomy(due, forecast, view), forecast.usage_of(due)
    if not roomy:
        return Hindrance.ROOM
    zones = {view.spaces[name].node.zone for name in roomy}
    if not may_share_zone(due.volume, view.settings) and zones <= usage.zones:
        return Hindrance.ZONES
    if not may_share_node(due.volume, view.settings) and usage.zone_of.keys() >= {*roomy}:
        return Hindrance.NODES
    return Hindrance.ROOM


def _roomy(due: Upcoming, forecast: Forecast, view: ClusterView) -> list[NodeName]:
    """Return the nodes that would take a replica if nothing else came."""
    return [name for name in view.spaces if forecast.eligibility.may_go(due, name)]
