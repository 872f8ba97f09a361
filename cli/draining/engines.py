"""Which engines stay on a node when its pods are gone, and why.

Longhorn lets no instance manager go while an engine is on its node (longhorn-manager
controller/instance_manager_controller.go areAllVolumesDetachedFromNode). The tickets in a volume's
VolumeAttachment say who wants it there.
"""

from collections.abc import Iterator

from cli.draining.cluster import Cluster
from cli.draining.obstacles import Caution, Code, Hint, Obstacle
from cli.kube.draining.records import Manager, Use
from longhorn import NodeName, VolumeName

DETACH_WHEN_CORDONED = "detach-manually-attached-volumes-when-cordoned"
_BY_POD = "csi-attacher"
_BY_SHARE_MANAGER = "share-manager-controller"
_BY_HAND = "longhorn-api"
_MOST_LOGGED = 5
"""Names that Longhorn's log has of a list."""


def engines_on(node: NodeName, cluster: Cluster) -> tuple[str, ...]:
    """Return the engines that Longhorn waits for, of all instance managers of the node."""
    return tuple(
        engine
        for manager in cluster.managers.get(node, ())
        if manager.type in ("aio", "engine")
        for engine in manager.engines
    )


def staying(node: NodeName, cluster: Cluster) -> Iterator[Obstacle | Caution]:
    """Say of each engine on a node whether something keeps it there once all pods are gone."""
    engines = engines_on(node, cluster)
    shown = " ".join(engines[:_MOST_LOGGED])
    logged = f"some volumes are still attached InstanceEngines count {len(engines)} {shown}"
    for engine in engines:
        yield from _staying(engine, node, cluster, logged)


def staying_in(manager: Manager, cluster: Cluster) -> Iterator[Obstacle | Caution]:
    """Say the same of an instance manager for engines alone, of a Longhorn before v1.5."""
    logged = f"some instances are still running InstanceEngines count {len(manager.engines)}"
    for engine in manager.engines:
        yield from _staying(engine, manager.node, cluster, logged)


def _staying(
    engine: str, node: NodeName, cluster: Cluster, logged: str
) -> Iterator[Obstacle | Caution]:
    volume = _volume_of(engine, cluster)
    use = cluster.uses.get(volume)
    if use is None:
        yield Obstacle(
            code=Code.ORPHANED_ENGINE,
            object=f"Engine {engine}",
            text="is of no Volume that there is",
            logged=logged,
        )
        return
    name = f"Volume {cluster.called(volume)}"
    types = sorted({each.type for each in cluster.tickets.get(volume, ()) if each.node == node})
    code_of = {_BY_HAND: Code.ATTACHED_BY_HAND}
    for type_ in types:
        if type_ in (_BY_POD, _BY_SHARE_MANAGER) or _is_detached(type_, cluster):
            continue
        code = code_of.get(type_, Code.ATTACHED_BY_LONGHORN)
        yield Obstacle(
            code=code, object=name, text=f"is attached to the node by {type_}", logged=logged
        )
    users = _users(use, node, cluster)
    for key in users:
        yield Obstacle(
            code=Code.ATTACHED_FOR_STAYING_POD,
            object=name,
            text=f"is attached for pod {key}, which kubectl passes over",
            logged=logged,
        )
    if not types and not users:
        yield Caution(code=Hint.DETACHING, object=name, text="is still being detached")


def _users(use: Use, node: NodeName, cluster: Cluster) -> list[str]:
    """Name the pods that stay and use a volume; the engine of a shared one may leave."""
    if use.shared or not use.claim:
        return []
    there = cluster.guests.get(node, ())
    return [each.key for each in there if each.stays and use.claim in each.claims]


def _is_detached(type_: str, cluster: Cluster) -> bool:
    """Whether a cordon alone ends it."""
    return type_ == _BY_HAND and cluster.settings.get(DETACH_WHEN_CORDONED) == "true"


def _volume_of(engine: str, cluster: Cluster) -> VolumeName:
    """Return the volume of an engine: its name comes first, and a suffix after it.

    Source: longhorn-manager types/types.go GenerateEngineNameForVolume.
    """
    at = len(engine)
    while (at := engine.rfind("-", 0, at)) > 0:
        if (name := VolumeName(engine[:at])) in cluster.uses:
            return name
    return VolumeName("")
