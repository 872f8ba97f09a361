"""What was promised to pods by answers, as far as it can be seen from outside of our service.

A promise begins when kube-scheduler chooses a node that was accepted. It is about the volumes that
need a replica there, until Longhorn has placed them or the pod is gone.
"""

from collections.abc import Iterable

import msgspec

from tests.actors.api import Object
from tests.actors.provisioner import SELECTED_NODE
from tests.simulation.room import Want
from tests.simulation.truth import Truth


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a replica said, and what it knew then.

    Attributes:
        at: When.
        by: The pod of the replica.
        known: The placed replicas that it knew of.
    """

    at: float
    by: str
    known: frozenset[str]


class Promise(msgspec.Struct, kw_only=True):
    """One choice of a node.

    Attributes:
        scheduler: Which process chose.
        wants: All that needs a replica on the node.
        placed_before: Replicas of the volumes that had a disk at the answer; where later ones are
            is where Longhorn went.
        is_tried: Whether the attempt goes on, or came to a good end.
        selected: The uids of the claims that were to be provisioned for the node.
        marked_at: When the choice first showed for good: in a claim, or as a binding.
        bound_at: When the pod was bound.
    """

    pod: str
    uid: str
    node: str
    scheduler: int
    answer: Answer
    wants: tuple[Want, ...]
    placed_before: frozenset[str]
    is_tried: bool = True
    selected: set[str] = set()
    marked_at: float | None = None
    bound_at: float | None = None

    def __str__(self) -> str:
        gib = ", ".join(f"{want.size_bytes / 2**30:g}" for want in self.wants)
        times = [
            f"answered by {self.answer.by} at {self.answer.at:.3f}",
            *([f"shown at {self.marked_at:.3f}"] if self.marked_at is not None else []),
            *([f"bound at {self.bound_at:.3f}"] if self.bound_at is not None else []),
        ]
        return f"{self.pod} on {self.node} for {gib} GiB ({', '.join(times)})"


class Promises:
    """The promises that stand, one for a pod."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._promises: dict[str, Promise] = {}

    def put(self, promise: Promise) -> None:
        self._promises[promise.uid] = promise

    def of(self, uid: str) -> Promise | None:
        return self._promises.get(uid)

    def all(self) -> list[Promise]:
        return [*self._promises.values()]

    def fail(self, uid: str) -> None:
        """Take in that an attempt failed."""
        if promise := self._promises.get(uid):
            promise.is_tried = False

    def take_back(self, uid: str) -> None:
        """Take in that a pod got no node: the last answer is the one that counts."""
        self._promises.pop(uid, None)

    def crash(self, scheduler: int) -> None:
        """Take in that a scheduler has ended, and with it what it was about to do."""
        for promise in self._promises.values():
            if promise.scheduler == scheduler and promise.bound_at is None:
                promise.is_tried = False

    def refresh(self, now: float) -> None:
        """Take in what has become of pods and claims."""
        for uid, promise in [*self._promises.items()]:
            pod = self._truth.pod(uid)
            node = pod["spec"].get("nodeName") if pod else None
            if pod is None or node not in (None, promise.node):
                del self._promises[uid]
                continue
            if node and promise.bound_at is None:
                promise.bound_at = now
            selected = {claim["metadata"]["uid"] for claim in self._selected(pod, promise.node)}
            if promise.marked_at is None and (node or selected):
                promise.marked_at = now
            if not node and promise.selected - selected - self._bound(pod):
                promise.is_tried = False  # kube-scheduler only does not know it yet
            promise.selected |= selected

    def wanted(self, promise: Promise) -> list[Want]:
        """Return what of a promise stands."""
        pod = self._truth.pod(promise.uid)
        if pod is None:
            return []
        if promise.is_tried or promise.bound_at is not None:
            standing = set(self._volumes(self._truth.claims(pod)))
        else:
            standing = set(self._volumes(self._selected(pod, promise.node)))
        return [
            want
            for want in promise.wants
            if want.volume in standing and not self._went_elsewhere(want, promise)
        ]

    def on_node(self, node: str) -> list[Promise]:
        return [each for each in self._promises.values() if each.node == node]

    def _went_elsewhere(self, want: Want, promise: Promise) -> bool:
        """Say whether Longhorn has placed a volume since, but not on the node."""
        placed = self._truth.placed_of([want.volume])
        since = {
            each["spec"]["nodeID"]
            for each in placed
            if each["metadata"]["name"] not in promise.placed_before
        }
        here = any(each["spec"]["nodeID"] == promise.node for each in placed)
        return bool(since) and not here

    def _selected(self, pod: Object, node: str) -> list[Object]:
        """Return the unbound claims of a pod that are to be provisioned for *node*."""
        return [
            claim
            for claim in self._truth.claims(pod)
            if not claim["spec"].get("volumeName")
            and (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE) == node
        ]

    def _bound(self, pod: Object) -> set[str]:
        claims = self._truth.claims(pod)
        return {each["metadata"]["uid"] for each in claims if each["spec"].get("volumeName")}

    def _volumes(self, claims: Iterable[Object]) -> list[str]:
        return [f"pvc-{claim['metadata']['uid']}" for claim in claims]
