"""Where volumes shall be attached: from pods to Volume.spec.nodeID.

Plays three at once: Kubernetes' attach-detach controller, the CSI attacher, and Longhorn's own
VolumeAttachment with its tickets, of which only pods and evictions have any here.
"""

from collections.abc import Iterable, Sequence
from typing import NoReturn

import msgspec

from tests.actors import claims as of_pods
from tests.actors.api import VOLUMES, Key, Object, key_of
from tests.actors.controller import Controller
from tests.actors.longhorn.cluster import Cluster, Timers
from tests.actors.longhorn.objects import DRIVER
from tests.actors.longhorn.records import (
    STRICT_LOCAL,
    Replica,
    Volume,
    condition_status,
    read_replica,
    read_volume,
)

WORKERS = 10
_AGAIN_SECONDS = 0.5
"""What refuses an attachment is asked again; the real external-attacher does so later and later."""


class Wish(msgspec.Struct, frozen=True):
    """Where to attach a volume, "" for nowhere; for pods, or else for an eviction."""

    node: str
    is_for_pods: bool = True


def next_wish(
    volume: Volume, replicas: Sequence[Replica], pod_nodes: Sequence[str], eviction_node: str
) -> Wish | None:
    """Decide where a volume shall be attached next; None to leave it as it is.

    It moves only by way of nowhere, and is attached again once it is fully detached; one that is
    faulted is detached (controller/volume_attachment_controller.go shouldDoDetach). An eviction
    keeps it from pods that come later, and yields to those that came before. CSI publish refuses a
    volume that is faulted, or detached, not Scheduled and not placed as a whole (types/volumes.go
    IsVolumeReady); of an erasure-coded one it does not ask whether it is placed. One that is wished
    somewhere already stays so.

    Args:
        volume: The volume.
        replicas: Its replicas.
        pod_nodes: Nodes of the pods that use it, those that came first before; if it is not to be
            attached yet, only those that are ready.
        eviction_node: Where an eviction needs it, if one does.
    """
    if volume.wished_node:
        wanted = pod_nodes if volume.is_for_pods else [eviction_node]
        stays = volume.wished_node in wanted and volume.robustness != "faulted"
        return None if stays else Wish("")
    if volume.state != "detached":
        return None
    is_placed = bool(replicas) and all(each.node for each in replicas)
    is_refused = volume.scheduled == "False" and not is_placed and not volume.is_sharded
    if volume.robustness == "faulted" or is_refused:
        return None
    if pod_nodes:
        return Wish(pod_nodes[0]) if _may_attach(volume, replicas, pod_nodes[0]) else None
    return Wish(eviction_node, is_for_pods=False) if eviction_node else None


def _may_attach(volume: Volume, replicas: Sequence[Replica], node: str) -> bool:
    """Longhorn's webhook: a strict-local volume whose replica is placed stays on its node."""
    placed = {each.node for each in replicas if each.node}
    return volume.locality != STRICT_LOCAL or placed <= {node}


def uses_volumes(pod: Object) -> bool:
    """Say whether a pod's volumes are wanted at its node: also while it ends, until it is gone."""
    finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return bool(pod["spec"].get("nodeName")) and not finished


class Wishes:
    """Keeps Volume.spec.nodeID as pods need it.

    Attributes:
        evictions: Where evictions need volumes attached that no pod uses, by volume; `look` after
            a change.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.evictions: dict[str, str] = {}
        self._cluster = cluster
        self._timers = Timers(cluster.draw)
        self._controller: Controller[str] = Controller(self._reconcile, workers=WORKERS)
        self._pods_by_claim: dict[Key, set[Key]] = {}

    def look(self, volume: str) -> None:
        """Decide about a volume anew."""
        self._controller.add(volume)

    async def run(self) -> NoReturn:
        """Work until cancelled; the caches are filled."""
        cluster = self._cluster
        cluster.pods.handlers.append(self._on_pod)
        cluster.persistent_volumes.handlers.append(self._on_persistent_volume)
        cluster.volumes.handlers.append(self._on_volume)
        cluster.claims.handlers.append(self._on_claim)
        cluster.nodes.handlers.append(self._on_node)
        for pod in [*cluster.pods.objects.values()]:
            self._on_pod(None, pod)
        for volume in [*cluster.volumes.objects.values()]:
            self._on_volume(None, volume)
        await self._controller.run()

    def _on_pod(self, old: Object | None, new: Object | None) -> None:
        pod = new or old
        assert pod is not None
        for name in of_pods.claims_of(pod):
            claim = Key(key_of(pod).namespace, name)
            users = self._pods_by_claim.setdefault(claim, set())
            if new is not None and uses_volumes(new):
                users.add(key_of(pod))
            else:
                users.discard(key_of(pod))
            bound = self._cluster.claims.get(claim.name, claim.namespace)
            self._on_claim(None, bound)

    def _on_claim(self, old: Object | None, new: Object | None) -> None:
        claim = new or old
        name = claim["spec"].get("volumeName") if claim else ""
        if name:
            self._on_persistent_volume(None, self._cluster.persistent_volumes.get(name))

    def _on_persistent_volume(self, old: Object | None, new: Object | None) -> None:
        found = new or old
        source = (found["spec"].get("csi") or {}) if found else {}
        if source.get("driver") == DRIVER:
            self.look(source["volumeHandle"])

    def _on_volume(self, old: Object | None, new: Object | None) -> None:
        volume = new or old
        assert volume is not None
        self.look(volume["metadata"]["name"])

    def _on_node(self, old: Object | None, new: Object | None) -> None:
        """Attach what waited for a node to become ready."""
        if new is not None and not (old is not None and _is_ready(old)) and _is_ready(new):
            for key in self._cluster.volumes.objects:
                self.look(key.name)

    async def _reconcile(self, name: str) -> float | None:
        obj = await self._cluster.api.get(VOLUMES, name, self._cluster.namespace)
        if obj is None or read_volume(obj).state == "deleting":
            return None
        volume, asking = read_volume(obj), self._pod_nodes(name)
        nodes = asking
        if not volume.wished_node:
            nodes = [node for node in asking if self._takes(obj, node)]
        replicas = [read_replica(each) for each in await self._cluster.replicas_of(name)]
        wish = next_wish(volume, replicas, nodes, self.evictions.get(name, ""))
        if wish is None:
            self._timers.stop(name)
            return None if volume.wished_node or nodes == asking else _AGAIN_SECONDS
        delays = self._cluster.delays
        span = delays.attach_wish if wish.node else delays.detach_wish
        left = self._timers.left(name, wish.node, span=span)
        if left:
            return left
        change = {
            "metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]},
            "spec": {"nodeID": wish.node, "disableFrontend": not wish.is_for_pods},
        }
        await self._cluster.api.patch(VOLUMES, self._cluster.key(name), change)
        self._timers.stop(name)
        return None

    def _pod_nodes(self, volume: str) -> list[str]:
        pods = [self._cluster.pods.objects[key] for key in self._users(volume)]
        pods.sort(key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
        return [pod["spec"]["nodeName"] for pod in pods]

    def _users(self, volume: str) -> Iterable[Key]:
        """List the pods on nodes whose claims are bound to a volume."""
        for name, found in self._cluster.persistent_volumes.objects.items():
            if (found["spec"].get("csi") or {}).get("volumeHandle") == volume:
                reference = found["spec"].get("claimRef") or {}
                key = Key(reference.get("namespace", ""), reference.get("name", ""))
                claim = self._cluster.claims.objects.get(key)
                if claim and claim["spec"].get("volumeName") == name.name:
                    yield from self._pods_by_claim.get(key, ())

    def _takes(self, volume: Object, node: str) -> bool:
        """Say whether external-attacher and Longhorn's attach API let a volume be wished there."""
        found = self._cluster.nodes.get(node, self._cluster.namespace)
        runners = self._cluster.runners
        return (
            runners.has_driver(node)
            and found is not None
            and _is_ready(found)
            and runners.has_image(volume, node)
        )


def _is_ready(node: Object) -> bool:
    return condition_status(node["status"], "Ready") == "True"
