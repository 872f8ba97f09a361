"""Whose replicas may be moved, and to which disks."""

from collections.abc import Collection, Iterator

from extender import ClusterView
from longhorn import (
    MOST_REPLICAS,
    Candidate,
    Locality,
    Replica,
    Volume,
    VolumeName,
    has_tags,
    is_down,
    is_serving,
    may_share_node,
    may_share_zone,
    mismatch,
    need_of,
    refusal_of,
    takes_replicas,
)
from planner.moving import Storage, place_of


def hindrances(view: ClusterView) -> dict[VolumeName, str]:
    """Say of what kind each volume is whose replicas are not to be moved."""
    shared = {each.linked_to for each in view.volumes.values()} - {None}
    return {
        name: kind
        for name, volume in view.volumes.items()
        if (kind := _hindrance(volume, view, is_shared=name in shared))
    }


def suiting(
    replica: Replica, volume: Volume, disks: Collection[Candidate], storage: Storage
) -> Iterator[Candidate]:
    """Yield the disks that may take a replica if there is room.

    The volume stays as far spread as it was: the disk has no other replica of it, and the node and
    zone have one only if they may share and the replica does so already. A best-effort volume keeps
    its replica on the pod's node.
    """
    image, settings = storage.backing_images.get(volume.backing_image or ""), storage.settings
    need = need_of(volume, image)
    here, all_of_it = place_of(replica), storage.replicas[volume.name]
    others = [place_of(each) for each in all_of_it if each.name != replica.name]
    used = {each.disk for each in all_of_it}
    stays = volume.locality is Locality.BEST_EFFORT and here.node == volume.attached_to
    nodes = _too_near(
        here.node, {each.node for each in others}, may_share=may_share_node(volume, settings)
    )
    zones = _too_near(
        storage.zone(here.node),
        {storage.zone(each.node) for each in others},
        may_share=may_share_zone(volume, settings),
    )
    for at in disks:
        there = storage.spaces[at.node].node
        if (
            at.disk not in used
            and (not stays or at.node == here.node)
            and at.node not in nodes
            and there.zone not in zones
            and refusal_of(there) is None
            and has_tags(there, need, settings)
            and takes_replicas((space := storage.disk(at)).disk)
            and mismatch(space.kind, need, settings) is None
        ):
            yield at


def _too_near(here: str, others: Collection[str], *, may_share: bool) -> Collection[str]:
    """Return the nodes or zones that a replica must not come to, as others of its volume are there:
    none of them if it shares its own and may."""
    return () if may_share and here in others else others


def _hindrance(volume: Volume, view: ClusterView, *, is_shared: bool) -> str:
    replicas = view.replicas.get(volume.name, ())
    if volume.locality is Locality.STRICT_LOCAL:
        return "strict-local"
    if is_shared or volume.linked_to is not None:
        return "cloned"
    is_busy = volume.copying or volume.deleting or volume.standby or volume.name in view.due
    whole = [
        each
        for each in replicas
        if _is_healthy(each, view) and each.size_bytes == volume.size_bytes
    ]
    is_whole = len(whole) == len(replicas) == volume.wanted_replicas
    if is_busy or not (volume.healthy and is_whole) or volume.name in view.paused:
        return "detached, degraded or changing"
    return "20-replica" if volume.wanted_replicas >= MOST_REPLICAS else ""


def _is_healthy(replica: Replica, view: ClusterView) -> bool:
    space = view.spaces.get(replica.node) if replica.node is not None else None
    is_up = space is not None and not is_down(space.node)
    return is_up and is_serving(replica) and replica.healthy_once and not replica.evicting
