"""The PodDisruptionBudgets of instance managers, and the engines that leave when nobody needs them.

Plays longhorn-manager controller/instance_manager_controller.go (syncInstanceManagerPDB and what it
calls) and, as far as engines go, volume_attachment_controller.go. Written from the description of
what Longhorn does, on raw objects: it is the witness of the command `may-drain`, so it shares
nothing with it. An error keeps a budget, as it does there.
"""

import asyncio
from collections.abc import Iterator
from typing import NoReturn

from tests.actors import api as kinds
from tests.actors.api import Api, Informer, Object, key_of
from tests.actors.longhorn.objects import NAMESPACE

_LOOK_SECONDS = 0.3
_POLICY = "node-drain-policy"
_AUTOSCALER = "kubernetes-cluster-autoscaler-enabled"
_DETACH = "detach-manually-attached-volumes-when-cordoned"
_IMAGE = "default-instance-manager-image"
_RUNNING = "running"


class _KeepError(Exception):
    """Something is not there that Longhorn looks up: the budget stays."""


class Guards:
    """Makes and removes budgets, and ends engines, until cancelled.

    Attributes:
        informers: Filled while it runs.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self.hosts = Informer(api, kinds.KUBERNETES_NODES)
        self.pods = Informer(api, kinds.PODS)
        self.budgets = Informer(api, kinds.BUDGETS, NAMESPACE)
        self.managers = Informer(api, kinds.INSTANCE_MANAGERS, NAMESPACE)
        self.replicas = Informer(api, kinds.REPLICAS, NAMESPACE)
        self.volumes = Informer(api, kinds.VOLUMES, NAMESPACE)
        self.attachments = Informer(api, kinds.LONGHORN_ATTACHMENTS, NAMESPACE)
        self.settings = Informer(api, kinds.SETTINGS, NAMESPACE)
        self.informers = (
            self.hosts,
            self.pods,
            self.budgets,
            self.managers,
            self.replicas,
            self.volumes,
            self.attachments,
            self.settings,
        )
        self.is_settled = False
        """Whether there was nothing to do at the last look."""

    async def run(self) -> NoReturn:
        """Be these controllers."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self.informers:
                tasks.create_task(informer.run())
            for informer in self.informers:
                await informer.synced.wait()
            while True:
                self.is_settled = not await self.look()
                await asyncio.sleep(_LOOK_SECONDS)
        raise AssertionError("controllers do not end")

    async def look(self) -> int:
        """Do what is due now; return how much that was."""
        changes = 0
        for attachment in [*self.attachments.objects.values()]:
            changes += await self._release(attachment)
        for manager in [*self.managers.objects.values()]:
            changes += await self._end_engines(manager)
        for manager in [*self.managers.objects.values()]:
            changes += await self._guard(manager)
        return changes

    async def _release(self, attachment: Object) -> bool:
        """Take back the tickets that nobody needs: their pods are gone, or a cordon ends them."""
        tickets: dict[str, Object] = attachment["spec"]["attachmentTickets"]
        volume = self.volumes.get(attachment["spec"]["volume"], NAMESPACE)
        left = {name: each for name, each in tickets.items() if self._is_needed(each, volume)}
        if left == tickets:
            return False
        gone: Object = {name: None for name in tickets if name not in left}
        change = {"spec": {"attachmentTickets": gone}}
        await self._api.patch(kinds.LONGHORN_ATTACHMENTS, key_of(attachment), change)
        return True

    def _is_needed(self, ticket: Object, volume: Object | None) -> bool:
        if ticket["type"] == "longhorn-api":
            detaches = self._setting(_DETACH) == "true"
            return not (detaches and self._is_cordoned(ticket["nodeID"]))
        if ticket["type"] != "csi-attacher" or volume is None:
            return True
        used = volume["status"]["kubernetesStatus"]
        return any(
            pod["spec"].get("nodeName") == ticket["nodeID"]
            and key.namespace == used["namespace"]
            and any(
                (each.get("persistentVolumeClaim") or {}).get("claimName") == used["pvcName"]
                for each in pod["spec"].get("volumes") or ()
            )
            for key, pod in self.pods.objects.items()
        )

    async def _end_engines(self, manager: Object) -> bool:
        """End the engines of volumes that have no ticket for this node; orphans go on."""
        node, engines = manager["spec"]["nodeID"], manager["status"].get("instanceEngines") or {}
        wanted = {
            each["spec"]["volume"]
            for each in self.attachments.objects.values()
            for ticket in each["spec"]["attachmentTickets"].values()
            if ticket["nodeID"] == node
        }
        known = {key.name for key in self.volumes.objects}
        gone: Object = {
            name: None
            for name in engines
            if (of := name.partition("-e-")[0]) in known - wanted and of
        }
        if not gone:
            return False
        change = {"status": {"instanceEngines": gone}}
        await self._api.patch(kinds.INSTANCE_MANAGERS, key_of(manager), change)
        return True

    async def _guard(self, manager: Object) -> bool:
        """Make the budget of an instance manager, or remove it."""
        if manager["status"]["currentState"] != _RUNNING:
            return False
        has_budget = self.budgets.get(manager["metadata"]["name"], NAMESPACE) is not None
        try:
            if self._is_cordoned(manager["spec"]["nodeID"]):
                return has_budget and self._may_go(manager) and await self._unguard(manager)
            if self._setting(_AUTOSCALER) == "true" and self._may_go(manager):
                return has_budget and await self._unguard(manager)
        except _KeepError:
            return False
        if has_budget:
            return False
        await self._api.ensure(budget_of(manager), kinds.BUDGETS)
        return True

    async def _unguard(self, manager: Object) -> bool:
        await self._api.delete(kinds.BUDGETS, key_of(manager))
        return True

    def _may_go(self, manager: Object) -> bool:
        node = manager["spec"]["nodeID"]
        if any(each["status"].get("instanceEngines") for each in self._managers_of(node)):
            return False
        policy = self._setting(_POLICY)
        if not policy:
            raise _KeepError
        if policy == "always-allow":
            return True
        here = [
            each
            for each in self.replicas.objects.values()
            if each["metadata"]["labels"]["longhornnode"] == node
        ]
        if policy == "block-for-eviction" and here:
            return False
        if policy == "allow-if-replica-is-stopped":
            here = [each for each in here if not _is_stopped(each)]
        return all(self._is_covered(each, node) for each in here)

    def _is_covered(self, replica: Object, node: str) -> bool:
        protected = {*self._protected_nodes(replica["spec"]["volumeName"])}
        was_never_used = not replica["spec"]["healthyAt"] and not replica["spec"]["failedAt"]
        return was_never_used or bool(protected - {node})

    def _protected_nodes(self, volume: str) -> Iterator[str]:
        for replica in self.replicas.objects.values():
            spec = replica["spec"]
            if spec["volumeName"] != volume or not spec["healthyAt"] or spec["failedAt"]:
                continue
            if self._is_cordoned(spec["nodeID"]):
                continue
            manager = self._manager_of(replica)
            if manager is None or manager["status"]["currentState"] != _RUNNING:
                continue
            if self.budgets.get(manager["metadata"]["name"], NAMESPACE) is not None:
                yield spec["nodeID"]

    def _manager_of(self, replica: Object) -> Object | None:
        if name := replica["status"]["instanceManagerName"]:
            return self.managers.get(name, NAMESPACE)
        engine, image = replica["spec"]["dataEngine"], self._setting(_IMAGE)
        there = [
            each
            for each in self._managers_of(replica["spec"]["nodeID"])
            if each["spec"]["dataEngine"] == engine and each["spec"]["image"] == image
        ]
        if len(there) != 1:
            raise _KeepError
        return there[0]

    def _managers_of(self, node: str) -> list[Object]:
        return [each for each in self.managers.objects.values() if each["spec"]["nodeID"] == node]

    def _is_cordoned(self, node: str) -> bool:
        host = self.hosts.get(node)
        if host is None:
            raise _KeepError
        return bool(host["spec"].get("unschedulable"))

    def _setting(self, name: str) -> str:
        found = self.settings.get(name, NAMESPACE)
        return str(found["value"]) if found else ""


def budget_of(manager: Object) -> Object:
    """Build the PodDisruptionBudget of an instance manager."""
    return {
        "metadata": {"name": manager["metadata"]["name"], "namespace": NAMESPACE},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels_of(manager)}},
    }


def labels_of(manager: Object) -> dict[str, str]:
    """Return the labels of an instance manager's pod."""
    spec = manager["spec"]
    return {
        "longhorn.io/component": "instance-manager",
        "longhorn.io/node": spec["nodeID"],
        "longhorn.io/instance-manager-type": spec["type"],
        "longhorn.io/data-engine": spec["dataEngine"],
        "longhorn.io/instance-manager-image": spec["image"].rpartition(":")[2],
    }


def _is_stopped(replica: Object) -> bool:
    return bool(replica["spec"]["desireState"] == replica["status"]["currentState"] == "stopped")
