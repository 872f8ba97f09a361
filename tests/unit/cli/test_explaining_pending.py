"""`filter` without a pod: all pods that wait for a node, each in a line."""

import json
from typing import Any

import jsonschema
import pytest

from cli.explaining.pending import ALONE
from cli.schema import schema
from tests.unit.cli.plans import ROOT
from tests.unit.cli.situations import new, node, pod

THERE = pod("there", spec={"nodeName": "node-1"})
ROWS: dict[str, tuple[int, str, list[Any]]] = {
    "fits": (0, "default/web: 1 of 1 nodes fit: node-1", [*node(), *new(), THERE]),
    "does-not-fit": (1, "1 without room on one disk", [*node(taken_gib=95), *new(), THERE]),
    "cannot-be-judged": (3, f"2 pods wait for a node; 1 of them can get one {ALONE} default/lost: "
        "PersistentVolumeClaim default/gone is not in", [*node(), *new(), pod("lost",
        claims=["gone"])]),
    "none-waits": (0, "no pod waits for a node", [*node(), THERE]),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_pods_without_a_node_are_told_in_a_line_each(shown, name):
    status, fact, documents = ROWS[name]

    found, text = shown(f"pending/{name}", documents, "filter")

    assert found == status
    assert fact in text


def test_json_obeys_its_schema_and_says_what_each_pod_alone_would_be_told(called):
    rich = ("--cluster-file", str(ROOT / "examples" / "rich"), "-o", "json")
    found = json.loads(called("filter", *rich)[1])
    alone = json.loads(called("filter", "default/pair", *rich)[1])

    jsonschema.validate(found, schema("filter-pending"))
    [told] = [each for each in found["pods"] if each["pod"] == "default/pair"]
    assert told == {"pod": "default/pair", "fits": True, "answer": alone["answer"], "error": ""}
