"""Clusters for tests, in few words: every default is something that takes any volume.

Sizes default to GiB so that numbers in tests are small; a node has one empty disk of 100 GiB, a
volume is best-effort and of 10 GiB, and a replica is healthy and idle.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import structs

from app.kube.resource import AnyRecord
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.decoding import read_object
from cli.kube.view import build_view
from extender import Answer, ClusterView, Extender, PodRef, Rejection, StepLimits
from extender.demand.estimates import NEW_VOLUME_DEFAULTS
from extender.demand.requests import WantedVolume
from extender.explaining import local_disks
from extender.holds.hold import Hold, State
from extender.kubernetes import Claim, ClaimKey, CsiNode, PersistentVolume, PodStatus, StorageClass
from extender.verdicts.shortages import InsufficientStorage
from extender.waiting import WaitingPod
from extender.waiting.node_sets import NodeSet
from extender.waiting.pods import Kind, Wants
from longhorn import (
    BackingImage,
    Condition,
    Disk,
    DiskId,
    DiskName,
    DiskSchedule,
    EngineImage,
    Entry,
    EntryState,
    InstanceManager,
    Locality,
    Node,
    NodeName,
    Replica,
    ReplicaName,
    Setting,
    Shard,
    TopologyTerm,
    Unreadable,
    Volume,
    VolumeName,
    default_values,
    need_of,
)

MIB = 2**20
GIB = 2**30
TIB = 2**40

DRIVER = "driver.longhorn.io"
GENEROUS = StepLimits(per_node=1_000_000, per_request=100_000_000)
"""Never reached in tests that are not about the limits."""


def disk(
    name: str = "disk-1",
    *,
    uuid: str | None = None,
    type_: str = "filesystem",
    filesystem: str = "ext2/ext3",
    tags: Iterable[str] = (),
    allow_scheduling: bool = True,
    evicting: bool = False,
    ready: bool | None = True,
    schedulable: bool | None = True,
    maximum_bytes: int = 100 * GIB,
    reserved_bytes: int = 0,
    available_bytes: int | None = None,
    scheduled_bytes: int | None = None,
    listed: Mapping[str, int] | None = None,
    listed_images: Mapping[str, int] | None = None,
) -> Disk:
    """Build a disk: its UUID is made of its name, nothing is written, and what it lists counts."""
    listed, images = dict(listed or {}), dict(listed_images or {})
    all_bytes = sum(listed.values()) + sum(images.values())
    return Disk(
        name=DiskName(name),
        id=DiskId(f"uuid-{name}" if uuid is None else uuid) or None,
        type=type_,
        filesystem=filesystem,
        tags=frozenset(tags),
        allow_scheduling=allow_scheduling,
        evicting=evicting,
        ready=condition(ready),
        schedulable=condition(schedulable, "DiskPressure"),
        maximum_bytes=maximum_bytes,
        reserved_bytes=reserved_bytes,
        available_bytes=maximum_bytes if available_bytes is None else available_bytes,
        scheduled_bytes=all_bytes if scheduled_bytes is None else scheduled_bytes,
        listed=listed,
        listed_images=images,
    )


def condition(is_true: bool | None, reason: str = "") -> Condition:  # noqa: FBT001
    """Build a condition, None being one that the object does not have; *reason* is why not."""
    if is_true is None:
        return Condition()
    return Condition("True") if is_true else Condition("False", reason)


def node(
    name: str = "node-1",
    *disks: Disk,
    zone: str = "",
    region: str = "",
    tags: Iterable[str] = (),
    allow_scheduling: bool = True,
    evicting: bool = False,
    ready: bool | None = True,
    schedulable: bool | None = True,
    deleting: bool = False,
) -> Node:
    """Build a node, with one empty disk unless disks are given."""
    return Node(
        name=NodeName(name),
        zone=zone,
        region=region,
        tags=frozenset(tags),
        allow_scheduling=allow_scheduling,
        evicting=evicting,
        ready=condition(ready),
        schedulable=condition(schedulable, "KubernetesNodeCordoned"),
        deleting=deleting,
        disks=disks or (disk(),),
    )


def volume(
    name: str = "vol",
    *,
    size_bytes: int = 10 * GIB,
    actual_bytes: int = 0,
    locality: Locality = Locality.BEST_EFFORT,
    disk_type: str = "filesystem",
    node_selector: Iterable[str] = (),
    disk_selector: Iterable[str] = (),
    backing_image: str | None = None,
    topology: Iterable[tuple[str, str]] = (),
    shared: bool = False,
    standby: bool = False,
    data_chunks: int = 0,
    linked_to: str | None = None,
    deleting: bool = False,
    replicas: int = 1,
    node: str | None = None,
    attached_to: str | None = None,
    degraded: bool = False,
    healthy: bool = False,
    soft: bool | None = None,
    zone_soft: bool | None = None,
    engine_image: str = "",
    current_image: str = "",
) -> Volume:
    """Build a volume; *topology* lists pairs of zone and region."""
    return Volume(
        name=VolumeName(name),
        size_bytes=size_bytes,
        actual_bytes=actual_bytes,
        locality=locality,
        disk_type=disk_type,
        node_selector=tuple(node_selector),
        disk_selector=tuple(disk_selector),
        backing_image=backing_image,
        topology=tuple(TopologyTerm(zone=zone, region=region) for zone, region in topology),
        shared=shared,
        standby=standby,
        data_chunks=data_chunks,
        linked_to=None if linked_to is None else VolumeName(linked_to),
        deleting=deleting,
        wanted_replicas=replicas,
        node=None if node is None else NodeName(node),
        attached_to=None if attached_to is None else NodeName(attached_to),
        degraded=degraded,
        healthy=healthy,
        soft_anti_affinity=soft,
        zone_soft_anti_affinity=zone_soft,
        engine_image=engine_image,
        current_image=current_image or engine_image,
    )


def replica(
    name: str = "vol-r-1",
    *,
    of: str = "vol",
    on: str = "node-1",
    disk: str = "disk-1",
    pinned_to: str | None = None,
    size_bytes: int = 10 * GIB,
    active: bool = True,
    evicting: bool = False,
    deleting: bool = False,
    failed: bool = False,
    healthy_once: bool = True,
    started: bool = False,
    rebuild_retries: int = 0,
    source: str | None = None,
) -> Replica:
    """Build a healthy, stopped replica of a volume, on a disk given by its name."""
    return Replica(
        name=ReplicaName(name),
        volume=VolumeName(of),
        size_bytes=size_bytes,
        node=NodeName(on) if on else None,
        disk=DiskId(f"uuid-{disk}") if on else None,
        hard_node_affinity=NodeName(pinned_to) if pinned_to else None,
        active=active,
        evicting=evicting,
        deleting=deleting,
        failed=failed,
        healthy_once=healthy_once,
        started=started,
        rebuild_retries=rebuild_retries,
        source=ReplicaName(source) if source else None,
    )


def volumes_of(text: str, **more: Any) -> list[Volume]:
    """Read volumes: `a:60*3~` has 60 GiB, three replicas, and may be anywhere; `!` is strict-local.

    All but the name may be left out; *more* holds for each of them.
    """
    marks = {"~": {"locality": Locality.DISABLED}, "!": {"locality": Locality.STRICT_LOCAL}, "": {}}
    return [
        volume(
            name,
            size_bytes=int(gib or 10) * GIB,
            **{"replicas": int(wanted or 1), **marks[mark], **more},
        )
        for name, gib, wanted, mark in _words(r"([\w-]+)(?::(\d+))?(?:\*(\d+))?([~!]?)", text)
    ]


def nodes_of(text: str, **more: Any) -> list[Node]:
    """Read nodes: `1:100,60@b` is node-1, in zone b, and its disk-1 and disk-2 have 100 and 60 GiB.

    All but the number may be left out; *more* holds for each of them.
    """
    return [
        node(
            f"node-{number}",
            *(
                disk(f"disk-{n}", maximum_bytes=int(gib) * GIB)
                for n, gib in enumerate(filter(None, sizes.split(",")), 1)
            ),
            **{"zone": zone, **more},
        )
        for number, sizes, zone in _words(r"(\d+)(?::([\d,]+))?(?:@(\w+))?", text)
    ]


def replicas_of(text: str, **more: Any) -> list[Replica]:
    """Read replicas: `vol:60@2` is vol-r-1, of 60 GiB, on node-2; the next one of vol is vol-r-2.

    `vol@` is on no node, and `vol>2` will be placed on node-2 only. Words may follow: `vol@2/new`
    has no data yet, `/failed`, `/deleting`, `/evicting`, `/started` and `/inactive` are as they
    say. *more* holds for each of them.
    """
    flags: dict[str, dict[str, bool]] = {
        "new": {"healthy_once": False},
        "inactive": {"active": False},
    }
    found: list[Replica] = []
    for name, gib, how, number, said in _words(r"([\w-]+)(?::(\d+))?([@>])(\d*)((?:/\w+)*)", text):
        nth = 1 + sum(each.volume == name for each in found)
        given: dict[str, Any] = {"size_bytes": int(gib or 10) * GIB, "of": name}
        given |= {"on": f"node-{number}" if number else ""}
        if how == ">":
            given |= {"on": "", "pinned_to": f"node-{number}", "healthy_once": False}
        for flag in said.split("/")[1:]:
            given |= flags.get(flag) or {flag: True}
        found.append(replica(f"{name}-r-{nth}", **{**given, **more}))
    return found


def _words(pattern: str, text: str) -> Iterator[tuple[str, ...]]:
    for word in text.split():
        found = re.fullmatch(pattern, word)
        assert found, f"cannot read {word!r}"
        yield found.groups(default="")


def shard(
    name: str = "vol-0", *, on: str = "node-1", disk: str = "disk-1", size_bytes: int = 5 * GIB
) -> Shard:
    """Build a shard that runs, of the volume that it is named after; "" for *on* is nowhere."""
    placed = replica(
        name, of=name.rpartition("-")[0], on=on, disk=disk, size_bytes=size_bytes if on else 0
    )
    return Shard(**structs.asdict(placed))


def pending(
    name: str = "other-r-1", *, of: str = "other", node: str = "node-1", size_bytes: int = 10 * GIB
) -> Replica:
    """Build a replica that Longhorn will place on one node only, and has not placed yet."""
    return replica(name, of=of, on="", pinned_to=node, size_bytes=size_bytes, healthy_once=False)


def claim(
    name: str = "data",
    *,
    storage_class: str | None = "local",
    size_bytes: int = 10 * GIB,
    persistent_volume: str | None = None,
    uid: str | None = None,
    read_write_many: bool = False,
    deleting: bool = False,
    copy_of: str | None = None,
) -> Claim:
    """Build an unbound claim in namespace default; its uid is made of its name, "" is none."""
    return Claim(
        key=ClaimKey(f"default/{name}"),
        uid=f"uid-{name}" if uid is None else uid or None,
        persistent_volume=persistent_volume,
        storage_class=storage_class,
        requested_bytes=size_bytes,
        read_write_many=read_write_many,
        deleting=deleting,
        copy_of=ClaimKey(f"default/{copy_of}") if copy_of else None,
    )


def persistent_volume(
    name: str = "pv", *, handle: str | None = "vol", driver: str | None = DRIVER
) -> PersistentVolume:
    """Build the PersistentVolume of a Longhorn Volume."""
    return PersistentVolume(name=name, driver=driver, volume_handle=handle)


def storage_class(
    name: str = "local", *, provisioner: str = DRIVER, **parameters: str
) -> StorageClass:
    """Build a class of best-effort volumes with one replica; parameters add to that or change it.

    A parameter whose name has a dot is written with two underscores; `None` cannot be given, use
    `bare_class` for a class without parameters.
    """
    given = {key.replace("__", "."): value for key, value in parameters.items()}
    defaults = {"dataLocality": "best-effort", "numberOfReplicas": "1"}
    return bare_class(name, provisioner=provisioner, parameters=defaults | given)


def bare_class(
    name: str = "local",
    *,
    provisioner: str = DRIVER,
    parameters: Mapping[str, str] | None = None,
) -> StorageClass:
    """Build a class with exactly the parameters given."""
    return StorageClass(name=name, provisioner=provisioner, parameters=dict(parameters or {}))


def backing_image(
    name: str = "image",
    *,
    size_bytes: int = 0,
    virtual_bytes: int = 0,
    engine: str = "",
    node_selector: Iterable[str] = (),
    disk_selector: Iterable[str] = (),
) -> BackingImage:
    """Build a backing image that any node and disk may hold."""
    return BackingImage(
        name=name,
        size_bytes=size_bytes,
        virtual_bytes=virtual_bytes,
        engine=engine,
        node_selector=tuple(node_selector),
        disk_selector=tuple(disk_selector),
    )


def disk_schedule(
    disk: str = "disk-1",
    *,
    on: str = "node-1",
    asks: Mapping[str, int] | None = None,
    granted: Mapping[str, int] | None = None,
    refused: Mapping[str, int] | None = None,
    asks_images: Mapping[str, int] | None = None,
    granted_images: Mapping[str, int] | None = None,
    refused_images: Mapping[str, int] | None = None,
    ready: bool | None = True,
    deleting: bool = False,
) -> DiskSchedule:
    """Build the DiskSchedule of a disk, given by its name.

    Each of the mappings says bytes by name: what is asked for, and what is held by those whose
    last request was granted or refused.
    """
    return DiskSchedule(
        name=DiskId(f"uuid-{disk}"),
        node=NodeName(on),
        disk=DiskName(disk),
        replicas={ReplicaName(name): size for name, size in (asks or {}).items()},
        images=dict(asks_images or {}),
        held_replicas={
            ReplicaName(name): entry for name, entry in _entries(granted, refused).items()
        },
        held_images=_entries(granted_images, refused_images),
        ready=ready,
        deleting=deleting,
    )


def _entries(
    granted: Mapping[str, int] | None, refused: Mapping[str, int] | None
) -> dict[str, Entry]:
    return {
        **{name: Entry(EntryState.SCHEDULED, size) for name, size in (granted or {}).items()},
        **{name: Entry(EntryState.REJECTED, size) for name, size in (refused or {}).items()},
    }


def setting(name: str, value: str) -> Setting:
    """Build a Longhorn Setting."""
    return Setting(name=name, value=value)


def bound(*volumes: Volume) -> list[AnyRecord]:
    """Build each volume with a PersistentVolume and a claim of its name bound to it."""
    records: list[AnyRecord] = []
    for each in volumes:
        records += [
            each,
            persistent_volume(f"pv-{each.name}", handle=each.name),
            claim(each.name, persistent_volume=f"pv-{each.name}"),
        ]
    return records


def pod(*claims: str, name: str = "pod") -> PodRef:
    """Build a pod that uses the claims of these names; claim `vol` unless others are given."""
    return PodRef(
        namespace="default",
        name=name,
        uid=f"uid-{name}",
        claims=tuple(ClaimKey(f"default/{each}") for each in claims or ("vol",)),
    )


def wanted(of: Volume) -> WantedVolume:
    """Build what a pod asks for that uses a volume without backing image."""
    return WantedVolume(volume=of, need=need_of(of, None))


def wants(*sizes: int, kind: str = "", volumes: Iterable[str] = ()) -> Wants:
    """Build what a waiting pod asks for."""
    names = frozenset(VolumeName(each) for each in volumes)
    return Wants(kind=Kind(kind), sizes=sizes, volumes=names)


def waiting_pod(
    of: PodRef,
    wants: Wants,
    candidates: NodeSet,
    now: float,
    why: Rejection = InsufficientStorage(size_bytes=GIB),  # noqa: B008 (frozen)
    **told: Any,
) -> WaitingPod:
    """Build a pod that was rejected just now, for the first time."""
    rejected = {why: candidates}
    return WaitingPod(pod=of, wants=wants, rejected=rejected, since=now, asked_at=now, **told)


def hold(
    name: str = "pod",
    *,
    volumes: Iterable[str] = ("vol",),
    nodes: Iterable[str] = ("node-1", "node-2"),
    replicas: Iterable[Replica] = (),
    only_candidate: bool = False,
    now: float = 0.0,
    asked: PodStatus = PodStatus(),  # noqa: B008 (frozen)
    unbound: Iterable[str] = (),
) -> Hold:
    """Build the hold for the pod of this name, which may go to two nodes."""
    return Hold(
        pod=pod(name=name),
        volumes=tuple(wanted(volume(each)) for each in volumes),
        placed_before=frozenset(each.name for each in replicas if each.disk),
        existing=frozenset(
            (each.volume, each.node)
            for each in replicas
            if each.node and each.active and not (each.failed or each.deleting)
        ),
        state=State.CHOSEN if only_candidate else State.OPEN,
        nodes=frozenset(NodeName(each) for each in nodes),
        answered_at=now,
        asked=asked,
        unbound=frozenset((ClaimKey(f"default/{each}"), None) for each in unbound),
    )


def objects_of(*records: AnyRecord | Unreadable) -> ClusterObjects:
    """Gather records, no two of them of the same kind and name."""
    cluster = ClusterObjects()
    for record in records:
        assert cluster.add(record), f"two records of the name of {record}"
    return cluster


def view_of(*records: AnyRecord | Unreadable) -> ClusterView:
    """Build the view of a cluster of these records."""
    return build_view(objects_of(*records))


def ask(
    view: ClusterView,
    *claims: str,
    candidates: Iterable[str] | None = None,
    limits: StepLimits = GENEROUS,
    holds: Iterable[Hold] = (),
) -> Answer:
    """Ask an extender with these holds about a pod that uses *claims*.

    Without *candidates* on all Longhorn nodes.
    """
    offered, extender = sorted(view.spaces) if candidates is None else candidates, Extender(limits)
    for each in holds:
        extender.ledger.put(each)
    return extender.filter(pod(*claims), [NodeName(name) for name in offered], view)


def accepted(view: ClusterView, *claims: str, candidates: Iterable[str] | None = None) -> list[str]:
    """Return the nodes accepted for a pod that uses *claims*."""
    return list(ask(view, *claims, candidates=candidates).accepted)


def fits(view: ClusterView, *claims: str) -> bool:
    """Say whether node-1, offered alone, is accepted for a pod that uses *claims*."""
    return accepted(view, *claims, candidates=["node-1"]) == ["node-1"]


def placed(view: ClusterView, *claims: str) -> dict[str, dict[str, str]]:
    """Return for each accepted node the disk of every volume that is new there."""
    disks = local_disks(ask(view, *claims))
    return {
        str(name): {str(v): str(d) for v, d in local.new.items()} for name, local in disks.items()
    }


def rejection(view: ClusterView, *claims: str, candidate: str = "node-1") -> Rejection:
    """Return why a node, offered alone, is rejected for a pod that uses *claims*."""
    return ask(view, *claims, candidates=[candidate]).rejected[NodeName(candidate)]


def document(kind: str, name: str = "it", **fields: Any) -> dict[str, Any]:
    """Build a Longhorn object as it stands in JSON."""
    metadata = {"name": name, "namespace": "longhorn-system"} | fields.pop("metadata", {})
    return {"apiVersion": "longhorn.io/v1beta2", "kind": kind, "metadata": metadata} | fields


def setting_documents() -> list[dict[str, Any]]:
    """Build every Longhorn Setting that answers rest on, with the value that absent ones have."""
    defaults = {**default_values(), **NEW_VOLUME_DEFAULTS}
    return [document("Setting", name, value=value) for name, value in defaults.items()]


def engine_image(*nodes: str, image: str = "engine:1") -> EngineImage:
    """Build an engine image that is ready on some nodes."""
    return EngineImage(name=f"ei-{image}", image=image, nodes=frozenset(map(NodeName, nodes)))


def instance_manager(
    node: str = "node-1",
    *,
    is_v2: bool = False,
    image: str = "manager:1",
    is_running: bool = True,
    deleting: bool = False,
) -> InstanceManager:
    """Build an instance manager that runs; its name is made of its node, engine and image."""
    return InstanceManager(
        name=f"{node}-{'v2' if is_v2 else 'v1'}-{image}",
        node=NodeName(node),
        is_v2=is_v2,
        image=image,
        is_running=is_running,
        deleting=deleting,
    )


def csi_node(name: str = "node-1", *, has_longhorn: bool = True) -> CsiNode:
    """Build the CSINode of a node with Longhorn's driver."""
    return CsiNode(name=NodeName(name), has_longhorn=has_longhorn)


ENGINE_IMAGE = "longhornio/longhorn-engine:v1.12.1"
MANAGER_IMAGE = "longhornio/longhorn-instance-manager:v1.12.1"


def runner_documents(*nodes: str) -> list[dict[str, Any]]:
    """Build what runs on *nodes*: the driver, the engine image, and instance managers of v1."""
    deployed = {"state": "deployed", "nodeDeploymentMap": dict.fromkeys(nodes, True)}
    return [
        document("EngineImage", "ei-0", spec={"image": ENGINE_IMAGE}, status=deployed),
        *(csi_node_document(name) for name in nodes),
        *(instance_manager_document(name) for name in nodes),
    ]


def csi_node_document(name: str, *drivers: str) -> dict[str, Any]:
    """Build a CSINode, with Longhorn's driver unless others are given."""
    known = [{"name": each, "nodeID": name} for each in drivers or (DRIVER,)]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": known},
    }


def instance_manager_document(
    node: str, engine: str = "v1", *, state: str = "running", image: str = MANAGER_IMAGE
) -> dict[str, Any]:
    """Build the InstanceManager of a node."""
    return document(
        "InstanceManager",
        f"instance-manager-{node}-{engine}",
        spec={"nodeID": node, "dataEngine": engine, "image": image, "type": "aio"},
        status={"currentState": state},
    )


def upgrade_document(
    state: str,
    *,
    detaching: Iterable[str] = ("vol",),
    moving: Iterable[str] = (),
    name: str = "node-1-upgrade",
) -> dict[str, Any]:
    """Build the live upgrade of a node: what does without replicas there, and whose engine goes."""
    replicas = {each: [{"name": f"{each}-r-1", "address": "10.0.0.1:20000"}] for each in detaching}
    engines = {each: {"originalNodeID": "node-1", "temporaryNodeID": "node-2"} for each in moving}
    return document(
        "InstanceManagerUpgrade",
        name,
        spec={"nodeID": "node-1", "targetImage": "manager:2"},
        status={"state": state, "engines": engines, "plannedDetachedReplicas": replicas},
    )


def core_document(kind: str, name: str = "it", **fields: Any) -> dict[str, Any]:
    """Build an object of Kubernetes' core group as it stands in JSON."""
    metadata = {"name": name, "namespace": "default"} | fields.pop("metadata", {})
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata} | fields


def conditions(**statuses: str) -> list[dict[str, str]]:
    """Build a list of conditions: `conditions(Ready="True")`."""
    return [{"type": type_, "status": status} for type_, status in statuses.items()]


def node_document(
    name: str = "node-1",
    *,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    disk_spec: Mapping[str, Any] | None = None,
    disk_status: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build a usable Longhorn Node of one disk in JSON; mappings replace single fields."""
    healthy = conditions(Ready="True", Schedulable="True")
    return document(
        "Node",
        name,
        spec={
            "allowScheduling": True,
            "evictionRequested": False,
            "tags": [],
            "disks": {
                "disk-1": {
                    "allowScheduling": True,
                    "evictionRequested": False,
                    "diskType": "filesystem",
                    "storageReserved": 0,
                    "tags": [],
                    **(disk_spec or {}),
                }
            },
            **(spec or {}),
        },
        status={
            "conditions": healthy,
            "zone": "",
            "region": "",
            "diskStatus": {
                "disk-1": {
                    "diskUUID": "uuid-disk-1",
                    "filesystemType": "ext2/ext3",
                    "conditions": healthy,
                    "storageMaximum": 100 * GIB,
                    "storageAvailable": 100 * GIB,
                    "storageScheduled": 0,
                    "scheduledReplica": {},
                    **(disk_status or {}),
                }
            },
            **(status or {}),
        },
    )


def read(document: object) -> AnyRecord | Unreadable:
    """Read an object of a kind we use."""
    record = read_object(document)
    assert record is not None, "not a kind we use"
    return record


def read_as_unreadable(document: object) -> Unreadable:
    """Read an object that exists but cannot be read."""
    record = read(document)
    assert isinstance(record, Unreadable), record
    return record
