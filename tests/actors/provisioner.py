"""The CSI external-provisioner: a PersistentVolume for each claim, a volume behind each of these.

As the real one with topology: a claim of a class that waits for its first consumer is provisioned
once kube-scheduler has selected a node, each claim by itself and many at a time, without a look at
what is left anywhere. What fails is tried again, later and later, unless the driver has no room on
the selected node: then another one is to be selected.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import NoReturn, Protocol

from app.quantity import parse_bytes
from tests.actors.api import CLAIMS, PERSISTENT_VOLUMES, Api, Informer, Key, Object, key_of
from tests.actors.controller import Controller
from tests.actors.longhorn import DRIVER, CreateVolumeError
from tests.actors.longhorn.clones import data_source

SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
_PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_WORKERS = 100
"""`--worker-threads` of external-provisioner, by default."""
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 300.0
"""`--retry-interval-start` and `--retry-interval-max` of external-provisioner, by default."""


class ResourceExhaustedError(CreateVolumeError):
    """CreateVolume fails with that code: there is no room where the volume should be."""


class Volumes(Protocol):
    """What the driver does: CreateVolume, which may raise `CreateVolumeError`, and DeleteVolume."""

    def is_registered(self, node: str) -> bool:
        """Say whether the CSINode of a node names it; else nothing is made for pods there."""
        ...

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
        self._pauses: dict[Key, float] = {}
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

    async def _provision(self, key: Key) -> float | None:
        claim = self._claims.objects.get(key)
        if claim is not None and _is_wanted(claim):
            storage_class = self._storage_classes.get(claim["spec"]["storageClassName"])
            if storage_class is None:
                return self._next_pause(key)
            try:
                await self._create(claim, storage_class)
            except ResourceExhaustedError:
                await self._reschedule(claim)
            except CreateVolumeError:
                return self._next_pause(key)
        self._pauses.pop(key, None)
        return None

    async def _create(self, claim: Object, storage_class: Object) -> None:
        """Create what a claim asks for, unless it is there or waits for a pod.

        A claim that is deleted meanwhile gets its PersistentVolume all the same. Kubernetes'
        controller finds it released then, and so nothing is left behind.
        """
        waits = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        if waits and SELECTED_NODE not in claim["metadata"]["annotations"]:
            return
        if waits and not self._driver.is_registered(
            claim["metadata"]["annotations"][SELECTED_NODE]
        ):
            raise CreateVolumeError("no topology key found for node")
        name = f"pvc-{claim['metadata']['uid']}"
        if self._persistent_volumes.get(name) is not None:
            return
        size = parse_bytes(claim["spec"]["resources"]["requests"]["storage"])
        parameters = {**(storage_class.get("parameters") or {}), **self._source(claim, size)}
        await self._driver.create_volume(name, size, parameters)
        await self._api.ensure(persistent_volume(name, claim, storage_class), PERSISTENT_VOLUMES)

    def _source(self, claim: Object, size_bytes: int) -> Mapping[str, str]:
        """Return what CreateVolume is told of the claim that another one is to be a copy of.

        Longhorn's driver writes it among the parameters of the class.
        Source: external-provisioner pkg/controller/controller.go getPVCSource.

        Raises:
            CreateVolumeError: That claim is not bound, is deleted, or is larger.
        """
        of = claim["spec"].get("dataSource")
        if of is None:
            return {}
        found = self._claims.get(of["name"], claim["metadata"]["namespace"])
        bound = found is not None and not found["metadata"].get("deletionTimestamp")
        name = found["spec"].get("volumeName") if found is not None and bound else ""
        source = self._persistent_volumes.get(name) if name else None
        if source is None:
            raise CreateVolumeError(f"claim {of['name']} is not bound")
        if parse_bytes(source["spec"]["capacity"]["storage"]) > size_bytes:
            raise CreateVolumeError(f"claim {of['name']} is larger than its copy")
        return {"dataSource": data_source(source["spec"]["csi"]["volumeHandle"])}

    async def _reschedule(self, claim: Object) -> None:
        """Leave it to kube-scheduler to select another node (its lib's rescheduleProvisioning)."""
        if SELECTED_NODE in (claim["metadata"].get("annotations") or {}):
            version = claim["metadata"]["resourceVersion"]
            metadata = {"resourceVersion": version, "annotations": {SELECTED_NODE: None}}
            await self._api.patch(CLAIMS, key_of(claim), {"metadata": metadata})

    def _next_pause(self, key: Key) -> float:
        last = self._pauses.get(key, _FIRST_PAUSE_SECONDS / 2)
        self._pauses[key] = min(2 * last, _LONGEST_PAUSE_SECONDS)
        return self._pauses[key]

    async def _delete(self, key: Key) -> None:
        volume = self._persistent_volumes.objects.get(key)
        if volume is not None and _is_left_behind(volume):
            await self._driver.delete_volume(volume["spec"]["csi"]["volumeHandle"])
            await self._api.delete(PERSISTENT_VOLUMES, key)

    def _claim_changed(self, _old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._claim_work.add(key_of(new))

    def _volume_changed(self, _old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._volume_work.add(key_of(new))


def _is_wanted(claim: Object) -> bool:
    metadata = claim["metadata"]
    annotations = metadata.get("annotations") or {}
    is_done_with = claim["spec"].get("volumeName") or metadata.get("deletionTimestamp")
    return not is_done_with and annotations.get(PROVISIONER) == DRIVER


def _is_left_behind(volume: Object) -> bool:
    annotations = volume["metadata"].get("annotations") or {}
    return (
        annotations.get(_PROVISIONED_BY) == DRIVER
        and volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
        and (volume.get("status") or {}).get("phase") == "Released"
    )


def persistent_volume(name: str, claim: Object, storage_class: Object) -> Object:
    metadata = claim["metadata"]
    return {
        "metadata": {"name": name, "annotations": {_PROVISIONED_BY: DRIVER}},
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "storageClassName": claim["spec"]["storageClassName"],
            "volumeMode": claim["spec"].get("volumeMode", "Filesystem"),
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
