"""What an instance does and remembers while it leads: it holds and wakes."""

from collections.abc import Callable, Coroutine, Sequence

from app.instance.attaching import attached_bytes
from app.instance.cluster import LiveCluster
from app.instance.holds import Holds
from app.instance.room import Rooms, show_room
from app.instance.scores import LastScores
from app.instance.standing import Standing
from app.instance.taking_over import TakingOver
from app.instance.unasked import Unasked
from app.instance.untainting import Untainting
from app.instance.waking import Waking
from app.kube.mirror import Change
from app.process.surroundings import Surroundings
from app.serving.metrics import Metrics
from app.serving.wire import ExtenderRequest
from app.settings import Settings
from extender import Answer, Extender, Mode
from longhorn import NodeName


class Leading:
    """The parts of an instance that work while it leads, and forget all when it leads no longer.

    Args:
        around: What the instance finds around it.
        extender: Makes the decisions.
        cluster: What is known of the cluster.
        standing: What the instance may do now.
        settings: Of the process.
        metrics: Shows what is held and who waits.

    Attributes:
        waking: Who waits for room.
        scores: The last that were told.
        holds: What is held for pods.
        unasked: The pods that were asked about, to find those that were not.
        on_taken_over: Called when all is known that the leader before held.
    """

    def __init__(
        self,
        around: Surroundings,
        extender: Extender,
        cluster: LiveCluster,
        standing: Standing,
        settings: Settings,
        metrics: Metrics,
    ) -> None:
        self._cluster, self._standing = cluster, standing
        self._settings, self._metrics = settings, metrics
        self.waking = Waking(
            around, extender, lambda: cluster.view, metrics, may_wake=standing.may_answer
        )
        self.scores = LastScores()
        metrics.remembered_bytes.labels("scores").set_function(lambda: self.scores.size_bytes)
        waiting = self.waking.pods
        self.holds = Holds(around, extender, cluster, waiting, self.scores, metrics)
        rooms = Rooms()
        show_room(
            metrics.registry,
            lambda: (
                rooms.by_type(cluster.view, extender.ledger) if standing.has_taken_over() else {}
            ),
        )
        self.unasked = Unasked(
            around.connection,
            metrics,
            is_leading=standing.has_taken_over,
            clock=around.clock,
        )
        self._untainting = (
            Untainting(
                around,
                settings,
                lambda: cluster.view,
                metrics,
                may_act=standing.has_taken_over,
            )
            if settings.startup_taint
            else None
        )
        self.on_taken_over = list[Callable[[], None]]()
        self._taking_over = TakingOver(
            around,
            extender,
            self.holds,
            self.waking,
            cluster,
            self._taken_over,
            on_found=self.unasked.note,
        )
        self.holds.listeners.append(self._less_is_held)

    def loops(self) -> list[Coroutine[None, None, None]]:
        """Return what must run for as long as the instance does; none of them ends by itself."""
        loops = [self._taking_over.run(), *self.holds.loops()]
        loops.append(self.unasked.run())
        if self._untainting is not None:
            loops += self._untainting.loops()
        return [*loops, *([self.waking.run()] if self._settings.wake_up else [])]

    def begin(self) -> None:
        """Take over: the instance begins to lead."""
        self._taking_over.begin()

    def end(self) -> None:
        """Forget all: the instance leads no longer."""
        self._taking_over.give_up()
        self.holds.drop_all()
        self.waking.forget_all()
        self.scores.forget_all()
        self.unasked.forget_all()

    def note_changes(self, changes: Sequence[Change]) -> None:
        """Look at what has changed in the cluster."""
        if self._settings.wake_up:
            self.waking.note_changes()
        self.holds.note_changes(changes)
        if self._standing.is_leading():  # all instances see the same
            for data, size_bytes in attached_bytes(changes, self._cluster.view).items():
                self._metrics.attached_bytes_total.labels(data).inc(size_bytes)

    def note_answer(self, request: ExtenderRequest, result: Answer, now: float) -> None:
        """Hold what an answer needs that is about to be given, and remember who got no node."""
        self.scores.forget(request.pod.uid)  # if one node is left, there will be no others
        self.holds.answer(request, result, now)
        if result.accepted or not result.rejected:
            self.waking.forget(request.pod.uid)
        else:
            self.waking.remember(result, now, taken=self.holds.taken_by_members(request))

    def _taken_over(self) -> None:
        for call in self.on_taken_over:
            call()

    def _less_is_held(self, nodes: frozenset[NodeName]) -> None:
        is_by_node = self._settings.reservation_mode is Mode.NODE  # an open hold closes all nodes
        self.waking.note_less_held(None if is_by_node else nodes)
