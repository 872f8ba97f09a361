"""What came of the pods of one run, by what the API server has."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from cli.trial.cases import Action, Case
from cli.trial.manifests import Object, Way


class PodSeen(msgspec.Struct, frozen=True, kw_only=True):
    """One pod."""

    name: str
    uid: str
    node: str
    """Empty if it has none."""
    runs: bool
    refused: str
    """Why it got no node, as kube-scheduler says."""
    claims: tuple[str, ...]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the pods of one run."""

    case: str
    way: Way
    run: int
    pods: int
    running: int
    waiting: int
    """So many got no node."""
    by_node: Mapping[str, int]
    without_room: int
    """So many volumes that want a replica on their pod's node have none there, or more than the
    node has room for: Longhorn fills disks beyond their limit while its figures lag."""
    replicas_missing: int
    """So many replicas have no disk."""
    moved: int
    """So many pods that should return to their node are on another one."""
    seconds: float | None
    """Until all ran; None if not all did."""
    calls: int | None
    """Of the extender meanwhile; None if they are not known."""
    problem: str = ""
    """Why it was not carried out; then nothing else counts."""

    @property
    def is_right(self) -> bool:
        """Whether all pods run, where their volumes are or have room."""
        is_whole = self.running == self.pods and not self.problem
        return is_whole and not (self.without_room or self.moved)


def pod_seen(pod: Object) -> PodSeen:
    """Read a Pod."""
    spec, status, metadata = pod.get("spec") or {}, pod.get("status") or {}, pod["metadata"]
    named = [each.get("persistentVolumeClaim") for each in spec.get("volumes") or ()]
    conditions = status.get("conditions") or ()
    refusals = [
        each.get("message") or ""
        for each in conditions
        if each.get("type") == "PodScheduled" and each.get("status") == "False"
    ]
    return PodSeen(
        name=metadata["name"],
        uid=metadata.get("uid") or "",
        node=spec.get("nodeName") or "",
        runs=status.get("phase") == "Running" and not metadata.get("deletionTimestamp"),
        refused=next(iter(refusals), ""),
        claims=tuple(each["claimName"] for each in named if each),
    )


def places(replicas: Sequence[Object]) -> dict[str, list[str]]:
    """Return the nodes where Longhorn has replicas, but for failed ones, by volume."""
    found: dict[str, list[str]] = {}
    for each in replicas:
        spec = each.get("spec") or {}
        if spec.get("nodeID") and not spec.get("failedAt"):
            found.setdefault(spec.get("volumeName") or "", []).append(spec["nodeID"])
    return found


def without_room(
    pods: Sequence[PodSeen], volume_of: Mapping[str, str], replicas: Mapping[str, Sequence[str]]
) -> int:
    """Count the volumes of pods with a node that have no replica there.

    Args:
        pods: The pods.
        volume_of: The volume of each claim that has one.
        replicas: The nodes of their replicas, by volume.
    """
    return sum(
        pod.node not in replicas.get(volume_of.get(claim, ""), ())
        for pod in pods
        if pod.node
        for claim in pod.claims
    )


def outcome(
    case: Case,
    way: Way,
    run: int,
    pods: Sequence[PodSeen],
    volume_of: Mapping[str, str],
    replicas: Mapping[str, Sequence[str]],
    *,
    before: Mapping[str, str],
    room: Mapping[str, int],
    seconds: float | None,
    calls: int | None,
) -> Outcome:
    """Put together what came of the pods of a case.

    Args:
        case: What was tried.
        way: Who was asked.
        run: Its number.
        pods: What became of them.
        volume_of: The volume of each claim that has one.
        replicas: The nodes of their replicas, by volume.
        before: The nodes of pods before they were created again, by pod.
        room: How many volumes each node had room for.
        seconds: Until all ran.
        calls: Of the extender.
    """
    wanted = case.class_.replicas
    missing = sum(max(0, wanted - len(replicas.get(each, ()))) for each in volume_of.values())
    is_return = case.action is Action.RESTART
    lacking = 0
    if case.class_.is_local:
        for node in {each.node for each in pods}:
            there = [each for each in pods if each.node == node]
            over = sum(len(each.claims) for each in there) - room.get(node, 0)
            alone = wanted == 1 and node
            lacking += max(without_room(there, volume_of, replicas), over if alone else 0)
    return Outcome(
        case=case.name,
        way=way,
        run=run,
        pods=case.pods,
        running=sum(each.runs for each in pods),
        waiting=sum(not each.node for each in pods),
        by_node=dict(sorted(Counter(each.node for each in pods if each.node).items())),
        without_room=lacking,
        replicas_missing=missing,
        moved=sum(before.get(each.name) != each.node for each in pods) if is_return else 0,
        seconds=seconds,
        calls=calls,
    )
