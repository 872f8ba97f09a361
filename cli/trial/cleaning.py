"""Takes away what a trial has made, also one that was cut off."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from app.errors import InputError
from app.kube.errors import ApiError
from cli.trial import requests as kinds
from cli.trial.manifests import LABEL, SELECTOR, Object
from cli.trial.outcome import places
from cli.trial.requests import Requests

_LOOK_SECONDS = 1.0
_GONE_SECONDS = 300.0
_LOOKS = 3
"""A provisioner may still make the volume of a claim that has just been deleted."""


class LeftError(ApiError):
    """Something of a trial is not gone yet."""


class Cleaning:
    """Removes objects of a trial in the order in which nothing of them is left behind.

    Args:
        requests: To the API server.
        namespace: Of the trial.
        longhorn: Longhorn's namespace.
    """

    def __init__(self, requests: Requests, namespace: str, longhorn: str) -> None:
        self._requests, self._namespace, self._longhorn = requests, namespace, longhorn

    async def remove_all(self) -> bool:
        """Remove everything; return False if there was nothing.

        Raises:
            InputError: The namespace is not a trial's.
            LeftError: Something stays.
        """
        found = await self._requests.read(kinds.NAMESPACES, self._namespace)
        if found is not None:
            if LABEL not in (found["metadata"].get("labels") or {}):
                raise InputError(
                    f"namespace {self._namespace} is not of a trial: it has no label {LABEL}; "
                    "name another one with --namespace"
                )
            await self.remove_pods_and_claims()
            await self._requests.delete(kinds.NAMESPACES, self._namespace)
            await self._gone(f"namespace {self._namespace}", self._namespaces)
        classes = await self._requests.items(kinds.CLASSES, selector=SELECTOR)
        for each in classes:
            await self._requests.delete(kinds.CLASSES, each["metadata"]["name"])
        return found is not None or bool(classes)

    async def remove_pods_and_claims(self) -> None:
        """Remove all workloads with their volumes, and wait until Longhorn's replicas are gone.

        Raises:
            LeftError: Something stays.
        """
        requests, here = self._requests, self._namespace
        await self.remove_pods()
        claims = await requests.items(kinds.CLAIMS, here)
        made = {f"pvc-{each['metadata']['uid']}" for each in claims}
        volumes = sorted(made | await self._bound())
        for each in claims:
            await requests.delete(kinds.CLAIMS, each["metadata"]["name"], here)
        await self._gone("claims", lambda: requests.items(kinds.CLAIMS, here))
        await self._gone("volumes", lambda: self._kept(volumes), looks=_LOOKS)

    async def remove_pods(self) -> None:
        """Remove all workloads but for their claims.

        Raises:
            LeftError: A pod stays.
        """
        requests, here = self._requests, self._namespace
        for kind in (kinds.STATEFUL_SETS, kinds.PODS):
            for each in await requests.items(kind, here):
                await requests.delete(kind, each["metadata"]["name"], here)
        await self._gone("pods", lambda: requests.items(kinds.PODS, here))

    async def _namespaces(self) -> list[object]:
        found = await self._requests.read(kinds.NAMESPACES, self._namespace)
        return [found] if found else []

    async def _bound(self) -> set[str]:
        """Return the names of the persistent volumes of claims in the namespace."""
        return {
            each["metadata"]["name"]
            for each in await self._requests.items(kinds.VOLUMES)
            if (each["spec"].get("claimRef") or {}).get("namespace") == self._namespace
        }

    async def _kept(self, volumes: Sequence[str]) -> Sequence[object]:
        """Return what is left of volumes, and of Longhorn's replicas of them.

        They are asked for one by one: a cluster may have ten thousand others.
        """
        read = self._requests.read
        kept = [each for each in volumes if await read(kinds.VOLUMES, each) is not None]
        return kept or [*places(await replicas_of(self._requests, volumes, self._longhorn))]

    async def _gone(
        self, what: str, left: Callable[[], Awaitable[Sequence[object]]], looks: int = 1
    ) -> None:
        """Wait until nothing is left, so many times in a row."""
        deadline = asyncio.get_running_loop().time() + _GONE_SECONDS
        empty = 0
        while (empty := 0 if (found := await left()) else empty + 1) < looks:
            if asyncio.get_running_loop().time() > deadline:
                raise LeftError(
                    f"{len(found)} {what} of the trial in namespace {self._namespace} are not "
                    f"gone after {_GONE_SECONDS:.0f} s; see with kubectl what keeps them, then run "
                    "`trial clean`"
                )
            await asyncio.sleep(_LOOK_SECONDS)


async def replicas_of(requests: Requests, volumes: Sequence[str], namespace: str) -> list[Object]:
    """Return the Longhorn replicas of volumes."""
    if not volumes:
        return []
    selector = f"longhornvolume in ({','.join(volumes)})"
    return await requests.items(kinds.REPLICAS, namespace, selector)
