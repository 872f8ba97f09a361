"""Every reason is reached, and its text never varies with what is free."""

import re

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender import Rejection, StepLimits
from extender.verdicts import REASONS
from extender.verdicts.rejections import (
    DataLost,
    DriverMissing,
    EngineImageMissing,
    EngineSwitchedOff,
    InstanceManagerMissing,
    LinkedCloneElsewhere,
    MemberElsewhere,
    NodeDeleting,
    NodeEvicting,
    NodeNotReady,
    NodeNotSchedulable,
    NodeReserved,
    NodeSchedulingDisabled,
    NodeTags,
    PodUnscheduled,
    ReplicasCannotStart,
    ReplicasElsewhere,
    SettingUnreadable,
    StrictLocalElsewhere,
    StrictLocalUnusable,
    Topology,
    UnknownNode,
    UnreadableNode,
    VolumeFaulted,
)
from extender.verdicts.shortages import (
    DiskTags,
    FilesystemLimit,
    InsufficientStorage,
    LocalRoomAtRisk,
    NoDiskOfType,
    NoRoomAnywhere,
    NoUsableDisk,
    PackingUndecided,
    PendingReplicas,
    RoomHeld,
    TooFewReplicas,
    TooFewShards,
    VolumesDoNotFit,
)
from longhorn import Locality, NodeName, Unreadable
from planner.records import KubernetesNode
from tests.builders import (
    GIB,
    MIB,
    TIB,
    ask,
    bound,
    csi_node,
    disk,
    document,
    engine_image,
    instance_manager,
    node,
    nodes_of,
    read,
    replicas_of,
    setting,
    shard,
    view_of,
    volume,
    volumes_of,
)

DISABLED, STRICT, BLOCK = volumes_of("vol~"), volumes_of("vol!"), [volume(disk_type="block")]
# Best-fit decreasing puts 5 and 4 together; only a search finds 5, 3, 2 and 4, 4, 2.
PUZZLE = volumes_of("v0:5 v1:4 v2:4 v3:3 v4:2 v5:2")
SHARDED = replace(
    volume(locality=Locality.DISABLED, disk_type="block", soft=False, replicas=3),
    data_chunks=2,
    shard_bytes=5 * GIB,
)
V2_OFF = KubernetesNode(
    name=NodeName("node-1"), labels={"node.longhorn.io/disable-v2-data-engine": "true"}
)
BLOCK_DISKS = [node(f"node-{n}", disk(type_="block")) for n in (1, 2)]
VOL = volumes_of("vol")
SITUATIONS: dict[Rejection, tuple[str, list[AnyRecord | Unreadable]]] = {
    UnknownNode(): ("no Longhorn node of this name", [*nodes_of("2"), *bound(*VOL)]),
    DriverMissing(): ("Longhorn's CSI driver is not registered on the node",
        [*nodes_of("1 2"), csi_node("node-2"), *bound(*VOL)]),
    EngineImageMissing(): ("the engine image of a volume is not ready on the Longhorn node",
        [node(), engine_image("node-2"), *bound(volume(engine_image="engine:1"))]),
    InstanceManagerMissing(): (
        "no instance manager runs on the Longhorn node for the data engine of a volume",
        [node(), instance_manager("node-2"), *bound(*VOL)]),
    ReplicasCannotStart(awaited=("an instance manager runs on node node-2",)): (
        "no replica of a volume can be read before an instance manager runs on node node-2",
        [*nodes_of("1 2"), instance_manager("node-1"), *bound(*DISABLED), *replicas_of("vol@2")]),
    VolumeFaulted(): (
        "all replicas of a volume have failed: Longhorn attaches it once one is salvaged",
        [node(), *bound(*DISABLED), *replicas_of("vol@1/failed")]),
    DataLost(): (
        "no replica with the data of a volume is left where Longhorn knows a node and disk",
        [node(), *bound(*DISABLED), *replicas_of("vol@2")]),
    EngineSwitchedOff(): (
        "the data engine of a volume is switched off on the node by its label",
        [node(), V2_OFF, *bound(*BLOCK)]),
    UnreadableNode(): (
        "Longhorn's objects of this node cannot be read; see the extender's log",
        [read(document("Node", "node-1", spec=5)), *bound(*VOL)]),
    SettingUnreadable(setting="storage-minimal-available-percentage"): (
        "Longhorn setting storage-minimal-available-percentage has a value that cannot be read; "
        "correct it",
        [node(), *bound(*VOL), setting("storage-minimal-available-percentage", "x")]),
    NodeDeleting(): ("Longhorn node is being deleted", [node(deleting=True), *bound(*VOL)]),
    NodeNotReady(): ("Longhorn node is not ready", [node(ready=False), *bound(*VOL)]),
    NodeNotSchedulable(): ("Longhorn node is not schedulable, as when it is cordoned",
        [node(schedulable=False), *bound(*VOL)]),
    NodeSchedulingDisabled(): ("scheduling is disabled on the Longhorn node",
        [node(allow_scheduling=False), *bound(*VOL)]),
    NodeEvicting(): ("Longhorn node is being evicted", [node(evicting=True), *bound(*VOL)]),
    LinkedCloneElsewhere(): (
        "Longhorn node has no replica of the volume that a linked clone shares data with",
        [*nodes_of("1 2"), *bound(volume(linked_to="source")), *replicas_of("source@2")]),
    NodeTags(selector=("storage", "gpu")): (
        "Longhorn node lacks a tag of node selector storage,gpu",
        [node(tags=["storage"]), *bound(volume(node_selector=["storage", "gpu"]))]),
    NodeTags(selector=()): (
        "Longhorn node has tags, and a volume without node selector needs one without",
        [node(tags=["gpu"]), *bound(*VOL), setting("allow-empty-node-selector-volume", "false")]),
    Topology(): ("Longhorn node is outside the zones and regions a volume is limited to",
        [node(zone="a"), *bound(volume(topology=[("b", "")]))]),
    ReplicasElsewhere(): (
        "another candidate node already holds replicas of all the pod's Longhorn volumes",
        [*nodes_of("1 2"), *bound(*VOL), *replicas_of("vol@2")]),
    StrictLocalElsewhere(): (
        "a strict-local volume of the pod has its replica on another node",
        [node(), node("node-2", ready=False), *bound(*STRICT), *replicas_of("vol@2")]),
    StrictLocalUnusable(): (
        "the replica of a strict-local volume on this node cannot be used",
        [node(), *bound(*STRICT), *replicas_of("vol@1/inactive")]),
    NoUsableDisk(): ("no disk of the Longhorn node takes new replicas",
        [node("node-1", disk(schedulable=False)), *bound(*VOL)]),
    NoDiskOfType(type="block"): ("no usable block disk on the Longhorn node",
        [node(), *bound(*BLOCK)]),
    DiskTags(selector=("ssd",)): ("no usable disk has all tags of disk selector ssd",
        [node("node-1", disk(tags=["hdd"])), *bound(volume(disk_selector=["ssd"]))]),
    DiskTags(selector=()): (
        "no usable disk without tags, which a volume without disk selector needs",
        [node("node-1", disk(tags=["hdd"])), *bound(*VOL),
         setting("allow-empty-disk-selector-volume", "false")]),
    FilesystemLimit(size_bytes=16 * TIB): (
        "a volume of 16 TiB is too large for the disks' file systems",
        [*nodes_of("1:40960"), *bound(*volumes_of("vol:16384"))]),
    InsufficientStorage(size_bytes=101 * GIB): (
        "no disk of the Longhorn node has room for a volume of 101 GiB",
        [node(), *bound(*volumes_of("vol:101"))]),
    VolumesDoNotFit(volumes=2, size_bytes=102 * GIB): (
        "the 2 volumes the pod needs here (102 GiB in all) do not fit together "
        "on the disks of the Longhorn node",
        [node(), *bound(*volumes_of("a:51 b:51"))]),
    PendingReplicas(): ("the room is needed by replicas Longhorn is about to place",
        [node(), *bound(*volumes_of("vol:60")), *volumes_of("other:60"), *replicas_of("other>1")]),
    PackingUndecided(): (
        "whether the pod's volumes fit on this node was not decided within the step limit",
        [*nodes_of("1:10,10"), *bound(*PUZZLE)]),
    NoRoomAnywhere(size_bytes=10 * GIB, by_open=False): (
        "no disk of any Longhorn node takes a replica of a volume of 10 GiB, so Longhorn could not "
        "start it",
        [*nodes_of("1:9"), *bound(*volumes_of("vol*3~"))]),
    TooFewShards(wanted=3, size_bytes=5 * GIB, by_open=False): (
        "not all 3 shards of a volume have room: 5 GiB each, every one on a Longhorn node of its "
        "own",
        [*BLOCK_DISKS, *nodes_of("3"), *bound(SHARDED), shard("vol-0", size_bytes=5 * GIB)]),
    TooFewReplicas(wanted=3, size_bytes=10 * GIB, by_open=False): (
        "not all 3 replicas of a volume of 10 GiB have room, and Longhorn starts none with fewer "
        "(allow-volume-creation-with-degraded-availability is false)",
        [*nodes_of("1 2"), setting("allow-volume-creation-with-degraded-availability", "false"),
         *bound(*volumes_of("vol*3~"))]),
    LocalRoomAtRisk(): (
        "replicas that Longhorn is about to place may take the room of a strict-local one, which "
        "can be on its pod's node alone",
        [*nodes_of("1:19 2"), *bound(*STRICT), *volumes_of("other~")]),
}  # fmt: skip
IDS = [f"{rejection.reason}-{number}" for number, rejection in enumerate(SITUATIONS)]


@pytest.mark.parametrize("expected", SITUATIONS, ids=IDS)
def test_reason_is_reached(expected):
    text, records = SITUATIONS[expected]
    view, limits = view_of(*records), StepLimits(per_node=0, per_request=1_000)
    claims = [key.removeprefix("default/") for key in view.claims]

    result = ask(view, *claims, candidates=["node-1", "node-2"], limits=limits)

    assert result.rejected[NodeName("node-1")] == expected
    assert str(expected) == text


def test_situations_cover_every_reason():
    beside_others = {
        each.reason for each in (RoomHeld, PodUnscheduled, NodeReserved, MemberElsewhere)
    }

    assert {rejection.reason for rejection in SITUATIONS} == set(REASONS) - beside_others
    assert list(REASONS) == sorted(set(REASONS))


HELD = "Longhorn node's room is held for other pods that are being scheduled"
HOLDS: list[tuple[Rejection, str, bool]] = [
    (RoomHeld(by_open=True), HELD, True),
    (RoomHeld(by_open=False), HELD, False),
    (PodUnscheduled(), "another pod that was given this node may still be bound to it", True),
    (NodeReserved(), "the node is reserved until the replicas of another pod are placed", False),
]


@pytest.mark.parametrize(("rejection", "text", "by_open"), HOLDS)
def test_holds_of_other_pods(rejection, text, by_open):
    assert (str(rejection), rejection.by_open) == (text, by_open)


def test_texts_read_well_after_the_number_of_nodes():
    """kube-scheduler writes `1 TEXT`, so a text begins with what it is about."""
    texts = [text for text, _ in SITUATIONS.values()] + [text for _, text, _ in HOLDS]

    assert [each for each in texts if re.match("(its?|there|this|that|they)\\b", each)] == []


def test_reasons_serve_as_metric_labels():
    assert [reason for reason in REASONS if not re.fullmatch("[a-z]+(_[a-z]+)*", reason)] == []


@pytest.mark.parametrize(("text", "records"), SITUATIONS.values(), ids=IDS)
def test_texts_have_no_number_but_what_the_pod_needs(text, records):
    volumes = view_of(*records).volumes.values()
    sizes = [each.replica_bytes for each in volumes]
    needed = {str(size // unit) for size in [*sizes, sum(sizes)] for unit in (GIB, TIB)}

    wanted = {str(each.wanted_replicas) for each in volumes}
    without_names = re.sub(r"node-\d", "", text)
    assert set(re.findall(r"\d+", without_names)) <= {str(len(sizes)), *needed, *wanted}


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (16 * TIB, "16 TiB"),
        (16 * TIB - 2 * MIB, "16777214 MiB"),
        (1536 * MIB, "1536 MiB"),
        (GIB, "1 GiB"),
        (1, "1 B"),
    ],
)
def test_sizes_are_exact(size_bytes, text):
    rejection = InsufficientStorage(size_bytes=size_bytes)

    assert str(rejection) == f"no disk of the Longhorn node has room for a volume of {text}"
