"""What `filter -o json` prints obeys the schema in the documentation, which is the program's."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cli.commands import run_command
from cli.schema import schema

ROOT = Path(__file__).parents[3]
LOST = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "lost"},
    "spec": {"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "gone"}}]},
}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("EXTENDER_")]:
        monkeypatch.delenv(name)


def printed(capsys: pytest.CaptureFixture[str], pod: str) -> dict[str, Any]:
    run_command(["filter", pod, "--cluster-file", str(ROOT / "examples" / "rich"), "-o", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("pod", ["pair", "queue-0", "files", "neighbour-0"])
def test_answers_obey_it(capsys: pytest.CaptureFixture[str], pod: str) -> None:
    found = printed(capsys, f"default/{pod}")

    jsonschema.validate(found, schema("filter"))
    assert found["accepted"]
    assert found["reasons"].keys() == found["rejected"].keys()
    assert not found["excluded"].keys() & found["nodes"].keys()


def test_an_error_obeys_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(LOST))

    found = printed(capsys, str(path))

    jsonschema.validate(found, schema("filter"))
    assert found["error_code"] == "object_not_found"
