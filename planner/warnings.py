"""What is wrong with a cluster, so that a plan can say what it made worse."""

from collections.abc import Iterable, Mapping, Sequence

from longhorn import DataState, Reason, Replica, Volume, VolumeName, is_serving
from planner.cluster import Cluster
from planner.picture import PlanWarning
from planner.volumes import Volumes


def warnings_of(
    cluster: Cluster,
    volumes: Volumes,
    names: Mapping[VolumeName, str],
    *,
    lacking: Mapping[VolumeName, Sequence[Reason]],
    stuck: Mapping[str, Sequence[str]],
) -> frozenset[PlanWarning]:
    """Return all that is wrong.

    Args:
        cluster: The cluster.
        volumes: Its Longhorn.
        names: What to call volumes.
        lacking: Longhorn's reasons for volumes whose replicas it could not place.
        stuck: Pods that cannot start where they are, and for want of what.
    """
    return frozenset(
        [
            *_of_volumes(cluster, volumes, names, lacking),
            *_of_disks(cluster),
            *(
                PlanWarning(
                    code="pod_stuck",
                    object=f"Pod {pod}",
                    text=f"has a node and cannot start there: {', '.join(why)} cannot be attached",
                )
                for pod, why in stuck.items()
            ),
        ]
    )


def _of_volumes(
    cluster: Cluster,
    volumes: Volumes,
    names: Mapping[VolumeName, str],
    lacking: Mapping[VolumeName, Sequence[Reason]],
) -> Iterable[PlanWarning]:
    view = cluster.view
    zones = {space.node.zone for space in view.spaces.values()} - {""}
    for volume in view.volumes.values():
        replicas = view.replicas.get(volume.name, ())
        about = (
            f"Volume of {names[volume.name]}" if volume.name in names else f"Volume {volume.name}"
        )
        data = volumes.replicas.data(volume)
        if data.state is DataState.FAULTED and not volumes.replicas.is_lost(volume):
            text = "has only failed replicas with data left, which may be salvaged"
            yield PlanWarning(code="volume_faulted", object=about, text=text)
            continue
        if data.state is DataState.AWAITED and not volume.sharded:
            text = f"cannot be read before {' or '.join(map(str, data.awaited))}"
            yield PlanWarning(code="volume_unreadable", object=about, text=text)
            continue
        if volumes.replicas.is_lost(volume):
            yield PlanWarning(
                code="volume_lost",
                object=about,
                text="has too few shards left"
                if volume.sharded
                else "has no replica left with data",
            )
            continue
        if volume.sharded and not replicas:
            continue  # nothing is known of its shards
        healthy = [each for each in replicas if is_serving(each)]
        parts = "shards" if volume.sharded else "replicas"
        if len(healthy) < volume.wanted_replicas and _is_in_use(volume, healthy):
            why = ", ".join(lacking.get(volume.name, ()))
            yield PlanWarning(
                code="volume_degraded",
                object=about,
                text=f"has {len(healthy)} of {volume.wanted_replicas} {parts}"
                + (f": {why}" if why else ""),
            )
        used = {
            view.spaces[each.node].node.zone
            for each in healthy
            if each.node is not None and each.node in view.spaces
        }
        if len(zones) > 1 and len(healthy) > 1 and len(used) == 1:
            [zone] = used
            yield PlanWarning(
                code="one_zone", object=about, text=f"has all its {parts} in zone {zone or '-'}"
            )


def _is_in_use(volume: Volume, placed: Sequence[Replica]) -> bool:
    """Whether missing replicas matter now: not before the first attach of a volume."""
    return volume.node is not None or bool(placed)


def _of_disks(cluster: Cluster) -> Iterable[PlanWarning]:
    for name, space in cluster.view.spaces.items():
        for each in space.disks:
            if each.logical_headroom_bytes < 0:
                yield PlanWarning(
                    code="disk_over_limit",
                    object=f"Disk {each.disk.name} of node {name}",
                    text="has more scheduled than Longhorn's limit allows",
                )
