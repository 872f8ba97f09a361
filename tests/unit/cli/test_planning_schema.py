"""What `plan -o json` prints obeys the schema in the documentation, which is the program's."""

import json
import os
from pathlib import Path

import jsonschema
import pytest

from cli.commands import run_command
from cli.schema import schema

ROOT = Path(__file__).parents[3]
WIKI = str(ROOT / "examples" / "plans" / "wiki.yaml")


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("EXTENDER_")]:
        monkeypatch.delenv(name)


GROWTH = str(ROOT / "examples" / "plans" / "growth.yaml")


@pytest.mark.parametrize(
    ("example", "arguments"),
    [
        ("bundle", ("place", WIKI)),
        ("bundle", ("place", WIKI, "--replicas", "9")),
        ("bundle", ("capacity", WIKI)),
        ("bundle", ("run", GROWTH)),
        ("bundle", ("lose", "node-3", "node-4")),
        ("rich", ("drain", "node-c1")),
        ("rich", ("set", "storage-over-provisioning-percentage=10")),
    ],
)
def test_plans_obey_it(
    capsys: pytest.CaptureFixture[str], example: str, arguments: tuple[str, ...]
) -> None:
    files = str(ROOT / "examples" / example)

    run_command(["plan", *arguments, "--cluster-file", files, "-o", "json"])

    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, schema("plan"))
    assert found["steps"][0]["title"] == "now"
    assert len(found["steps"]) > 1
