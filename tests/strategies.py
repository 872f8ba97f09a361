"""Random small clusters: few sizes and tags, so that volumes often just fit or just do not.

Sizes are whole GiB below 16, or a byte off. A disk or node has at most one flaw and mostly none,
so that about half of all nodes take what the pod needs.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec
from hypothesis import strategies as st

from app.kube.resource import AnyRecord
from extender import ClusterView
from extender.kubernetes import Claim, CsiNode, PersistentVolume, StorageClass
from longhorn import (
    BackingImage,
    Disk,
    DiskId,
    DiskName,
    DiskSchedule,
    EngineImage,
    Entry,
    EntryState,
    InstanceManager,
    InstanceManagerUpgrade,
    Locality,
    Node,
    NodeName,
    Replica,
    ReplicaName,
    Setting,
    Shard,
    Unreadable,
    Volume,
    VolumeName,
)
from tests.builders import (
    GIB,
    MIB,
    backing_image,
    bound,
    claim,
    disk,
    node,
    persistent_volume,
    replica,
    setting,
    shard,
    storage_class,
    view_of,
    volume,
)

TAGS = ("ssd", "storage")

rarely = st.sampled_from([False, False, False, True])
mostly = rarely.map(lambda flag: not flag)
tags = st.sampled_from([TAGS, TAGS, TAGS, TAGS[:1], TAGS[1:], ()])
"""Tags that a node or disk has."""
selectors = st.sampled_from([*[()] * 12, TAGS, TAGS[:1], TAGS[1:]])
"""Tags that a volume wants."""
topologies = st.sampled_from(
    [*[()] * 12, [("a", "")], [("b", "r"), ("a", "r")], [("", "r")], [("", "")], [("b", "")]]
)

DISK_FLAWS = ("allow_scheduling", "evicting", "ready", "schedulable", "block", "small", "full")
NODE_FLAWS = ("allow_scheduling", "evicting", "ready", "schedulable")
flaws_of_disks = st.sampled_from([*[""] * 14, *DISK_FLAWS])
flaws_of_nodes = st.sampled_from([*[""] * 12, *NODE_FLAWS])


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster and the volumes of one pod, whose claims have the volumes' names."""

    nodes: tuple[Node, ...]
    volumes: tuple[Volume, ...]
    """Those the pod uses."""
    others: tuple[Volume, ...] = ()
    replicas: tuple[Replica, ...] = ()
    settings: tuple[Setting, ...] = ()

    @property
    def records(self) -> list[AnyRecord]:
        return [
            *self.nodes,
            *bound(*self.volumes),
            *self.others,
            *self.replicas,
            *self.settings,
        ]

    @property
    def view(self) -> ClusterView:
        return view_of(*self.records)

    @property
    def claims(self) -> list[str]:
        return [volume.name for volume in self.volumes]


def sizes_bytes(*, least_gib: int = 0, most_gib: int = 12) -> st.SearchStrategy[int]:
    """Draw whole GiB, or a byte less or more."""
    exact = st.integers(least_gib, most_gib).map(lambda gib: gib * GIB)
    near = st.tuples(exact, st.sampled_from([-1, 1])).map(lambda pair: max(0, sum(pair)))
    return exact | near


@st.composite
def disks(draw: st.DrawFn, name: str) -> Disk:
    """Draw a disk; what it lists is put in by `clusters`."""
    flaw = draw(flaws_of_disks)
    maximum_bytes = draw(sizes_bytes(least_gib=0 if flaw == "small" else 8, most_gib=16))
    available_bytes = draw(
        sizes_bytes(most_gib=4) if flaw == "full" else st.none() | sizes_bytes(least_gib=6)
    )
    return disk(
        name,
        type_="block" if flaw == "block" else "filesystem",
        filesystem=draw(st.sampled_from(["ext2/ext3", "xfs"])),
        tags=draw(tags),
        allow_scheduling=flaw != "allow_scheduling",
        evicting=flaw == "evicting",
        ready=flaw != "ready",
        schedulable=flaw != "schedulable",
        maximum_bytes=maximum_bytes,
        reserved_bytes=draw(st.just(0) | sizes_bytes(most_gib=2)),
        available_bytes=maximum_bytes
        if available_bytes is None
        else min(maximum_bytes, available_bytes),
        scheduled_bytes=draw(st.just(0) | sizes_bytes(most_gib=6)),
    )


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    """Draw a node of one to three disks."""
    flaw = draw(flaws_of_nodes)
    return node(
        name,
        *(draw(disks(f"disk-{number}")) for number in range(draw(st.integers(1, 3)))),
        zone=draw(st.sampled_from(["a", "a", "b", ""])),
        region=draw(st.sampled_from(["r", "r", ""])),
        tags=draw(tags),
        allow_scheduling=flaw != "allow_scheduling",
        evicting=flaw == "evicting",
        ready=flaw != "ready",
        schedulable=flaw != "schedulable",
    )


@st.composite
def volumes(draw: st.DrawFn, name: str) -> Volume:
    """Draw a volume that must be local."""
    return volume(
        name,
        size_bytes=draw(sizes_bytes(least_gib=1, most_gib=6)),
        actual_bytes=draw(st.just(0) | sizes_bytes(most_gib=2)),
        locality=Locality.STRICT_LOCAL if draw(rarely) else Locality.BEST_EFFORT,
        disk_type=draw(st.sampled_from([*["filesystem"] * 19, "block"])),
        node_selector=draw(selectors),
        disk_selector=draw(selectors),
        topology=draw(topologies),
    )


@st.composite
def placed_replicas(
    draw: st.DrawFn, nodes: Sequence[Node], volumes: Sequence[Volume]
) -> tuple[Replica, ...]:
    """Draw replicas of *volumes* in any state, each on some disk of some node."""
    if not volumes:
        return ()
    replicas = []
    for number in range(draw(st.integers(0, 4))):
        on = draw(st.sampled_from(nodes))
        of = draw(st.sampled_from(volumes))
        replicas.append(
            replica(
                f"{of.name}-r-{number}",
                of=of.name,
                on=on.name,
                disk=draw(st.sampled_from(on.disks)).name,
                size_bytes=of.size_bytes,
                active=draw(mostly),
                evicting=draw(rarely),
                deleting=draw(rarely),
                failed=draw(rarely),
                healthy_once=draw(mostly),
                started=draw(st.booleans()),
                rebuild_retries=draw(st.sampled_from([0, 0, 5])),
            )
        )
    return tuple(replicas)


@st.composite
def bound_replicas(
    draw: st.DrawFn, nodes: Sequence[Node], volumes: Sequence[Volume]
) -> tuple[Replica, ...]:
    """Draw replicas of *volumes* that wait to be placed on one node."""
    return tuple(
        replica(
            f"{of.name}-r-pending",
            of=of.name,
            on="",
            pinned_to=draw(st.sampled_from(nodes)).name,
            size_bytes=of.size_bytes,
            healthy_once=False,
        )
        for of in volumes
        if draw(rarely)
    )


def all_settings() -> st.SearchStrategy[tuple[Setting, ...]]:
    """Draw the four settings that decide about room and tags."""
    usual, rare = (
        ("100", "25", "true", "true"),
        [
            ("150", "25", "true", "true"),
            ("200", "10", "true", "true"),
            ("50", "33", "true", "true"),
            ("100", "0", "true", "false"),
            ("100", "25", "false", "true"),
            ("0", "25", "true", "true"),
            ("100", "100", "false", "false"),
        ],
    )
    names = (
        "storage-over-provisioning-percentage",
        "storage-minimal-available-percentage",
        "allow-empty-node-selector-volume",
        "allow-empty-disk-selector-volume",
    )
    return st.sampled_from([*[usual] * 7, *rare]).map(
        lambda values: tuple(map(setting, names, values))
    )


@st.composite
def clusters(
    draw: st.DrawFn, *, own_replicas: bool = False, pending_replicas: bool = False
) -> Cluster:
    """Draw a cluster with a pod of one to four volumes, and replicas of other volumes.

    Args:
        own_replicas: Whether there may be replicas of the pod's own volumes.
        pending_replicas: Whether replicas may wait to be placed on a node.
    """
    drawn_nodes = tuple(draw(nodes(f"node-{n}")) for n in range(1, draw(st.integers(1, 3)) + 1))
    own = tuple(draw(volumes(f"vol-{n}")) for n in range(draw(st.integers(1, 4))))
    others = tuple(draw(volumes(f"other-{n}")) for n in range(draw(st.integers(0, 2))))
    replicas = draw(placed_replicas(drawn_nodes, others))
    if own_replicas:
        replicas += draw(placed_replicas(drawn_nodes, own))
    if pending_replicas:
        replicas += draw(bound_replicas(drawn_nodes, others))
    return Cluster(
        nodes=tuple(with_listed(node, replicas, draw(st.booleans())) for node in drawn_nodes),
        volumes=own,
        others=others,
        replicas=replicas,
        settings=draw(all_settings()),
    )


def with_listed(node: Node, replicas: Sequence[Replica], listed: bool) -> Node:  # noqa: FBT001
    """Return the node as it is before, or after, its disks list the replicas on them."""
    if not listed:
        return node
    return msgspec.structs.replace(
        node, disks=tuple(_listing(d, node, replicas) for d in node.disks)
    )


def _listing(disk: Disk, node: Node, replicas: Sequence[Replica]) -> Disk:
    here = {r.name: r.size_bytes for r in replicas if (r.node, r.disk) == (node.name, disk.id)}
    scheduled_bytes = disk.scheduled_bytes + sum(here.values())
    return msgspec.structs.replace(disk, listed=here, scheduled_bytes=scheduled_bytes)


KINDS: Mapping[str, tuple[str, ...]] = {
    "Node": ("node-1", "node-2", "node-3"),
    "Volume": ("vol-0", "vol-1", "other-0", "other-1", "pvc-uid-new"),
    "Replica": ("r-0", "r-1", "r-2", "r-3", "r-4", "r-5"),
    "BackingImage": ("image-0", "image-1"),
    "Shard": ("vol-0-0", "vol-0-1", "other-0-0"),
    "DiskSchedule": ("uuid-disk-0", "uuid-disk-1"),
    "EngineImage": ("ei-0", "ei-1"),
    "InstanceManager": ("manager-0", "manager-1", "manager-2", "manager-3"),
    "InstanceManagerUpgrade": ("upgrade-0", "upgrade-1"),
    "CSINode": ("node-1", "node-2", "node-3"),
    "PersistentVolumeClaim": ("default/vol-0", "default/vol-1", "default/new"),
    "PersistentVolume": ("pv-vol-0", "pv-vol-1"),
    "StorageClass": ("local",),
    "Setting": (
        "storage-over-provisioning-percentage",
        "storage-minimal-available-percentage",
        "allow-empty-disk-selector-volume",
        "default-data-locality",
        "default-instance-manager-image",
    ),
}
"""What there may be in a cluster that changes: few names, so that objects meet each other."""


@st.composite
def known_objects(draw: st.DrawFn, kind: str, name: str) -> AnyRecord | Unreadable:
    """Draw what may be known of one object of `KINDS`: a record, or now and then a broken one."""
    broken = draw(rarely) and draw(rarely)
    return draw(unreadables(kind, name) if broken else _RECORDS_OF[kind](name))


@st.composite
def unreadables(draw: st.DrawFn, kind: str, name: str) -> Unreadable:
    """Draw an object of which nothing is known but what it has to do with."""
    nodes = [NodeName(name)] if kind == "Node" else list[NodeName]()
    if kind in ("DiskSchedule", "Replica"):
        some = st.sampled_from(KINDS["Node"]).map(NodeName)
        nodes = draw(st.lists(some, max_size=2, unique=True))
    volume = VolumeName(draw(st.sampled_from(KINDS["Volume"]))) if kind == "Replica" else None
    why = draw(st.sampled_from(["is half written", "has a size of -1"]))
    return Unreadable(kind=kind, name=name, why=why, nodes=tuple(nodes), volume=volume)


@st.composite
def changing_volumes(draw: st.DrawFn, name: str) -> Volume:
    """Draw a volume that may have a backing image, be on its way out, or need nothing local."""
    return msgspec.structs.replace(
        draw(volumes(name)),
        locality=draw(st.sampled_from([*[Locality.BEST_EFFORT] * 4, *Locality])),
        backing_image=draw(st.sampled_from(["", "", *KINDS["BackingImage"]])),
        engine_image=draw(st.sampled_from(["", "engine:1"])),
        deleting=draw(rarely) and draw(rarely),
    )


@st.composite
def changing_replicas(draw: st.DrawFn, name: str) -> Replica:
    """Draw a replica that is placed, waits for one node, or is nowhere yet."""
    on = draw(st.sampled_from(["", "", *KINDS["Node"]]))
    return replica(
        name,
        of=draw(st.sampled_from(KINDS["Volume"])),
        on=on,
        disk=draw(st.sampled_from(["disk-0", "disk-1"])),
        pinned_to=draw(st.sampled_from(["", *KINDS["Node"]])),
        size_bytes=draw(sizes_bytes(least_gib=1, most_gib=6)),
        deleting=draw(rarely) and draw(rarely),
        failed=draw(rarely),
        healthy_once=draw(st.booleans()),
        started=draw(st.booleans()),
    )


@st.composite
def changing_nodes(draw: st.DrawFn, name: str) -> Node:
    """Draw a node whose disks may list replicas already."""
    drawn = draw(nodes(name))
    listed = draw(st.dictionaries(st.sampled_from(KINDS["Replica"]), sizes_bytes(most_gib=4)))
    images = draw(st.dictionaries(st.sampled_from(KINDS["BackingImage"]), sizes_bytes(most_gib=2)))
    first = msgspec.structs.replace(drawn.disks[0], listed=listed, listed_images=images)
    return msgspec.structs.replace(drawn, disks=(first, *drawn.disks[1:]))


@st.composite
def disk_schedules(
    draw: st.DrawFn,
    name: str,
    *,
    on: Sequence[str] = KINDS["Node"],
    replicas: Sequence[str] = KINDS["Replica"],
    images: Sequence[str] = KINDS["BackingImage"],
) -> DiskSchedule:
    """Draw the DiskSchedule of the disk with UUID *name*, mostly a usable one."""
    sizes = sizes_bytes(most_gib=6)
    entries = st.builds(Entry, st.sampled_from(EntryState), sizes)
    names = st.sampled_from([ReplicaName(each) for each in replicas])
    copies = st.sampled_from([*images])
    return DiskSchedule(
        name=DiskId(name),
        node=NodeName(draw(st.sampled_from(on))),
        disk=DiskName(name.removeprefix("uuid-") if draw(mostly) else "renamed"),
        replicas=draw(st.dictionaries(names, sizes, max_size=4)),
        images=draw(st.dictionaries(copies, sizes, max_size=2)),
        held_replicas=draw(st.dictionaries(names, entries, max_size=4)),
        held_images=draw(st.dictionaries(copies, entries, max_size=2)),
        ready=draw(st.sampled_from([True, True, True, False, None])),
        deleting=draw(rarely) and draw(rarely),
    )


def _claims(key: str) -> st.SearchStrategy[Claim]:
    name = key.removeprefix("default/")
    return st.builds(
        claim,
        st.just(name),
        persistent_volume=st.just(None if name == "new" else f"pv-{name}"),
        size_bytes=sizes_bytes(least_gib=1, most_gib=6),
        deleting=st.sampled_from([False] * 9 + [True]),
    )


def _persistent_volumes(name: str) -> st.SearchStrategy[PersistentVolume]:
    handles = st.sampled_from([name.removeprefix("pv-")] * 4 + ["other-0", "gone"])
    return st.builds(persistent_volume, st.just(name), handle=handles)


def _storage_classes(name: str) -> st.SearchStrategy[StorageClass]:
    return st.builds(
        storage_class,
        st.just(name),
        dataLocality=st.sampled_from(["best-effort", "best-effort", "strict-local", "disabled"]),
        diskSelector=st.sampled_from(["ssd", "storage", "ssd,storage"]),
        backingImage=st.sampled_from(["", "", "image-0"]),
    )


def _backing_images(name: str) -> st.SearchStrategy[BackingImage]:
    return st.builds(
        backing_image,
        st.just(name),
        size_bytes=sizes_bytes(most_gib=2),
        node_selector=selectors,
        disk_selector=selectors,
    )


def _engine_images(name: str) -> st.SearchStrategy[EngineImage]:
    every = st.just(frozenset(map(NodeName, KINDS["Node"])))
    some = st.frozensets(st.sampled_from([NodeName(each) for each in KINDS["Node"]]))
    image = st.sampled_from(["", "engine:1", "engine:2"])
    return st.builds(EngineImage, name=st.just(name), image=image, nodes=every | some)


def _shards(name: str) -> st.SearchStrategy[Shard]:
    place = st.tuples(st.sampled_from(["", "node-1", "node-2"]), st.sampled_from(["disk-0"]))
    return st.builds(
        lambda place, size: shard(name, on=place[0], disk=place[1], size_bytes=size),
        place,
        st.sampled_from([0, 2 * MIB, 5 * GIB]),
    )


def _instance_managers(name: str) -> st.SearchStrategy[InstanceManager]:
    return st.builds(
        InstanceManager,
        name=st.just(name),
        node=st.sampled_from([NodeName(each) for each in KINDS["Node"]]),
        is_v2=st.booleans(),
        image=st.sampled_from(["manager:1", "manager:1", "manager:2"]),
        is_running=mostly,
        deleting=rarely,
    )


def _upgrades(name: str) -> st.SearchStrategy[InstanceManagerUpgrade]:
    volumes = st.frozensets(st.sampled_from([VolumeName("vol-0"), VolumeName("vol-1")]))
    states = ["pending", "relocating-engines", "waiting-for-source-im", "completed"]
    return st.builds(
        InstanceManagerUpgrade,
        name=st.just(name),
        state=st.sampled_from(states),
        moving=volumes,
        detaching=volumes,
    )


def _csi_nodes(name: str) -> st.SearchStrategy[CsiNode]:
    return st.builds(CsiNode, name=st.just(NodeName(name)), has_longhorn=mostly)


def _settings(name: str) -> st.SearchStrategy[Setting]:
    values = {
        "default-data-locality": ["disabled", "best-effort"],
        "default-instance-manager-image": ["manager:1", "manager:1", "manager:2", ""],
        "allow-empty-disk-selector-volume": ["true", "false", "true", "?"],
    }
    return st.builds(
        setting, st.just(name), st.sampled_from(values.get(name, ["100", "25", "200", "10", "?"]))
    )


_RECORDS_OF: Mapping[str, Callable[[str], st.SearchStrategy[AnyRecord]]] = {
    "Node": changing_nodes,
    "Volume": changing_volumes,
    "Replica": changing_replicas,
    "BackingImage": _backing_images,
    "Shard": _shards,
    "DiskSchedule": disk_schedules,
    "EngineImage": _engine_images,
    "InstanceManager": _instance_managers,
    "InstanceManagerUpgrade": _upgrades,
    "CSINode": _csi_nodes,
    "PersistentVolumeClaim": _claims,
    "PersistentVolume": _persistent_volumes,
    "StorageClass": _storage_classes,
    "Setting": _settings,
}
