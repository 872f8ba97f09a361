"""The text that `filter` prints: short for many nodes, of a given width, in pipes plain."""

from pathlib import Path
from typing import Any

import pytest

from app.settings import Settings
from cli.explaining.explainer import Explainer
from cli.explaining.lines import lines
from cli.files import load_cluster
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.pages import Form
from tests.builders import GIB, core_document, node_document
from tests.unit.cli.plans import ROOT, Run, write
from tests.unit.cli.situations import claim, pod, storage_class

SCREEN_LINES = 40
UNBROKEN = 60
"""The longest name in the example, with what stands before it."""


def node(number: int) -> dict[str, Any]:
    """Build a node of three disks, on each of which 60 GiB are scheduled, on the first ones less.

    Every fifth has no tag.
    """
    built = node_document(f"node-{number:03}")
    tags = [] if number % 5 == 0 else ["ssd"]
    of_spec, of_status = built["spec"]["disks"], built["status"]["diskStatus"]
    spec, status = of_spec["disk-1"], of_status["disk-1"]
    for index in (1, 2, 3):
        gib = 60 if number > 3 else 20 * number
        of_spec[f"disk-{index}"] = {**spec, "tags": tags}
        of_status[f"disk-{index}"] = {
            **status,
            "diskUUID": f"uuid-{index}",
            "storageScheduled": gib * GIB,
            "scheduledReplica": {f"r-{index}": gib * GIB},
        }
    return built


@pytest.fixture
def large(tmp_path: Path) -> str:
    """Write a cluster of 300 nodes; 28 of those without tag are cordoned."""
    names = [f"node-{number:03}" for number in range(300)]
    cordoned = {name for number, name in enumerate(names[:280]) if number % 10 == 0}
    items = [
        *(node(number) for number in range(300)),
        *(core_document("Node", n, spec={"unschedulable": n in cordoned}) for n in names),
        *(storage_class(diskSelector="ssd"), claim(gib=100), pod()),
    ]
    return write(tmp_path / "cluster.json", *items)


def test_of_300_nodes_the_first_screen_holds_the_answer(large: str, called: Run) -> None:
    status, out, _ = called("filter", "web", "--cluster-file", large)

    shown = out.splitlines()
    assert status == 1
    assert " ".join(" ".join(shown[:2]).split()) == (
        "pod default/web: 0 of 300 nodes: 240 without room on one disk, 32 without a disk that has "
        "the tags, 28 excluded by kube-scheduler"
    )
    assert shown[2] == "nearest: 20.0 GiB short on node-001/disk-1"
    groups = [line.partition(":")[0] for line in shown if line.partition(":")[0].endswith("nodes")]
    assert groups == ["240 nodes", "32 nodes", "28 nodes"]
    nearest = [line.strip() for line in shown if line.startswith("  node-0")]
    assert nearest[:3] == ["node-001", "node-002", "node-003"]
    assert len(shown) <= SCREEN_LINES


def test_all_disks_and_what_takes_their_room_are_shown_if_asked_for(
    large: str, called: Run
) -> None:
    _, first, _ = called("filter", "web", "--cluster-file", large)
    _, every, _ = called("filter", "web", "--cluster-file", large, "--all")

    assert every.count("GiB, headroom") == 272 * 3
    assert "more: --all" not in every
    assert first.count("most of it: replica r-1 ") == 3
    assert "most of it: replica r-2 " not in first
    assert [every.count(f"most of it: replica r-{disk} ") for disk in (1, 2, 3)] == [240] * 3


def printed(form: Form) -> list[str]:
    cluster: ClusterObjects = load_cluster(ROOT / "examples" / "rich")[0]
    pod = cluster.of(Pod)["default/pair"]
    explainer = Explainer(cluster, Settings(), None, None)
    found = explainer.explain(pod, cluster.candidates(), all_nodes=form.all_nodes)
    return [*lines(found, form)]


@pytest.mark.parametrize("width", [80, 98, 160])
def test_lines_of_text_are_as_long_as_the_terminal_is_wide(width: int) -> None:
    uncoloured = list(map(plain, printed(Form(width=width))))

    longest = max(len(line) for line in uncoloured)
    assert width - UNBROKEN < longest <= width


def test_wide_lines_are_not_broken_and_name_volumes() -> None:
    shown = [plain(line) for line in printed(Form(width=80, wide=True))]

    assert shown[0].startswith("pod default/pair: 1 of 11 nodes fit: node-c1; ")
    assert shown[0].endswith("excluded by kube-scheduler")
    assert "volume pvc-36782c16-b944-48dc-b070-7a9516eb2b4a" in shown[1]


def plain(line: str) -> str:
    """Return a line without its colours."""
    while "\x1b" in line:
        before, _, rest = line.partition("\x1b")
        line = before + rest.partition("m")[2]
    return line


def test_bars_stand_below_their_node(called: Run, tmp_path: Path) -> None:
    used = {"storageScheduled": 95 * GIB, "scheduledReplica": {"r-1": 95 * GIB}}
    nodes = [node_document("free"), *(node_document(n, disk_status=used) for n in ("one", "two"))]
    path = write(tmp_path / "cluster.json", *nodes, pod(), claim(), storage_class())

    _, out, _ = called("filter", "pod/web", "--cluster-file", path, "--all")

    shown = out.splitlines()
    bars = [line for line in shown if line.lstrip().startswith("disk-1")]
    assert [len(line) - len(line.lstrip()) for line in bars] == [2, 4, 4]
    assert shown.index("  one") < shown.index(bars[1]) < shown.index("  two")
