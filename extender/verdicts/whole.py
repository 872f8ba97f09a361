"""Where all replicas of a pod's volumes would go, not only the one on the pod's node."""

from collections.abc import Collection
from enum import StrEnum

import msgspec
from msgspec import structs

from extender.demand.existing import existing_of
from extender.demand.requests import PodRequest, WantedVolume
from extender.forecast.coming import Coming, by_certainty, coming_of
from extender.forecast.forecast import Forecast
from extender.forecast.outlook import outlook_of
from extender.forecast.ranking import Places
from extender.holds.hold import Hold, charged
from extender.holds.ledger import Ledger
from extender.holds.making import hold_for
from extender.kubernetes import PodStatus
from extender.verdicts.candidates import StepLimits
from extender.view import ClusterView
from longhorn import (
    Moment,
    NodeName,
    VolumeName,
    is_placed,
    is_usable,
    may_share_node,
    may_share_zone,
)

_ASKED = "asked"
"""Stands for the uid of a pod that has none, as in a file."""


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


def spreads(
    request: PodRequest,
    node: NodeName | None,
    view: ClusterView,
    limits: StepLimits,
    ledger: Ledger,
    *,
    utc: Moment | None = None,
) -> list[Spread]:
    """Return where the replicas of each volume of a pod would go, in the order of the request.

    Args:
        request: The pod with its claims resolved.
        node: Where the pod goes. None if no node takes it: then no replica is local.
        view: The cluster.
        limits: Bounds on the packing's work.
        ledger: What is held for pods; the pod's own hold does not count.
        utc: The date and time, None if it is not known.
    """
    if view.settings.unreadable is not None:
        return []
    uid = request.pod.uid or _ASKED
    own_hold = None if node is None else _hold_on(node, uid, request, view)
    held = Ledger(ledger.mode)
    others = [hold for hold in ledger if hold.pod.uid != request.pod.uid]
    for hold in (*others, *([own_hold] if own_hold else ())):
        held.put(hold)
    wanted = (*request.volumes, *request.remote)
    own = frozenset(each.name for each in wanted)
    outlook = outlook_of(view, held, step_limit=limits.per_node, utc=utc)
    forecast = outlook.forecast
    for name in outlook.coming:
        forecast.take_out(name)
    rest = (each for each in outlook.coming.values() if each.volume.name not in own)
    forecast.place_all(sorted(rest, key=by_certainty))
    local = _local(own_hold, view)
    return [_spread(each, node if each.name in local else None, forecast, view) for each in wanted]


def _hold_on(node: NodeName, uid: str, request: PodRequest, view: ClusterView) -> Hold:
    existing = existing_of(request, view)
    made = hold_for(
        request, existing, [node], view, asked=PodStatus(), only_candidate=True, now=0.0
    )
    return structs.replace(made, pod=structs.replace(request.pod, uid=uid))


def _local(hold: Hold | None, view: ClusterView) -> Collection[VolumeName]:
    """Return the volumes that get a new replica on the pod's node."""
    return () if hold is None else {each.name for each in charged(hold, hold.node, view.replicas)}


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
