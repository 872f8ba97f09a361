"""What the cluster shows of a hold: how far its pod has come, and what Longhorn counts by itself.

Sources: kubernetes pkg/scheduler/schedule_one.go (nominatedNodeName, set before binding since
1.35), pkg/scheduler/framework/plugins/volumebinding (selected-node, on one claim after another).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import itemgetter

from msgspec import structs

from extender.demand.requests import WantedVolume
from extender.holds.hold import Hold, Mode, Sighting, State
from extender.kubernetes import Claim, ClaimKey, PodStatus
from extender.view import ClusterView
from longhorn import NOTHING_DUE, NodeName, Replica, Volume, VolumeName, due_replicas, is_usable

ReplicasByVolume = Mapping[VolumeName, Sequence[Replica]]


def volumes_still_held(
    hold: Hold, node: NodeName, replicas: ReplicasByVolume
) -> Iterator[WantedVolume]:
    """Yield the volumes for which a hold still takes room on *node*.

    Left out are the volumes that Longhorn has placed, and those with a replica that Longhorn must
    place on this node: such a replica is demand on the node by itself.
    """
    for volume in hold.volumes:
        there = replicas.get(volume.name)
        pending = there and any(
            replica.hard_node_affinity == node
            and not (replica.disk or replica.deleting or replica.failed)
            for replica in there
        )
        if not there or not (pending or _is_counted_by_longhorn(volume, hold, node, replicas)):
            yield volume


def is_confirmed(hold: Hold, view: ClusterView) -> bool:
    """Whether Longhorn's objects show all that a chosen hold was made for.

    Each volume that needs a replica on the node has one, no replica that was placed since the
    answer can be refused by its disk any more, and what else is due of the volumes is due by
    Longhorn's objects, too.
    """
    return (
        hold.state is State.CHOSEN
        and all(
            _is_counted_by_longhorn(volume, hold, hold.node, view.replicas)
            for volume in hold.volumes
        )
        and all(is_shown(volume, view, hold.nodes) for volume in (*hold.volumes, *hold.remote))
        and not is_ungranted(hold, view)
    )


def is_attaching(hold: Hold, view: ClusterView) -> bool:
    """Whether all volumes of a chosen hold are to be attached to its node."""
    volumes = [view.volumes.get(each.name) for each in (*hold.volumes, *hold.remote)]
    return all(
        each is not None and each.node is not None and not _is_leaving(each, hold.nodes)
        for each in volumes
    )


def is_ungranted(hold: Hold, view: ClusterView) -> bool:
    """Whether some replica that was placed since the answer may be refused by its disk yet."""
    return any(
        is_tentative(replica, view)
        for volume in (*hold.volumes, *hold.remote)
        for replica in view.replicas.get(volume.name, ())
        if replica.name not in hold.placed_before
    )


def is_placed_since(hold: Hold, replicas: ReplicasByVolume) -> bool:
    """Whether a replica of a volume that must be local was placed since the answer."""
    return any(
        replica.node is not None and replica.name not in hold.placed_before
        for volume in hold.volumes
        for replica in replicas.get(volume.name, ())
    )


def count_lost_rooms(hold: Hold, replicas: ReplicasByVolume) -> int:
    """Count the volumes of a chosen hold that were placed, but not where room was held for them."""
    return sum(
        (volume.name, hold.node) not in hold.existing
        and not any(replica.node == hold.node for replica in replicas.get(volume.name, ()))
        for volume in hold.volumes
    )


def is_shown(wanted: WantedVolume, view: ClusterView, nodes: Collection[NodeName]) -> bool:
    """Whether Longhorn's objects show all replicas that will be placed once a pod attaches it.

    While it is attached to another node than one of *nodes*, what is due of it is due for the pod
    that is leaving. It is detached then, and until it is attached again nothing is due.

    While a setting is unreadable Longhorn places nothing, and nothing is due by its objects. It
    goes on once the setting is corrected, so what is missing until then is not shown.
    """
    volume = view.volumes.get(wanted.name)
    replicas = view.replicas.get(wanted.name, ())
    if wanted.volume.is_estimate and wanted.volume.sharded and not replicas:
        return False  # its shards are yet to be made, or cannot be read
    coming = due_replicas(
        volume or wanted.volume, replicas, view.settings, attaching=True, paused=view.paused
    )
    if volume is None or _is_leaving(volume, nodes):
        return coming == NOTHING_DUE  # what is due of a volume that is not known does not count
    return coming == view.due.get(wanted.name, NOTHING_DUE)


def may_be_refused(wanted: WantedVolume, view: ClusterView) -> bool:
    """Whether some replica of a volume is placed, and may have to be placed again."""
    return any(is_tentative(each, view) for each in view.replicas.get(wanted.name, ()))


def is_tentative(replica: Replica, view: ClusterView) -> bool:
    """Whether a replica without data is placed on a disk that has not granted all of it.

    It counts there by its own name, so nothing is held for it. But the disk may refuse it yet, and
    then the room of its volume is to be held again.
    """
    if replica.node is None or replica.healthy_once:
        return False
    space = view.spaces.get(replica.node)
    return space is not None and any(replica.name in each.undecided for each in space.disks)


def sighting_of(
    hold: Hold, seen: PodStatus | None, claims: Mapping[ClaimKey, Claim], mode: Mode
) -> Sighting:
    """Say what has become of a hold's pod since the answer.

    Args:
        hold: The hold, with the pod as it was at the answer.
        seen: The pod as last heard of; None if it does not exist. A status older than
            kube-scheduler's own copy says nothing.
        claims: All claims now. A bound claim keeps its selected-node for ever, so only the claims
            count that were not bound at the answer.
        mode: In mode `node` nothing counts but that the pod is bound or gone.
    """
    if seen is None:
        return Sighting(exists=False)
    asked = hold.asked
    if 0 < seen.version < asked.version:
        seen = asked
    if mode is Mode.NODE:
        return Sighting(exists=not seen.ended, node=seen.node)
    selected = _selected(hold, claims)
    nominated = None if seen.nominated == asked.nominated else seen.nominated
    refused = seen.refusal is not None and seen.refusal != asked.refusal
    if refused and nominated is None and not _is_provisioning(hold, claims):
        selected = None  # what could be provisioned was, and then the attempt was given up
    return Sighting(
        exists=not seen.ended,
        node=seen.node,
        selected=selected,
        nominated=nominated,
        refused=refused,
    )


def without_stale(hold: Hold, claims: Mapping[ClaimKey, Claim]) -> Hold:
    """Return the hold without the old selected-nodes that its claims no longer have.

    If a claim gets the same node again later, that is a new choice and counts.
    """
    unbound = frozenset(
        (key, stale if key in claims and claims[key].selected_node == stale else None)
        for key, stale in hold.unbound
    )
    return hold if unbound == hold.unbound else structs.replace(hold, unbound=unbound)


def _is_leaving(volume: Volume, nodes: Collection[NodeName]) -> bool:
    """Whether a volume may have to be detached before it is attached to one of *nodes*."""
    return not volume.shared and volume.node is not None and any(n != volume.node for n in nodes)


def _is_counted_by_longhorn(
    volume: WantedVolume, hold: Hold, node: NodeName, replicas: ReplicasByVolume
) -> bool:
    """Whether no room is held for *volume* on *node*, because Longhorn's objects count it.

    That is so if a usable replica was there at the answer, or a new one came to the node, even if
    it has failed since: its disk counts it until it is gone. It is also so if all that the volume
    wants are placed and none came here: with best-effort locality Longhorn does this when the node
    is full, and a replica that follows here is an object of its own.
    """
    placed = [replica for replica in replicas.get(volume.name, ()) if replica.disk]
    here = [replica for replica in placed if replica.node == node]
    since = [replica for replica in placed if _is_newer(replica, hold)]
    if hold.state is State.CHOSEN and since:
        usable = sum(is_usable(replica) for replica in placed)
        wanted = volume.volume.wanted_replicas
        if wanted == 1 or usable >= wanted:
            return True
    if (volume.name, node) in hold.existing:
        return bool(here)
    return any(replica.name not in hold.placed_before for replica in here)


def _is_newer(replica: Replica, hold: Hold) -> bool:
    """Whether Longhorn put a replica where it is since the answer."""
    is_known = replica.name in hold.placed_before
    return not is_known and (replica.name, replica.node, replica.disk) not in hold.ungranted_before


def _selected(hold: Hold, claims: Mapping[ClaimKey, Claim]) -> NodeName | None:
    for key, stale in sorted(hold.unbound, key=itemgetter(0)):
        claim = claims.get(key)
        if claim is not None and claim.selected_node not in (None, stale):
            return claim.selected_node
    return None


def _is_provisioning(hold: Hold, claims: Mapping[ClaimKey, Claim]) -> bool:
    """Whether a claim is yet to be bound that has a node: where that failed, it has none."""
    found = (claims[key] for key, _ in hold.unbound if key in claims)
    return any(claim.selected_node and not claim.persistent_volume for claim in found)
