"""A plan: steps on a cluster in memory, one after another, and what they lead to."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Protocol

from msgspec import structs

from extender.kubernetes import Claim, PersistentVolume
from longhorn import NodeName, Reason, Replica, VolumeName
from planner.cluster import Cluster
from planner.drawing import draw
from planner.engine import Decision, Scheduler
from planner.following import follow_nodes
from planner.naming import first_of, natural
from planner.outcome import PlanReport
from planner.picture import Event, Kind, PlanWarning, StepReport
from planner.policy import Policy
from planner.records import Pod
from planner.scheduling import Batch, Scheduling
from planner.telling import pod_event, unplanned_of
from planner.volumes import Settled, Volumes
from planner.warnings import warnings_of

_SHOWN = 3


class Step(Protocol):
    """One step of a plan."""

    @property
    def title(self) -> str:
        """What is done, in a few words."""

    def take(self, plan: "Plan") -> list[Event]:
        """Do it, and return what happened.

        Raises:
            PlanError: It names something that is not there, or asks for what cannot be.
        """


WAITED = "what waits already"
"""The title of the step before all others, if there is something to do already."""


class Plan:
    """A cluster and what becomes of it.

    Args:
        cluster: The cluster, which is changed.
        policy: How nodes are chosen for pods.
        random: For all that is left to chance.
        in_flight: At most so many pods get nodes before Longhorn places their replicas.
        asked: Is told of how many more pods the scheduler was asked, so that progress can be shown.

    Attributes:
        cluster: As it is after the steps so far.
        volumes: Its Longhorn.
        steps: What the steps so far have led to; the first one is the cluster as it was.
        decisions: The last one about each pod that was asked about, as in `Scheduled`.
        notes: What is not known, or passed over; the same only once.
        not_known: What the answer hangs on and is not known, with the answer for both cases.
    """

    def __init__(
        self,
        cluster: Cluster,
        policy: Policy,
        random: Random,
        *,
        in_flight: int,
        asked: Callable[[int], None] = lambda _pods: None,
        ignores_waiting: bool = False,
    ) -> None:
        self.cluster = cluster
        self.volumes = Volumes(cluster, random)
        self.decisions: dict[str, Decision] = {}
        self.notes: list[str] = []
        self.not_known: list[str] = []
        self._scheduling = Scheduling(
            cluster,
            Scheduler(policy, random),
            self.volumes,
            random,
            in_flight=in_flight,
            asked=asked,
        )
        pending = [] if ignores_waiting else [*_pending(cluster)]
        self._waiting = [Batch(pods=(pod,)) for pod in pending]
        self._waited = {pod.key for pod in _pending(cluster)}
        self._unplanned: dict[str, list[str]] = {}
        """What pods ask for and no plan goes by, and which pods."""
        self._placed: dict[str, None] = {}
        """The pods that this plan placed, in order."""
        self._lacking: dict[VolumeName, tuple[Reason, ...]] = {}
        self._drawn = draw(cluster, self.names())
        self._warnings = self._warn()
        self.steps = [
            StepReport(
                title="now",
                warnings=_sorted(self._warnings),
                nodes=tuple(self._drawn.values()),
            )
        ]

    def begin(self) -> None:
        """Take a first step, if there is something to do already: pods and volumes that wait."""
        waiting, self._waiting = self._waiting, []
        self.follow()
        events = self.schedule(waiting)
        if events:
            self._report(WAITED, events)

    def take(self, step: Step) -> StepReport:
        """Take one step more, and return what it leads to.

        Raises:
            PlanError: The step names something that is not there, or asks for what cannot be.
        """
        return self._report(step.title, step.take(self))

    def report(self, *, origin: str, policy: str, seed: int) -> PlanReport:
        """Return all of it.

        Args:
            origin: Where the cluster comes from.
            policy: What the policy is called.
            seed: What the generator was made with.
        """
        pods = [pod.key for batch in self._waiting for pod in batch.pods]
        pending = [key for key in pods if self.cluster.pods[key].node is None]
        return PlanReport(
            origin=origin,
            policy=policy,
            seed=seed,
            notes=tuple(dict.fromkeys(self.notes)),
            unplanned=(
                *dict.fromkeys(self.not_known),
                *(
                    f"not planned: {what}, of {first_of(pods, _SHOWN)}"
                    for what, pods in self._unplanned.items()
                ),
            ),
            steps=tuple(self.steps),
            placed=len(self._placed),
            pending=len(pending),
            waited=len(self._waited.intersection(pending)),
            degraded=len(_degraded(self._warnings) - _degraded(self.steps[0].warnings)),
        )

    def create(self, pods: Iterable[Pod], claims: Iterable[Claim]) -> None:
        """Add pods without nodes, and the claims of them that the cluster lacks."""
        self._scheduling.create(pods, claims)

    def schedule(
        self, batches: Sequence[Batch] = (), before: Mapping[str, NodeName] | None = None
    ) -> list[Event]:
        """Find nodes for pods, and for all that wait still; return what happened.

        Args:
            batches: Pods that are in the cluster without a node.
            before: Where pods were that come back, by namespace and name.
        """
        before = before or {}
        new = {pod.key for batch in batches for pod in batch.pods}
        self._waiting += [batch for batch in batches if batch.pods]
        homeless = {
            pod.key
            for batch in self._waiting
            for pod in batch.pods
            if self.cluster.pods[pod.key].node is None
        }
        done = self._scheduling.schedule(self._waiting)
        self.decisions.update(done.decisions)
        self._lacking = done.settled.unplaced
        asked = [self.cluster.pods[pod.key] for batch in self._waiting for pod in batch.pods]
        told = [
            pod for pod in asked if pod.key in new or (pod.node is not None and pod.key in homeless)
        ]
        self._placed.update((pod.key, None) for pod in told if pod.node is not None)
        self._note_unplanned(told)
        own = {volume.name for pod in told for volume in self.volumes.of_pod(pod)}
        events = [
            pod_event(
                pod,
                self.cluster,
                self.decisions.get(pod.key),
                before=before.get(pod.key),
                waits_for=done.not_created.get(pod.key),
                new_replicas=self.volumes.replicas.new,
                disk_of=self.disk_of,
            )
            for pod in told
        ]
        self._waiting = [batch for batch in map(self._left, self._waiting) if batch.pods]
        return [*events, *self._moves(done.settled, but=own)]

    def settle(self) -> list[Event]:
        """Let Longhorn do what it can, then the pods that wait; return what happened."""
        self.follow()
        settled = self.volumes.settle()
        return [*self._moves(settled), *self.schedule()]

    def follow(self) -> None:
        """Have Longhorn see how nodes, disks and settings are now; what it does, it does later."""
        follow_nodes(self.cluster)
        self.volumes.follow_evictions()

    def stuck(self, pod: Pod) -> Sequence[str]:
        """Return for want of which volumes and claims a pod cannot start that this plan placed."""
        return self._scheduling.stuck(pod) if pod.key in self._placed else ()

    def forget(self, key: str) -> None:
        """Remove a pod that does not come back."""
        self.cluster.remove_pod(key)
        self._placed.pop(key, None)
        self._waiting = [
            structs.replace(batch, pods=tuple(pod for pod in batch.pods if pod.key != key))
            for batch in self._waiting
        ]

    def _moves(self, settled: Settled, but: Iterable[VolumeName] = ()) -> list[Event]:
        """Return what Longhorn did to volumes other than *but*."""
        passed_over = {*but}
        moved = [
            (kind, each)
            for kind, replicas in (
                (Kind.REPLICA_PLACED, settled.placed),
                (Kind.REPLICA_REMOVED, settled.removed),
            )
            for each in replicas
            if each.volume not in passed_over
        ]
        names = self.names() if moved else {}  # each time they are those of all claims
        return [
            Event(
                kind=kind,
                object=names.get(each.volume, each.volume),
                node=each.node,
                text=self.disk_of(each),
            )
            for kind, each in moved
        ]

    def names(self) -> dict[VolumeName, str]:
        """Return the claims of all volumes that have one, by namespace and name."""
        bound = self.cluster.all(PersistentVolume)
        found = {}
        for claim in self.cluster.all(Claim).values():
            volume = bound.get(claim.persistent_volume or "")
            if volume is not None and volume.volume_handle:
                found[VolumeName(volume.volume_handle)] = str(claim.key)
        return found

    def disk_of(self, replica: Replica) -> str:
        """Return the name of the disk that a replica is on, its UUID if that is all there is."""
        space = self.cluster.view.spaces.get(replica.node) if replica.node else None
        disks = space.node.disks if space else ()
        names = (str(disk.name) for disk in disks if disk.id == replica.disk)
        return next(names, str(replica.disk or ""))

    def _note_unplanned(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            for what in unplanned_of(pod, self.cluster):
                of_pods = self._unplanned.setdefault(what, [])
                if pod.key not in of_pods:
                    of_pods.append(pod.key)

    def _report(self, title: str, events: Sequence[Event]) -> StepReport:
        before, warned = self._drawn, self._warnings
        self._drawn = draw(
            self.cluster,
            self.names(),
            new_pods=self._placed,
            new_replicas=self.volumes.replicas.new,
        )
        self._warnings = self._warn()
        report = StepReport(
            title=title,
            events=tuple(events),
            warnings=_sorted(self._warnings - warned),
            nodes=tuple(node for name, node in self._drawn.items() if before.get(name) != node),
            removed_nodes=tuple(name for name in before if name not in self._drawn),
        )
        self.steps.append(report)
        return report

    def _left(self, batch: Batch) -> Batch:
        """Return what of a batch still waits."""
        pods = (self.cluster.pods[pod.key] for pod in batch.pods)
        return structs.replace(
            batch, pods=tuple(pod for pod in pods if self._scheduling.waits(pod, batch))
        )

    def _warn(self) -> frozenset[PlanWarning]:
        stuck = {key: why for key in self._placed if (why := self.stuck(self.cluster.pods[key]))}
        return warnings_of(
            self.cluster, self.volumes, self.names(), lacking=self._lacking, stuck=stuck
        )


def _pending(cluster: Cluster) -> Iterator[Pod]:
    """Yield the pods that wait for a node, by their names."""
    for name in sorted(cluster.pods, key=natural):
        pod = cluster.pods[name]
        if pod.node is None and not pod.wishes.deleting:
            yield pod


def _degraded(warnings: Iterable[PlanWarning]) -> set[str]:
    codes = ("volume_degraded", "volume_faulted", "volume_unreadable")
    return {each.object for each in warnings if each.code in codes}


def _sorted(warnings: Iterable[PlanWarning]) -> tuple[PlanWarning, ...]:
    return tuple(sorted(warnings, key=lambda each: (each.code, natural(each.object), each.text)))
