"""The text that `filter` prints: short for many nodes, of a given width, in pipes plain."""

import re
from typing import Any

import pytest

from app.settings import Settings
from cli.explaining.explainer import Explainer
from cli.explaining.lines import lines
from cli.files import load_cluster
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.pages import Form
from tests.builders import GIB, node_document
from tests.unit.cli.plans import ROOT, write
from tests.unit.cli.situations import host, new, scheduled

SCREEN_LINES = 40
UNBROKEN = 60
"""The longest name in the example, with what stands before it."""
COLOUR = re.compile("\x1b.*?m")


def three_disks(number: int) -> dict[str, Any]:
    """Build a node of three disks, on each of which 60 GiB are scheduled, on the first ones less.

    Every fifth has no tag.
    """
    built = node_document(f"node-{number:03}")
    of_spec, of_status = built["spec"]["disks"], built["status"]["diskStatus"]
    spec = of_spec["disk-1"] | {"tags": [] if number % 5 == 0 else ["ssd"]}
    gib = 60 if number > 3 else 20 * number
    for index in (1, 2, 3):
        taken = {"storageScheduled": gib * GIB, "scheduledReplica": {f"r-{index}": gib * GIB}}
        of_spec[f"disk-{index}"] = spec
        of_status[f"disk-{index}"] = of_status["disk-1"] | {"diskUUID": f"uuid-{index}"} | taken
    return built


LARGE = [
    *map(three_disks, range(300)),
    *(host(f"node-{n:03}", unschedulable=n % 10 == 0 and n < 280) for n in range(300)),
    *new(100, diskSelector="ssd"),
]
"""300 nodes; 28 of those without tag are cordoned."""


def test_of_300_nodes_the_first_screen_holds_the_answer(shown):
    status, text = shown("lines/300-nodes", LARGE, "filter", "web")

    assert status == 1
    assert text.startswith(
        "pod default/web: 0 of 300 nodes: 240 without room on one disk, 32 without a disk that has "
        "the tags, 28 excluded by kube-scheduler nearest: 20.0 GiB short on node-001/disk-1 "
    )


def test_all_disks_and_what_takes_their_room_are_shown_if_asked_for(called, tmp_path):
    file = write(tmp_path / "cluster.json", *LARGE)

    _, first, _ = called("filter", "web", "--cluster-file", file)
    _, every, _ = called("filter", "web", "--cluster-file", file, "--all")

    assert len(first.splitlines()) <= SCREEN_LINES
    assert every.count("GiB, headroom") == 272 * 3
    assert "more: --all" not in every
    assert [every.count(f"most of it: replica r-{disk} ") for disk in (1, 2, 3)] == [240] * 3


def printed(form: Form) -> list[str]:
    cluster: ClusterObjects = load_cluster(ROOT / "examples" / "rich")[0]
    pod = cluster.of(Pod)["default/pair"]
    explainer = Explainer(cluster, Settings(), None, None)
    found = explainer.explain(pod, cluster.candidates(), all_nodes=form.all_nodes)
    return [COLOUR.sub("", line) for line in lines(found, form)]


@pytest.mark.parametrize("width", [80, 98, 160])
def test_lines_of_text_are_as_long_as_the_terminal_is_wide(width):
    longest = max(map(len, printed(Form(width=width))))

    assert width - UNBROKEN < longest <= width


def test_wide_lines_are_not_broken_and_name_volumes(golden):
    text = printed(Form(width=80, wide=True))

    assert "volume pvc-36782c16-b944-48dc-b070-7a9516eb2b4a" in text[1]
    golden("lines/wide", "".join(f"{line}\n" for line in text))


def test_bars_stand_below_their_node(shown):
    full = [node_document(name, disk_status=scheduled(95)) for name in ("one", "two")]
    documents = [node_document("free"), *full, *new()]

    _, text = shown("lines/bars", documents, "filter", "pod/web", "--all")

    assert "headroom 5.0 two" in text
    assert "note: the Kubernetes Nodes are not known" in text
