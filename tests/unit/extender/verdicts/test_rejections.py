"""Every reason is reached, and its text never varies with what is free."""

import re

import pytest
from msgspec.structs import replace

from extender import ClusterView, Rejection, StepLimits
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
from longhorn import Locality, NodeName
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
    pending,
    read,
    replica,
    setting,
    shard,
    view_of,
    volume,
)

# Best-fit decreasing puts 5 and 4 together; only a search finds 5, 3, 2 and 4, 4, 2.
PUZZLE = [volume(f"v{n}", size_bytes=size * GIB) for n, size in enumerate((5, 4, 4, 3, 2, 2))]
PUZZLE_DISKS = disk("disk-1", maximum_bytes=10 * GIB), disk("disk-2", maximum_bytes=10 * GIB)

SITUATIONS: list[tuple[Rejection, str, ClusterView]] = [
    (
        UnknownNode(),
        "no Longhorn node of this name",
        view_of(node("node-2"), *bound(volume())),
    ),
    (
        DriverMissing(),
        "Longhorn's CSI driver is not registered on the node",
        view_of(node(), node("node-2"), csi_node("node-2"), *bound(volume())),
    ),
    (
        EngineImageMissing(),
        "the engine image of a volume is not ready on the Longhorn node",
        view_of(node(), engine_image("node-2"), *bound(volume(engine_image="engine:1"))),
    ),
    (
        InstanceManagerMissing(),
        "no instance manager runs on the Longhorn node for the data engine of a volume",
        view_of(node(), instance_manager("node-2"), *bound(volume())),
    ),
    (
        ReplicasCannotStart(awaited=("an instance manager runs on node node-2",)),
        "no replica of a volume can be read before an instance manager runs on node node-2",
        view_of(
            node(),
            node("node-2"),
            instance_manager("node-1"),
            *bound(volume(locality=Locality.DISABLED)),
            replica(on="node-2"),
        ),
    ),
    (
        VolumeFaulted(),
        "all replicas of a volume have failed: Longhorn attaches it once one is salvaged",
        view_of(
            node(), *bound(volume(locality=Locality.DISABLED)), replica(on="node-1", failed=True)
        ),
    ),
    (
        DataLost(),
        "no replica with the data of a volume is left where Longhorn knows a node and disk",
        view_of(node(), *bound(volume(locality=Locality.DISABLED)), replica(on="node-2")),
    ),
    (
        EngineSwitchedOff(),
        "the data engine of a volume is switched off on the node by its label",
        view_of(
            node(),
            KubernetesNode(
                name=NodeName("node-1"),
                labels={"node.longhorn.io/disable-v2-data-engine": "true"},
            ),
            *bound(volume(disk_type="block")),
        ),
    ),
    (
        UnreadableNode(),
        "Longhorn's objects of this node cannot be read; see the extender's log",
        view_of(read(document("Node", "node-1", spec=5)), *bound(volume())),
    ),
    (
        SettingUnreadable(setting="storage-minimal-available-percentage"),
        "Longhorn setting storage-minimal-available-percentage has a value that cannot be read; "
        "correct it",
        view_of(node(), *bound(volume()), setting("storage-minimal-available-percentage", "x")),
    ),
    (
        NodeDeleting(),
        "Longhorn node is being deleted",
        view_of(node(deleting=True), *bound(volume())),
    ),
    (
        NodeNotReady(),
        "Longhorn node is not ready",
        view_of(node(ready=False), *bound(volume())),
    ),
    (
        NodeNotSchedulable(),
        "Longhorn node is not schedulable, as when it is cordoned",
        view_of(node(schedulable=False), *bound(volume())),
    ),
    (
        NodeSchedulingDisabled(),
        "scheduling is disabled on the Longhorn node",
        view_of(node(allow_scheduling=False), *bound(volume())),
    ),
    (
        NodeEvicting(),
        "Longhorn node is being evicted",
        view_of(node(evicting=True), *bound(volume())),
    ),
    (
        LinkedCloneElsewhere(),
        "Longhorn node has no replica of the volume that a linked clone shares data with",
        view_of(
            node(),
            node("node-2"),
            *bound(volume(linked_to="source")),
            replica(of="source", on="node-2"),
        ),
    ),
    (
        NodeTags(selector=("storage", "gpu")),
        "Longhorn node lacks a tag of node selector storage,gpu",
        view_of(node(tags=["storage"]), *bound(volume(node_selector=["storage", "gpu"]))),
    ),
    (
        NodeTags(selector=()),
        "Longhorn node has tags, and a volume without node selector needs one without",
        view_of(
            node(tags=["gpu"]),
            *bound(volume()),
            setting("allow-empty-node-selector-volume", "false"),
        ),
    ),
    (
        Topology(),
        "Longhorn node is outside the zones and regions a volume is limited to",
        view_of(node(zone="a"), *bound(volume(topology=[("b", "")]))),
    ),
    (
        ReplicasElsewhere(),
        "another candidate node already holds replicas of all the pod's Longhorn volumes",
        view_of(node("node-1"), node("node-2"), *bound(volume()), replica(on="node-2")),
    ),
    (
        StrictLocalElsewhere(),
        "a strict-local volume of the pod has its replica on another node",
        view_of(
            node("node-1"),
            node("node-2", ready=False),
            *bound(volume(locality=Locality.STRICT_LOCAL)),
            replica(on="node-2"),
        ),
    ),
    (
        StrictLocalUnusable(),
        "the replica of a strict-local volume on this node cannot be used",
        view_of(
            node("node-1"),
            *bound(volume(locality=Locality.STRICT_LOCAL)),
            replica(active=False),
        ),
    ),
    (
        NoUsableDisk(),
        "no disk of the Longhorn node takes new replicas",
        view_of(node("node-1", disk(schedulable=False)), *bound(volume())),
    ),
    (
        NoDiskOfType(type="block"),
        "no usable block disk on the Longhorn node",
        view_of(node(), *bound(volume(disk_type="block"))),
    ),
    (
        DiskTags(selector=("ssd",)),
        "no usable disk has all tags of disk selector ssd",
        view_of(node("node-1", disk(tags=["hdd"])), *bound(volume(disk_selector=["ssd"]))),
    ),
    (
        DiskTags(selector=()),
        "no usable disk without tags, which a volume without disk selector needs",
        view_of(
            node("node-1", disk(tags=["hdd"])),
            *bound(volume()),
            setting("allow-empty-disk-selector-volume", "false"),
        ),
    ),
    (
        FilesystemLimit(size_bytes=16 * TIB),
        "a volume of 16 TiB is too large for the disks' file systems",
        view_of(node("node-1", disk(maximum_bytes=40 * TIB)), *bound(volume(size_bytes=16 * TIB))),
    ),
    (
        InsufficientStorage(size_bytes=101 * GIB),
        "no disk of the Longhorn node has room for a volume of 101 GiB",
        view_of(node(), *bound(volume(size_bytes=101 * GIB))),
    ),
    (
        VolumesDoNotFit(volumes=2, size_bytes=102 * GIB),
        "the 2 volumes the pod needs here (102 GiB in all) do not fit together "
        "on the disks of the Longhorn node",
        view_of(node(), *bound(volume("a", size_bytes=51 * GIB), volume("b", size_bytes=51 * GIB))),
    ),
    (
        PendingReplicas(),
        "the room is needed by replicas Longhorn is about to place",
        view_of(
            node(),
            *bound(volume(size_bytes=60 * GIB)),
            volume("other", size_bytes=60 * GIB),
            pending(),
        ),
    ),
    (
        PackingUndecided(),
        "whether the pod's volumes fit on this node was not decided within the step limit",
        view_of(node("node-1", *PUZZLE_DISKS), *bound(*PUZZLE)),
    ),
    (
        NoRoomAnywhere(size_bytes=10 * GIB, by_open=False),
        "no disk of any Longhorn node takes a replica of a volume of 10 GiB, so Longhorn could not "
        "start it",
        view_of(
            node("node-1", disk(maximum_bytes=9 * GIB)),
            *bound(volume(locality=Locality.DISABLED, replicas=3)),
        ),
    ),
    (
        TooFewShards(wanted=3, size_bytes=5 * GIB, by_open=False),
        "not all 3 shards of a volume have room: 5 GiB each, every one on a Longhorn node of its "
        "own",
        view_of(
            node("node-1", disk(type_="block")),
            node("node-2", disk(type_="block")),
            node("node-3"),
            *bound(
                replace(
                    volume(locality=Locality.DISABLED, disk_type="block", soft=False, replicas=3),
                    data_chunks=2,
                    shard_bytes=5 * GIB,
                )
            ),
            shard("vol-0", size_bytes=5 * GIB),
        ),
    ),
    (
        TooFewReplicas(wanted=3, size_bytes=10 * GIB, by_open=False),
        "not all 3 replicas of a volume of 10 GiB have room, and Longhorn starts none with fewer "
        "(allow-volume-creation-with-degraded-availability is false)",
        view_of(
            node("node-1"),
            node("node-2"),
            setting("allow-volume-creation-with-degraded-availability", "false"),
            *bound(volume(locality=Locality.DISABLED, replicas=3)),
        ),
    ),
    (
        LocalRoomAtRisk(),
        "replicas that Longhorn is about to place may take the room of a strict-local one, which "
        "can be on its pod's node alone",
        view_of(
            node("node-1", disk(maximum_bytes=19 * GIB)),
            node("node-2"),
            *bound(volume(locality=Locality.STRICT_LOCAL)),
            volume("other", locality=Locality.DISABLED),
        ),
    ),
]
IDS = [f"{rejection.reason}-{number}" for number, (rejection, _, _) in enumerate(SITUATIONS)]


@pytest.mark.parametrize(("expected", "text", "view"), SITUATIONS, ids=IDS)
def test_reason_is_reached(expected: Rejection, text: str, view: ClusterView) -> None:
    claims = [key.removeprefix("default/") for key in view.claims]
    limits = StepLimits(per_node=0, per_request=1_000)

    result = ask(view, *claims, candidates=["node-1", "node-2"], limits=limits)

    assert result.rejected[NodeName("node-1")] == expected
    assert str(expected) == text


def test_situations_cover_every_reason() -> None:
    beside_others = {
        each.reason for each in (RoomHeld, PodUnscheduled, NodeReserved, MemberElsewhere)
    }

    assert {rejection.reason for rejection, _, _ in SITUATIONS} == set(REASONS) - beside_others
    assert list(REASONS) == sorted(set(REASONS))


HELD = "Longhorn node's room is held for other pods that are being scheduled"
LOCKED = "another pod that was given this node may still be bound to it"
RESERVED = "the node is reserved until the replicas of another pod are placed"


@pytest.mark.parametrize(
    ("rejection", "text", "by_open"),
    [
        (RoomHeld(by_open=True), HELD, True),
        (
            RoomHeld(by_open=False),
            "Longhorn node's room is held for other pods that are being scheduled",
            False,
        ),
        (PodUnscheduled(), LOCKED, True),
        (
            NodeReserved(),
            "the node is reserved until the replicas of another pod are placed",
            False,
        ),
    ],
)
def test_holds_of_other_pods(rejection: Rejection, text: str, *, by_open: bool) -> None:
    assert (str(rejection), rejection.by_open) == (text, by_open)


def test_texts_read_well_after_the_number_of_nodes() -> None:
    """kube-scheduler writes `1 TEXT`, so a text begins with what it is about."""
    texts = [text for _, text, _ in SITUATIONS] + [HELD, LOCKED, RESERVED]

    assert [each for each in texts if re.match("(its?|there|this|that|they)\\b", each)] == []


def test_reasons_serve_as_metric_labels() -> None:
    assert [reason for reason in REASONS if not re.fullmatch("[a-z]+(_[a-z]+)*", reason)] == []


@pytest.mark.parametrize(("text", "view"), [(text, view) for _, text, view in SITUATIONS], ids=IDS)
def test_texts_have_no_number_but_what_the_pod_needs(text: str, view: ClusterView) -> None:
    sizes = [each.replica_bytes for each in view.volumes.values()]
    needed = {str(size // unit) for size in [*sizes, sum(sizes)] for unit in (GIB, TIB)}

    wanted = {str(each.wanted_replicas) for each in view.volumes.values()}
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
def test_sizes_are_exact(size_bytes: int, text: str) -> None:
    rejection = InsufficientStorage(size_bytes=size_bytes)

    assert str(rejection) == f"no disk of the Longhorn node has room for a volume of {text}"
