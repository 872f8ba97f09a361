"""The Lease by which one manager leads, as client-go's election keeps it.

With the durations of Longhorn's webhooks (longhorn-manager app/daemon.go), whose election the
proposal takes over.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime

from tests.actors.api import LEASES, Api, Key, Object, RefusedError
from tests.actors.controller import CONFLICT

DURATION_SECONDS = 20
RETRY_SECONDS = 2.0


class Lease:
    """One candidate for a Lease.

    Args:
        api: How it reaches the API server.
        key: Of the Lease.
        identity: What the holder is called.
        wall_clock: For the times that are written; what others wrote is not compared with it.
    """

    def __init__(
        self, api: Api, key: Key, identity: str, wall_clock: Callable[[], datetime]
    ) -> None:
        self._api = api
        self._key = key
        self._identity = identity
        self._wall_clock = wall_clock
        self._seen: tuple[object, object] = (None, None)
        self._seen_at = 0.0

    async def acquire(self) -> None:
        """Wait until nobody else holds it, and take it."""
        while not await self._write():  # noqa: ASYNC110 (it is asked for, not watched)
            await asyncio.sleep(RETRY_SECONDS)

    async def keep(self) -> None:
        """Renew it until somebody else holds it."""
        while await self._write():  # noqa: ASYNC110 (the same)
            await asyncio.sleep(RETRY_SECONDS)

    async def release(self) -> None:
        """Give it back, if it is held (client-go's ReleaseOnCancel)."""
        found = await self._api.get(LEASES, self._key.name, self._key.namespace)
        if found is not None and _holder(found) == self._identity:
            spec = {**found["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
            await self._replace({**found, "spec": spec})

    async def _write(self) -> bool:
        """Take it or renew it; return whether it is held now."""
        found = await self._api.get(LEASES, self._key.name, self._key.namespace)
        if found is None:
            new = {"metadata": {"name": self._key.name, "namespace": self._key.namespace}}
            await self._api.ensure({**new, "spec": self._spec({})}, LEASES)
            return await self._write()
        if _holder(found) != self._identity and not self._is_over(found):
            return False
        return await self._replace({**found, "spec": self._spec(found["spec"])})

    async def _replace(self, lease: Object) -> bool:
        try:
            return await self._api.replace(lease, LEASES) is not None
        except RefusedError as error:
            if error.status != CONFLICT:
                raise
            return False

    def _is_over(self, found: Object) -> bool:
        """Whether nobody holds it, or who does has not renewed it for as long as it is valid."""
        now, spec = asyncio.get_running_loop().time(), found["spec"]
        seen = (_holder(found), spec.get("renewTime"))
        if seen != self._seen:
            self._seen, self._seen_at = seen, now
        return not seen[0] or now >= self._seen_at + spec["leaseDurationSeconds"]

    def _spec(self, before: Object) -> Object:
        now = f"{self._wall_clock():%Y-%m-%dT%H:%M:%S.%fZ}"
        is_new = before.get("holderIdentity") != self._identity
        transitions = before.get("leaseTransitions", 0) + bool(before and is_new)
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": DURATION_SECONDS,
            "acquireTime": now if is_new else before["acquireTime"],
            "renewTime": now,
            "leaseTransitions": transitions,
        }


def _holder(lease: Object) -> str:
    return str(lease["spec"].get("holderIdentity") or "")
