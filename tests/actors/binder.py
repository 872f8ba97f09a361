"""Kubernetes' PersistentVolume controller and claim protection, for where the real ones cannot run.

Claims get their provisioner, and are bound to what was provisioned for them; PersistentVolumes are
released when their claim is gone; a claim that is deleted goes when no pod uses it any more.
Source: kubernetes pkg/controller/volume/persistentvolume/pv_controller.go,
pkg/controller/volume/pvcprotection. Static PersistentVolumes are left out.
"""

import asyncio
from typing import NoReturn

from tests.actors.api import CLAIMS, PERSISTENT_VOLUMES, Api, Informer, Key, Object, key_of
from tests.actors.claims import claims_of
from tests.actors.controller import Controller
from tests.actors.provisioner import PROVISIONER, SELECTED_NODE

_BETA_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
_COMPLETED = "pv.kubernetes.io/bind-completed"
_BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_WORKERS = 1
"""Each of the controller's two queues has one."""
_RESYNC_SECONDS = 15.0
"""The real one looks at all claims so often. Here only those are looked at again whose class is not
known yet."""


class Binder:
    """Keeps claims and PersistentVolumes together."""

    def __init__(
        self,
        api: Api,
        *,
        pods: Informer,
        claims: Informer,
        persistent_volumes: Informer,
        storage_classes: Informer,
    ) -> None:
        self._api = api
        self._pods = pods
        self._claims = claims
        self._persistent_volumes = persistent_volumes
        self._storage_classes = storage_classes
        self._claim_work = Controller(self._bind, workers=_WORKERS)
        self._volume_work = Controller(self._release, workers=_WORKERS)
        claims.handlers.append(self._claim_changed)
        persistent_volumes.handlers.append(self._volume_changed)
        pods.handlers.append(self._pod_changed)

    async def run(self) -> NoReturn:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._claim_work.run())
            tasks.create_task(self._volume_work.run())
        raise AssertionError("controllers do not end")

    async def _bind(self, key: Key) -> float | None:
        claim = self._claims.objects.get(key)
        if claim is None:
            return None
        if claim["metadata"].get("deletionTimestamp"):
            if not self._is_used(key):
                await self._api.delete(CLAIMS, key, uid=claim["metadata"]["uid"])
        elif not claim["spec"].get("volumeName"):
            volume = self._made_for(claim)
            if volume is None:
                return await self._ask_for_volume(claim)
            await self._bind_to(claim, volume)
        return None

    async def _ask_for_volume(self, claim: Object) -> float | None:
        """Name the provisioner of a claim that waits for nothing else."""
        storage_class = self._storage_classes.get(claim["spec"].get("storageClassName", ""))
        annotations = claim["metadata"].get("annotations") or {}
        if PROVISIONER in annotations:
            return None
        if storage_class is None:
            return _RESYNC_SECONDS
        waits = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        if waits and SELECTED_NODE not in annotations:
            return None
        names = dict.fromkeys((PROVISIONER, _BETA_PROVISIONER), storage_class["provisioner"])
        await self._annotate(claim, names, {})
        return None

    async def _bind_to(self, claim: Object, volume: Object) -> None:
        """Bind both, the PersistentVolume first."""
        name = volume["metadata"]["name"]
        await self._api.patch(PERSISTENT_VOLUMES, Key("", name), {"status": {"phase": "Bound"}})
        annotations = dict.fromkeys((_COMPLETED, _BOUND_BY_CONTROLLER), "yes")
        bound = {"spec": {"volumeName": name}, "status": {"phase": "Bound"}}
        await self._annotate(claim, annotations, bound)

    async def _annotate(self, claim: Object, annotations: Object, changes: Object) -> None:
        """Write over the version that is known."""
        version = claim["metadata"]["resourceVersion"]
        metadata = {"resourceVersion": version, "annotations": annotations}
        await self._api.patch(CLAIMS, key_of(claim), {**changes, "metadata": metadata})

    async def _release(self, key: Key) -> None:
        volume = self._persistent_volumes.objects.get(key)
        if volume is None:
            return
        claim = self._claim_of(volume)
        if claim is not None:
            self._claim_work.add(key_of(claim))
        elif (volume.get("status") or {}).get("phase") != "Released":
            # Not from the cache: a claim that is only not heard of yet must not lose its volume.
            reference = volume["spec"]["claimRef"]
            found = await self._api.get(CLAIMS, reference["name"], reference["namespace"])
            if found is None or found["metadata"]["uid"] != reference["uid"]:
                released = {"status": {"phase": "Released"}}
                await self._api.patch(PERSISTENT_VOLUMES, key, released)

    def _made_for(self, claim: Object) -> Object | None:
        volume = self._persistent_volumes.get(f"pvc-{claim['metadata']['uid']}")
        return volume if volume is not None and self._claim_of(volume) is claim else None

    def _claim_of(self, volume: Object) -> Object | None:
        reference = volume["spec"].get("claimRef") or {}
        claim = self._claims.get(reference.get("name", ""), reference.get("namespace", ""))
        same = claim is not None and claim["metadata"]["uid"] == reference.get("uid")
        return claim if same else None

    def _is_used(self, claim: Key) -> bool:
        return any(
            key.namespace == claim.namespace and claim.name in claims_of(pod)
            for key, pod in self._pods.objects.items()
        )

    def _claim_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._claim_work.add(key_of(new))
        elif old is not None and old["spec"].get("volumeName"):
            self._volume_work.add(Key("", old["spec"]["volumeName"]))

    def _volume_changed(self, _old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._volume_work.add(key_of(new))

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            for name in claims_of(old):
                self._claim_work.add(Key(old["metadata"]["namespace"], name))
