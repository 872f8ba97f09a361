"""Takes the startup taint off new nodes, once cluster-autoscaler can see what Longhorn has there.

Until then the autoscaler takes a node with such a taint for one that is not ready yet. A ready node
of which Longhorn has told nothing has no room for it, so that it adds another one in each round.

Other controllers that take taints off wait for pods of a DaemonSet or for a condition of the node.
Longhorn's pods are ready before its disks are, and long before kube-scheduler is told of these; it
sets no condition.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import NoReturn

import structlog

from app.kube.errors import ApiError, StatusError
from app.kube.feed import Source
from app.kube.following import restart_counter
from app.kube.listing import list_records
from app.kube.mirror import Change
from app.kube.new_nodes import CAPACITIES, NewNode, ToldRoom, nodes_with, take_taint_off
from app.kube.reflector import Reflector
from app.process.surroundings import Surroundings
from app.serving.metrics import Metrics
from app.settings import Settings
from extender import ClusterView
from extender.demand import LONGHORN_PROVISIONERS
from longhorn import CAPACITY_TRACKING, NodeName, capacity_of, tracked_need

log = structlog.get_logger()

PERIOD_SECONDS = 5.0
PATIENCE_SECONDS = 180.0
"""external-provisioner asks once a minute. If it does not tell of a node for so long, it is not
there, or we foretell it wrongly: the node must not be kept from all pods for that."""
PAUSE_SECONDS = 60.0
"""After a failure, so that each minute has one line of it in the log."""
_PAGE_SECONDS = 5.0
_CHANGED = frozenset({404, 409})
"""The node is gone, or not as it was: what follows the nodes will say."""


def has_longhorn(node: NodeName, view: ClusterView) -> bool:
    """Whether Longhorn takes new replicas on a node, and mounts volumes there."""
    space = view.spaces.get(node)
    return (
        space is not None
        and node not in view.unreadable_nodes
        and space.takes_replicas
        and space.engines.has_driver
        and any(each is not None for each in space.usable)
    )


def untold_classes(node: NewNode, view: ClusterView, told: Iterable[ToldRoom]) -> list[str]:
    """Return the StorageClasses of whose new volumes the node's best disk takes larger ones than
    kube-scheduler was told. Those it is told of when it looks at what is told at all.

    Args:
        node: A node that has Longhorn.
        view: The cluster.
        told: All CSIStorageCapacities of Longhorn's namespace.
    """
    if view.setting_values.get(CAPACITY_TRACKING, "true") != "true":
        return []
    most: dict[str, int] = {}
    for each in told:
        if each.labels is not None and each.labels.items() <= node.labels.items():
            most[each.storage_class] = max(most.get(each.storage_class, 0), each.size_bytes)
    there = view.spaces[node.name].node
    return [
        name
        for name, class_ in view.storage_classes.items()
        if class_.provisioner in LONGHORN_PROVISIONERS
        and not class_.is_immediate
        and most.get(name, 0)
        < capacity_of(there, tracked_need(class_.parameters), view.settings).maximum_bytes
    ]


class Untainting:
    """Looks at the nodes that have the taint, while this instance leads.

    Args:
        around: What the instance finds around it.
        settings: Of the process; they name the taint.
        current_view: Returns the cluster as it is known now.
        metrics: Counts the nodes.
        may_act: Whether this instance leads, and knows the cluster.
    """

    def __init__(
        self,
        around: Surroundings,
        settings: Settings,
        current_view: Callable[[], ClusterView],
        metrics: Metrics,
        *,
        may_act: Callable[[], bool],
    ) -> None:
        self._connection, self._clock = around.connection, around.clock
        self._namespace = settings.longhorn_namespace
        self._current_view, self._metrics, self._may_act = current_view, metrics, may_act
        self._tainted: dict[NodeName, NewNode] = {}
        self._since: dict[NodeName, float] = {}
        """When each of them was first seen to have Longhorn."""
        nodes = nodes_with(settings.startup_taint)
        self._reflector = Reflector(
            around.connection,
            Source(resource=nodes),
            on_changes=self._note_changes,
            on_restart=restart_counter(metrics, nodes),
            clock=around.clock,
            random=around.random,
        )

    def loops(self) -> list[Coroutine[None, None, NoReturn]]:
        """Return what must run for as long as the instance does."""
        return [self._reflector.run(), self._run()]

    def _note_changes(self, changes: Sequence[Change]) -> None:
        for old, new in changes:
            if isinstance(old, NewNode):
                self._tainted.pop(old.name, None)
            if isinstance(new, NewNode) and new.is_tainted:
                self._tainted[new.name] = new

    async def _run(self) -> NoReturn:
        while True:
            await asyncio.sleep(PERIOD_SECONDS)
            try:
                await self._look()
            except ApiError as error:
                log.warning("node.taint_not_removed", error=str(error))
                self._metrics.startup_taints_total.labels("failed").inc()
                await asyncio.sleep(PAUSE_SECONDS)

    async def _look(self) -> None:
        """Take the taint off the nodes that are ready for that.

        Raises:
            ApiError: That failed for one of them; the others were tried, too.
        """
        view, now = self._current_view(), self._clock()
        ready = [each for each in self._tainted.values() if has_longhorn(each.name, view)]
        self._since = {each.name: self._since.get(each.name, now) for each in ready}
        if not (ready and self._may_act()):
            return
        told, failure = await self._told(), None
        for node in ready:
            view = self._current_view()  # things may have changed while something was waited for
            if not (self._may_act() and has_longhorn(node.name, view)):
                continue
            untold = untold_classes(node, view, told)
            if untold and self._clock() - self._since[node.name] < PATIENCE_SECONDS:
                continue
            try:
                await take_taint_off(self._connection, node)
            except ApiError as error:
                if not (isinstance(error, StatusError) and error.status in _CHANGED):
                    failure = error
                continue
            tell = log.warning if untold else log.info
            tell("node.taint_removed", node=node.name, untold=untold)
            self._metrics.startup_taints_total.labels("removed").inc()
        if failure is not None:
            raise failure

    async def _told(self) -> list[ToldRoom]:
        records = await list_records(
            self._connection,
            Source(resource=CAPACITIES, namespace=self._namespace),
            on_skipped=lambda why: log.debug("capacities.object_skipped", error=why),
            page_seconds=_PAGE_SECONDS,
        )
        return [record for record in records if isinstance(record, ToldRoom)]
