"""The scheduling cycle, one pod at a time, and what happens to pods after it."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NoReturn

from tests.actors import api as kinds
from tests.actors.api import Api, Informer, Object, key_of
from tests.actors.scheduler.binding import Binding, BindingError
from tests.actors.scheduler.calls import Extender
from tests.actors.scheduler.candidates import Storage, candidates, unbound
from tests.actors.scheduler.configuration import Choice, Configuration
from tests.actors.scheduler.events import Assumed, Bound, Event, Forgotten, Refused
from tests.actors.scheduler.exchange import Ask, CallError
from tests.actors.scheduler.queue import Change, Entry, Queue, Rejector
from tests.actors.scheduler.status import StatusWriter

_REFUSAL = "0/{} nodes are available: {}."
_POD_LIMIT = 110
"""Pods of a node by kubelet's default. A node that has so many gets none of the 100 points that its
own plugins give for spreading, and an empty one all of them."""
_POINTS = 10
"""Points of one of the extender's scores at weight 1 (MaxNodeScore / MaxExtenderPriority)."""


class Scheduler:
    """One process of kube-scheduler; it remembers nothing of the one before.

    Args:
        api: How it reaches the API server.
        ask: POSTs to the extender. A call that takes too long is cancelled, which is no more than
            a connection that is closed: the service may go on with it.
        random: All chance: orders, ties, delays.
        timestamp: Says what time it is, for conditions.
        configuration: How it is set up.
        tell: Told of all it does.
    """

    def __init__(
        self,
        api: Api,
        ask: Ask,
        *,
        random: Random,
        timestamp: Callable[[], str],
        configuration: Configuration,
        tell: Callable[[Event], None],
    ) -> None:
        self._api = api
        self._random = random
        self._timestamp = timestamp
        self._configuration = configuration
        self._tell = tell
        self._pods = Informer(api, kinds.PODS)
        self._nodes = Informer(api, kinds.KUBERNETES_NODES)
        self._capacities = Informer(api, kinds.CSI_STORAGE_CAPACITIES)
        self._storage = Storage(
            Informer(api, kinds.CLAIMS),
            Informer(api, kinds.PERSISTENT_VOLUMES),
            Informer(api, kinds.STORAGE_CLASSES),
        )
        self._binding = Binding(
            api,
            pods=self._pods,
            storage=self._storage,
            timeout_seconds=configuration.bind_timeout_seconds,
        )
        self._extender = Extender(ask, configuration=configuration, random=random, tell=tell)
        self._queue = Queue()
        self._assumed: dict[str, str] = {}
        self._changed = asyncio.Event()

    async def run(self) -> NoReturn:
        """Schedule pods until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self._status = StatusWriter(
                self._api, tasks, delay=self._delay(), timestamp=self._timestamp
            )
            informers = (self._pods, self._nodes, self._capacities, *self._storage)
            for informer in informers:
                tasks.create_task(informer.run())
            for informer in informers:
                await informer.synced.wait()
            self._listen()
            while True:
                entry = self._queue.pop(_now())
                if entry is None:
                    await self._until_changed()
                else:
                    await self._attempt(entry)
        raise AssertionError("schedulers do not end")

    def _delay(self) -> Callable[[], float] | None:
        span = self._configuration.status_delay
        return None if span is None else lambda: self._random.uniform(*span)

    def _listen(self) -> None:
        self._pods.handlers.append(self._pod_changed)
        self._nodes.handlers.append(lambda _old, _new: self._wake(Change.NODE))
        for informer in (self._capacities, *self._storage):
            informer.handlers.append(lambda _old, _new: self._wake(Change.STORAGE))
        for pod in [*self._pods.objects.values()]:
            self._pod_changed(None, pod)

    def _wake(self, change: Change, *, but: str = "") -> None:
        self._queue.wake(change, _now(), but=but)
        self._changed.set()

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or _uid(old) != _uid(new)):
            self._queue.remove(_uid(old))
            self._assumed.pop(_uid(old), None)
        if new is not None and not _is_placed(new):
            if _uid(new) in self._queue:
                self._queue.wake_one(_uid(new), Change.OWN, _now())
            elif _uid(new) not in self._assumed and not _is_ending(new):
                self._queue.add(key_of(new), _uid(new), _now())
            self._changed.set()
            return
        if new is not None:
            self._queue.remove(_uid(new))
            self._assumed.pop(_uid(new), None)
        if new is not None or (old is not None and _is_placed(old)):
            self._wake(Change.POD)

    async def _until_changed(self) -> None:
        self._changed.clear()
        next_at = self._queue.next_at()
        try:
            async with asyncio.timeout_at(next_at):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _attempt(self, entry: Entry) -> None:
        """Find a node for a pod, and have it bound there while the next one is looked at."""
        pod = self._pods.objects.get(entry.key)
        if pod is None or _uid(pod) != entry.uid or _is_placed(pod) or _is_ending(pod):
            self._queue.done(entry)
            return
        nodes = {key.name: node for key, node in self._nodes.objects.items()}
        left = candidates(pod, nodes.values(), self._storage)
        if not left.names:
            await self._reject(entry, pod, Rejector.PLUGINS, _REFUSAL.format(len(nodes), left.why))
            return
        try:
            accepted, messages = await self._extender.filter(pod, left.names, nodes)
        except CallError as error:
            await self._fail(entry, pod, str(error))
            return
        if not accepted:
            counts = sorted(Counter(messages.values()).items())
            why = ", ".join(f"{count} {text}" for text, count in counts)
            await self._reject(entry, pod, Rejector.EXTENDER, _REFUSAL.format(len(nodes), why))
            return
        scores = await self._extender.prioritize(pod, accepted, nodes)
        node = self._choose(accepted, scores)
        self._assumed[entry.uid] = node
        self._queue.done(entry)
        self._tell(Assumed(pod, node))
        self._tasks.create_task(self._bind(entry, pod, unbound(pod, self._storage), node))

    def _choose(self, accepted: Sequence[str], scores: Mapping[str, int]) -> str:
        pods = Counter(self._assumed.values())
        pods.update(pod["spec"].get("nodeName", "") for pod in self._pods.objects.values())
        signs = {Choice.SPREAD: -1, Choice.PACK: 1, Choice.ANY: 0}
        own = signs[self._configuration.choice] * 100 / _POD_LIMIT
        extenders = self._configuration.score_weight * _POINTS
        points = {n: own * pods[n] + extenders * scores.get(n, 0) for n in accepted}
        best = max(points.values())
        return self._random.choice(sorted(n for n in points if points[n] == best))

    async def _bind(self, entry: Entry, pod: Object, claims: list[Object], node: str) -> None:
        if claims and self._configuration.nominates:
            await self._status.nominate(pod, node)
        try:
            await self._binding.bind(pod, claims, node)
        except BindingError as error:
            self._assumed.pop(entry.uid, None)
            self._tell(Forgotten(pod, node, str(error)))
            self._wake(Change.POD, but=entry.uid)
            await self._fail(entry, pod, str(error))
        else:
            self._tell(Bound(pod, node))

    async def _reject(self, entry: Entry, pod: Object, by: Rejector, message: str) -> None:
        self._queue.reject(entry, by, _now())
        await self._give_up(entry, pod, "Unschedulable", message)

    async def _fail(self, entry: Entry, pod: Object, message: str) -> None:
        self._queue.fail(entry, _now())
        await self._give_up(entry, pod, "SchedulerError", message)

    async def _give_up(self, entry: Entry, pod: Object, reason: str, message: str) -> None:
        """Write why there is no node, unless the pod has one after all or is gone."""
        self._changed.set()
        known = self._pods.objects.get(entry.key)
        if known is None or _uid(known) != entry.uid or _is_placed(known):
            self._queue.remove(entry.uid)
            return
        self._tell(Refused(pod, reason, message))
        await self._status.refuse(known, reason, message)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _uid(pod: Object) -> str:
    return str(pod["metadata"]["uid"])


def _is_placed(pod: Object) -> bool:
    finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return bool(pod["spec"].get("nodeName")) or finished


def _is_ending(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))
