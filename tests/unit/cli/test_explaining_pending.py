"""`filter` without a pod: all pods that wait for a node, each in a line."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from cli.explaining.pending import ALONE
from cli.schema import schema
from tests.builders import node_document
from tests.unit.cli.plans import ROOT, Run, write
from tests.unit.cli.situations import claim, host, pod, scheduled, storage_class

Pending = Callable[..., tuple[int, str]]


@pytest.fixture
def pending(called: Run, tmp_path: Path) -> Pending:
    """Ask about all pods of a cluster that wait; return the status and the output."""

    def asked(*documents: object) -> tuple[int, str]:
        file = write(tmp_path / "cluster.json", *documents)
        return called("filter", "--cluster-file", file)[:2]

    return asked


LOST = pod("lost", claims=["gone"])
THERE = pod("there", spec={"nodeName": "node-1"})


@pytest.mark.parametrize(
    ("taken_gib", "status", "text"),
    [
        (0, 0, "default/web: 1 of 1 nodes fit: node-1"),
        (95, 1, "default/web: 0 of 1 nodes: 1 without room on one disk"),
    ],
)
def test_each_pod_without_a_node_is_told_in_a_line(
    pending: Pending, taken_gib: int, status: int, text: str
) -> None:
    node = node_document("node-1", disk_status=scheduled(taken_gib))

    found, shown = pending(host(), node, pod(), THERE, claim(), storage_class())

    assert found == status
    assert shown.splitlines() == [
        f"1 pod waits for a node; {1 - status} of them can get one {ALONE}",
        text,
    ]


def test_a_pod_that_cannot_be_judged_is_told_first_and_is_status_3(pending: Pending) -> None:
    status, shown = pending(host(), node_document("node-1"), pod(), LOST, claim(), storage_class())

    assert status == 3
    [_, first, *_] = shown.splitlines()
    assert first.startswith("default/lost: PersistentVolumeClaim default/gone is not in")


def test_without_pods_that_wait_there_is_nothing_to_tell(pending: Pending) -> None:
    status, shown = pending(host(), node_document("node-1"), THERE)

    assert (status, shown) == (0, "no pod waits for a node\n")


def test_json_obeys_its_schema_and_says_what_each_pod_alone_would_be_told(called: Run) -> None:
    rich = ("--cluster-file", str(ROOT / "examples" / "rich"), "-o", "json")
    found = json.loads(called("filter", *rich)[1])
    alone = json.loads(called("filter", "default/pair", *rich)[1])

    jsonschema.validate(found, schema("filter-pending"))
    [told] = [each for each in found["pods"] if each["pod"] == "default/pair"]
    assert told == {"pod": "default/pair", "fits": True, "answer": alone["answer"], "error": ""}
