"""What the volume controller writes: merge patches of its own fields. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from tests.actors.api import Object
from tests.actors.longhorn.lifecycle import PRECHECK, robustness
from tests.actors.longhorn.objects import HOSTNAME_LABEL, condition
from tests.actors.longhorn.records import BEST_EFFORT, read_replica, read_volume


def marked(replica: Object, removing: Collection[str], now: str) -> Object:
    """Show a replica that is being removed as such."""
    if replica["metadata"]["name"] not in removing:
        return replica
    return {**replica, "metadata": {**replica["metadata"], "deletionTimestamp": now}}


def running() -> Object:
    return {
        "spec": {"desireState": "running"},
        "status": {"currentState": "running", "started": True},
    }


def healthy(now: str) -> Object:
    return {"spec": {"healthyAt": now, "lastHealthyAt": now}}


def on_attach(replicas: Sequence[Object], now: str) -> Iterator[tuple[Object, Object]]:
    """Start the replicas that have data; if none has, the volume is new and all are equal."""
    read = [(obj, read_replica(obj)) for obj in replicas]
    staying = [(obj, each) for obj, each in read if each.node and not each.is_leaving]
    has_data = any(each.is_healthy for _, each in staying)
    for obj, each in staying:
        if not has_data:
            yield obj, {**running(), "spec": {**running()["spec"], **healthy(now)["spec"]}}
        elif each.is_healthy:
            yield obj, running()


def on_detach(replicas: Sequence[Object]) -> Iterator[tuple[Object, Object]]:
    """Stop what runs."""
    stopped = {
        "spec": {"desireState": "stopped"},
        "status": {"currentState": "stopped", "started": False},
    }
    for obj in replicas:
        if read_replica(obj).is_running:
            yield obj, stopped


def unfinished(replicas: Sequence[Object]) -> tuple[str, ...]:
    """Name the replicas whose rebuild a detachment breaks off: they are of no use."""
    read = [read_replica(obj) for obj in replicas]
    if not any(each.is_healthy for each in read):
        return ()
    return tuple(each.name for each in read if each.node and not each.is_healthy)


def entering(state: str, volume: Object, replicas: Sequence[Object]) -> Object:
    """Build what is written into a volume that enters a state."""
    status: Object = {"state": state}
    if state == "attached":
        node = read_volume(volume).wished_node
        health = robustness(read_volume(volume), [read_replica(each) for each in replicas])
        status |= {"currentNodeID": node, "ownerID": node, "robustness": health}
    if state == "detached":
        status |= {"currentNodeID": "", "robustness": "unknown", "lastDegradedAt": ""}
    return {"status": status}


def judged(robustness: str, now: str) -> Object:
    degraded_at = now if robustness == "degraded" else ""
    return {"status": {"robustness": robustness, "lastDegradedAt": degraded_at}}


def pinned(node: str) -> Object:
    """Build the node affinity of a PersistentVolume that only *node* can use."""
    term = {"matchExpressions": [{"key": HOSTNAME_LABEL, "operator": "In", "values": [node]}]}
    return {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}}


def scheduled(
    volume: Object, replicas: Sequence[Object], failed: Mapping[str, Sequence[str]], now: str
) -> Object:
    """Build the condition Scheduled with all reasons; nothing if it is as before."""
    reasons = ", ".join(sorted({reason for each in failed.values() for reason in each}))
    if PRECHECK in failed:
        reasons = f"precheck new replica failed: {reasons}"
    local = read_volume(volume).locality == BEST_EFFORT and any(
        each.name in failed and each.hard_node for each in map(read_replica, replicas)
    )
    new = condition("Scheduled", since=now)
    if failed:
        reason = "LocalReplicaSchedulingFailure" if local else "ReplicaSchedulingFailure"
        new = condition("Scheduled", "False", reason=reason, message=reasons, since=now)
    others = []
    for each in volume["status"].get("conditions") or ():
        if each["type"] != "Scheduled":
            others.append(each)
        elif each["status"] == new["status"]:
            new["lastTransitionTime"] = each["lastTransitionTime"]
    conditions = [*others, new]
    return (
        {}
        if conditions == volume["status"].get("conditions")
        else {"status": {"conditions": conditions}}
    )
