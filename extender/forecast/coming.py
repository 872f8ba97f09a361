"""The replicas that Longhorn will place where it likes: what is coming of each volume."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from extender.demand.items import demand_of
from extender.demand.requests import WantedVolume
from extender.forecast.needs import fits, need_in, need_now
from extender.holds.hold import Hold, State, charged
from extender.space import NodeSpace
from extender.view import ClusterView
from longhorn import (
    NOTHING_DUE,
    Due,
    Moment,
    Need,
    NodeName,
    Replica,
    Volume,
    VolumeName,
    due_replicas,
    is_potentially_reusable,
    needs_new_replica,
    reusable,
    waits_for_attach,
    wants_replica_on_node,
)
from packing import DEFAULT_STEP_LIMIT, Item


class Coming(msgspec.Struct, frozen=True, kw_only=True):
    """Replicas of one volume that will be placed where Longhorn's search finds best."""

    volume: Volume
    need: Need
    count: int
    replicas: Sequence[Replica] = ()
    """Those that there are: where they are, others of the volume do not go."""
    has_local: bool = False
    """Whether room is kept for one more of the volume on its pod's node."""
    local: NodeName | None = None
    """That node, if it is known."""
    prefers: NodeName | None = None
    """Where the first one goes if it fits: the node that the volume is to be attached to."""
    is_sure: bool
    """Not only because of a pod that may yet go to several nodes."""
    is_held: bool
    """Whether a pod's hold tells of it; else Longhorn's objects do."""


def by_certainty(coming: Coming) -> tuple[bool, VolumeName]:
    """Return what sorts what is coming: the surest first, of one certainty by name."""
    return not coming.is_sure, coming.volume.name


def coming_of_all(
    name: VolumeName,
    holds: Iterable[Hold],
    displaced: Collection[VolumeName],
    view: ClusterView,
    *,
    utc: Moment | None,
) -> Coming | None:
    """Say what is coming of a volume, by the holds for it and by Longhorn's objects.

    Args:
        name: The volume.
        holds: Those that name it, the chosen ones first.
        displaced: Volumes that have no room any more where a hold keeps it (`displaced_on`).
        view: The cluster.
        utc: The date and time, None if it is not known. Then no wait for a failed replica is over.
    """
    due = view.due.get(name, NOTHING_DUE)
    is_displaced = name in displaced
    for hold in holds:
        [wanted] = (each for each in (*hold.volumes, *hold.remote) if each.name == name)
        if due.waits:
            # What Longhorn makes after its wait is the one that the hold keeps room for.
            if not is_displaced and _keeps_local(hold, wanted, view):
                return None
        elif wanted.is_local and wanted.volume.wanted_replicas == 1 and not is_displaced:
            return None  # all of it is to be on the pod's node
        else:
            held = _of_hold(hold, wanted, view, is_displaced=is_displaced)
            return held if held.count else None
    if due.anywhere and name in view.volumes:
        return _of_volume(view.volumes[name], due, view, utc)
    return None


def coming_of(
    volume: Volume,
    need: Need,
    view: ClusterView,
    *,
    local: NodeName | None = None,
    has_local: bool = False,
    is_sure: bool = True,
) -> Coming:
    """Say what of a volume will be placed anywhere once a pod attaches it.

    Args:
        volume: As the pod's claim leads to it; what the cluster shows of it counts more.
        need: Of a new replica of it.
        view: The cluster.
        local: Where room is kept for one replica, if that is known.
        has_local: Whether room is kept for one replica on the pod's node, wherever that is.
        is_sure: Whether the pod's node is known.
    """
    replicas = view.replicas.get(volume.name, ())
    volume = view.volumes.get(volume.name, volume)
    due = due_replicas(volume, replicas, view.settings, attaching=True)
    count = 0 if due.waits else due.anywhere
    if has_local and waits_for_attach(volume, view.settings):
        count = max(0, count - 1)
    return Coming(
        volume=volume,
        need=need,
        count=count,
        replicas=_counted(replicas),
        has_local=has_local,
        local=local,
        is_sure=is_sure,
        is_held=True,
    )


def displaced_on(
    space: NodeSpace | None, holds: Iterable[Hold], view: ClusterView
) -> frozenset[VolumeName]:
    """Return the held volumes that no longer have room on their pods' node.

    Longhorn may have put other replicas there first. It then places those of a best-effort volume
    elsewhere, without a word.

    Args:
        space: The node, None if Longhorn does not know it.
        holds: Those whose pods have this node.
        view: The cluster.
    """
    here = sorted((hold for hold in holds if hold.volumes), key=lambda each: each.pod.uid)
    if space is None or not here or _is_roomy(space, here, view):
        return frozenset()
    needs = {
        str(volume.name): need_now(volume, view)
        for hold in here
        for volume in charged(hold, space.node.name, view.replicas)
        if not volume.is_strict
    }
    items = demand_of(needs.items(), view).items
    if fits(items, space, DEFAULT_STEP_LIMIT):
        return frozenset()
    kept: list[Item] = []
    displaced: set[VolumeName] = set()
    for item in sorted(items, key=lambda each: each.id):
        if fits([*kept, item], space, DEFAULT_STEP_LIMIT):
            kept.append(item)
        else:
            displaced.add(VolumeName(item.id))
    return frozenset(displaced)


def _is_roomy(space: NodeSpace, holds: Iterable[Hold], view: ClusterView) -> bool:
    """Whether any one of the node's best disks takes all that was ever held on it."""
    needs = [need_now(volume, view) for hold in holds for volume in hold.volumes]
    logical = sum(need.size_bytes for need in needs)
    physical = sum(need.actual_bytes for need in needs)
    return bool(space.roomiest) and all(
        logical <= bin_.logical_bytes and physical <= bin_.physical_bytes for bin_ in space.roomiest
    )


def _of_hold(
    hold: Hold,
    wanted: WantedVolume,
    view: ClusterView,
    *,
    is_displaced: bool,
) -> Coming:
    volume, need = wanted.volume, need_now(wanted, view)
    has_local = not is_displaced and _keeps_local(hold, wanted, view)
    is_chosen = hold.state is State.CHOSEN
    return coming_of(
        volume,
        need,
        view,
        local=hold.node if is_chosen and has_local else None,
        has_local=has_local,
        is_sure=is_chosen,
    )


def _keeps_local(hold: Hold, wanted: WantedVolume, view: ClusterView) -> bool:
    """Whether a hold keeps room for a replica of a volume on any node."""
    return any(
        each.name == wanted.name
        for node in hold.nodes
        for each in charged(hold, node, view.replicas)
    )


def _of_volume(volume: Volume, due: Due, view: ClusterView, utc: Moment | None) -> Coming | None:
    need = need_in(volume, view)
    replicas = view.replicas.get(volume.name, ())
    if need is None or not need.size_bytes:
        return None
    if due.waits:
        if utc is None or not _is_given_up(volume, replicas, view, utc):
            return None
        replicas = [replica for replica in replicas if not replica.failed]
    wants_local = view.settings.places_best_effort_at_attach and wants_replica_on_node(
        volume, replicas
    )
    return Coming(
        volume=volume,
        need=need,
        count=due.anywhere,
        replicas=_counted(replicas),
        prefers=volume.node if wants_local else None,
        is_sure=True,
        is_held=False,
    )


def _is_given_up(
    volume: Volume,
    replicas: Sequence[Replica],
    view: ClusterView,
    utc: Moment,
) -> bool:
    """Whether Longhorn waits no more for a failed replica, and cannot rebuild one where it is."""
    if not needs_new_replica(replicas, volume, view.settings, now=utc):
        return False
    there = dict.fromkeys(r.node for r in replicas if r.failed and r.node)
    spaces = [view.spaces[name] for name in there if name in view.spaces]
    image = view.backing_images.get(volume.backing_image or "")
    return not reusable(replicas, volume, spaces, view.settings, backing_image=image)


def _counted(replicas: Iterable[Replica]) -> tuple[Replica, ...]:
    """Keep the replicas that others of their volume stay away from."""
    return tuple(r for r in replicas if r.node and (not r.failed or is_potentially_reusable(r)))
