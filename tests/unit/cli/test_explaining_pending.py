"""`filter` without a pod: all pods that wait for a node, each in a line."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cli.commands import run_command
from cli.schema import schema
from tests.builders import node_document
from tests.unit.cli.situations import claim, host, pod, scheduled, storage_class

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("EXTENDER_")]:
        monkeypatch.delenv(name)


def run(
    capsys: pytest.CaptureFixture[str], path: Path, documents: list[Any], *arguments: str
) -> tuple[int, str]:
    file = path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    status = run_command(["filter", "--cluster-file", str(file), *arguments])
    return status, capsys.readouterr().out


def lost() -> dict[str, Any]:
    """Build a pod whose claim is not there."""
    found = pod()
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}]
    found["metadata"] = {**found["metadata"], "name": "lost", "uid": "uid-lost"}
    found["spec"] = {**found["spec"], "volumes": volumes}
    return found


def bound(name: str) -> dict[str, Any]:
    found = pod()
    found["metadata"] = {**found["metadata"], "name": name, "uid": f"uid-{name}"}
    found["spec"] = {**found["spec"], "nodeName": "node-1"}
    return found


@pytest.mark.parametrize(
    ("taken_gib", "status", "text"),
    [
        (0, 0, "default/web: 1 of 1 nodes fit: node-1"),
        (95, 1, "default/web: 0 of 1 nodes: 1 without room on one disk"),
    ],
)
def test_each_pod_without_a_node_is_told_in_a_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, taken_gib: int, status: int, text: str
) -> None:
    node = node_document("node-1", disk_status=scheduled(taken_gib))
    documents = [host(), node, pod(), bound("there"), claim(), storage_class()]

    found, shown = run(capsys, tmp_path, documents)

    assert found == status
    assert shown.splitlines() == [
        f"1 pod waits for a node; {1 - status} of them would fit, each alone",
        text,
    ]


def test_a_pod_that_cannot_be_judged_is_told_first_and_is_status_3(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    documents = [host(), node_document("node-1"), pod(), lost(), claim(), storage_class()]

    status, shown = run(capsys, tmp_path, documents)

    assert status == 3
    [_, first, *_] = shown.splitlines()
    assert first.startswith("default/lost: PersistentVolumeClaim default/gone is not in")


def test_without_pods_that_wait_there_is_nothing_to_tell(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, shown = run(capsys, tmp_path, [host(), node_document("node-1"), bound("there")])

    assert (status, shown) == (0, "no pod waits for a node\n")


def test_json_obeys_its_schema_and_says_what_each_pod_alone_would_be_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rich = ["--cluster-file", str(ROOT / "examples" / "rich"), "-o", "json"]
    run_command(["filter", *rich])
    found = json.loads(capsys.readouterr().out)
    run_command(["filter", "default/pair", *rich])
    alone = json.loads(capsys.readouterr().out)

    jsonschema.validate(found, schema("filter-pending"))
    [told] = [each for each in found["pods"] if each["pod"] == "default/pair"]
    assert told == {"pod": "default/pair", "fits": True, "answer": alone["answer"], "error": ""}
