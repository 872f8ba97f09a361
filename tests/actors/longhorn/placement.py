"""Where replicas go: Longhorn's own search, on what its managers know at that moment.

As Longhorn is, the managers know the Node objects as last published, and each places without
regard to the others: replicas that are placed within the delay of the node status can end up on a
disk that has room for one of them only. (One cache serves all managers here; what matters is how
late the objects are written.) The other way, for comparison, one replica is placed at a
time, and every Replica object counts that is assigned already.
"""

import asyncio
from collections.abc import Iterable, Sequence

import longhorn
from longhorn import Candidate, Candidates, node_space
from tests.actors.api import REPLICAS, Object
from tests.actors.longhorn.accounts import counted, disks
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.records import recorded

NO_REASON = "replica scheduling failed"


class Placement:
    """Places replicas; *stale* says whether as Longhorn does, see above."""

    def __init__(self, cluster: Cluster, *, stale: bool) -> None:
        self._cluster = cluster
        self._stale = stale
        self._turn = asyncio.Lock()

    async def place(
        self, replica: Object, volume: Object, replicas: Sequence[Object], hard_node: str
    ) -> tuple[str, ...]:
        """Assign a disk to a replica; return why there is none, if so.

        Args:
            replica: A replica without a place.
            volume: Its volume.
            replicas: All replicas of the volume.
            hard_node: The only node it may go to, unless "".
        """
        affine = {**replica, "spec": {**replica["spec"], "hardNodeAffinity": hard_node}}
        if self._stale:
            return await self._assign(affine, volume, replicas, [*self._nodes()])
        async with self._turn:
            assigned = await self._cluster.api.list(REPLICAS, self._cluster.namespace)
            nodes = [counting(node, assigned) for node in self._nodes()]
            return await self._assign(affine, volume, replicas, nodes)

    def precheck(self, volume: Object, replicas: Sequence[Object]) -> tuple[str, ...]:
        """Say why no disk of the cluster would take one more replica; nothing if one would."""
        blank: Object = {"metadata": {"name": "new"}, "spec": {}}
        candidates = self._search(blank, volume, replicas, self._nodes())
        return () if candidates.disks else candidates.errors or (NO_REASON,)

    def _nodes(self) -> Iterable[Object]:
        return self._cluster.nodes.objects.values()

    def _search(
        self, replica: Object, volume: Object, replicas: Sequence[Object], nodes: Iterable[Object]
    ) -> Candidates:
        image = self._cluster.backing_images.get(
            volume["spec"].get("backingImage", ""), self._cluster.namespace
        )
        settings = longhorn.read_settings(self._cluster.setting_values())
        return longhorn.find_candidates(
            recorded(replica, longhorn.Replica),
            recorded(volume, longhorn.Volume),
            [recorded(each, longhorn.Replica) for each in replicas],
            [node_space(recorded(node, longhorn.Node), settings) for node in nodes],
            settings,
            backing_image=None if image is None else recorded(image, longhorn.BackingImage),
            now=self._cluster.wall_clock(),
        )

    async def _assign(
        self, replica: Object, volume: Object, replicas: Sequence[Object], nodes: Sequence[Object]
    ) -> tuple[str, ...]:
        candidates = self._search(replica, volume, replicas, nodes)
        chosen = longhorn.choices(candidates, int(volume["spec"]["size"]))
        if not chosen:
            return candidates.errors or (NO_REASON,)
        disk = self._cluster.random.choice(chosen)
        changes = assignment(replica, disk, nodes)
        await self._cluster.api.patch(
            REPLICAS, self._cluster.key(replica["metadata"]["name"]), changes
        )
        return ()


def counting(node: Object, replicas: Iterable[Object]) -> Object:
    """Return *node* as it will be published once its status counts all of *replicas*."""
    replicas = tuple(replicas)
    statuses = dict(node["status"].get("diskStatus") or {})
    for name, _, status in disks(node):
        statuses[name] = counted(status, replicas)
    return {**node, "status": {**node["status"], "diskStatus": statuses}}


def assignment(replica: Object, disk: Candidate, nodes: Iterable[Object]) -> Object:
    """Build what is written into a replica that goes to *disk*, over this version of it."""
    [path] = (
        status["diskPath"]
        for node in nodes
        for _, _, status in disks(node)
        if status["diskUUID"] == disk.disk
    )
    return {
        "metadata": {
            "resourceVersion": replica["metadata"]["resourceVersion"],
            "labels": {"longhornnode": disk.node, "longhorndiskuuid": disk.disk},
        },
        "spec": {
            "nodeID": disk.node,
            "diskID": disk.disk,
            "diskPath": path,
            "hardNodeAffinity": replica["spec"]["hardNodeAffinity"],
        },
    }
