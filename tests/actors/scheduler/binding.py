"""From a chosen node to a bound pod: claims, then the binding.

Claims get their node one by one, over the versions that the scheduler has cached, so that whoever
writes one of them meanwhile makes the attempt fail. What was written stays when it fails.
Source: kubernetes pkg/scheduler/framework/plugins/volumebinding/binder.go (bindAPIUpdate,
checkBindings), defaultbinder.
"""

import asyncio

from tests.actors.api import CLAIMS, PODS, Api, Informer, Key, Object, RefusedError, key_of
from tests.actors.provisioner import SELECTED_NODE
from tests.actors.scheduler.candidates import (
    Storage,
    fits_claim,
    is_bound,
    selected_node,
    unbound,
)

POLL_SECONDS = 1.0
"""How often it is looked whether claims are bound, the first time after as long."""


class BindingError(Exception):
    """The attempt failed, and the pod is tried again after a while."""


class Binding:
    """Binds pods.

    Args:
        api: Where it is written.
        pods: All pods.
        storage: Claims and what belongs to them.
        timeout_seconds: How long claims may take (`bindTimeoutSeconds`).
    """

    def __init__(
        self, api: Api, *, pods: Informer, storage: Storage, timeout_seconds: float
    ) -> None:
        self._api = api
        self._pods = pods
        self._storage = storage
        self._timeout_seconds = timeout_seconds

    async def bind(self, pod: Object, claims: list[Object], node: str) -> None:
        """Have *claims* provisioned for *node*, and bind the pod to it.

        Raises:
            BindingError: It came to nothing.
        """
        if claims:
            written = {key_of(claim): await self._select(claim, node) for claim in claims}
            await self._all_bound(pod, written, node)
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        metadata = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        try:
            bound = await self._api.create_in(PODS, key_of(pod), "binding", body)
        except RefusedError as error:
            raise BindingError(f"binding rejected: {error}") from error
        if bound is None:
            raise BindingError("binding rejected: the pod is gone")

    async def _select(self, claim: Object, node: str) -> int:
        """Write a claim's node; return the version written."""
        metadata = claim["metadata"]
        annotations = {**(metadata.get("annotations") or {}), SELECTED_NODE: node}
        changed = {**claim, "metadata": {**metadata, "annotations": annotations}}
        try:
            written = await self._api.replace(changed, CLAIMS)
        except RefusedError as error:
            raise BindingError(f"binding volumes: {error}") from error
        if written is None:
            raise BindingError(f"binding volumes: claim {metadata['name']} is gone")
        return _version(written)

    async def _all_bound(self, pod: Object, written: dict[Key, int], node: str) -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._timeout_seconds
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if loop.time() >= ends_at:
                raise BindingError("binding volumes: context deadline exceeded")
            known = self._pods.objects.get(key_of(pod))
            if known is None or known["metadata"]["uid"] != pod["metadata"]["uid"]:
                raise BindingError("binding volumes: the pod does not exist any more")
            waiting = [key for key, version in written.items() if self._waits(key, version, node)]
            if not waiting and not unbound(pod, self._storage):
                return

    def _waits(self, key: Key, version: int, node: str) -> bool:
        """Say whether a claim is still to be bound; what is older than was written says nothing."""
        claim = self._storage.claims.objects.get(key)
        if claim is None:
            raise BindingError(f"binding volumes: claim {key.name} is gone")
        if _version(claim) < version:
            return True
        if is_bound(claim):
            if not fits_claim(claim, node, self._storage):
                raise BindingError(f"binding volumes: claim {key.name} is bound for another node")
            return False
        if selected_node(claim) != node:
            raise BindingError(f"binding volumes: provisioning failed for PVC {key.name!r}")
        return True


def _version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])
