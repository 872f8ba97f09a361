"""What the volume controller writes: merge patches of its own fields. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from tests.actors.api import Object
from tests.actors.longhorn.creation import MOST_RETRIES
from tests.actors.longhorn.lifecycle import PRECHECK, robustness
from tests.actors.longhorn.objects import HOSTNAME_LABEL, condition
from tests.actors.longhorn.records import (
    Replica,
    condition_status,
    read_replica,
    read_volume,
)
from tests.actors.longhorn.shards import shard_condition

DISK_ALLOCATION = "DiskAllocation"
RESET = "Reset schedulable due to allow volume creation with degraded availability"


def marked(replica: Object, removing: Collection[str], now: str) -> Object:
    """Show a replica that is being removed as such."""
    if replica["metadata"]["name"] not in removing:
        return replica
    return {**replica, "metadata": {**replica["metadata"], "deletionTimestamp": now}}


def to_be(state: str) -> Object:
    """Wish a replica's process running or stopped."""
    return {"spec": {"desireState": state}}


def bound(node: str) -> Object:
    """Bind a replica to the only node it may go to."""
    return {"spec": {"hardNodeAffinity": node}}


def healthy(replica: Object, now: str) -> Object:
    """Take a replica for one with all data."""
    since = replica["spec"]["healthyAt"] or now
    return {"spec": {"healthyAt": since, "lastHealthyAt": now, "rebuildRetryCount": 0}}


def failed(now: str) -> Object:
    """Give a replica up, or until it is salvaged."""
    return {"spec": {"failedAt": now, "lastFailedAt": now, "desireState": "stopped"}}


def salvaged() -> Object:
    """Take a failed replica again; when it last failed stays."""
    return {"spec": {"failedAt": ""}}


def on_attach(replicas: Sequence[Object], now: str) -> Iterator[tuple[str, Object]]:
    """Say what the engine finds in its replicas: if none has data all are new, and equal."""
    running = [(obj, each) for obj in replicas if (each := read_replica(obj)).is_running]
    has_data = any(each.is_healthy for _, each in running)
    for obj, each in running:
        if each.is_healthy or not has_data:
            yield each.name, healthy(obj, now)


def on_detach(replicas: Sequence[Object], now: str) -> Iterator[tuple[str, Object]]:
    """Give up the replicas without data, placed or not, if others have some.

    Source: controller/volume_controller.go closeVolumeDependentResources.
    """
    read = [read_replica(obj) for obj in replicas]
    if any(each.is_healthy for each in read):
        given_up = {"failedAt": now, "lastFailedAt": now, "rebuildRetryCount": MOST_RETRIES}
        for each in read:
            if not each.is_healthy and not each.is_failed and not each.is_leaving:
                yield each.name, {"spec": given_up}


def entering(state: str, volume: Object, replicas: Sequence[Object], now: str) -> Object:
    """Build what is written into a volume that enters a state."""
    status: Object = {"state": state}
    if state == "attached":
        node = read_volume(volume).wished_node
        health = robustness(read_volume(volume), [read_replica(each) for each in replicas])
        status |= {"currentNodeID": node, "ownerID": node, **judged(health, now)["status"]}
    if state == "detaching":
        is_faulted = not replicas or read_volume(volume).robustness == "faulted"
        status |= {"robustness": "faulted" if is_faulted else "unknown"}
    if state == "detached":
        status |= {"currentNodeID": "", "lastDegradedAt": ""}
    return {"status": status}


def entering_in_shards(state: str, volume: Object, now: str) -> Object:
    """Build what is written into an erasure-coded volume that enters a state."""
    health = "healthy" if state == "attached" else "unknown"
    status = entering(state, volume, [], now)["status"]
    return {"status": {**status, **judged(health, now)["status"]}}


def in_shards(volume: Object, shards: Collection[Object], now: str) -> Object:
    """Build the condition Scheduled of an erasure-coded volume; nothing if it is as before."""
    return _with_condition(volume, shard_condition(volume, shards, now))


def judged(robustness: str, now: str) -> Object:
    degraded_at = now if robustness == "degraded" else ""
    return {"status": {"robustness": robustness, "lastDegradedAt": degraded_at}}


def pinned(node: str) -> Object:
    """Build the node affinity of a PersistentVolume that only *node* can use."""
    term = {"matchExpressions": [{"key": HOSTNAME_LABEL, "operator": "In", "values": [node]}]}
    return {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}}


def scheduled(
    volume: Object,
    replicas: Sequence[Object],
    failed: Mapping[str, Sequence[str]],
    *,
    allow_degraded: bool,
    now: str,
) -> Object:
    """Build the condition Scheduled with all reasons; nothing if it is as before.

    A volume that is not attached yet passes with one placed replica if the setting allows that.
    Source: controller/volume_controller.go reconcileVolumeCondition, util/error.go Join.
    """
    read = [read_replica(each) for each in replicas]
    new = condition("Scheduled", since=now)
    if failed:
        is_local = any(each.name in failed and each.hard_node for each in read)
        reason = "LocalReplicaSchedulingFailure" if is_local else "ReplicaSchedulingFailure"
        message = ";".join(sorted({each for reasons in failed.values() for each in reasons}))
        if PRECHECK in failed:
            message = f"precheck new replica failed: {message}"
        new = condition("Scheduled", "False", reason=reason, message=message, since=now)
        is_new = not read_volume(volume).current_node and any(each.node for each in read)
        if is_new and allow_degraded:
            new = condition("Scheduled", message=RESET, since=now)
    return _with_condition(volume, new)


def unplaced() -> Object:
    """Take a replica off its disk."""
    return {
        "metadata": {"labels": {"longhornnode": "", "longhorndiskuuid": ""}},
        "spec": {"nodeID": "", "diskID": "", "diskPath": ""},
    }


def of_size(size_bytes: int) -> Object:
    """Let a replica have another size."""
    return {"spec": {"volumeSize": str(size_bytes)}}


def expanding(volume: Object, replicas: Sequence[Object]) -> Object:
    """Show whether replicas have yet to grow; nothing if it shows already."""
    size = read_volume(volume).size_bytes
    is_required = any(read_replica(each).size_bytes < size for each in replicas)
    if is_required == volume["status"].get("expansionRequired", False):
        return {}
    return {"status": {"expansionRequired": is_required}}


def allocated(
    volume: Object, replicas: Sequence[Replica], refusals: Mapping[str, str], now: str
) -> Object:
    """Build the condition DiskAllocation; nothing if it is as before.

    It is False from the first refusal until every replica has room on a disk, for the size that
    the volume is to have. A volume that was never refused anything has no such condition.
    """
    if refusals:
        message = ";".join(refusals[name] for name in sorted(refusals))
        reason = "ReplicaDiskAllocationFailure"
        new = condition(DISK_ALLOCATION, "False", reason=reason, message=message, since=now)
        return _with_condition(volume, new)
    size = read_volume(volume).size_bytes
    is_settled = bool(replicas) and all(
        each.node and each.is_granted and each.size_bytes >= size for each in replicas
    )
    if is_settled and condition_status(volume["status"], DISK_ALLOCATION) == "False":
        return _with_condition(volume, condition(DISK_ALLOCATION, since=now))
    return {}


def _with_condition(volume: Object, new: Object) -> Object:
    """Put a condition in place of the one of its type; nothing if all is as before.

    The time is that of the last change of its status.
    """
    before = volume["status"].get("conditions") or []
    same = [each for each in before if each["type"] == new["type"]]
    if any(each["status"] == new["status"] for each in same):
        new = {**new, "lastTransitionTime": same[0]["lastTransitionTime"]}
    after = [new if each["type"] == new["type"] else each for each in before]
    after = after if same else [*before, new]
    return {} if after == volume["status"].get("conditions") else {"status": {"conditions": after}}
