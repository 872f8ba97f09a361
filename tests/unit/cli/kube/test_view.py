"""Records become the view that decisions work on."""

import pytest

from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from extender.kubernetes import PodStatus
from longhorn import NodeName, Settings, Unreadable
from planner.records import KubernetesNode
from tests.builders import (
    GIB,
    claim,
    core_document,
    disk,
    document,
    node,
    objects_of,
    pending,
    pod,
    read_as_unreadable,
    replica,
    setting,
    view_of,
)


@pytest.mark.parametrize(
    "record",
    [
        claim(),
        setting("a", "1"),
        Pod(ref=pod(), status=PodStatus()),
        KubernetesNode(name=NodeName("node-1")),
        Unreadable(kind="Volume", name="vol", why="?"),
    ],
    ids=lambda record: type(record).__name__,
)
def test_second_record_of_a_kind_and_name_is_left_out(record):
    cluster = ClusterObjects()

    assert cluster.add(record) is True
    assert cluster.add(record) is False


def test_candidates_are_the_kubernetes_nodes():
    kubernetes = [KubernetesNode(name=NodeName(name)) for name in ("b", "a", "c")]

    assert objects_of(node("a"), *kubernetes).candidates() == ("a", "b", "c")
    assert objects_of(node("b"), node("a")).candidates() == ("a", "b")


def test_space_of_a_node_has_its_replicas_in_it():
    view = view_of(
        node("node-1"),
        node("node-2"),
        replica("a", on="node-1", size_bytes=GIB),
        replica("b", on="node-2", size_bytes=2 * GIB),
        pending("c", node="node-2"),
    )

    spaces = view.spaces
    assert [s.disks[0].scheduled_bytes for s in spaces.values()] == [GIB, 2 * GIB]
    assert [[r.name for r in s.pending] for s in spaces.values()] == [[], ["c"]]


def test_replica_that_was_bound_and_is_placed_counts_where_it_is():
    moved = replica("a", on="node-1", pinned_to="node-2", size_bytes=GIB)
    view = view_of(node("node-1"), node("node-2"), moved)

    assert [s.disks[0].scheduled_bytes for s in view.spaces.values()] == [GIB, 0]
    assert [s.pending for s in view.spaces.values()] == [(), ()]


def test_tags_of_all_nodes_and_disks_are_known():
    view = view_of(
        node("node-1", disk("a", tags=["ssd"]), disk("b", tags=["hdd"]), tags=["x"]),
        node("node-2", tags=["y"]),
    )

    assert view.node_tags == {"x", "y"}
    assert view.disk_tags == {"ssd", "hdd"}


def test_disk_kinds_are_numbered_across_nodes():
    view = view_of(node("node-1"), node("node-2", disk("a", filesystem="xfs"), disk("b")))

    kinds = [[bin_.kind for bin_ in space.bins] for space in view.spaces.values()]
    assert kinds == [[0], [1, 0]]
    assert sorted(view.disk_kinds.values()) == [0, 1]


MINIMAL = "storage-minimal-available-percentage"


@pytest.mark.parametrize(
    "record",
    [
        setting(MINIMAL, "x"),
        read_as_unreadable(document("Setting", MINIMAL, value=25)),
        read_as_unreadable(document("Setting", MINIMAL) | {"apiVersion": "longhorn.io/v1beta1"}),
    ],
    ids=["value", "object", "version"],
)
def test_setting_that_cannot_be_read_leaves_no_longhorn_settings(record):
    assert view_of(record).settings == Settings(unreadable=MINIMAL)


def test_node_with_a_broken_replica_has_no_space():
    broken = read_as_unreadable(
        document("Replica", "r", spec={"nodeID": "node-1", "volumeSize": "x"})
    )
    view = view_of(node("node-1"), node("node-2"), broken)

    assert list(view.spaces) == ["node-2"]
    assert view.unreadable_nodes == {"node-1"}


def test_broken_volume_costs_no_node():
    broken = read_as_unreadable(document("Volume", "vol", spec={"size": "x"}))
    view = view_of(node(), broken)

    assert list(view.spaces) == ["node-1"]
    assert view.unreadable == {("Volume", "vol"): "'x' is not a size in bytes"}


def test_broken_nodes_of_kubernetes_and_longhorn_do_not_hide_each_other():
    broken = [
        read_as_unreadable(core_document("Node", "node-1", metadata={"uid": 5})),
        read_as_unreadable(document("Node", "node-1", spec=5)),
    ]

    assert view_of(*broken).unreadable_nodes == {"node-1"}


def test_replica_of_which_nothing_is_readable_is_told_by_its_name():
    view = view_of(read_as_unreadable(document("Replica", "vol-r-1a2b3c4d", spec=5)))

    assert list(view.unreadable_replicas) == ["vol"]
