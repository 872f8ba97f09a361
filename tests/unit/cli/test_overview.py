"""What `overview` shows: each disk, and the largest new volume of each StorageClass."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kube.resource import AnyRecord
from cli.largest import largest
from cli.overview.figures import overview
from extender import Extender
from longhorn import Locality
from tests.builders import (
    GENEROUS,
    GIB,
    MIB,
    TIB,
    ask,
    claim,
    conditions,
    core_document,
    disk,
    document,
    hold,
    node,
    node_document,
    setting,
    storage_class,
    view_of,
    volume,
)
from tests.unit.cli.plans import ROOT, write
from tests.unit.cli.situations import storage_class as class_document

RICH = ("overview", "--cluster-file", str(ROOT / "examples" / "rich"))
PHYSICAL = setting("storage-minimal-available-percentage", "0")
ALL_OF_IT = document("Setting", "storage-minimal-available-percentage", value="0")
UNREADABLE = document("Setting", "storage-over-provisioning-percentage", value="?")
OFF = {"allowScheduling": False}
TAKEN = {
    **{"storageAvailable": 70 * GIB, "storageScheduled": 40 * GIB},
    "scheduledReplica": {"other-r-1": 40 * GIB},
}
NOT_READY = {"conditions": conditions(Ready="False", Schedulable="True")}
TINY = {"storageMaximum": MIB, "storageAvailable": MIB}
TWO = class_document(numberOfReplicas="2")
OTHERS = class_document() | {"provisioner": "ebs.csi.aws.com"}

CLUSTERS: dict[str, tuple[str, list[Any]]] = {
    "disk": ("node-1 disk-1 40.0 100.0 30.0 60.0", [node_document(disk_status=TAKEN)]),
    "takes-nothing": ("node-1: takes no new replica: Longhorn node is not ready "
        "node-2/disk-1: takes no new replica: scheduling is disabled",
        [node_document(status=NOT_READY), node_document("node-2", disk_spec=OFF)]),
    "one-replica": ("fast 100.0 GiB 1 100.0 GiB", [node_document(), ALL_OF_IT, class_document()]),
    "two-replicas": ("fast 100.0 GiB 1 none", [node_document(), ALL_OF_IT, TWO]),
    "no-room": ("fast: no disk of the Longhorn node has room for a volume of",
        [node_document(disk_status=TINY), class_document()]),
    "no-disk-with-the-tag": ("tag 'nvme' is on no Longhorn disk",
        [node_document(), class_document(diskSelector="nvme")]),
    "class-of-others": ("1 nodes, 1 disks: 0.0 of 100.0 GiB", [node_document(), OTHERS]),
    "setting-unreadable": ("fast none fits 0 ", [node_document(), UNREADABLE, class_document()]),
}  # fmt: skip


@pytest.mark.parametrize("name", CLUSTERS)
def test_overview_of_a_cluster(shown, name):
    fact, documents = CLUSTERS[name]

    status, text = shown(f"overview/{name}", documents, "overview")

    assert status == 0
    assert fact in text


@pytest.mark.parametrize("output", ["table", "wide"])
def test_overview_of_an_example(called, golden, output):
    status, out, _ = called(*RICH, "-o", output)

    assert (status, "node-b4" in out) == (0, True)
    golden(f"overview/rich-{output}", out)


def test_room_that_is_held_and_that_comes_counts_for_the_node():
    extender = Extender(GENEROUS)
    extender.ledger.put(hold("held", volumes=["held"], nodes=["node-1"]))
    coming = volume("remote", locality=Locality.DISABLED, size_bytes=3 * GIB)
    view = view_of(node("node-1", disk(maximum_bytes=20 * GIB)), PHYSICAL, coming)

    [found] = overview(view, extender, None).nodes

    assert (found.held_bytes, found.coming_bytes) == (10 * GIB, 3 * GIB)


def sized(*sizes_gib: float, zone: str = "", tags: tuple[str, ...] = ()) -> list[AnyRecord]:
    """Return nodes, each with an empty disk of one of the sizes."""
    return [
        node(
            f"node-{zone}{at}",
            disk(f"d{zone}{at}", maximum_bytes=int(gib * GIB), tags=tags),
            zone=zone,
        )
        for at, gib in enumerate(sizes_gib)
    ]


ZONES = (*sized(100, 90, zone="a"), *sized(50, zone="b"), *sized(20, zone="c"))
TAGGED = (*sized(100, 90), *sized(40, 30, 20, zone="t", tags=("fast",)))
LARGE_AND_OFF = node("node-1", disk(maximum_bytes=TIB, filesystem="xfs", ready=False))
ZONES_APART = setting("replica-zone-soft-anti-affinity", "false")
SHARE_NODES = setting("replica-soft-anti-affinity", "true")
ONE: dict[str, Any] = {"numberOfReplicas": "1"}

LARGEST: dict[str, tuple[list[AnyRecord], dict[str, Any], tuple[float, int, float]]] = {
    "whole-disk": (sized(100), ONE, (100, 1, 100)),
    "on-two-nodes": (sized(100, 100), ONE, (100, 2, 100)),
    "largest-disk-takes-nothing": ([LARGE_AND_OFF, node("node-2")], ONE, (100, 1, 100)),
    "whole-steps": (sized(1 + 1 / 1024), ONE, (1, 1, 1)),
    "no-node": ([], ONE, (0, 0, 0)),
    "third-disk-decides": (sized(100, 10, 10), {}, (100, 1, 10)),
    "rest-does-not": (sized(100, 60, 40, 20), {}, (100, 1, 40)),
    "anywhere": (sized(100, 60, 40), {"dataLocality": "disabled"}, (100, 3, 40)),
    "too-few-nodes": (sized(100, 60), {}, (100, 1, 0)),
    "one-replica": (sized(100, 60), ONE, (100, 1, 100)),
    "one-in-each-zone": ([*ZONES, ZONES_APART], {}, (100, 1, 20)),
    "disks-with-the-tag": ([*TAGGED], {"diskSelector": "fast"}, (40, 1, 20)),
    "all-on-one-disk": ([*sized(90), SHARE_NODES], {}, (90, 1, 30)),
    "too-small-for-xfs": (sized(100, 1 / 4), {"numberOfReplicas": "2", "fsType": "xfs"},
        (100, 1, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGEST)
def test_largest_volume_that_fits_and_with_all_replicas(name):
    records, parameters, (largest_gib, nodes, whole_gib) = LARGEST[name]
    of = {"numberOfReplicas": "3", "dataLocality": "best-effort", **parameters}

    view = view_of(*records, PHYSICAL, storage_class(**of))
    [found] = overview(view, Extender(GENEROUS), None).classes

    expected = (largest_gib * GIB, nodes, whole_gib * GIB)
    assert (found.largest_bytes, found.nodes, found.whole_bytes) == expected


sizes = st.integers(1, 40).map(lambda gib: gib * GIB)


@given(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=4), st.integers(0, 3))
def test_the_largest_fits_and_the_next_larger_does_not(disks, held):
    nodes = [
        node(f"node-{n}", disk(f"d{n}", maximum_bytes=large), disk(f"e{n}", maximum_bytes=small))
        for n, (large, small) in enumerate(disks)
    ]
    extender = Extender(GENEROUS)
    holds = [hold(f"p{n}", volumes=[f"v{n}"], nodes=["node-0"]) for n in range(held)]
    for each in holds:
        extender.ledger.put(each)
    class_ = storage_class()
    records: list[AnyRecord] = [*nodes, PHYSICAL, class_]

    found = largest(class_, view_of(*records), extender)

    def fits(size_bytes: int) -> int:
        view = view_of(*records, claim("vol", size_bytes=size_bytes))
        return len(ask(view, candidates=sorted(view.spaces), holds=holds).accepted)

    assert fits(found.largest_bytes + 2 * MIB) == 0
    if found.largest_bytes:
        assert fits(found.largest_bytes) == found.nodes


def test_nodes_are_sorted_by_a_figure(called):
    _, printed, _ = called(*RICH, "-o", "json", "--sort", "headroom")

    nodes = json.loads(printed)["nodes"]
    sums = [sum(each["headroom_bytes"] for each in node["disks"]) for node in nodes]
    assert sums == sorted(sums, reverse=True)


def test_page_has_all_nodes(called, tmp_path):
    status, _, _ = called(*RICH, "--html", str(tmp_path / "now.html"))

    page = (tmp_path / "now.html").read_text(encoding="utf-8")
    assert status == 0
    assert all(f'"name":"{name}"' in page for name in ("node-a1", "node-c3"))


REFUSED = {
    f"{' '.join(RICH)} --sort size": "--sort size: use one of name, scheduled, limit",
    f"{' '.join(RICH)} --html no-such/now.html": "there is no folder no-such",
    f"{' '.join(RICH)} --context other": "--cluster-file names another cluster",
    "overview --cluster-file none.json": "error: there is no Longhorn Node, so ",
    "survey --cluster-file none.json": "error: there is no Longhorn Node, so ",
}


@pytest.mark.parametrize(("words", "text"), REFUSED.items())
def test_what_cannot_be_used_is_status_2(called, tmp_path, monkeypatch, words, text):
    monkeypatch.chdir(tmp_path)
    write(Path("none.json"), core_document("Node", "n"))

    status, printed, error = called(*words.split())

    assert (status, printed, text in error) == (2, "", True)
