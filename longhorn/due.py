"""Which replicas of a volume Longhorn is about to place, and which go once there are too many.

What is due takes room soon, and nothing shows it.

Source: longhorn-manager controller/volume_controller.go replenishReplicas,
getReplenishReplicasCount, ReconcileEngineReplicaState and EvictReplicas.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from longhorn.data import has_data
from longhorn.records import Locality, NodeName, Volume, VolumeName
from longhorn.replicas import Replica
from longhorn.reuse import is_potentially_reusable, may_wait
from longhorn.settings import Settings, parse_bool, value_for_engine
from longhorn.upgrades import is_paused

MOST_REPLICAS = 20
"""Longhorn's webhook refuses a volume that wants more."""
OFFLINE_REBUILDING = "offline-replica-rebuilding"
"""The setting, since v1.9; its value may differ by data engine."""


class Due(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The replicas of one volume that Longhorn places as soon as they fit.

    Left out are Replica objects with hardNodeAffinity: they name their node themselves.
    """

    anywhere: int = 0
    """So many go where Longhorn's search finds the best place."""
    on_node: NodeName | None = None
    """One goes to this node, and to no other."""
    waits: bool = False
    """First Longhorn waits for a failed one that may come back (`needs_new_replica`)."""


NOTHING_DUE = Due()


def is_placed(replica: Replica) -> bool:
    """Say whether a replica has its node and disk."""
    return replica.node is not None and replica.disk is not None


def is_usable(replica: Replica) -> bool:
    """Say whether a replica counts as one of those that its volume wants, placed or not."""
    return replica.active and not (replica.failed or replica.evicting or replica.deleting)


def is_serving(replica: Replica) -> bool:
    """Say whether a volume has a replica on some disk now, one that is to move included."""
    return is_placed(replica) and replica.active and not (replica.failed or replica.deleting)


def waits_for_attach(volume: Volume, settings: Settings) -> bool:
    """Say whether the replicas of a volume are placed only when it is to be attached."""
    if volume.locality is Locality.BEST_EFFORT:
        return settings.places_best_effort_at_attach
    return volume.locality is Locality.STRICT_LOCAL


def due_replicas(
    volume: Volume,
    replicas: Sequence[Replica],
    settings: Settings,
    *,
    attaching: bool = False,
    paused: Collection[VolumeName] = (),
) -> Due:
    """Say which replicas of *volume* Longhorn is about to place.

    - A volume that was never written to gets all that it lacks at once: when it is created, or
      when it is to be attached if its locality wants a replica on the pod's node.
    - One with data gets one after another while it is attached, or is to be. None is due while
      another one is being rebuilt, while it migrates, or while some are detached by plan. While a
      failed one may come back, one is due that waits. That of a strict-local volume stays on its
      node.
    - One that is attached, healthy and without a replica on its node gets one more there, if it
      is of locality best-effort.
    - Shards are placed when their volume is created. If there are none at all, they are not known
      (or yet to be made, for a moment).

    Args:
        attaching: Whether a pod is about to attach it, though the volume does not show that yet.
            Then the replica on the pod's node is among those that are due.
        paused: Volumes of which replicas are detached by plan (`longhorn.upgrades`).
    """
    if volume.sharded and not volume.deleting:
        is_known = volume.is_estimate or bool(replicas)
        missing = volume.wanted_replicas - sum(is_placed(r) and not r.failed for r in replicas)
        return Due(anywhere=max(0, missing)) if is_known else NOTHING_DUE
    wanted = 1 if volume.copying else min(volume.wanted_replicas, MOST_REPLICAS)
    is_done = volume.is_frozen and has_data(replicas)
    if volume.deleting or is_done or not wanted:
        return NOTHING_DUE
    is_open = attaching or volume.node is not None or not waits_for_attach(volume, settings)
    if not is_open:
        return NOTHING_DUE
    usable = [replica for replica in replicas if is_usable(replica)]
    placed = len([replica for replica in usable if is_placed(replica)])
    pinned = len([r for r in usable if r.node is None and r.hard_node_affinity is not None])
    if not has_data(replicas):
        anywhere = max(0, wanted - placed - pinned)
        if volume.locality is Locality.STRICT_LOCAL and volume.node is not None:
            return Due(on_node=volume.node if anywhere else None)
        return Due(anywhere=anywhere)
    floating = sum(r.node is None and r.hard_node_affinity is None for r in usable)
    if floating:
        return Due(anywhere=floating)
    if not settings.rebuild_limit or _is_busy(replicas) or is_paused(volume, paused):
        return NOTHING_DUE
    if _is_replaced(volume, replicas, usable, wanted, attaching=attaching):
        if volume.locality is Locality.STRICT_LOCAL:
            return Due(on_node=None if volume.is_v2 else volume.attached_to)
        return Due(anywhere=1, waits=may_wait(volume, replicas, settings))
    return Due(on_node=_wants_more_on(volume, replicas, placed, wanted))


def needed_to_start(
    volume: Volume, replicas: Sequence[Replica], settings: Settings, *, due: int
) -> int:
    """Say how many of the *due* replicas must be placed so that a pod can use the volume.

    One, if none is placed. All, if the volume is new and detached, has locality disabled, and
    Longhorn is told to start none with fewer. None if it has data: then it is not about room. All
    shards, each time it is to be attached.

    Sources: longhorn-manager controller/volume_controller.go openVolumeDependentResources and
    reconcileVolumeCondition, types/volumes.go IsVolumeReady, controller/shard_group_controller.go
    syncProcess.
    """
    if volume.sharded and volume.node is None:
        return due
    if volume.standby or volume.sharded or has_data(replicas):
        return 0
    is_detached = volume.attached_to is None and volume.node is None
    if is_detached and not (settings.allow_degraded or waits_for_attach(volume, settings)):
        return due
    return 0 if any(is_placed(replica) for replica in replicas) else min(due, 1)


def rebuilds_offline(volume: Volume, value: str) -> bool:
    """Say whether Longhorn attaches a detached volume by itself, for the replicas that it lacks.

    The volume's own choice counts more than the setting's *value*: as written, or empty for the
    default, which is false.

    Source: longhorn-manager controller/volume_rebuilding_controller.go isVolumeReplicasHealthy and
    syncLHVolumeAttachmentForOfflineRebuild.
    """
    own = volume.told.offline_rebuilding if volume.told else ""
    if own in ("enabled", "disabled"):
        return own == "enabled"
    try:
        return parse_bool(value_for_engine(value or "false", "v2" if volume.is_v2 else "v1"))
    except ValueError:
        return False


def surplus(
    volume: Volume, replicas: Sequence[Replica], zones: Mapping[NodeName, str]
) -> tuple[Replica, ...]:
    """Return the replicas of which one goes since another one was made beside the pod.

    They are those that share a disk with most others, or else a node, or else a zone; or all of
    them, of all *replicas* that are healthy and stay where they are. None of them is on the pod's
    node. Longhorn takes the first by name, as they are here.

    Source: longhorn-manager controller/volume_controller.go cleanupDataLocalityReplicas and
    getPreferredReplicaCandidatesForDeletion.
    """
    here = volume.attached_to
    if volume.locality is not Locality.BEST_EFFORT or here not in [r.node for r in replicas]:
        return ()
    crowded = replicas
    for places in (
        [replica.disk for replica in replicas],
        [replica.node for replica in replicas],
        [zones.get(replica.node or NodeName("")) for replica in replicas],
    ):
        counts = Counter(places)
        most = max(counts.values())
        if most > 1:
            crowded = [
                replica
                for replica, place in zip(replicas, places, strict=True)
                if counts[place] == most
            ]
            break
    return tuple(sorted((r for r in crowded if r.node != here), key=lambda each: each.name))


def _is_busy(replicas: Iterable[Replica]) -> bool:
    """Whether one is being rebuilt, or the volume migrates: that shows in inactive replicas."""
    return any(
        not r.active or (is_placed(r) and not (r.healthy_once or r.failed)) for r in replicas
    )


def _is_replaced(
    volume: Volume,
    replicas: Sequence[Replica],
    usable: Sequence[Replica],
    wanted: int,
    *,
    attaching: bool,
) -> bool:
    """Whether Longhorn makes a replica for one that failed, was lost or is being evicted.

    A replica that is bound to the node of a best-effort volume does not count while it is not
    placed: it is one more than wanted. But none is evicted as long as it is there.
    """
    extra = sum(
        r.node is None and r.hard_node_affinity == volume.attached_to
        for r in usable
        if volume.locality is Locality.BEST_EFFORT and volume.attached_to is not None
    )
    if len(usable) - extra >= wanted:
        return False
    if volume.attached_to is None:
        is_attaching = attaching or volume.node is not None
        return is_attaching and not any(is_potentially_reusable(each) for each in replicas)
    is_evicted = not extra and any(r.evicting and not r.deleting for r in replicas)
    return volume.degraded or is_evicted


def _wants_more_on(
    volume: Volume, replicas: Iterable[Replica], placed: int, wanted: int
) -> NodeName | None:
    """Return the node where Longhorn makes one replica more than wanted, if there is one."""
    node = volume.attached_to
    is_wanted = (
        volume.locality is Locality.BEST_EFFORT
        and volume.has_frontend
        and volume.healthy
        and placed >= wanted
        and not any(node in (r.node, r.hard_node_affinity) for r in replicas)
    )
    return node if is_wanted else None
