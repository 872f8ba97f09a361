"""What must be held for pods, as far as it can be seen from outside of our service.

A choice begins when kube-scheduler chooses a node that was accepted. It is about the volumes that
need a replica there, and about all other replicas of the pod's volumes, until Longhorn has placed
them or the pod is gone.
"""

from collections.abc import Callable
from math import inf

import msgspec

from longhorn import Volume
from tests.actors.api import Object
from tests.actors.provisioner import SELECTED_NODE
from tests.simulation.room import Want
from tests.simulation.together import Known
from tests.simulation.truth import Truth, volume_of


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What an instance said, and what it knew then.

    Attributes:
        at: When.
        by: The pod of the instance.
        known: What it knew of Longhorn.
        knows_kind: Whether it knew the DiskSchedules, if there ever are any.
    """

    at: float
    by: str
    known: Known
    knows_kind: bool = True

    @property
    def placed(self) -> set[str]:
        """The replicas that it knew to be placed."""
        replicas = self.known.replicas.values()
        return {str(each.name) for found in replicas for each in found if each.disk}


class Choice(msgspec.Struct, kw_only=True):
    """One choice of a node.

    Attributes:
        scheduler: Which process chose.
        volumes: Those of the pod.
        wants: All that needs a replica on the node.
        placed_before: Replicas of the volumes that had a disk as far as was known at the answer,
            each with its UUID; where others are is where Longhorn went.
        is_tried: Whether the attempt goes on, or came to a good end.
        knows_kind: Whether all instances that answered and led since knew the DiskSchedules.
        settled: The volumes that have come to their place for good at some time.
        refusal: How kube-scheduler had refused the pod before, as far as it knew.
        doubted_at: When another refusal was written since, be it of an earlier attempt, and all
            claims were bound: then they do not tell any more that the attempt goes on.
        selected: The uids of the claims that were to be provisioned for the node.
        marked_at: When the choice first showed for good: in a claim, or as a binding.
        heard_at: When the instance that answered had heard of that at the latest; news is late on a
            slow network.
        bound_at: When the pod was bound.
        binding_heard_at: When the instance that answered had heard of that at the latest.
    """

    pod: str
    uid: str
    node: str
    scheduler: int
    answer: Answer
    volumes: tuple[Volume, ...]
    wants: tuple[Want, ...]
    placed_before: frozenset[tuple[str, str]]
    refusal: Object | None = None
    is_tried: bool = True
    knows_kind: bool = True
    settled: set[str] = set()
    doubted_at: float = inf
    selected: set[str] = set()
    marked_at: float | None = None
    heard_at: float = inf
    bound_at: float | None = None
    binding_heard_at: float = inf

    def __str__(self) -> str:
        gib = ", ".join(f"{want.size_bytes / 2**30:g}" for want in self.wants)
        times = [
            f"answered by {self.answer.by} at {self.answer.at:.3f}",
            *([f"shown at {self.marked_at:.3f}"] if self.marked_at is not None else []),
            *([f"bound at {self.bound_at:.3f}"] if self.bound_at is not None else []),
        ]
        return f"{self.pod} on {self.node} for {gib} GiB ({', '.join(times)})"


class Choices:
    """The choices that stand, one for a pod.

    Args:
        truth: The objects as they are.
        news_seconds: Returns the most that news takes to a watch now.
        is_deaf: Says whether an instance's watch of claims hangs now.
    """

    def __init__(
        self, truth: Truth, news_seconds: Callable[[], float], is_deaf: Callable[[str], bool]
    ) -> None:
        self._truth = truth
        self._news_seconds = news_seconds
        self._is_deaf = is_deaf
        self._choices: dict[str, Choice] = {}

    def put(self, choice: Choice) -> None:
        self._choices[choice.uid] = choice

    def all(self) -> list[Choice]:
        return [*self._choices.values()]

    def fail(self, uid: str) -> None:
        """Take in that an attempt failed."""
        if choice := self._choices.get(uid):
            choice.is_tried = False

    def take_back(self, uid: str) -> None:
        """Take in that a pod got no node: the last answer is the one that counts."""
        self._choices.pop(uid, None)

    def crash(self, scheduler: int) -> None:
        """Take in that a scheduler has ended, and with it what it was about to do."""
        for choice in self._choices.values():
            if choice.scheduler == scheduler and choice.bound_at is None:
                choice.is_tried = False

    def refresh(self, now: float) -> None:
        """Take in what has become of pods and claims."""
        for uid, choice in [*self._choices.items()]:
            pod = self._truth.pod(uid)
            node = pod["spec"].get("nodeName") if pod else None
            if pod is None or node not in (None, choice.node):
                del self._choices[uid]
                continue
            if node and choice.bound_at is None:
                choice.bound_at = now
                choice.binding_heard_at = now + self._news_seconds()
            selected = {claim["metadata"]["uid"] for claim in self._selected(pod, choice.node)}
            if choice.marked_at is None and (node or selected):
                choice.marked_at = now
            is_told = node or (selected and not self._is_deaf(choice.answer.by))
            if is_told and choice.heard_at == inf:
                choice.heard_at = now + self._news_seconds()
            bound = self._bound(pod)
            if not node and choice.selected - selected - bound:
                choice.is_tried = False  # kube-scheduler only does not know it yet
            choice.selected |= selected
            is_refused = refusal_of(pod) not in (None, choice.refusal)
            if is_refused and choice.selected <= bound and choice.doubted_at == inf:
                choice.doubted_at = now

    def standing(self, choice: Choice) -> list[Volume]:
        """Return the volumes for which a choice stands."""
        pod = self._truth.pod(choice.uid)
        if pod is None:
            return []
        claims = self._truth.claims(pod)
        if not choice.is_tried and choice.bound_at is None:
            claims = self._selected(pod, choice.node)
        standing = {volume_of(claim) for claim in claims}
        return [volume for volume in choice.volumes if volume.name in standing]

    def wanted(self, choice: Choice, *, for_good: bool = False) -> list[Want]:
        """Return what of a choice stands on its node.

        What Longhorn placed elsewhere does not; *for_good*: once no disk can refuse it any more.
        """
        standing = {str(volume.name): volume for volume in self.standing(choice)}
        return [
            want
            for want in choice.wants
            if want.volume in standing
            and not self._went_elsewhere(standing[want.volume], choice, for_good=for_good)
        ]

    def on_node(self, node: str) -> list[Choice]:
        return [each for each in self._choices.values() if each.node == node]

    def _went_elsewhere(self, volume: Volume, choice: Choice, *, for_good: bool) -> bool:
        """Say whether Longhorn has placed all of a volume since, but not on the node."""
        placed = self._truth.placed_of([volume.name], for_good=for_good)
        since = {
            each["spec"]["nodeID"]
            for each in placed
            if (each["metadata"]["name"], each["spec"]["diskID"]) not in choice.placed_before
        }
        here = any(each["spec"]["nodeID"] == choice.node for each in placed)
        is_whole = volume.wanted_replicas == 1 or len(placed) >= volume.wanted_replicas
        return bool(since) and is_whole and not here

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


def refusal_of(pod: Object) -> Object | None:
    """Return the condition by which kube-scheduler refuses a pod, None if it does not."""
    conditions = pod["status"].get("conditions") or []
    of_type = (each for each in conditions if each["type"] == "PodScheduled")
    return next((each for each in of_type if each["status"] == "False"), None)
