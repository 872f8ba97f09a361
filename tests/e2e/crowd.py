"""Crowds of pods at once: how large, and where their time goes."""

import time
from collections.abc import Mapping, Sequence
from statistics import mean, median

import msgspec

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.e2e.calls import Call
from tests.e2e.scheduling import Scheduling
from tests.e2e.workloads import claim, pod
from tests.e2e.world import Disks, World

GIB_EACH = 100


class Crowd(msgspec.Struct, frozen=True, kw_only=True):
    """Pods with one best-effort claim each, all of the same size, that are there at once."""

    pods: int
    nodes: int
    """With one disk each."""
    replicas: int
    percent: int
    """How much of what all disks may hold is scheduled in the end."""

    def __str__(self) -> str:
        return f"{self.pods}-pods-{self.nodes}-nodes-{self.replicas}-replicas-{self.percent}"

    @property
    def class_name(self) -> str:
        return f"crowd-{self.replicas}"

    @property
    def room(self) -> Sequence[int]:
        """For how many replicas each node has room; where it does not divide, some for one more."""
        each, left = divmod(round(100 * self.pods * self.replicas / self.percent), self.nodes)
        return [each + (number < left) for number in range(self.nodes)]

    @property
    def disks(self) -> Sequence[Disks]:
        return [{"disk": GIB_EACH * each} for each in self.room]


class PodTimes(msgspec.Struct, frozen=True, kw_only=True):
    """When things happened to one pod, in seconds since all pods were made."""

    asked: float
    """When kube-scheduler first asked us about it; 0 without the extender."""
    accepted: float
    """When our last answer was there: it had nodes; 0 without the extender."""
    answering: float
    """Seconds of all our answers."""
    bound: float
    placed: float
    """When all replicas of its volume had disks."""


class Placements:
    """When each volume's last replica was seen with a disk, in seconds since the epoch."""

    def __init__(self, world: World) -> None:
        self.at: dict[str, float] = {}
        world.longhorn.cluster.replicas.handlers.append(self._saw)

    def _saw(self, old: Object | None, new: Object | None) -> None:
        had = old is not None and old["spec"].get("diskID")
        if new is not None and new["spec"].get("diskID") and not had:
            self.at[new["spec"]["volumeName"]] = time.time()


async def start(world: World, crowd: Crowd, *, extender: bool) -> Scheduling:
    """Make the nodes and the claims, then all pods at once."""
    await world.add_class(
        crowd.class_name, numberOfReplicas=str(crowd.replicas), dataLocality="best-effort"
    )
    await world.add_nodes(*crowd.disks)
    names = [f"web-{number}" for number in range(crowd.pods)]
    for name in names:
        await world.api.create(claim(name, f"{GIB_EACH}Gi", crowd.class_name), kinds.CLAIMS)
    pods = [(_with_requests(pod(name, name, extender=extender)), kinds.PODS) for name in names]
    return await world.schedule(*pods, pods=crowd.pods)


def times_of(
    world: World, placements: Placements, began: float, calls: Mapping[str, Sequence[Call]]
) -> list[PodTimes]:
    """Return the times of all pods; *calls* are those about each, by its name."""
    found = []
    for each in world.seen.pods():
        name = each["metadata"]["name"]
        bound = world.seen.bound_at[each["metadata"]["uid"]] - began
        placed = placements.at[world.seen.volume_of(name)] - began
        of_pod = calls.get(name, ())
        found.append(
            PodTimes(
                asked=of_pod[0].at - began if of_pod else 0.0,
                accepted=of_pod[-1].at + of_pod[-1].seconds - began if of_pod else 0.0,
                answering=sum(call.seconds for call in of_pod),
                bound=bound,
                placed=placed,
            )
        )
    return found


def described(times: Sequence[PodTimes]) -> str:
    """Say where the time of the pods went, on average: what follows on what."""
    queued = mean(each.asked for each in times)
    answering = mean(each.answering for each in times)
    waiting = mean(each.accepted - each.asked - each.answering for each in times)
    binding = mean(each.bound - each.accepted for each in times)
    placing = median(each.placed - each.accepted for each in times)
    return (
        f"a pod waits {queued:.2f} s for its turn, {1000 * answering:.0f} ms for our answers, "
        f"{waiting:.2f} s between them after a rejection, and {binding:.2f} s from the last one "
        f"until it is bound (means); bound after {median(each.bound for each in times):.2f} s, "
        f"all replicas placed {placing:.2f} s after the last answer (medians)"
    )


def _with_requests(made: Object) -> Object:
    """Let a pod ask for so much CPU and memory that kube-scheduler spreads pods over nodes."""
    [container] = made["spec"]["containers"]
    container["resources"]["requests"] |= {"cpu": "1", "memory": "4Gi"}
    return made
