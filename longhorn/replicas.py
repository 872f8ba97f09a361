"""Longhorn's replicas and shards, as far as its rules read them; see `longhorn.records`."""

from datetime import datetime

import msgspec

from longhorn.records import DiskId, NodeName, ReplicaName, Volume, VolumeName


class Replica(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Longhorn Replica: one copy of a volume, placed (*node* and *disk* set) or not yet."""

    name: ReplicaName
    volume: VolumeName
    size_bytes: int
    node: NodeName | None
    disk: DiskId | None
    hard_node_affinity: NodeName | None
    """The only node it may go to, if there is one."""
    turned_away_from: tuple[NodeName | None, DiskId | None] | None = None
    """Which node and disk its object names, where it is not placed for good (`turned_away`): then
    *node* and *disk* are None."""
    active: bool
    evicting: bool
    deleting: bool
    failed: bool
    failed_at: datetime | None = None
    """None also if Longhorn's time cannot be read."""
    healthy_once: bool
    """healthyAt is set: it held all data at some time since it was made or last rebuilt."""
    had_data: bool = False
    """lastHealthyAt is set: there are data in it, though perhaps not all."""
    started: bool
    stopped: bool = False
    """It is to be stopped, and is."""
    rebuild_retries: int
    source: ReplicaName | None = None
    """Of a linked clone: the replica that it shares data with, once that is settled."""

    @property
    def named_place(self) -> tuple[NodeName | None, DiskId | None]:
        """The node and disk that its object names, which may have turned it away."""
        return self.turned_away_from or (self.node, self.disk)

    @property
    def may_have_data(self) -> bool:
        """Whether some data may be in it: it was healthy once, or runs and may be written to."""
        return self.healthy_once or self.had_data or self.started


class Shard(Replica, frozen=True, kw_only=True, gc=False):
    """A Longhorn Shard: it takes room as a replica does, but its disk does not list it by name."""


def named_volume(replica: str) -> VolumeName:
    """Return the volume of a replica by its name alone, "" if it is not named as Longhorn does.

    Source: longhorn-manager types/types.go GenerateReplicaNameForVolume.
    """
    return VolumeName(replica.rpartition("-r-")[0])


def new_replica(volume: Volume, name: ReplicaName, only: NodeName | None) -> Replica:
    """Return a replica, or shard, that Longhorn makes for a volume, before it has a disk.

    It may go to the node *only*, or anywhere if that is None.
    """
    return (Shard if volume.sharded else Replica)(
        name=name,
        volume=volume.name,
        size_bytes=volume.replica_bytes,
        node=None,
        disk=None,
        hard_node_affinity=only,
        active=True,
        evicting=False,
        deleting=False,
        failed=False,
        healthy_once=False,
        started=False,
        rebuild_retries=0,
    )
