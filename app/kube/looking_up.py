"""Single pods, looked up at the API server: whoever asks about one may have invented it."""

import asyncio
from collections import deque
from collections.abc import Callable
from random import Random
from typing import NoReturn

import structlog

from app.kube.backoff import Backoff
from app.kube.connection import Connection
from app.kube.errors import ApiError, MalformedError
from app.kube.feed import Source
from app.kube.listing import list_records
from app.kube.resources import PODS
from app.kube.translate import Pod
from extender import PodRef
from extender.kubernetes import PodStatus
from longhorn import Unreadable

log = structlog.get_logger()

MOST_AT_ONCE = 40
SHORTEST_SECONDS = 0.1
"""Each takes its place for at least so long, so that there are 400 in a second at most."""
_MOST_SEARCHES = 2 * MOST_AT_ONCE
"""While none can be looked up, thousands may be wanted."""
_PAGE_SECONDS = 1.0


class LookUps:
    """Looks up pods, a few at once.

    Args:
        connection: To the API server.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._free = MOST_AT_ONCE
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """By client; the first client is next. For our own sake, before all of them: ""."""

    async def find(self, pod: PodRef, client: str = "") -> PodStatus | None:
        """Return how far a pod has come by now; None if there is none with all that *pod* says.

        What the API server shows is no older than this call, so kube-scheduler cannot know more.

        Args:
            pod: Namespace, name, uid and claims.
            client: Whose turn it takes; "" goes before all clients.

        Raises:
            ApiError: That is not known.
        """
        await self._take_place(client)
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + SHORTEST_SECONDS
        try:
            return await self._find(pod)
        finally:
            loop.call_at(max(ends_at, loop.time()), self._give_place)

    async def _find(self, pod: PodRef) -> PodStatus | None:
        source = Source(resource=PODS, namespace=pod.namespace, fields=f"metadata.name={pod.name}")
        records = await list_records(
            self._connection,
            source,
            on_skipped=lambda why: log.warning("pods.object_skipped", error=why),
            page_seconds=_PAGE_SECONDS,
        )
        for record in records:
            match record:
                case Pod(ref=ref, status=status) if ref == pod:
                    return status
                case Unreadable(why=why):
                    raise MalformedError(f"pod {pod.namespace}/{pod.name} cannot be read: {why}")
        return None

    async def _take_place(self, client: str) -> None:
        if self._free:
            self._free -= 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._give_place()
            raise

    def _give_place(self) -> None:
        """Give a place to who is next."""
        while self._waiting:
            client = "" if "" in self._waiting else next(iter(self._waiting))
            places = self._waiting.pop(client)
            place = places.popleft()
            if places:
                self._waiting[client] = places
            if not place.done():  # as it is if who waited was cancelled
                place.set_result(None)
                return
        self._free += 1


class Searches:
    """Looks up pods in the background, each until it is known whether it exists.

    Args:
        look_ups: Does it.
        on_found: Called with the pod and its status; None if there is no such pod.
        random: Spreads pauses after errors.
    """

    def __init__(
        self,
        look_ups: LookUps,
        *,
        on_found: Callable[[PodRef, PodStatus | None], None],
        random: Random,
    ) -> None:
        self._look_ups = look_ups
        self._on_found = on_found
        self._random = random
        self._wanted: dict[PodRef, None] = {}
        self._searches: dict[PodRef, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()

    def begin(self, pod: PodRef) -> None:
        """Look up a pod; for one that is looked up already, nothing changes."""
        if pod not in self._wanted:
            self._wanted[pod] = None
            self._changed.set()

    def forget(self, pod: PodRef) -> None:
        """Look up a pod no longer."""
        if pod in self._wanted:
            del self._wanted[pod]
            self._changed.set()

    async def run(self) -> NoReturn:
        """Begin and end look-ups as they are wanted, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                for pod in [pod for pod in self._searches if pod not in self._wanted]:
                    self._searches.pop(pod).cancel()
                for pod in self._wanted:
                    if len(self._searches) >= _MOST_SEARCHES:
                        break
                    if pod not in self._searches:
                        self._searches[pod] = tasks.create_task(self._search(pod))
                await self._changed.wait()

    async def _search(self, pod: PodRef) -> None:
        backoff = Backoff(self._random)
        while True:
            try:
                status = await self._look_ups.find(pod)
            except ApiError as error:
                log.warning("pod.not_found_out", pod=pod.name, error=str(error))
                await asyncio.sleep(backoff.next_seconds())
            else:
                break
        if pod in self._wanted:
            self.forget(pod)
            self._on_found(pod, status)
