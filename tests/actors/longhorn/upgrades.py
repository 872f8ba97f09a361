"""Live upgrades of data engine v2, as the volume controller takes account of them.

Source: longhorn-manager controller/volume_controller.go getPlannedDetachedReplicasForVolume,
replenishReplicas and cleanupReplicas.
"""

from collections.abc import Iterable, Sequence

from tests.actors.api import Object


def upgrade(node: str, state: str, *replicas: Object, moving: Sequence[str] = ()) -> Object:
    """Build the upgrade of a node, which detaches these replicas, and moves engines of volumes."""
    planned: dict[str, list[Object]] = {}
    for each in replicas:
        name = {"name": each["metadata"]["name"], "address": "10.0.0.1:20000"}
        planned.setdefault(each["spec"]["volumeName"], []).append(name)
    engines = {each: {"originalNodeID": node, "temporaryNodeID": ""} for each in moving}
    return {
        "metadata": {"name": f"{node}-upgrade", "namespace": "longhorn-system"},
        "spec": {"nodeID": node, "targetImage": "longhornio/longhorn-instance-manager:v1.14.0"},
        "status": {"state": state, "engines": engines, "plannedDetachedReplicas": planned},
    }


def is_paused(volume: Object, upgrades: Iterable[Object]) -> bool:
    """Say whether replicas of a volume are detached by plan: none is made or removed then."""
    if volume["spec"].get("dataEngine") != "v2" or volume["status"].get("state") != "attached":
        return False
    name = volume["metadata"]["name"]
    return any(_detaches(name, each.get("status") or {}) for each in upgrades)


def _detaches(volume: str, status: Object) -> bool:
    engines, planned = status.get("engines") or {}, status.get("plannedDetachedReplicas") or {}
    match status.get("state"):
        case "pending" if engines:
            return False
        case "relocating-engines" if volume not in engines:
            return False
        case "pending" | "relocating-engines" | "waiting-for-source-im" | "restoring-engines":
            return bool(planned.get(volume))
    return False
