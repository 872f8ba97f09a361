"""Which replica of a volume goes once there are more than wanted.

Source: longhorn-manager controller/volume_controller.go cleanupDataLocalityReplicas and
getPreferredReplicaCandidatesForDeletion.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from longhorn.records import Locality, NodeName, Volume
from longhorn.replicas import Replica


def surplus(
    volume: Volume, replicas: Sequence[Replica], zones: Mapping[NodeName, str]
) -> tuple[Replica, ...]:
    """Return the replicas of which one goes since another one was made beside the pod.

    They are those that share a disk with most others, or else a node, or else a zone; or all of
    them, of all *replicas* that are healthy and stay where they are. None of them is on the pod's
    node. Longhorn takes the first by name, as they are here.
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
