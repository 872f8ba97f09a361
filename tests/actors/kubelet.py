"""Kubelets of all nodes in one: they run the pods that are bound, and end those that are deleted.

A pod starts when its Longhorn volumes are attached where it is, as the real ones wait for the
attachment before they mount. What containers do is left out.
"""

import asyncio
from typing import NoReturn

from tests.actors.api import PODS, Api, Informer, Key, Object, key_of
from tests.actors.claims import longhorn_volumes_of, persistent_volumes_of
from tests.actors.controller import Controller
from tests.actors.longhorn import NAMESPACE

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
        left_to_others: A namespace whose pods somebody else runs, if any.
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
        left_to_others: str | None,
    ) -> None:
        self._api = api
        self._pods = pods
        self._claims = claims
        self._persistent_volumes = persistent_volumes
        self._volumes = volumes
        self._end_seconds = end_seconds
        self._left_to_others = left_to_others
        self._ends_at: dict[str, float] = {}
        self._controller = Controller(self._reconcile, workers=_WORKERS)
        pods.handlers.append(self._pod_changed)
        for storage in (claims, persistent_volumes, volumes):
            storage.handlers.append(self._storage_changed)

    async def run(self) -> NoReturn:
        """Work until cancelled."""
        await self._controller.run()
        raise AssertionError("controllers do not end")

    async def _reconcile(self, key: Key) -> float | None:
        pod = self._pods.objects.get(key)
        if pod is None or not is_bound(pod) or key.namespace == self._left_to_others:
            return None
        # By now the pod may have a successor of the same name, so requests say which is meant.
        uid = pod["metadata"]["uid"]
        if pod["metadata"].get("deletionTimestamp"):
            now = asyncio.get_running_loop().time()
            left = self._ends_at.setdefault(uid, now + self._end_seconds) - now
            if left > 0:
                return left
            await self._api.delete(PODS, key, at_once=True, uid=uid)
        elif pod["status"].get("phase") == "Pending" and self._is_attached(pod):
            seen = {"resourceVersion": pod["metadata"]["resourceVersion"]}
            changes = {"metadata": seen, "status": _running(pod)}
            await self._api.patch(PODS, key, changes, "status")
        return None

    def _is_attached(self, pod: Object) -> bool:
        node = pod["spec"]["nodeName"]
        if None in persistent_volumes_of(pod, self._claims, self._persistent_volumes):
            return False  # kube-scheduler waits for claims to be bound; it is only not heard yet
        for name in longhorn_volumes_of(pod, self._claims, self._persistent_volumes):
            volume = self._volumes.get(name, NAMESPACE)
            status = (volume or {}).get("status") or {}
            if (status.get("state"), status.get("currentNodeID")) != ("attached", node):
                return False
        return True

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._controller.add(key_of(new))
        elif old is not None:
            self._ends_at.pop(old["metadata"]["uid"], None)

    def _storage_changed(self, _old: Object | None, _new: Object | None) -> None:
        for key, pod in self._pods.objects.items():
            if is_bound(pod) and pod["status"].get("phase") == "Pending":
                self._controller.add(key)


def is_bound(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName"))


def _running(pod: Object) -> Object:
    states = {each["type"]: each for each in pod["status"].get("conditions") or ()}
    for kind in ("Initialized", "ContainersReady", "Ready"):
        states[kind] = {"type": kind, "status": "True"}
    return {"phase": "Running", "conditions": [*states.values()]}
