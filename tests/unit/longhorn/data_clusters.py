"""Random small clusters around one volume, in which its data is in every state often.

Each aspect of a cluster (`ASPECTS`) is calm or rough for itself: often only one is wrong, and then
it decides. All nodes name their disks alike and give them the same UUIDs, which are unique only
within a node.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

from msgspec import Struct, structs

from longhorn import (
    Condition,
    Disk,
    EngineImage,
    InstanceManager,
    Node,
    NodeName,
    Replica,
    Shard,
    Volume,
)
from tests.builders import disk, engine_image, instance_manager, node, replica, volume

NOW = datetime(2026, 8, 20, 12, 0, tzinfo=UTC)
NODES = tuple(NodeName(f"node-{number}") for number in range(1, 5))
DISKS = ("disk-1", "disk-2")
ASPECTS = ("nodes", "disks", "places", "replicas", "managers", "images", "labels")
ROUGHNESS = (0.0, 0.0, 0.1, 0.3, 0.6)
"""How often something of an aspect is wrong."""
FAILED_SECONDS_AGO = (0, 0, 1, 30, 59, 60, 61, 90, 120, 3600)
NOT_READY = (
    *(Condition("False", "KubernetesNodeGone"),) * 2,
    *(Condition("False", "KubernetesNodeNotReady"),) * 2,
    Condition("False", "ManagerPodMissing"),
    Condition("False", "ManagerPodDown"),
    Condition("Unknown", "KubernetesNodeNotReady"),
    Condition("True", "KubernetesNodeGone"),
    Condition(),
)
"""Readiness of nodes that have a flaw: the first four of them are down, the others are not."""
NOT_TRUE = (Condition("False", "DiskPressure"), Condition("Unknown"), Condition())
IMAGES = (
    ("engine:1", "engine:1"),
    ("engine:1", "engine:1"),
    ("engine:2", "engine:1"),
    ("engine:1", "engine:2"),
    ("engine:1", ""),
    ("engine:3", ""),
    ("", ""),
)
"""What a volume is to run and what it runs. There is never an object of engine:3."""


class DataCluster(Struct, frozen=True, kw_only=True):
    """A volume and all that its data depends on; the fields are the arguments of `plain_data`."""

    volume: Volume
    replicas: tuple[Replica, ...]
    nodes: dict[NodeName, Node]
    managers: tuple[InstanceManager, ...] | None
    images: tuple[EngineImage, ...] | None
    v2_off: frozenset[NodeName]
    manager_image: str
    auto_salvage: bool
    unreadable_nodes: frozenset[NodeName]


def data_clusters(count: int, first_seed: int = 0) -> Iterator[DataCluster]:
    """Make so many clusters, each of a seed of its own; the seeds follow one another."""
    for seed in range(first_seed, first_seed + count):
        yield data_cluster(seed)


def data_cluster(seed: int) -> DataCluster:
    """Make the cluster of a seed: the same each time."""
    return _Maker(Random(seed)).cluster()


class _Maker:
    """Makes one cluster by chance alone."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.chance = random.random
        self.choice = random.choice
        self.roughness = {aspect: self.choice(ROUGHNESS) for aspect in ASPECTS}

    def flawed(self, aspect: str, share: float = 1.0) -> bool:
        """Say by chance whether something is wrong; *share* is for what is wrong more rarely."""
        return self.chance() < self.roughness[aspect] * share

    def cluster(self) -> DataCluster:
        """Make the volume and what is around it; some nodes are not there, or unreadable."""
        names = NODES[: self.random.randint(1, len(NODES))]
        nodes, unreadable = dict[NodeName, Node](), set[NodeName]()
        for name in names:
            if not self.flawed("places", 0.6):
                nodes[name] = self.node(name)
            elif self.chance() < 0.7:
                unreadable.add(name)
        of = self.volume()
        return DataCluster(
            volume=of,
            replicas=self.replicas(of, names),
            nodes=nodes,
            managers=self.managers(names),
            images=self.images(names),
            v2_off=frozenset(name for name in names if self.flawed("labels")),
            manager_image=self.choice(("manager:1", "manager:1", "manager:1", "")),
            auto_salvage=self.chance() < 0.8,
            unreadable_nodes=frozenset(unreadable),
        )

    def node(self, name: NodeName) -> Node:
        """Make a node of mostly two disks."""
        ready = self.choice(NOT_READY) if self.flawed("nodes") else Condition("True")
        count = self.choice((0, 1)) if self.flawed("disks", 0.2) else len(DISKS)
        disks = tuple(self.disk(each) for each in DISKS[:count])
        return structs.replace(node(name), ready=ready, disks=disks)

    def disk(self, name: str) -> Disk:
        """Make a disk, which may have no UUID yet."""
        not_ready = (*NOT_TRUE, Condition("False", "NodeNotReady"))
        ready = self.choice(not_ready) if self.flawed("disks") else Condition("True")
        schedulable = self.choice(NOT_TRUE) if self.flawed("disks") else Condition("True")
        made = disk(name, uuid="" if self.flawed("disks", 0.2) else None)
        return structs.replace(made, ready=ready, schedulable=schedulable)

    def volume(self) -> Volume:
        """Make a volume of data engine v1 or v2, or one of which two shards are needed."""
        engine_image, current_image = self.choice(IMAGES)
        kind = self.choice(("v1", "v1", "v1", "v2", "v2", "sharded", "sharded"))
        made = volume(
            disk_type="filesystem" if kind == "v1" else "block",
            data_chunks=2 if kind == "sharded" else 0,
            replicas=self.choice((3, 4) if kind == "sharded" else (1, 2, 3)),
            engine_image=engine_image,
        )
        return structs.replace(made, current_image=current_image)

    def replicas(self, of: Volume, names: tuple[NodeName, ...]) -> tuple[Replica, ...]:
        """Make replicas: of a new volume, of one of which most have failed, or of any other."""
        kind = self.choice(("new", "failed", "failed", "failed", "any", "any", "any", "any"))
        count = self.choice((0, 1, 1, 2, 2, 3, 3, 4, 4, 5))
        if of.sharded and self.chance() < 0.8:
            count = of.wanted_replicas
        return tuple(self.replica(f"vol-r-{number}", of, names, kind) for number in range(count))

    def replica(self, name: str, of: Volume, names: tuple[NodeName, ...], kind: str) -> Replica:
        """Make a replica or shard, mostly on a disk that there is."""
        failed = self.chance() < 0.9 if kind == "failed" else self.flawed("replicas")
        made = replica(
            name,
            on="node-gone" if self.flawed("places", 0.2) else self.choice(names),
            disk="disk-gone" if self.flawed("places", 0.2) else self.choice(DISKS),
            active=not self.flawed("replicas", 0.4),
            evicting=self.flawed("replicas"),
            deleting=self.flawed("replicas", 0.4),
            failed=failed,
            healthy_once=kind != "new" and not self.flawed("replicas", 0.5),
            started=self.chance() < 0.5,
        )
        if failed and self.chance() < 0.9:
            ago = timedelta(seconds=self.choice(FAILED_SECONDS_AGO))
            made = structs.replace(made, failed_at=NOW - ago)
        if self.flawed("replicas", 0.4):
            made = self.unplaced(made)
        return Shard(**structs.asdict(made)) if of.sharded else made

    def unplaced(self, made: Replica) -> Replica:
        """Take away the place of a replica; its object may name the place still.

        One that is active and not being deleted may also lose its disk alone.
        """
        if made.active and not made.deleting and self.chance() < 0.3:
            return structs.replace(made, disk=None)
        named = made.named_place if self.chance() < 0.3 else None
        return structs.replace(made, node=None, disk=None, turned_away_from=named)

    def managers(self, names: tuple[NodeName, ...]) -> tuple[InstanceManager, ...] | None:
        """Make the instance managers of both data engines, or nothing that is known of them."""
        if self.chance() < 0.1:
            return None
        made = list[InstanceManager]()
        lacking = self.choice(names) if self.chance() < 0.3 else None
        for name in names:
            if name == lacking:
                continue
            for is_v2 in (False, True):
                made += self.managers_on(name, is_v2=is_v2)
        return tuple(made)

    def managers_on(self, name: NodeName, *, is_v2: bool) -> list[InstanceManager]:
        """Make none, one, or one of each image: while Longhorn is upgraded there are two."""
        if self.flawed("managers"):
            return []
        images = ["manager:1"]
        if self.flawed("managers"):
            images = self.choice((["manager:2"], ["manager:1", "manager:2"]))
        return [
            instance_manager(
                name,
                is_v2=is_v2,
                image=image,
                is_running=not self.flawed("managers"),
                deleting=self.flawed("managers", 0.5),
            )
            for image in images
        ]

    def images(self, names: tuple[NodeName, ...]) -> tuple[EngineImage, ...] | None:
        """Make the engine images, none, or nothing that is known of them."""
        if self.chance() < 0.15:
            return self.choice((None, ()))
        return tuple(
            engine_image(*(name for name in names if not self.flawed("images")), image=image)
            for image in ("engine:1", "engine:2")
            if not self.flawed("images", 0.5)
        )
