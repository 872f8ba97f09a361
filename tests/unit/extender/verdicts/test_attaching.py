"""Nodes where a pod's volumes cannot be attached are rejected, whatever room they have."""

from typing import Any

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender import Basis, ClusterView, Extender, PodRef, ViewBuilder
from extender.kubernetes import CsiNode
from extender.verdicts import ClusterChange
from extender.verdicts.rejections import (
    DataLost,
    DriverMissing,
    EngineImageMissing,
    EngineSwitchedOff,
    InstanceManagerMissing,
    NodeNotReady,
    Rejection,
    ReplicasCannotStart,
    ReplicasElsewhere,
    UnknownNode,
    VolumeFaulted,
)
from extender.verdicts.shortages import NoRoomAnywhere
from extender.waiting.changes import Changes, ChangesOfView
from extender.waiting.node_sets import NodeSets
from longhorn import Condition, EngineImage, InstanceManager, Locality, NodeName, Unreadable, Volume
from planner.records import KubernetesNode
from tests.builders import (
    GENEROUS,
    GIB,
    ask,
    bound,
    claim,
    csi_node,
    disk,
    engine_image,
    instance_manager,
    node,
    nodes_of,
    replica,
    replicas_of,
    setting,
    storage_class,
    view_of,
    volume,
)

Runner = CsiNode | EngineImage | InstanceManager
Records = list[AnyRecord | Unreadable]
NODES = [node("node-1", disk(), disk("block", type_="block")), node("node-2")]
RUNNERS: list[Runner] = [
    csi_node("node-1"),
    csi_node("node-2"),
    engine_image("node-1", "node-2"),
    *(instance_manager(f"node-{n}", is_v2=is_v2) for n in (1, 2) for is_v2 in (False, True)),
]
V1 = [each for each in RUNNERS if not isinstance(each, InstanceManager) or not each.is_v2]
IMAGE = setting("default-instance-manager-image", "manager:1")
DRIVER, ENGINE, MANAGER = DriverMissing(), EngineImageMissing(), InstanceManagerMissing()


def remote(**more: Any) -> Volume:
    return volume(**{"locality": Locality.DISABLED, "engine_image": "engine:1", **more})


def rejected(view: ClusterView) -> dict[NodeName, Rejection]:
    return dict(ask(view, candidates=["node-1", "node-2"]).rejected)


def instead(*records: Runner) -> Records:
    """Return all that runs, with these in place of those of the same name."""
    keys = {(type(each), each.name) for each in records}
    rest = [each for each in RUNNERS if (type(each), each.name) not in keys]
    return [*NODES, IMAGE, *rest, *records]


def without(record: Runner) -> Records:
    return [each for each in instead() if each != record]


def stopped(number: int) -> InstanceManager:
    return instance_manager(f"node-{number}", is_running=False)


def v2_label(number: int, value: str = "true") -> KubernetesNode:
    label = {"node.longhorn.io/disable-v2-data-engine": value}
    return KubernetesNode(name=NodeName(f"node-{number}"), labels=label)


def of_class(engine: str, image: str) -> Records:
    """Return a claim whose volume does not exist yet, and what its engine image is by default."""
    class_ = storage_class(dataLocality="disabled", dataEngine=engine)
    image_2 = engine_image("node-2", image="engine:2")
    return [*instead(image_2), claim("vol"), class_, setting("default-engine-image", image)]


def both(why: Rejection) -> dict[str, Rejection]:
    return dict.fromkeys(("node-1", "node-2"), why)


LACKS: dict[str, tuple[Records, Rejection]] = {
    "driver-not-there": (instead(csi_node("node-1", has_longhorn=False)), DRIVER),
    "driver-without-object": (without(csi_node("node-1")), DRIVER),
    "engine-image-not-there": (instead(engine_image("node-2")), ENGINE),
    "instance-manager-does-not-run": (instead(stopped(1)), MANAGER),
    "instance-manager-without-object": (without(instance_manager("node-1")), MANAGER),
}


@pytest.mark.parametrize("lack", LACKS)
@pytest.mark.parametrize("of", [remote(), volume(engine_image="engine:1")], ids=["remote", "local"])
def test_node_without_what_must_run_is_rejected(of, lack):
    records, why = LACKS[lack]

    assert rejected(view_of(*records, *bound(of))) == {"node-1": why}


@pytest.mark.parametrize("lack", LACKS)
def test_pod_without_longhorn_volumes_needs_nothing_that_runs(lack):
    free, view = PodRef(namespace="default", name="free", uid="u", claims=()), LACKS[lack][0]

    answer = Extender(GENEROUS).filter(free, [NodeName("node-1")], view_of(*view))

    assert (answer.basis, answer.accepted) == (Basis.NOTHING_LOCAL, ["node-1"])


BLOCK, SHARED = remote(disk_type="block"), remote(shared=True)
ON_1 = remote(node="node-1", attached_to="node-1")
PAIR = volume(engine_image="engine:1", replicas=2)
NEW_MANAGER = [
    *(each for each in instead(instance_manager("node-2", image="manager:2")) if each != IMAGE),
    setting("default-instance-manager-image", "manager:2"),
]
BROKEN_IMAGE = Unreadable(kind="EngineImage", name="ei-2", why="it is broken")
TAKE_NONE: dict[str, Records] = {
    "schedulable-false": [node("node-1", schedulable=False)],
    "scheduling-off": [node("node-1", allow_scheduling=False)],
    "eviction-requested": [node("node-1", evicting=True)],
    "disks-none": [replace(node("node-1"), disks=())],
    "disk-not-ready": [node("node-1", disk(ready=False))],
    "cordoned": [node("node-1"), KubernetesNode(name=NodeName("node-1"), cordoned=True)],
}
ROWS: dict[str, tuple[Records, Volume | None, dict[str, Rejection]]] = {
    "nodes-where-all-runs": (instead(), remote(), {}),
    "engine-v1-in-a-cluster-without-v2": ([*NODES, IMAGE, *V1], remote(), {}),
    "engine-v2-in-a-cluster-without-it": ([*NODES, IMAGE, *V1], BLOCK, both(MANAGER)),
    "node-not-ready-and-node-unknown": ([node("node-1", ready=False), node("node-3")], remote(),
        {"node-1": NodeNotReady(), "node-2": UnknownNode()}),
    **{f"node-without-new-replicas-{name}": ([*records, node("node-2")], remote(), {})
        for name, records in TAKE_NONE.items()},
    "label-switches-v2-off": ([*instead(), v2_label(2)], BLOCK, {"node-2": EngineSwitchedOff()}),
    "label-leaves-v1-on": ([*instead(), v2_label(2)], remote(), {}),
    **{f"label-of-value-{value!r}": ([*instead(), v2_label(2, value)], BLOCK, {})
        for value in ("false", "True", "yes", "")},
    # A volume that does not exist yet will have the default image.
    "default-image-there": (of_class("v1", "engine:1"), None, {}),
    "default-image-not-there": (of_class("v1", "engine:2"), None, {"node-1": ENGINE}),
    "default-image-v2-needs-none": (of_class("v2", "engine:2"), None, {}),
    "instance-manager-of-an-older-image": (NEW_MANAGER, remote(), {"node-1": MANAGER}),
    "shared-volume-needs-no-instance-manager": (instead(stopped(1)), SHARED, {}),
    "kind-unknown": ([*NODES], remote(), {}),
    "kind-engine-image-alone-known": ([*NODES, engine_image("node-1", "node-2")], remote(), {}),
    "kind-with-one-unreadable": ([*NODES, engine_image(), BROKEN_IMAGE], remote(), {}),
    "volume-attached-to-the-node": (
        [*instead(stopped(1), stopped(2)), *replicas_of("vol@2")], ON_1, {"node-2": MANAGER}),
    # Of the nodes with the data those count that can attach.
    "data-on-two-nodes-that-one-can-attach": (
        [*instead(engine_image("node-2")), *replicas_of("vol@1 vol@2")], PAIR, {"node-1": ENGINE}),
    "data-on-one-of-two-nodes": (
        [*instead(), *replicas_of("vol@1")], PAIR, {"node-2": ReplicasElsewhere()}),
    "data-on-one-node-that-cannot-attach": (
        [*instead(engine_image("node-2")), *replicas_of("vol@1")], PAIR, {"node-1": ENGINE,
        "node-2": ReplicasCannotStart(awaited=("the engine image is ready on node node-1",))}),
    # Longhorn passes a node over where its replica would not start (getNodeCandidates).
    "room-where-replicas-would-not-start": (
        [*(e for e in instead(engine_image("node-2")) if e != NODES[1]), *nodes_of("2:1")],
        remote(), {"node-1": ENGINE, "node-2": NoRoomAnywhere(size_bytes=10 * GIB)}),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_nodes_that_are_rejected(name):
    records, of, expected = ROWS[name]

    assert rejected(view_of(*records, *(bound(of) if of else []))) == expected


THREE, RUNS, STOPPED = node("node-3"), instance_manager("node-3"), stopped(3)
DOWN = replace(node("node-3"), ready=Condition("False", "KubernetesNodeNotReady"))
DOWN_2 = replace(node("node-4"), ready=Condition("False", "KubernetesNodeGone"))
BROKEN = node("node-3", disk(ready=False))
V2_RUNS = instance_manager("node-3", is_v2=True)
MORE: list[Runner] = [
    csi_node("node-3"),
    engine_image("node-1", "node-2", "node-3"),
    engine_image("node-1", "node-2", image="engine:2"),
]
MANAGER_3, NODE_3 = "an instance manager runs on node node-3", "node node-3 is back"
MANAGER_4, NODE_4 = "an instance manager runs on node node-4", "node node-4 is back"
IMAGE_3, DISK_3 = "the engine image is ready on node node-3", "disk node-3/disk-1 is ready"
V2_3, LOST, FAULTED = "data engine v2 is on again on node node-3", DataLost(), VolumeFaulted()
IMAGE_2 = remote(engine_image="engine:2")
ON_3, TWICE = remote(node="node-3", attached_to="node-3"), remote(replicas=2)
OTHER_DISK = replica(on="node-3", disk="other")
STARTS: dict[str, tuple[Records, str, Volume, str | tuple[str, ...] | Rejection | None]] = {
    "node-runs": ([THREE, RUNS], "vol@3", remote(), None),
    "node-does-not-run": ([THREE, STOPPED], "vol@3", remote(), MANAGER_3),
    "node-without-instance-manager": ([THREE], "vol@3", remote(), MANAGER_3),
    "engine-image-not-where-a-replica-is": ([THREE, RUNS], "vol@3", IMAGE_2, IMAGE_3),
    "replica-beside-it-can": ([THREE, STOPPED], "vol@3 vol@2", remote(), None),
    "replica-beside-it-has-no-data": ([THREE, STOPPED], "vol@3 vol@2/new", remote(), MANAGER_3),
    "replica-beside-it-has-failed": ([THREE, STOPPED], "vol@3 vol@2/failed", remote(), MANAGER_3),
    "volume-attached-already": ([THREE, STOPPED], "vol@3", ON_1, None),
    "engine-v2-off-where-the-replica-is": ([THREE, V2_RUNS, v2_label(3)], "vol@3", BLOCK, V2_3),
    "replica-none-yet": ([THREE, STOPPED], "", remote(), None),
    "node-down": ([DOWN], "vol@3", remote(), NODE_3),
    "disk-not-ready": ([BROKEN, RUNS], "vol@3", remote(), DISK_3),
    "node-down-and-another-can": ([DOWN], "vol@3 vol@2", remote(), None),
    "volume-attached-where-the-node-is-down": ([DOWN], "vol@3", ON_3, NODE_3),
    "replica-of-two-must-come-back": (
        [BROKEN, DOWN_2, RUNS], "vol@3 vol@4", TWICE, (DISK_3, NODE_4)),
    "replicas-all-failed": ([THREE, RUNS], "vol@3/failed", remote(), FAULTED),
    "node-gone": ([THREE], "vol@9", remote(), LOST),
    "replica-salvaged-once-the-other-is-found-gone": (
        [THREE, RUNS], "vol@9 vol@3/failed", remote(), None),
    "replica-salvaged-once-its-node-is-back": ([DOWN], "vol@9 vol@3/failed", remote(), NODE_3),
    "replica-being-deleted": ([THREE], "vol@9/deleting", remote(), None),
    "disk-is-another": ([THREE, RUNS, OTHER_DISK], "", remote(), LOST),
    "instance-manager-not-where-a-failed-one-is": (
        [THREE, RUNS, node("node-4")], "vol@3 vol@4/failed", remote(), MANAGER_4),
}  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_volume_starts_only_where_a_replica_can(name):
    records, replicas, of, awaited = STARTS[name]
    view = view_of(*instead(*MORE), *records, *replicas_of(replicas), *bound(of))

    if isinstance(awaited, str | tuple):
        names = (awaited,) if isinstance(awaited, str) else awaited
        awaited = ReplicasCannotStart(awaited=names)

    assert rejected(view) == (both(awaited) if awaited else {})


def test_node_that_comes_to_run_what_is_needed_may_take_waiting_pods():
    sets = NodeSets()
    of_view, changes = ChangesOfView(sets), Changes()
    known = sets.of([NodeName("node-1")], [NodeName("node-1")])
    builder = ViewBuilder()
    starting = stopped(1)
    for record in instead(starting):
        assert not isinstance(record, Unreadable)
        builder.apply(None, record)
    builder.settle()
    of_view.note_in(Changes(), builder.view)

    builder.apply(starting, instance_manager("node-1"))
    builder.settle()
    of_view.note_in(changes, builder.view)

    assert changes.nodes[ClusterChange.NODE] & known


def beside(records: Records, of: Volume, attached: Volume) -> Rejection | None:
    """Return why node-1 is rejected for a pod of two volumes."""
    view = view_of(*records, *bound(of, replace(attached, name="other")))
    return ask(view, "vol", "other", candidates=["node-1"]).rejected.get(NodeName("node-1"))


def test_volume_that_cannot_start_is_not_spared_beside_one_that_is_attached():
    records = [*instead(*MORE), THREE, STOPPED, *replicas_of("vol@3")]

    assert beside(records, remote(), ON_1) == ReplicasCannotStart(awaited=(MANAGER_3,))


def test_node_where_one_volume_is_attached_must_attach_the_other():
    assert beside(instead(), ON_1, IMAGE_2) == ENGINE
    assert beside(instead(), ON_1, ON_1) is None
