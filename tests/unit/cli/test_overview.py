"""What `overview` shows: each disk, and the largest new volume of each StorageClass."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kube.resource import AnyRecord
from cli.largest import ClassFigures, largest
from cli.overview.figures import Overview, overview
from extender import Extender
from longhorn import Locality, NodeName
from tests.builders import (
    GENEROUS,
    GIB,
    MIB,
    TIB,
    ask,
    claim,
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
from tests.unit.cli.plans import ROOT, Run, write
from tests.unit.cli.situations import storage_class as class_document

RICH = ROOT / "examples" / "rich"
PHYSICAL = setting("storage-minimal-available-percentage", "0")


def figures(*records: AnyRecord) -> Overview:
    return overview(view_of(*records), Extender(GENEROUS), None)


def only_class(*records: AnyRecord) -> ClassFigures:
    [found] = figures(*records).classes
    return found


def test_what_a_disk_has_left() -> None:
    of = disk(maximum_bytes=100 * GIB, available_bytes=70 * GIB, listed={"other-r-1": 40 * GIB})

    [found] = figures(node("node-1", of)).nodes
    [shown] = found.disks

    assert (found.name, found.problem, found.held_bytes) == ("node-1", "", 0)
    assert (shown.scheduled_bytes, shown.limit_bytes) == (40 * GIB, 100 * GIB)
    assert (shown.headroom_bytes, shown.written_bytes) == (60 * GIB, 30 * GIB)
    assert shown.problem == ""


def test_why_node_and_disk_take_nothing() -> None:
    [one, two] = figures(
        node("node-1", ready=False), node("node-2", disk(allow_scheduling=False))
    ).nodes

    assert one.problem == "Longhorn node is not ready"
    assert (two.problem, two.disks[0].problem) == ("", "scheduling is disabled")


def test_what_is_held_and_what_comes_counts_for_the_node() -> None:
    extender = Extender(GENEROUS)
    extender.ledger.put(hold("held", volumes=["held"], nodes=["node-1"]))
    coming = volume("remote", locality=Locality.DISABLED, size_bytes=3 * GIB)
    view = view_of(node("node-1", disk(maximum_bytes=20 * GIB)), PHYSICAL, coming)

    [found] = overview(view, extender, None).nodes

    assert (found.held_bytes, found.coming_bytes) == (10 * GIB, 3 * GIB)


@pytest.mark.parametrize(
    ("records", "largest_bytes", "nodes"),
    [
        pytest.param([node("node-1")], 100 * GIB, 1, id="the-whole-disk"),
        pytest.param([node("node-1"), node("node-2")], 100 * GIB, 2, id="on-two-nodes"),
        pytest.param(
            [
                node("node-1", disk(maximum_bytes=TIB, filesystem="xfs", ready=False)),
                node("node-2"),
            ],
            100 * GIB,
            1,
            id="the-largest-disk-takes-nothing",
        ),
        pytest.param([node("node-1", disk(maximum_bytes=GIB + MIB))], GIB, 1, id="whole-steps"),
        pytest.param([], 0, 0, id="no-node"),
    ],
)
def test_the_largest_volume_that_fits(
    records: list[AnyRecord], largest_bytes: int, nodes: int
) -> None:
    found = only_class(*records, PHYSICAL, storage_class())

    assert (found.largest_bytes, found.nodes) == (largest_bytes, nodes)


def sized(*sizes_gib: int, zone: str = "", tags: tuple[str, ...] = ()) -> list[AnyRecord]:
    """Return a node with one empty disk for each size."""
    return [
        node(
            f"node-{zone}{at}", disk(f"d{zone}{at}", maximum_bytes=gib * GIB, tags=tags), zone=zone
        )
        for at, gib in enumerate(sizes_gib)
    ]


ZONES_APART = setting("replica-zone-soft-anti-affinity", "false")
SHARE_NODES = setting("replica-soft-anti-affinity", "true")


@pytest.mark.parametrize(
    ("records", "parameters", "largest_gib", "whole_gib"),
    [
        pytest.param(sized(100, 10, 10), {}, 100, 10, id="the-third-disk-decides"),
        pytest.param(sized(100, 60, 40, 20), {}, 100, 40, id="the-rest-does-not"),
        pytest.param(sized(100, 60, 40), {"dataLocality": "disabled"}, 100, 40, id="anywhere"),
        pytest.param(sized(100, 60), {}, 100, 0, id="too-few-nodes"),
        pytest.param(sized(100, 60), {"numberOfReplicas": "1"}, 100, 100, id="one-replica"),
        pytest.param(
            [*sized(100, 90, zone="a"), *sized(50, zone="b"), *sized(20, zone="c"), ZONES_APART],
            {},
            100,
            20,
            id="one-in-each-zone",
        ),
        pytest.param(
            [*sized(100, 90), *sized(40, 30, 20, zone="t", tags=("fast",))],
            {"diskSelector": "fast"},
            40,
            20,
            id="disks-with-the-tag",
        ),
        pytest.param([*sized(90), SHARE_NODES], {}, 90, 30, id="all-on-one-disk"),
    ],
)
def test_the_largest_volume_with_all_replicas(
    records: list[AnyRecord], parameters: dict[str, str], largest_gib: int, whole_gib: int
) -> None:
    of = {"numberOfReplicas": "3", "dataLocality": "best-effort", **parameters}

    found = only_class(*records, PHYSICAL, storage_class(**of))

    assert (found.largest_bytes, found.whole_bytes) == (largest_gib * GIB, whole_gib * GIB)


def test_a_volume_too_small_for_its_class_is_none_with_all_replicas() -> None:
    of = {"numberOfReplicas": "2", "fsType": "xfs"}

    found = only_class(
        node("node-1"), node("node-2", disk("d", maximum_bytes=GIB // 4)), PHYSICAL,
        storage_class(**of),
    )  # fmt: skip

    assert (found.largest_bytes, found.whole_bytes) == (100 * GIB, 0)


@pytest.mark.parametrize(("replicas", "shown"), [("1", "100.0 GiB"), ("2", "none")])
def test_what_fits_with_all_replicas_is_a_column(
    called: Run, tmp_path: Path, replicas: str, shown: str
) -> None:
    class_ = class_document(numberOfReplicas=replicas)
    physical = document("Setting", "storage-minimal-available-percentage", value="0")
    file = write(tmp_path / "cluster.json", node_document("node-1"), physical, class_)

    _, out, _ = called("overview", "--cluster-file", file)

    [names, row] = [each for each in out.splitlines() if each.startswith(("StorageC", "fast"))]
    assert names.endswith("  with all replicas")
    assert row.endswith(f"  {shown}")


def test_a_class_of_which_nothing_fits_says_why() -> None:
    tagged = storage_class(diskSelector="nvme")

    nowhere = only_class(node("node-1", disk(maximum_bytes=MIB)), storage_class())
    unusable = only_class(node("node-1"), tagged)

    assert nowhere.problem.startswith("no disk of the Longhorn node has room for a volume of")
    assert "tag 'nvme' is on no Longhorn disk" in unusable.problem


def test_classes_of_other_storage_are_left_out() -> None:
    assert figures(node("node-1"), storage_class(provisioner="ebs.csi.aws.com")).classes == ()


sizes = st.integers(1, 40).map(lambda gib: gib * GIB)


@given(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=4), st.integers(0, 3))
def test_the_largest_fits_and_the_next_larger_does_not(
    disks: list[tuple[int, int]], held: int
) -> None:
    nodes = [
        node(f"node-{n}", disk(f"d{n}", maximum_bytes=large), disk(f"e{n}", maximum_bytes=small))
        for n, (large, small) in enumerate(disks)
    ]
    extender = Extender(GENEROUS)
    holds = [hold(f"p{n}", volumes=[f"v{n}"], nodes=["node-0"]) for n in range(held)]
    for each in holds:
        extender.ledger.put(each)
    records: list[AnyRecord] = [*nodes, PHYSICAL, storage_class()]
    class_ = storage_class()

    view = view_of(*records)
    found = largest(class_, view, extender)

    def fits(size_bytes: int) -> int:
        view = view_of(*records, claim("vol", size_bytes=size_bytes))
        return len(ask(view, candidates=sorted(view.spaces), holds=holds).accepted)

    assert fits(found.largest_bytes + 2 * MIB) == 0
    if found.largest_bytes:
        assert fits(found.largest_bytes) == found.nodes


@pytest.fixture
def rich(called: Run) -> Run:
    """Ask about the rich example."""
    return lambda *arguments: called("overview", "--cluster-file", str(RICH), *arguments)


def test_nodes_are_sorted_by_a_figure(rich: Run) -> None:
    _, printed, _ = rich("-o", "json", "--sort", "headroom")

    sums = [
        sum(d["headroom_bytes"] for d in node["disks"]) for node in json.loads(printed)["nodes"]
    ]
    assert sums == sorted(sums, reverse=True)


def test_wide_has_more_columns(rich: Run) -> None:
    _, narrow, _ = rich()
    _, wide, _ = rich("-o", "wide")

    assert narrow.splitlines()[0].split() == [
        *("node", "disk", "scheduled", "limit", "written", "headroom", "held", "coming")
    ]
    assert wide.splitlines()[0].split()[-5:] == ["reserved", "physical", "zone", "type", "tags"]


def test_the_page_has_all_nodes(rich: Run, tmp_path: Path) -> None:
    status, _, _ = rich("--html", str(tmp_path / "now.html"))

    page = (tmp_path / "now.html").read_text(encoding="utf-8")
    assert status == 0
    assert all(f'"name":"{name}"' in page for name in ("node-a1", "node-c3"))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--sort", "size"], "--sort size: use one of name, scheduled, limit"),
        (["--html", "no-such-folder/now.html"], "there is no folder no-such-folder"),
        (["--context", "other"], "--cluster-file names another cluster"),
    ],
)
def test_what_cannot_be_used_is_status_2(rich: Run, arguments: list[str], text: str) -> None:
    status, printed, error = rich(*arguments)

    assert (status, printed) == (2, "")
    assert text in error


@pytest.mark.parametrize("command", ["overview", "survey"])
def test_a_cluster_without_longhorn_is_status_2(called: Run, tmp_path: Path, command: str) -> None:
    path = write(tmp_path / "cluster.json", core_document("Node", "n"))

    status, out, err = called(command, "--cluster-file", path)

    assert (status, out) == (2, "")
    assert "error: there is no Longhorn Node, so " in err


def test_a_setting_that_cannot_be_read_is_told() -> None:
    broken = setting("storage-over-provisioning-percentage", "?")

    found = figures(node("node-1"), broken, storage_class())

    assert "storage-over-provisioning-percentage cannot be read" in found.notes[0]
    assert found.nodes[0].name == NodeName("node-1")
    assert found.classes[0].largest_bytes == 0
