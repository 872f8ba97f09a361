"""Single pods: watched while there is a hold for them, and woken when there is room."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from random import Random
from typing import NoReturn

import msgspec
import structlog

from app.config import NAME
from app.kube import objects
from app.kube.connection import Connection
from app.kube.errors import MalformedError
from app.kube.feed import Source
from app.kube.listing import list_records
from app.kube.mirror import Change
from app.kube.records import Item
from app.kube.reflector import Reflector
from app.kube.resources import PODS
from app.kube.starting import STARTING_PODS, StartingPod
from app.kube.translate import Pod, pod_status
from extender import ClusterView, PodRef
from extender.holds import are_unseen
from extender.kubernetes import PodStatus

log = structlog.get_logger()

WOKEN_AT = f"{NAME}/woken-at"
"""The annotation that wakes a pod: kube-scheduler tries a pod again when it has changed."""
_MOST_WATCHES = 500
"""For pods that another source reports, too. Each watch takes a connection here and memory in the
API server; later ones wait until one ends."""
_PATCH_SECONDS = _PAGE_SECONDS = 5.0
_CATCH_UPS, _CATCH_UP_SECONDS = 15, 0.1
"""How often to look again, and after how long: watches may be behind the list."""


class FollowedPods:
    """Watches the pods that have holds, each with a watch of its own.

    One watch of all pods would receive every change in the cluster, and one of all pending pods
    would begin with every job that waits in a queue.

    Args:
        connection: To the API server.
        on_seen: Called with the pod's uid and status whenever that has changed; the status is None
            if there is no such pod, or another one of its name or uid.
        on_restart: Called with the cause whenever a list or watch is started again.
        clock: Monotonic seconds.
        random: Spreads pauses.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        on_seen: Callable[[str, PodStatus | None], None],
        on_restart: Callable[[str], None],
        clock: Callable[[], float],
        random: Random,
    ) -> None:
        self._connection = connection
        self._on_seen = on_seen
        self._on_restart = on_restart
        self._clock = clock
        self._random = random
        self._wanted: dict[PodRef, tuple[PodStatus, float]] = {}
        """What is known of each pod, and after how long its watch may begin."""
        self._watches: dict[PodRef, asyncio.Task[NoReturn]] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._watches)

    def follow(self, pod: PodRef, asked: PodStatus, *, after_seconds: float) -> None:
        """Begin to watch a pod; for one that is watched already, nothing changes.

        Unless it was watched from a later version than this: then there is no such version yet, and
        the watch begins anew.

        Args:
            pod: Which one.
            asked: What is known of it. Later changes are reported, however late the watch begins.
            after_seconds: When the watch may begin; 0 if there is no other source.
        """
        known = self._wanted.get(pod)
        if known is None or asked.version < known[0].version:
            if pod in self._watches:
                self._watches.pop(pod).cancel()
            self._wanted[pod] = asked, after_seconds
            self._changed.set()

    def forget(self, pod: PodRef) -> None:
        """Stop watching a pod; nothing more is reported of it."""
        if self._wanted.pop(pod, None) is not None:
            self._changed.set()

    async def run(self) -> NoReturn:
        """Begin and end watches as they are wanted, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                for pod in [pod for pod in self._watches if pod not in self._wanted]:
                    self._watches.pop(pod).cancel()
                for pod, (asked, after_seconds) in self._wanted.items():
                    if pod in self._watches:
                        continue
                    if len(self._watches) < _MOST_WATCHES or not after_seconds:
                        follow = self._follow(pod, asked, after_seconds)
                        self._watches[pod] = tasks.create_task(follow)
                await self._changed.wait()

    async def _follow(self, pod: PodRef, asked: PodStatus, after_seconds: float) -> NoReturn:
        await asyncio.sleep(after_seconds)
        item = None
        if asked.version:
            known = Pod(ref=pod, status=asked)
            item = Item(f"{pod.namespace}/{pod.name}", str(asked.version), known)
        reflector = Reflector(
            self._connection,
            Source(resource=PODS, namespace=pod.namespace, fields=f"metadata.name={pod.name}"),
            on_changes=lambda changes: self._note_changes(pod, reflector, changes),
            on_restart=self._on_restart,
            clock=self._clock,
            random=self._random,
            known=item,
        )
        await reflector.run()

    def _note_changes(self, pod: PodRef, reflector: Reflector, changes: Sequence[Change]) -> None:
        if pod not in self._wanted:
            return
        match changes[-1].new if changes else None:
            case Pod(ref=ref, status=status):
                self._on_seen(pod.uid, status if ref == pod else None)
            case None if reflector.is_complete and not reflector.objects:
                self._on_seen(pod.uid, None)


async def list_pending(connection: Connection) -> list[Pod]:
    """Return all pods that have not begun to run.

    Raises:
        ApiError: They cannot be listed.
    """
    records = await list_records(
        connection,
        Source(resource=PODS, fields="status.phase=Pending"),
        on_skipped=lambda why: log.warning("pods.object_skipped", error=why),
        page_seconds=_PAGE_SECONDS,
    )
    return [record for record in records if isinstance(record, Pod)]


async def list_starting(connection: Connection) -> list[StartingPod]:
    """Return all pods that have a node and have not begun to run.

    Raises:
        ApiError: They cannot be listed.
    """
    records = await list_records(
        connection,
        Source(resource=STARTING_PODS, fields="status.phase=Pending,spec.nodeName!="),
        on_skipped=lambda why: log.warning("pods.object_skipped", error=why),
        page_seconds=_PAGE_SECONDS,
    )
    return [record for record in records if isinstance(record, StartingPod)]


async def list_unfinished(
    connection: Connection, current_view: Callable[[], ClusterView]
) -> list[tuple[PodRef, PodStatus]]:
    """Return all pods that have not begun to run, for a new leader.

    Waits up to 1.5 s until the view shows the objects that pods with a node use.

    Raises:
        ApiError: They cannot be listed.
    """
    pods = [(pod.ref, pod.status) for pod in await list_pending(connection)]
    for _ in range(_CATCH_UPS):
        if not are_unseen(pods, current_view()):
            break
        await asyncio.sleep(_CATCH_UP_SECONDS)
    return pods


async def wake(connection: Connection, pod: PodRef, at: datetime) -> PodStatus:
    """Have kube-scheduler try a pod again, by an annotation with the time.

    Returns:
        How far the pod has come. If it waits no longer, nobody tries it again.

    Raises:
        StatusError: 404 if it is gone, 409 if there is another one of its name.
        ApiError: It was not written, or that is not known.
    """
    change = {"metadata": {"uid": pod.uid, "annotations": {WOKEN_AT: at.isoformat()}}}
    path = PODS.path(pod.namespace, pod.name)
    content = await connection.request("PATCH", path, body=change, deadline_seconds=_PATCH_SECONDS)
    try:
        return pod_status(msgspec.json.decode(content, type=objects.Pod))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise MalformedError(f"the answer is no pod: {error}") from error
