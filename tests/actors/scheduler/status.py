"""What the scheduler writes into a pod's status, at once or a while later.

By default it waits for each patch; with asynchronous API calls (feature SchedulerAsyncAPICalls)
later patches of a pod are merged into one that was not sent yet. That a patch fails is only logged.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from tests.actors.api import PODS, Api, Object, RefusedError, key_of

SCHEDULED = "PodScheduled"


class StatusWriter:
    """Patches statuses.

    Args:
        api: Where to.
        tasks: Runs what is written later.
        delay: Draws the seconds until a patch is sent; None to send each at once.
        timestamp: Says what time it is.
    """

    def __init__(
        self,
        api: Api,
        tasks: asyncio.TaskGroup,
        *,
        delay: Callable[[], float] | None,
        timestamp: Callable[[], str],
    ) -> None:
        self._api = api
        self._tasks = tasks
        self._delay = delay
        self._timestamp = timestamp
        self._unsent: dict[str, Object] = {}

    async def nominate(self, pod: Object, node: str) -> None:
        """Write where a pod is expected to go."""
        if nominated_node(pod) != node:
            await self._write(pod, {"nominatedNodeName": node})

    async def refuse(self, pod: Object, reason: str, message: str) -> None:
        """Write that a pod has no node, and why; nothing if that is what stands there."""
        changes: Object = {}
        conditions = self._conditions(pod, reason, message)
        if conditions is not None:
            changes["conditions"] = conditions
        if nominated_node(pod):
            changes["nominatedNodeName"] = None
        if changes:
            await self._write(pod, changes)

    def _conditions(self, pod: Object, reason: str, message: str) -> list[Object] | None:
        """Build the conditions with the new one (podutil.UpdatePodCondition); None if it is old."""
        found = {each["type"]: each for each in pod["status"].get("conditions") or ()}
        new = {"type": SCHEDULED, "status": "False", "reason": reason, "message": message}
        old: Mapping[str, Any] = found.get(SCHEDULED, {})
        if all(old.get(field) == value for field, value in new.items()):
            return None
        same = old.get("status") == "False"
        since = old["lastTransitionTime"] if same else self._timestamp()
        found[SCHEDULED] = {**new, "lastProbeTime": None, "lastTransitionTime": since}
        return [*found.values()]

    async def _write(self, pod: Object, changes: Object) -> None:
        if self._delay is None:
            await self._send(pod, changes)
            return
        uid = pod["metadata"]["uid"]
        if uid in self._unsent:
            self._unsent[uid].update(changes)
            return
        self._unsent[uid] = changes
        self._tasks.create_task(self._send_later(pod, self._delay()))

    async def _send_later(self, pod: Object, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._send(pod, self._unsent.pop(pod["metadata"]["uid"]))

    async def _send(self, pod: Object, changes: Object) -> None:
        body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": changes}
        try:
            await self._api.patch(PODS, key_of(pod), body, "status")
        except RefusedError:
            return  # another pod of the same name


def nominated_node(pod: Object) -> str:
    """Return where a pod is expected to go; "" if nothing is said."""
    return str((pod.get("status") or {}).get("nominatedNodeName") or "")
