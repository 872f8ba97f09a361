"""Nodes where a pod's volumes cannot be attached are rejected, whatever room they have."""

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
from extender.waiting.changes import Changes, ChangesOfView
from extender.waiting.node_sets import NodeSets
from longhorn import Condition, EngineImage, InstanceManager, Locality, NodeName, Unreadable, Volume
from planner.records import KubernetesNode
from tests.builders import (
    GENEROUS,
    ask,
    bound,
    claim,
    csi_node,
    disk,
    engine_image,
    instance_manager,
    node,
    replica,
    setting,
    storage_class,
    view_of,
    volume,
)

Runner = CsiNode | EngineImage | InstanceManager
NODES = [node("node-1", disk(), disk("block", type_="block")), node("node-2")]
RUNNERS: list[Runner] = [
    csi_node("node-1"),
    csi_node("node-2"),
    engine_image("node-1", "node-2"),
    instance_manager("node-1"),
    instance_manager("node-2"),
    instance_manager("node-1", is_v2=True),
    instance_manager("node-2", is_v2=True),
]
IMAGE = setting("default-instance-manager-image", "manager:1")


def remote(**more: object) -> Volume:
    given: dict[str, object] = {"locality": Locality.DISABLED, "engine_image": "engine:1", **more}
    return volume(**given)  # type: ignore[arg-type]


def rejected(view: ClusterView) -> dict[NodeName, Rejection]:
    return dict(ask(view, candidates=["node-1", "node-2"]).rejected)


def instead(*records: Runner) -> list[AnyRecord]:
    """Return all that runs, with these in place of those of the same name."""
    keys = {(type(each), each.name) for each in records}
    rest = [each for each in RUNNERS if (type(each), each.name) not in keys]
    return [*NODES, IMAGE, *rest, *records]


LACKS = [
    pytest.param(
        instead(csi_node("node-1", has_longhorn=False)), DriverMissing(), id="a-driver-not-there"
    ),
    pytest.param(
        [each for each in instead() if each != csi_node("node-1")],
        DriverMissing(),
        id="a-no-object",
    ),
    pytest.param(instead(engine_image("node-2")), EngineImageMissing(), id="e-image-not-there"),
    pytest.param(
        instead(instance_manager("node-1", is_running=False)),
        InstanceManagerMissing(),
        id="h-manager-does-not-run",
    ),
    pytest.param(
        [each for each in instead() if each != instance_manager("node-1")],
        InstanceManagerMissing(),
        id="h-no-manager",
    ),
]


@pytest.mark.parametrize(("records", "why"), LACKS)
@pytest.mark.parametrize(
    "of", [remote(), volume(engine_image="engine:1")], ids=["anywhere", "local"]
)
def test_a_node_without_what_must_run_is_rejected(
    of: Volume, records: list[AnyRecord], why: Rejection
) -> None:
    assert rejected(view_of(*records, *bound(of))) == {"node-1": why}


def test_all_nodes_where_all_runs_are_accepted() -> None:
    assert rejected(view_of(*instead(), *bound(remote()))) == {}


def test_a_cluster_without_data_engine_v2_attaches_what_is_of_v1() -> None:
    v1 = [each for each in RUNNERS if not isinstance(each, InstanceManager) or not each.is_v2]
    lacks = dict.fromkeys(("node-1", "node-2"), InstanceManagerMissing())

    assert rejected(view_of(*NODES, IMAGE, *v1, *bound(remote()))) == {}
    assert rejected(view_of(*NODES, IMAGE, *v1, *bound(remote(disk_type="block")))) == lacks


@pytest.mark.parametrize(("records", "_"), LACKS)
def test_what_runs_does_not_matter_to_a_pod_without_longhorn_volumes(
    records: list[AnyRecord], _: Rejection
) -> None:
    free = PodRef(namespace="default", name="free", uid="u", claims=())

    answer = Extender(GENEROUS).filter(free, [NodeName("node-1")], view_of(*records))

    assert (answer.basis, answer.accepted) == (Basis.NOTHING_LOCAL, ["node-1"])


def test_a_node_that_is_not_ready_or_not_known_is_rejected() -> None:
    view = view_of(node("node-1", ready=False), node("node-3"), *bound(remote()))

    assert rejected(view) == {"node-1": NodeNotReady(), "node-2": UnknownNode()}


@pytest.mark.parametrize(
    "takes_none",
    [
        pytest.param([node("node-1", schedulable=False)], id="not-schedulable"),
        pytest.param([node("node-1", allow_scheduling=False)], id="scheduling-off"),
        pytest.param([node("node-1", evicting=True)], id="eviction-requested"),
        pytest.param([replace(node("node-1"), disks=())], id="no-disks"),
        pytest.param([node("node-1", disk(ready=False))], id="disk-not-ready"),
        pytest.param(
            [node("node-1"), KubernetesNode(name=NodeName("node-1"), cordoned=True)], id="cordoned"
        ),
    ],
)
def test_a_node_that_takes_no_replicas_is_accepted_if_they_may_be_elsewhere(
    takes_none: list[AnyRecord],
) -> None:
    view = view_of(*takes_none, node("node-2"), *bound(remote()))

    assert rejected(view) == {}


def test_data_engine_v2_runs_where_no_label_switches_it_off() -> None:
    label = {"node.longhorn.io/disable-v2-data-engine": "true"}
    switched_off = KubernetesNode(name=NodeName("node-2"), labels=label)
    fast = remote(disk_type="block")

    found = rejected(view_of(*instead(), switched_off, *bound(fast)))

    assert found == {"node-2": EngineSwitchedOff()}
    assert rejected(view_of(*instead(), switched_off, *bound(remote()))) == {}


@pytest.mark.parametrize("value", ["false", "True", "yes", ""])
def test_another_value_of_the_label_switches_nothing_off(value: str) -> None:
    label = {"node.longhorn.io/disable-v2-data-engine": value}
    labelled = KubernetesNode(name=NodeName("node-2"), labels=label)

    assert rejected(view_of(*instead(), labelled, *bound(remote(disk_type="block")))) == {}


@pytest.mark.parametrize(
    ("engine", "image", "expected"),
    [
        pytest.param("v1", "engine:1", {}, id="it-is-there"),
        pytest.param("v1", "engine:2", {"node-1": EngineImageMissing()}, id="it-is-not"),
        pytest.param("v2", "engine:2", {}, id="v2-needs-none"),
    ],
)
def test_a_volume_that_does_not_exist_yet_will_have_the_default_image(
    engine: str, image: str, expected: dict[str, Rejection]
) -> None:
    of_class = storage_class(dataLocality="disabled", dataEngine=engine)
    records = [*instead(engine_image("node-2", image="engine:2")), claim("vol"), of_class]

    view = view_of(*records, setting("default-engine-image", image))

    assert rejected(view) == expected


def test_an_instance_manager_of_an_older_image_takes_nothing_new() -> None:
    upgraded = setting("default-instance-manager-image", "manager:2")
    records = instead(instance_manager("node-2", image="manager:2"))

    view = view_of(*(e for e in records if e != IMAGE), upgraded, *bound(remote()))

    assert rejected(view) == {"node-1": InstanceManagerMissing()}


def test_a_shared_volume_is_mounted_where_no_instance_manager_runs() -> None:
    lacking = instead(instance_manager("node-1", is_running=False))

    assert rejected(view_of(*lacking, *bound(remote(shared=True)))) == {}


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([*NODES], id="no-kind-is-known"),
        pytest.param([*NODES, engine_image("node-1", "node-2")], id="engine-images-alone"),
        pytest.param(
            [
                *NODES,
                engine_image(),
                Unreadable(kind="EngineImage", name="ei-2", why="it is broken"),
            ],
            id="one-cannot-be-read",
        ),
    ],
)
def test_a_kind_that_is_not_known_rejects_nobody(records: list[AnyRecord | Unreadable]) -> None:
    assert rejected(view_of(*records, *bound(remote()))) == {}


def test_a_volume_that_is_attached_to_the_node_need_not_be_attached() -> None:
    lacking = instead(
        instance_manager("node-1", is_running=False), instance_manager("node-2", is_running=False)
    )

    attached = remote(attached_to="node-1", node="node-1")

    found = rejected(view_of(*lacking, *bound(attached), replica(on="node-2")))

    assert found == {"node-2": InstanceManagerMissing()}


def test_of_the_nodes_with_the_data_those_count_that_can_attach() -> None:
    both = [replica("vol-r-1", on="node-1"), replica("vol-r-2", on="node-2")]
    of = volume(engine_image="engine:1", replicas=2)

    lacks_one = view_of(*instead(engine_image("node-2")), *bound(of), *both)
    one_of_one = view_of(*instead(engine_image("node-2")), *bound(of), both[0])

    assert rejected(lacks_one) == {"node-1": EngineImageMissing()}
    assert rejected(view_of(*instead(), *bound(of), both[0])) == {"node-2": ReplicasElsewhere()}
    assert rejected(one_of_one) == {
        "node-1": EngineImageMissing(),
        "node-2": ReplicasCannotStart(awaited=("the engine image is ready on node node-1",)),
    }


V2_OFF = KubernetesNode(
    name=NodeName("node-3"), labels={"node.longhorn.io/disable-v2-data-engine": "true"}
)
STOPPED = instance_manager("node-3", is_running=False)
RUNS = instance_manager("node-3")
DOWN = replace(node("node-3"), ready=Condition("False", "KubernetesNodeNotReady"))
DOWN_2 = replace(node("node-4"), ready=Condition("False", "KubernetesNodeGone"))
BROKEN = node("node-3", disk(ready=False))
MORE: list[Runner] = [
    csi_node("node-3"),
    engine_image("node-1", "node-2", "node-3"),
    engine_image("node-1", "node-2", image="engine:2"),
]
MANAGER = ReplicasCannotStart(awaited=("an instance manager runs on node node-3",))


def awaits(what: str) -> ReplicasCannotStart:
    return ReplicasCannotStart(awaited=(what,))


@pytest.mark.parametrize(
    ("records", "of", "why"),
    [
        pytest.param([RUNS, replica(on="node-3")], remote(), None, id="it-runs"),
        pytest.param([STOPPED, replica(on="node-3")], remote(), MANAGER, id="it-does-not-run"),
        pytest.param([replica(on="node-3")], remote(), MANAGER, id="no-instance-manager"),
        pytest.param(
            [RUNS, replica(on="node-3")],
            remote(engine_image="engine:2"),
            awaits("the engine image is ready on node node-3"),
            id="e-no-engine-image-where-a-replica-is",
        ),
        pytest.param(
            [STOPPED, replica(on="node-3"), replica("vol-r-2", on="node-2")],
            remote(),
            None,
            id="another-one-can",
        ),
        pytest.param(
            [STOPPED, replica(on="node-3"), replica("vol-r-2", on="node-2", healthy_once=False)],
            remote(),
            MANAGER,
            id="another-one-has-no-data",
        ),
        pytest.param(
            [STOPPED, replica(on="node-3"), replica("vol-r-2", on="node-2", failed=True)],
            remote(),
            MANAGER,
            id="another-one-has-failed",
        ),
        pytest.param(
            [STOPPED, replica(on="node-3")],
            remote(node="node-1", attached_to="node-1"),
            None,
            id="attached-already",
        ),
        pytest.param(
            [instance_manager("node-3", is_v2=True), V2_OFF, replica(on="node-3")],
            remote(disk_type="block"),
            awaits("data engine v2 is on again on node node-3"),
            id="v2-is-off-where-the-replica-is",
        ),
        pytest.param([STOPPED], remote(), None, id="no-replica-yet"),
        pytest.param(
            [DOWN, replica(on="node-3")], remote(), awaits("node node-3 is back"), id="down"
        ),
        pytest.param(
            [BROKEN, RUNS, replica(on="node-3")],
            remote(),
            awaits("disk node-3/disk-1 is ready"),
            id="disk-not-ready",
        ),
        pytest.param(
            [DOWN, replica(on="node-3"), replica("vol-r-2", on="node-2")],
            remote(),
            None,
            id="down-and-another-one-can",
        ),
        pytest.param(
            [DOWN, replica(on="node-3")],
            remote(node="node-3", attached_to="node-3"),
            awaits("node node-3 is back"),
            id="attached-where-the-node-is-down",
        ),
        pytest.param(
            [BROKEN, DOWN_2, RUNS, replica(on="node-3"), replica("vol-r-2", on="node-4")],
            remote(replicas=2),
            ReplicasCannotStart(awaited=("disk node-3/disk-1 is ready", "node node-4 is back")),
            id="one-of-two-must-come-back",
        ),
        pytest.param(
            [RUNS, replica(on="node-3", failed=True)], remote(), VolumeFaulted(), id="all-failed"
        ),
        pytest.param([replica(on="node-9")], remote(), DataLost(), id="node-is-gone"),
        pytest.param(
            [RUNS, replica(on="node-9"), replica("vol-r-2", on="node-3", failed=True)],
            remote(),
            None,
            id="salvaged-once-longhorn-finds-the-other-one-gone",
        ),
        pytest.param(
            [DOWN, replica(on="node-9"), replica("vol-r-2", on="node-3", failed=True)],
            remote(),
            awaits("node node-3 is back"),
            id="salvaged-once-its-node-is-back",
        ),
        pytest.param([replica(on="node-9", deleting=True)], remote(), None, id="being-deleted"),
        pytest.param(
            [RUNS, replica(on="node-3", disk="other")], remote(), DataLost(), id="disk-is-another"
        ),
        pytest.param(
            [
                RUNS,
                replica(on="node-3"),
                replica("vol-r-2", on="node-4", failed=True),
                node("node-4"),
            ],
            remote(),
            awaits("an instance manager runs on node node-4"),
            id="no-instance-manager-object-where-a-failed-one-is",
        ),
    ],
)
def test_a_volume_starts_only_where_a_replica_of_it_can(
    records: list[AnyRecord], of: Volume, why: Rejection | None
) -> None:
    third = [] if any(each in records for each in (DOWN, BROKEN)) else [node("node-3")]
    view = view_of(*instead(*MORE), *third, *records, *bound(of))

    assert rejected(view) == ({} if why is None else dict.fromkeys(("node-1", "node-2"), why))


def test_replicas_that_go_anywhere_find_no_room_where_they_would_not_start() -> None:
    """Longhorn passes such a node over (getNodeCandidates)."""
    small = node("node-2", disk(maximum_bytes=2**30))
    records = [each for each in instead(engine_image("node-2")) if each != NODES[1]]

    found = rejected(view_of(*records, small, *bound(remote())))

    assert found[NodeName("node-2")].reason == "no_room_anywhere"


def test_a_node_that_comes_to_run_what_is_needed_may_take_waiting_pods() -> None:
    sets = NodeSets()
    of_view, changes = ChangesOfView(sets), Changes()
    known = sets.of([NodeName("node-1")], [NodeName("node-1")])
    builder = ViewBuilder()
    starting = instance_manager("node-1", is_running=False)
    for record in instead(starting):
        builder.apply(None, record)
    builder.settle()
    of_view.note_in(Changes(), builder.view)

    builder.apply(starting, instance_manager("node-1"))
    builder.settle()
    of_view.note_in(changes, builder.view)

    assert changes.nodes[ClusterChange.NODE] & known


def test_a_volume_that_cannot_start_is_not_spared_where_another_one_is_attached() -> None:
    other = replace(remote(node="node-1", attached_to="node-1"), name="other")
    stranded = replica(on="node-3")
    view = view_of(*instead(*MORE), node("node-3"), STOPPED, stranded, *bound(remote(), other))

    found = ask(view, "vol", "other", candidates=["node-1"])

    assert found.rejected == {"node-1": MANAGER}


def test_a_node_where_one_volume_is_attached_must_attach_the_other_one() -> None:
    attached = remote(attached_to="node-1", node="node-1")
    other = replace(remote(engine_image="engine:2"), name="other")

    for of, expected in ((other, EngineImageMissing()), (replace(attached, name="other"), None)):
        view = view_of(*instead(), *bound(attached, of))
        found = ask(view, "vol", "other", candidates=["node-1"])
        assert found.rejected.get(NodeName("node-1")) == expected
