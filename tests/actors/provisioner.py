"""The CSI external-provisioner: a PersistentVolume for each claim, a volume behind each of these.

As the real one with topology: a claim of a class that waits for its first consumer is provisioned
once kube-scheduler has selected a node, each claim by itself and many at a time, without a look at
what is left anywhere.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import NoReturn, Protocol

from app.quantity import parse_bytes
from tests.actors.api import CLAIMS, PERSISTENT_VOLUMES, Api, Informer, Key, Object, key_of
from tests.actors.controller import Controller
from tests.actors.kubelet import DRIVER

SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
_WORKERS = 100
"""`--worker-threads` of external-provisioner, by default."""


class Volumes(Protocol):
    """What the driver does: CreateVolume and DeleteVolume."""

    def create_volume(
        self, name: str, size_bytes: int, parameters: Mapping[str, str]
    ) -> Awaitable[None]: ...

    def delete_volume(self, name: str) -> Awaitable[None]: ...


class Provisioner:
    """Provisions claims, and deletes what released ones leave behind."""

    def __init__(
        self,
        api: Api,
        driver: Volumes,
        *,
        claims: Informer,
        persistent_volumes: Informer,
        storage_classes: Informer,
    ) -> None:
        self._api = api
        self._driver = driver
        self._claims = claims
        self._persistent_volumes = persistent_volumes
        self._storage_classes = storage_classes
        self._claim_work = Controller(self._provision, workers=_WORKERS)
        self._volume_work = Controller(self._delete, workers=_WORKERS)
        claims.handlers.append(self._claim_changed)
        persistent_volumes.handlers.append(self._volume_changed)

    async def run(self) -> NoReturn:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._claim_work.run())
            tasks.create_task(self._volume_work.run())
        raise AssertionError("controllers do not end")

    async def _provision(self, key: Key) -> None:
        claim = self._claims.objects.get(key)
        if claim is None or not self._is_wanted(claim):
            return
        storage_class = self._storage_classes.get(claim["spec"]["storageClassName"])
        if storage_class is None:
            return
        name = f"pvc-{claim['metadata']['uid']}"
        size = parse_bytes(claim["spec"]["resources"]["requests"]["storage"])
        parameters = storage_class.get("parameters") or {}
        await self._driver.create_volume(name, size, parameters)
        await self._api.ensure(_persistent_volume(name, claim, storage_class), PERSISTENT_VOLUMES)

    def _is_wanted(self, claim: Object) -> bool:
        metadata, spec = claim["metadata"], claim["spec"]
        annotations = metadata.get("annotations") or {}
        if spec.get("volumeName") or metadata.get("deletionTimestamp"):
            return False
        if annotations.get(PROVISIONER) != DRIVER:
            return False
        storage_class = self._storage_classes.get(spec.get("storageClassName", ""))
        waits = (storage_class or {}).get("volumeBindingMode") == "WaitForFirstConsumer"
        return not waits or SELECTED_NODE in annotations

    async def _delete(self, key: Key) -> None:
        volume = self._persistent_volumes.objects.get(key)
        if volume is None or (volume.get("status") or {}).get("phase") != "Released":
            return
        if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            await self._driver.delete_volume(volume["spec"]["csi"]["volumeHandle"])
            await self._api.delete(PERSISTENT_VOLUMES, key)

    def _claim_changed(self, _old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._claim_work.add(key_of(new))

    def _volume_changed(self, _old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._volume_work.add(key_of(new))


def _persistent_volume(name: str, claim: Object, storage_class: Object) -> Object:
    metadata = claim["metadata"]
    return {
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": DRIVER}},
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "storageClassName": claim["spec"]["storageClassName"],
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "csi": {
                "driver": DRIVER,
                "volumeHandle": name,
                "volumeAttributes": storage_class.get("parameters") or {},
            },
            "claimRef": {
                "apiVersion": CLAIMS.api_version,
                "kind": CLAIMS.kind,
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
        },
    }
