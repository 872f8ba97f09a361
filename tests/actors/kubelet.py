"""Kubelets of all nodes in one: they run the pods that are bound, and end those that are deleted.

A pod starts when its Longhorn volumes are attached where it is, as the real ones wait for the
attachment before they mount. What containers do is left out.
"""

import asyncio
from typing import NoReturn

from tests.actors.api import PODS, Api, Informer, Key, Object, key_of
from tests.actors.controller import Controller

DRIVER = "driver.longhorn.io"
_WORKERS = 8


class Kubelets:
    """Brings the status of pods up to date.

    Args:
        api: Where pods are written.
        pods: All pods.
        claims: All claims.
        persistent_volumes: All PersistentVolumes.
        volumes: Longhorn's volumes, which say where they are attached.
        end_seconds: How long containers take to end.
    """

    def __init__(
        self,
        api: Api,
        *,
        pods: Informer,
        claims: Informer,
        persistent_volumes: Informer,
        volumes: Informer,
        end_seconds: float,
    ) -> None:
        self._api = api
        self._pods = pods
        self._claims = claims
        self._persistent_volumes = persistent_volumes
        self._volumes = volumes
        self._end_seconds = end_seconds
        self._controller = Controller(self._reconcile, workers=_WORKERS)
        pods.handlers.append(self._pod_changed)
        volumes.handlers.append(self._volume_changed)

    async def run(self) -> NoReturn:
        """Work until cancelled."""
        await self._controller.run()
        raise AssertionError("controllers do not end")

    async def _reconcile(self, key: Key) -> None:
        pod = self._pods.objects.get(key)
        if pod is None or not is_bound(pod):
            return
        if pod["metadata"].get("deletionTimestamp"):
            await asyncio.sleep(self._end_seconds)
            await self._api.delete(PODS, key, at_once=True)
        elif pod["status"].get("phase") == "Pending" and self._is_attached(pod):
            await self._api.patch(PODS, key, {"status": _running(pod)}, "status")

    def _is_attached(self, pod: Object) -> bool:
        node = pod["spec"]["nodeName"]
        for name in longhorn_volumes(pod, self._claims, self._persistent_volumes):
            volume = self._volumes.get(name, "longhorn-system")
            status = (volume or {}).get("status") or {}
            if (status.get("state"), status.get("currentNodeID")) != ("attached", node):
                return False
        return True

    def _pod_changed(self, _old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._controller.add(key_of(new))

    def _volume_changed(self, _old: Object | None, _new: Object | None) -> None:
        for key, pod in self._pods.objects.items():
            if is_bound(pod) and pod["status"].get("phase") == "Pending":
                self._controller.add(key)


def is_bound(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName"))


def claim_names(pod: Object) -> list[str]:
    """Return the claims of a pod, those of generic ephemeral volumes included."""
    name = pod["metadata"]["name"]
    names = []
    for volume in pod["spec"].get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            names.append(claim["claimName"])
        elif "ephemeral" in volume:
            names.append(f"{name}-{volume['name']}")
    return names


def longhorn_volumes(pod: Object, claims: Informer, persistent_volumes: Informer) -> list[str]:
    """Return the Longhorn volumes of a pod, as far as its claims are bound."""
    handles = []
    for name in claim_names(pod):
        claim = claims.get(name, pod["metadata"]["namespace"])
        bound_to = claim["spec"].get("volumeName", "") if claim else ""
        volume = persistent_volumes.get(bound_to) if bound_to else None
        csi = volume["spec"].get("csi") if volume else None
        if csi and csi["driver"] == DRIVER:
            handles.append(csi["volumeHandle"])
    return handles


def _running(pod: Object) -> Object:
    states = {each["type"]: each for each in pod["status"].get("conditions") or ()}
    for kind in ("Initialized", "ContainersReady", "Ready"):
        states[kind] = {"type": kind, "status": "True"}
    return {"phase": "Running", "conditions": [*states.values()]}
