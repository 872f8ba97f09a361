"""What of one volume Longhorn will place, and what a replica of it needs."""

from collections.abc import Iterable, Sequence

from msgspec import structs

from extender.demand.items import item_of
from extender.demand.requests import (
    WantedVolume,
    fixed_to_zone_of,
    sharing_replicas,
    source_replicas,
)
from extender.holds.evidence import volumes_still_held
from extender.holds.hold import Hold, State
from extender.upcoming.upcoming import Certainty, Upcoming
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
    need_of,
    needs_new_replica,
    reusable,
    waits_for_attach,
    wants_replica_on_node,
)
from packing import Item, is_stranded


def need_in(volume: Volume, view: ClusterView, placing: Replica | None = None) -> Need | None:
    """Say what a replica of a volume needs that is to be placed, None if Longhorn places none.

    Args:
        volume: The volume.
        view: The cluster.
        placing: The replica, if it matters which one it is.
    """
    if volume.deleting:
        return None
    image = None
    if volume.backing_image is not None:
        image = view.backing_images.get(volume.backing_image)
        if image is None and ("BackingImage", volume.backing_image) not in view.unreadable:
            return None
    return need_of(volume, image, sharing_replicas(volume, view), placing)


def need_now(wanted: WantedVolume, view: ClusterView) -> Need:
    """Say what a new replica of a held volume needs, now that the volume may exist.

    It may be larger than its claim asked for: one that is restored from a backup is.
    """
    volume = view.volumes.get(wanted.name)
    return (None if volume is None else need_in(volume, view)) or wanted.need


def anywhere_of(
    name: VolumeName, holds: Iterable[Hold], view: ClusterView, *, utc: Moment | None
) -> Upcoming | None:
    """Say what of a volume will be placed anywhere, by the holds for it and by Longhorn's objects.

    Args:
        holds: Those that name it, the chosen ones first; the first of them tells.
        utc: The date and time, None if it is not known. Then no wait for a failed replica is over.
    """
    due = view.due.get(name, NOTHING_DUE)
    for hold in holds:
        [wanted] = (each for each in (*hold.volumes, *hold.remote) if each.name == name)
        if due.waits:
            # What Longhorn makes after its wait is the one that the hold keeps room for.
            if _keeps_local(hold, wanted, view):
                return None
        elif (
            wanted.is_local
            and wanted.volume.wanted_replicas == 1
            and not _is_displaced(hold, wanted, view)
        ):
            return None  # all of it is to be on the pod's node
        else:
            held = _of_hold(hold, wanted, view)
            return held if held.count else None
    if due.anywhere and name in view.volumes:
        return _of_volume(view.volumes[name], due, view, utc)
    return None


def once_attached(
    volume: Volume,
    need: Need,
    item: Item,
    view: ClusterView,
    *,
    has_local: bool = False,
    certainty: Certainty = Certainty.CHOSEN,
) -> Upcoming:
    """Say what of a volume will be placed anywhere once a pod attaches it; it may be nothing.

    Args:
        volume: As the pod's claim leads to it; what the cluster shows of it counts more.
        has_local: Whether room is kept for one replica on the pod's node, wherever that is.
    """
    replicas = view.replicas.get(volume.name, ())
    if replicas or not volume.sharded:  # until it has shards, all of them are to come
        volume = view.volumes.get(volume.name, volume)
    due = due_replicas(volume, replicas, view.settings, attaching=True, paused=view.paused)
    count = 0 if due.waits else due.anywhere
    if has_local and waits_for_attach(volume, view.settings):
        count = max(0, count - 1)
    return Upcoming(
        volume=volume,
        need=need,
        item=item,
        count=count,
        certainty=certainty,
        replicas=_that_repel(replicas),
    )


def _of_hold(hold: Hold, wanted: WantedVolume, view: ClusterView) -> Upcoming:
    has_local = _keeps_local(hold, wanted, view)
    # It may have none: what is accepted only as it cannot be read is not in the view.
    is_chosen, node = hold.state is State.CHOSEN, min(hold.nodes, default=NodeName(""))
    is_known = len(hold.nodes) == 1  # an open hold of one node, too: it goes there or nowhere
    if is_known and node in view.spaces:
        wanted = fixed_to_zone_of(wanted, view.spaces[node].node)
    need = need_now(wanted, view)
    upcoming = once_attached(
        wanted.volume,
        need,
        item_of(wanted.name, need, view),
        view,
        # Of an open hold of several nodes all replicas count, the local one as well: it goes to one
        # of these nodes, and who counts it there does not count what is forecast there besides.
        has_local=has_local and is_known,
        certainty=Certainty.CHOSEN if is_chosen else Certainty.OPEN,
    )
    return structs.replace(upcoming, local=node) if is_known and has_local else upcoming


def _keeps_local(hold: Hold, wanted: WantedVolume, view: ClusterView) -> bool:
    """Whether a hold keeps room for a replica of a volume on any node, and it may get that."""
    return not _is_displaced(hold, wanted, view) and any(
        each.name == wanted.name
        for node in hold.nodes
        for each in volumes_still_held(hold, node, view.replicas)
    )


def _is_displaced(hold: Hold, wanted: WantedVolume, view: ClusterView) -> bool:
    """Whether no disk of the pod's node has room any more for a volume that is held for there.

    Longhorn may have put other replicas there first. It then places those of a best-effort volume
    elsewhere, without a word; a strict-local one waits.
    """
    if hold.state is not State.CHOSEN or wanted.is_strict or not wanted.is_local:
        return False
    space = view.spaces.get(hold.node)
    return space is not None and is_stranded(
        item_of(wanted.name, need_now(wanted, view), view), space.roomiest
    )


def _of_volume(volume: Volume, due: Due, view: ClusterView, utc: Moment | None) -> Upcoming | None:
    need = need_in(volume, view)
    replicas = view.replicas.get(volume.name, ())
    if need is None or not need.size_bytes:
        return None
    if due.waits:
        if utc is None or not _is_given_up(volume, replicas, view, utc):
            return None
        replicas = [replica for replica in replicas if not replica.failed]
    is_at_attach = view.settings.places_best_effort_at_attach
    wants_local = is_at_attach and wants_replica_on_node(volume, replicas)
    return Upcoming(
        volume=volume,
        need=need,
        item=item_of(volume.name, need, view),
        count=due.anywhere,
        certainty=Certainty.SHOWN,
        replicas=_that_repel(replicas),
        prefers=volume.node if wants_local else None,
    )


def _is_given_up(
    volume: Volume, replicas: Sequence[Replica], view: ClusterView, utc: Moment
) -> bool:
    """Whether Longhorn waits no more for a failed replica, and cannot rebuild one where it is."""
    if not needs_new_replica(replicas, volume, view.settings, now=utc):
        return False
    there = dict.fromkeys(r.node for r in replicas if r.failed and r.node)
    spaces = [view.spaces[name] for name in there if name in view.spaces]
    image = view.backing_images.get(volume.backing_image or "")
    known = (*replicas, *source_replicas(volume, view))
    return not reusable(known, volume, spaces, view.settings, backing_image=image)


def _that_repel(replicas: Iterable[Replica]) -> tuple[Replica, ...]:
    """Keep the replicas that others of their volume stay away from."""
    return tuple(r for r in replicas if r.node and (not r.failed or is_potentially_reusable(r)))
