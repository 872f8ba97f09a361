"""What Longhorn's extender answers to `/filter`, and what it keeps in mind between two answers.

One answer at a time: the lock is held until the pod has its node, or the first timeout is over.
Then that node is reserved as a whole until the volumes' replicas are listed there, or the second
timeout is over. All of it is in memory.
"""

import asyncio
import contextlib
from collections.abc import Collection

from tests.actors.api import Object, key_of
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.extender.verdict import Verdict, judge, volumes_of
from tests.actors.longhorn.release import (
    NODE_RESERVATION_TIMEOUT,
    POD_SCHEDULING_TIMEOUT,
    seconds,
)


class Filter:
    """Answers.

    Args:
        cluster: The caches of a Longhorn that runs.
        tasks: Which end with the leadership: they follow pods and volumes after the answers.

    Attributes:
        reserved: The nodes that no other pod may have now.
    """

    def __init__(self, cluster: Cluster, tasks: asyncio.TaskGroup) -> None:
        self.reserved: set[str] = set()
        self._cluster = cluster
        self._tasks = tasks
        self._lock = asyncio.Lock()

    async def answer(self, args: Object) -> Object:
        """Answer as the protocol of extenders is: in names or whole nodes, as it was asked."""
        pod = args["Pod"]
        await self._lock.acquire()
        follows = False
        try:
            verdict = judge(self._cluster, pod, _names(args), self.reserved)
            wait = self._seconds(POD_SCHEDULING_TIMEOUT)
            follows = bool(verdict.takes_room and verdict.accepted and wait)
            if follows:
                self._tasks.create_task(self._follow(pod, wait))
        finally:
            if not follows:
                self._lock.release()
        return _result(args, verdict)

    async def _follow(self, pod: Object, wait: int) -> None:
        """Give the lock back once the pod has its node, which is reserved before."""
        try:
            node = await self._node_of(pod, wait)
            if node and self._seconds(NODE_RESERVATION_TIMEOUT):
                self.reserved.add(node)
                self._tasks.create_task(self._unreserve(node, pod))
        finally:
            self._lock.release()

    async def _node_of(self, pod: Object, wait: int) -> str:
        """Return the node of a pod, "" if it has none in time."""
        pods, key = self._cluster.pods, key_of(pod)

        def node() -> str:
            found = pods.objects.get(key)
            return str(found["spec"].get("nodeName") or "") if found else ""

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await pods.until(lambda: bool(node()))
        return node()

    async def _unreserve(self, node: str, pod: Object) -> None:
        try:
            async with asyncio.timeout(self._seconds(NODE_RESERVATION_TIMEOUT)):
                await self._cluster.nodes.until(lambda: self._are_listed(node, pod))
        except TimeoutError:
            pass
        finally:
            self.reserved.discard(node)

    def _are_listed(self, node: str, pod: Object) -> bool:
        """Whether the node's status lists a replica of each of the pod's volumes."""
        found = self._cluster.nodes.get(node, self._cluster.namespace)
        disks = ((found or {}).get("status") or {}).get("diskStatus") or {}
        listed = {name for disk in disks.values() for name in disk.get("scheduledReplica") or ()}
        replicas = self._cluster.replicas.objects
        there = {each["spec"]["volumeName"] for key, each in replicas.items() if key.name in listed}
        return {each.volume for each in volumes_of(self._cluster, pod)} <= there

    def _seconds(self, name: str) -> int:
        return seconds(self._cluster.setting_values(), name)


def _names(args: Object) -> list[str]:
    if args.get("NodeNames") is not None:
        return [*args["NodeNames"]]
    return [each["metadata"]["name"] for each in _nodes(args)]


def _nodes(args: Object) -> Collection[Object]:
    return (args.get("Nodes") or {}).get("items") or ()


def _result(args: Object, verdict: Verdict) -> Object:
    accepted = [each for each in _nodes(args) if each["metadata"]["name"] in verdict.accepted]
    by_name = args.get("NodeNames") is not None
    return {
        "Nodes": None if by_name else {"items": accepted},
        "NodeNames": [*verdict.accepted] if by_name else None,
        "FailedNodes": {**verdict.rejected},
        "Error": "",
    }
