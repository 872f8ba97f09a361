"""The pods that got no node: whom to wake when there is room for them."""

from collections.abc import Iterable, Iterator

import msgspec

from extender.kubernetes import PodRef
from longhorn import NodeName

MOST_PODS = 10_000
FORGET_SECONDS = 900.0
"""kube-scheduler asks about a waiting pod again after 5 minutes at the latest. A pod that it has
not asked about for three times as long is gone, or waits for something else."""


class WaitingPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that was rejected everywhere."""

    pod: PodRef
    candidates: frozenset[NodeName]
    """Where it could go if there were room."""
    depends_on_others: bool = False
    """Whether room on other nodes helps, too."""
    since: float
    """When it was first rejected."""
    asked_at: float
    """When it was last rejected."""
    woken: bool = False
    """Whether it was woken since it was last rejected."""


class WaitingPods:
    """The rejected pods by uid. They come in the order of their first rejection."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(sorted(self._pods.values(), key=lambda each: (each.since, each.pod.uid)))

    def longest_wait_seconds(self, now: float) -> float:
        """Return how long ago the first waiting pod was rejected; 0 if none waits."""
        return max((now - each.since for each in self._pods.values()), default=0.0)

    def is_asleep(self, uid: str) -> bool:
        """Whether a pod waits and was not woken since its last rejection."""
        pod = self._pods.get(uid)
        return pod is not None and not pod.woken

    def mark_woken(self, uid: str) -> None:
        """Note that a pod was woken: it is not woken again until it is rejected again."""
        self._set_woken(uid, woken=True)

    def mark_asleep(self, uid: str) -> None:
        """Note that waking a pod failed."""
        self._set_woken(uid, woken=False)

    @property
    def some_depend_on_others(self) -> bool:
        """Whether room on any node may help some pod."""
        return any(each.depends_on_others for each in self._pods.values())

    def add(
        self,
        pod: PodRef,
        candidates: Iterable[NodeName],
        now: float,
        *,
        depends_on_others: bool = False,
    ) -> None:
        """Remember a rejected pod. If there are too many, new ones are left to kube-scheduler.

        Args:
            pod: The pod.
            candidates: Where it could go if there were room.
            now: The time.
            depends_on_others: Whether room on other nodes helps, too.
        """
        before = self._pods.get(pod.uid)
        if before is None and len(self._pods) >= MOST_PODS:
            return
        self._pods[pod.uid] = WaitingPod(
            pod=pod,
            candidates=frozenset(candidates),
            depends_on_others=depends_on_others,
            since=before.since if before else now,
            asked_at=now,
        )

    def forget(self, uid: str) -> None:
        """Drop a pod that no longer waits."""
        self._pods.pop(uid, None)

    def forget_all(self) -> None:
        """Drop all pods."""
        self._pods.clear()

    def forget_old(self, now: float) -> None:
        """Drop the pods that kube-scheduler has not asked about for long."""
        self._pods = {
            uid: each for uid, each in self._pods.items() if now - each.asked_at < FORGET_SECONDS
        }

    def _set_woken(self, uid: str, *, woken: bool) -> None:
        if uid in self._pods:
            self._pods[uid] = msgspec.structs.replace(self._pods[uid], woken=woken)
