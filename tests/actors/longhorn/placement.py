"""Where replicas go: Longhorn's own search, on what its managers know at that moment.

As Longhorn is, the managers know the Node objects as last published, and each places without
regard to the others: replicas that are placed within the delay of the node status can end up on a
disk that has room for one of them only. (One cache serves all managers here, unless they use
DiskSchedules; what matters is how late the objects are written.) The other way, for comparison,
every replica counts from the moment that a disk was chosen for it.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

import longhorn
from longhorn import Candidate, Candidates, node_disks
from tests.actors.api import Object
from tests.actors.longhorn.accounts import NONE, Assigned, by_disk, counted, disks
from tests.actors.longhorn.clones import of_volume, shared_replica, shares_with
from tests.actors.longhorn.cluster import Cluster
from tests.actors.longhorn.draft import merged
from tests.actors.longhorn.records import recorded
from tests.actors.longhorn.shards import shards_by_disk

NO_REASON = "replica scheduling failed"


class Around(msgspec.Struct, frozen=True):
    """What the search looks at."""

    spaces: Mapping[longhorn.NodeName, longhorn.NodeDisks]
    settings: longhorn.Settings
    backing_images: Mapping[str, longhorn.BackingImage]


def around(
    spaces: Iterable[longhorn.NodeDisks],
    settings: longhorn.Settings,
    image: longhorn.BackingImage | None = None,
) -> Around:
    """Build what the search looks at."""
    images = {} if image is None else {image.name: image}
    return Around({each.node.name: each for each in spaces}, settings, images)


class Placement:
    """Places replicas; *stale* says whether as Longhorn does, see above."""

    def __init__(self, cluster: Cluster, *, stale: bool) -> None:
        self._cluster = cluster
        self._stale = stale
        self._promised: dict[str, Object] = {}

    def place(
        self,
        replica: Object,
        volume: Object,
        replicas: Sequence[Object],
        nodes: Sequence[Object],
    ) -> Object | tuple[str, ...]:
        """Choose a disk for a replica; return what is to be written into it, or why there is none.

        Args:
            replica: A replica without a place; hardNodeAffinity names the only node it may go to.
            volume: Its volume.
            replicas: All replicas of the volume.
            nodes: As the manager knows them that places.
        """
        name = replica["metadata"]["name"]
        self.forget(name)
        if not self._stale:
            assigned = by_disk(self._assigned())
            shards = shards_by_disk(self._cluster.known_shards())
            nodes = [counting(node, assigned, shards) for node in nodes]
        candidates = self._search(replica, volume, replicas, nodes)
        chosen = longhorn.choices(candidates, int(volume["spec"]["size"]))
        if not chosen:
            return candidates.errors or (NO_REASON,)
        changes = assignment(self._cluster.random.choice(chosen), nodes)
        source, placed = shares_with(volume), changes["spec"]
        if source and not replica["spec"].get("linkedCloneSrcReplicaName"):
            placed["linkedCloneSrcReplicaName"] = shared_replica(
                (placed["nodeID"], placed["diskID"]),
                source,
                self._cluster.replicas.objects.values(),
                self._cluster.sharing.taken,
            )
        if not self._stale:
            self._promised[name] = merged(replica, changes)
        return changes

    def precheck(
        self, volume: Object, replicas: Sequence[Object], nodes: Sequence[Object]
    ) -> tuple[str, ...]:
        """Say why no disk of the cluster would take one more replica; nothing if one would."""
        blank: Object = {"metadata": {"name": "new"}, "spec": {}}
        candidates = self._search(blank, volume, replicas, nodes)
        return () if candidates.disks else candidates.errors or (NO_REASON,)

    def forget(self, replica: str) -> None:
        """Count a replica no longer that is gone, or placed anew."""
        self._promised.pop(replica, None)

    def _assigned(self) -> Iterable[Object]:
        """Return all replicas, also those as placed whose assignment is not heard of yet."""
        known = {
            key.name: each
            for key, each in self._cluster.replicas.objects.items()
            if each["spec"]["nodeID"]
        }
        for name in [name for name in self._promised if name in known]:
            del self._promised[name]
        return [*known.values(), *self._promised.values()]

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
            [recorded(each, longhorn.Replica) for each in (*replicas, *self._shared(volume))],
            around(
                [self._space(node, settings) for node in nodes],
                settings,
                None if image is None else recorded(image, longhorn.BackingImage),
            ),
            self._cluster.wall_clock(),
        )

    def _shared(self, volume: Object) -> list[Object]:
        """Return the replicas of the volume that a linked clone shares data with."""
        source = shares_with(volume)
        return of_volume(source, self._cluster.replicas.objects.values()) if source else []

    def _space(self, node: Object, settings: longhorn.Settings) -> longhorn.NodeDisks:
        engines = self._cluster.runners.engines(node["metadata"]["name"])
        space = node_disks(recorded(node, longhorn.Node), settings)
        return msgspec.structs.replace(space, engines=engines)


def counting(node: Object, assigned: Assigned, shards: Assigned = NONE) -> Object:
    """Return *node* as it will be published once its status counts all that is assigned."""
    statuses = dict(node["status"].get("diskStatus") or {})
    for name, _, status in disks(node):
        statuses[name] = counted(status, assigned, shards=shards)
    return {**node, "status": {**node["status"], "diskStatus": statuses}}


def assignment(disk: Candidate, nodes: Iterable[Object]) -> Object:
    """Build what is written into a replica that goes to *disk*."""
    [path] = (
        status["diskPath"]
        for node in nodes
        for _, _, status in disks(node)
        if status["diskUUID"] == disk.disk
    )
    return {
        "metadata": {"labels": {"longhornnode": disk.node, "longhorndiskuuid": disk.disk}},
        "spec": {"nodeID": disk.node, "diskID": disk.disk, "diskPath": path},
    }
