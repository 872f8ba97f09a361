"""What is done so that no pod is left that nobody schedules.

Injection begins when a pod has got a node through the extender, and ends before anything else does.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from app.config import CONTROLLER_NAME, NAME
from app.errors import InputError
from app.instance.live_settings import INJECT
from app.kube.connection import Connection
from app.kube.errors import StatusError
from app.kube.listing import list_records
from app.kube.paths import path_of
from cli.kube.asking import SCHEDULER, WAITING_PODS, WaitingPod, asking, how_to_mend

Say = Callable[[str], None]

_CORE, _APPS, _LEASES = "/api/v1", "/apis/apps/v1", "/apis/coordination.k8s.io/v1"
_REQUEST_SECONDS = 10.0
_LOOK_SECONDS = 1.0
_SETTLED_SECONDS = 2.0
"""Until all API servers and instances have heard that injection is over."""
_PLACED_SECONDS = 90.0
"""Room that volumes have just left is published by external-provisioner once a minute
(--capacity-poll-interval), and kube-scheduler may try a pod again 10 s later
(podMaxBackoffSeconds)."""
_ENDED_SECONDS = 60.0
_NOT_FOUND = 404
_DEPLOYMENTS = (SCHEDULER, NAME, CONTROLLER_NAME)
"""In the order in which they end: a scheduler needs the service."""


class Installation:
    """One installation, in its namespace.

    Args:
        connection: To the API server.
        namespace: Where it is.
        scheduler: The schedulerName of the second kube-scheduler.
        say: Takes lines for whoever runs this.
    """

    def __init__(self, connection: Connection, namespace: str, scheduler: str, say: Say) -> None:
        self._connection = connection
        self._namespace = namespace
        self._scheduler = scheduler
        self._say = say

    async def begin(self) -> None:
        """Make new pods with claims ask for the extender.

        Raises:
            ApiError: The API server refuses, or does not answer.
            InputError: Nothing is installed here.
        """
        if not await self._inject("true"):
            raise InputError(f"ConfigMap {NAME} is not in {self._namespace}: apply the manifests")
        self._say("new pods with claims ask for the extender from now on")

    async def pause(self) -> None:
        """If there is a second scheduler, send it no more pods, and wait until those have nodes.

        Raises:
            ApiError: As for `begin`.
        """
        if await self._read(_APPS, "deployments", SCHEDULER) is None:
            self._say("there is no second scheduler: no pod waits for it")
            return
        await self._send_no_more()

    async def end(self) -> None:
        """Send no more pods, wait until those have nodes, and end all instances and schedulers.

        They give their Leases back, while they have the right to, and the Leases are deleted.

        Raises:
            ApiError: As for `begin`.
        """
        await self._send_no_more()
        for name in _DEPLOYMENTS:
            await self._end_deployment(name)
        for name in _DEPLOYMENTS:
            await self._delete_lease(name)

    async def _send_no_more(self) -> None:
        await self._inject("false")
        await asyncio.sleep(_SETTLED_SECONDS)
        if pods := await self._waiting():
            self._say(
                f"pods that ask for the extender and wait for a node: {len(pods)}; "
                f"they have {_PLACED_SECONDS:.0f} s to get one"
            )
        deadline = asyncio.get_running_loop().time() + _PLACED_SECONDS
        while pods:
            if asyncio.get_running_loop().time() >= deadline:
                for line in how_to_mend(pods):
                    self._say(line)
                return
            await asyncio.sleep(_LOOK_SECONDS)
            pods = await self._waiting()
        self._say("no pod that asks for the extender waits for a node")

    async def _waiting(self) -> list[WaitingPod]:
        listed = await list_records(
            self._connection, WAITING_PODS, on_skipped=self._say, page_seconds=_REQUEST_SECONDS
        )
        pods = (each for each in listed if isinstance(each, WaitingPod))
        return asking(pods, self._scheduler)

    async def _inject(self, value: str) -> bool:
        """Say whether pods are injected; return False if there is no ConfigMap to say it in."""
        path = path_of(_CORE, "configmaps", namespace=self._namespace, name=NAME)
        return await self._done("PATCH", path, {"data": {INJECT: value}})

    async def _end_deployment(self, name: str) -> None:
        path = path_of(_APPS, "deployments", namespace=self._namespace, name=name)
        if not await self._done("DELETE", path, {"propagationPolicy": "Foreground"}):
            return
        deadline = asyncio.get_running_loop().time() + _ENDED_SECONDS
        while await self._read(_APPS, "deployments", name) is not None:
            if asyncio.get_running_loop().time() >= deadline:
                self._say(f"pods of Deployment {name} do not end; look at their nodes")
                return
            await asyncio.sleep(_LOOK_SECONDS)

    async def _delete_lease(self, name: str) -> None:
        """Delete a Lease that a pod of ours holds, or nobody.

        In Longhorn's namespace, its own extender may hold one of this name.
        """
        lease = await self._read(_LEASES, "leases", name)
        holder = ((lease or {}).get("spec") or {}).get("holderIdentity") or f"{name}-"
        if lease is not None and holder.startswith(f"{name}-"):
            path = path_of(_LEASES, "leases", namespace=self._namespace, name=name)
            await self._done("DELETE", path, {})

    async def _read(self, version_path: str, plural: str, name: str) -> dict[str, Any] | None:
        path = path_of(version_path, plural, namespace=self._namespace, name=name)
        try:
            content = await self._connection.request("GET", path, deadline_seconds=_REQUEST_SECONDS)
        except StatusError as error:
            if error.status == _NOT_FOUND:
                return None
            raise
        found: dict[str, Any] = msgspec.json.decode(content)
        return found

    async def _done(self, method: str, path: str, body: dict[str, Any]) -> bool:
        """Change an object; return False if it does not exist."""
        try:
            await self._connection.request(
                method, path, body=body, deadline_seconds=_REQUEST_SECONDS
            )
        except StatusError as error:
            if error.status == _NOT_FOUND:
                return False
            raise
        return True
