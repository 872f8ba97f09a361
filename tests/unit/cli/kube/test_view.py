"""Records become the view that decisions work on."""

import pytest

from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from extender.kubernetes import PodStatus
from longhorn import NodeName, Replica, Settings, Unreadable
from planner.records import KubernetesNode
from tests.builders import (
    GIB,
    claim,
    core_document,
    disk,
    document,
    node,
    nodes_of,
    objects_of,
    pod,
    read_as_unreadable,
    replica,
    replicas_of,
    setting,
    view_of,
)

RECORDS = [
    claim(),
    setting("a", "1"),
    Pod(ref=pod(), status=PodStatus()),
    KubernetesNode(name=NodeName("node-1")),
    Unreadable(kind="Volume", name="vol", why="?"),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_second_record_of_a_kind_and_name_is_left_out(record):
    cluster = ClusterObjects()

    assert cluster.add(record) is True
    assert cluster.add(record) is False


def test_candidates_are_the_kubernetes_nodes():
    kubernetes = [KubernetesNode(name=NodeName(name)) for name in ("b", "a", "c")]

    assert objects_of(node("a"), *kubernetes).candidates() == ("a", "b", "c")
    assert objects_of(node("b"), node("a")).candidates() == ("a", "b")


REPLICAS = replicas_of("a:1@1 b:2@2 c>2")
MOVED = replica("a", on="node-1", pinned_to="node-2", size_bytes=GIB)
SPACES: dict[str, tuple[list[Replica], list[int], list[list[str]]]] = {
    "placed-and-pending": (REPLICAS, [1, 2], [[], ["c-r-1"]]),
    "bound-and-placed-elsewhere": ([MOVED], [1, 0], [[], []]),
}


@pytest.mark.parametrize(("replicas", "gib", "pending"), SPACES.values(), ids=SPACES)
def test_space_of_a_node_has_its_replicas_in_it(replicas, gib, pending):
    spaces = view_of(*nodes_of("1 2"), *replicas).spaces.values()

    assert [each.disks[0].scheduled_bytes for each in spaces] == [size * GIB for size in gib]
    assert [[replica.name for replica in each.pending] for each in spaces] == pending


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
UNREADABLE = {
    "value": setting(MINIMAL, "x"),
    "object": read_as_unreadable(document("Setting", MINIMAL, value=25)),
    "version": read_as_unreadable(
        document("Setting", MINIMAL) | {"apiVersion": "longhorn.io/v1beta1"}
    ),
}


@pytest.mark.parametrize("record", UNREADABLE.values(), ids=UNREADABLE)
def test_setting_that_cannot_be_read_leaves_no_longhorn_settings(record):
    assert view_of(record).settings == Settings(unreadable=MINIMAL)


def broken(kind: str, name: str, spec: object) -> Unreadable:
    return read_as_unreadable(document(kind, name, spec=spec))


def test_node_with_a_broken_replica_has_no_space():
    of_node = broken("Replica", "r", {"nodeID": "node-1", "volumeSize": "x"})
    view = view_of(*nodes_of("1 2"), of_node)

    assert (list(view.spaces), view.unreadable_nodes) == (["node-2"], {"node-1"})


def test_broken_volume_costs_no_node():
    view = view_of(node(), broken("Volume", "vol", {"size": "x"}))

    assert list(view.spaces) == ["node-1"]
    assert view.unreadable == {("Volume", "vol"): "'x' is not a size in bytes"}


def test_broken_nodes_of_kubernetes_and_longhorn_do_not_hide_each_other():
    kubernetes = read_as_unreadable(core_document("Node", "node-1", metadata={"uid": 5}))

    assert view_of(kubernetes, broken("Node", "node-1", 5)).unreadable_nodes == {"node-1"}


def test_replica_of_which_nothing_is_readable_is_told_by_its_name():
    assert [*view_of(broken("Replica", "vol-r-1a2b3c4d", 5)).unreadable_replicas] == ["vol"]
