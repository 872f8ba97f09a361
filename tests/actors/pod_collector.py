"""Kubernetes' pod garbage collector, for where the real one cannot run.

It deletes pods whose node has gone, since no kubelet ends them. Whoever made them makes new ones.
Source: kubernetes pkg/controller/podgc/gc_controller.go. What it collects besides is left out.
"""

from typing import NoReturn

from tests.actors.api import KUBERNETES_NODES, PODS, Api, Informer, Key, Object, key_of
from tests.actors.controller import Controller
from tests.actors.kubelet import is_bound

_QUARANTINE_SECONDS = 40.0
"""A node must be gone for so long: the caches of pods and nodes are not of the same moment."""
_WORKERS = 1


class PodCollector:
    """Deletes pods whose node has gone.

    Args:
        api: Where pods are deleted.
        pods: All pods.
        nodes: All nodes of Kubernetes.
    """

    def __init__(self, api: Api, *, pods: Informer, nodes: Informer) -> None:
        self._api = api
        self._pods = pods
        self._nodes = nodes
        self._controller = Controller(self._collect, workers=_WORKERS)
        pods.handlers.append(self._pod_changed)
        nodes.handlers.append(self._node_changed)

    async def run(self) -> NoReturn:
        """Work until cancelled."""
        await self._controller.run()
        raise AssertionError("controllers do not end")

    async def _collect(self, key: Key) -> None:
        pod = self._pods.objects.get(key)
        if pod is None or not self._is_orphan(pod):
            return
        if await self._api.get(KUBERNETES_NODES, pod["spec"]["nodeName"]) is None:
            await self._api.delete(PODS, key, at_once=True, uid=pod["metadata"]["uid"])

    def _is_orphan(self, pod: Object) -> bool:
        return is_bound(pod) and self._nodes.get(pod["spec"]["nodeName"]) is None

    def _pod_changed(self, _old: Object | None, new: Object | None) -> None:
        if new is not None and self._is_orphan(new):
            self._controller.add_after(key_of(new), _QUARANTINE_SECONDS)

    def _node_changed(self, _old: Object | None, new: Object | None) -> None:
        if new is None:
            for pod in self._pods.objects.values():
                self._pod_changed(None, pod)
